"""Store the names of a full build next to it, by the content of all files that they come from.

Each verification of an app reads them. Stored names count only if the same code would read the same
bytes: each file is hashed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from sizeguard.base.errors import SizeguardError
from sizeguard.base.files import write_atomic
from sizeguard.base.fingerprint import code_hash, fingerprint
from sizeguard.builds.build_inputs import content_hash
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import files_of
from sizeguard.claims.claim import Vocabulary
from sizeguard.claims.listed_names import BuildNames
from sizeguard.claims.names_file import names_text, parse_names
from sizeguard.verify.build_names import names_of
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather

FILE = ".full_names.json"  # next to build.json
_VERSION = 1
_MOST = 16 << 20  # bytes; those of the runtime's own full build have 0.1 MB


def names_of_build(build: Build, words: Vocabulary) -> BuildNames:
    """Read the names of a full build, or the names stored for the same files.

    Raises the errors of gather.
    """
    place = build.image.parent / FILE
    text = _kept(place, build, words)
    if text is None:
        evidence = gather(files_of(build), words.hidden_prefixes)
        text = names_text(names_of(evidence, words))
        read = _read(build, evidence)
        entry = {"version": _VERSION, "key": _key(build, words, read), "read": read, "names": text}
        with contextlib.suppress(SizeguardError):  # a read-only folder stores nothing
            write_atomic(place, json.dumps({**entry, "digest": _digest(text)}))
    return parse_names(text, str(place))


def _kept(place: Path, build: Build, words: Vocabulary) -> str | None:
    """Return the stored text; None if it is missing, damaged or belongs to other files."""
    try:
        with place.open("rb") as file:
            entry = json.loads(file.read(_MOST))
        if entry["version"] != _VERSION or entry["digest"] != _digest(entry["names"]):
            return None
        if entry["key"] != _key(build, words, [str(path) for path in entry["read"]]):
            return None
        return str(entry["names"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _key(build: Build, words: Vocabulary, read: Iterable[str]) -> str:
    """Hash the code that reads the names, the words to look for, and each file with its path."""
    given = [str(path) for path in _given(build)]
    hashes = {path: content_hash(path) for path in read}
    said = {"words": repr(words), "given": given, "folder": str(build.image.parent)}
    return fingerprint({"code": code_hash(), **said, "files": hashes})


def _given(build: Build) -> list[Path]:
    """List the files to read that the record names; objects may be folders of objects."""
    debug = sorted(path for path in build.debug.rglob("*") if path.is_file()) if build.debug else []
    told = (build.shipped, build.map, build.gc_log, build.link_command)
    return [build.image, *filter(None, told), *build.objects, *debug]


def _read(build: Build, evidence: Evidence) -> list[str]:
    """List the files that were read: those in the record, and the toolchain's in its map."""
    objects = (str(file.path) for file in evidence.objects.files)
    return sorted({*map(str, _given(build)), *objects})
