"""Keep the names of a full build next to it, because each verification of an app reads them."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.kept.beside import KeptInputs, kept_beside
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import files_of
from sizeguard.claims.claim import Vocabulary
from sizeguard.claims.listed_names import BuildNames
from sizeguard.claims.names_file import names_text, parse_names
from sizeguard.verify.build_names import names_of
from sizeguard.verify.evidence.gather_evidence import gather

FILE = ".full_names.json"  # next to build.json


def names_of_build(build: Build, words: Vocabulary) -> BuildNames:
    """Read the names of a full build, or the names stored for the same files.

    Raises the errors of gather.
    """
    place = build.image.parent / FILE

    def read() -> tuple[str, list[Path] | None]:
        evidence = gather(files_of(build), words.hidden_prefixes)
        return names_text(names_of(evidence, words)), evidence.files_read()

    said = {"words": repr(words), "folder": str(build.image.parent)}
    text = kept_beside(place, KeptInputs(said, tuple(build.files())), read)
    return parse_names(text, str(place))
