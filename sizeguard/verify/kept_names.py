"""Keep the names of a full build next to it, because each verification of an app reads them."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.errors import InconclusiveError
from sizeguard.base.kept.beside import KeptInputs, kept_beside
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import files_of
from sizeguard.claims.claim import Vocabulary
from sizeguard.claims.listed_names import BuildNames
from sizeguard.claims.names_file import names_text, parse_names
from sizeguard.claims.verdict import FAIL
from sizeguard.verify.build_names import names_of
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.leaks.explained_bytes import judge_explained

FILE = ".full_names.json"  # next to build.json


def names_of_build(build: Build, words: Vocabulary) -> BuildNames:
    """Read the names of a full build, or the names stored for the same files.

    Raises the errors of gather, and InconclusiveError if objects of the build are missing.
    """
    place = build.image.parent / FILE

    def read() -> tuple[str, list[Path] | None]:
        evidence = gather(files_of(build), words.hidden_prefixes)
        _check_objects(build, evidence)
        return names_text(names_of(evidence, words)), evidence.files_read()

    said = {"words": repr(words), "folder": str(build.image.parent)}
    text = kept_beside(place, KeptInputs(said, tuple(build.files())), read)
    return parse_names(text, str(place))


def _check_objects(build: Build, evidence: Evidence) -> None:
    """Refuse a full build without all its objects, whose names a selection may leave out."""
    wrong = [each for each in judge_explained(evidence) if each.verdict == FAIL]
    if wrong or not evidence.own:
        found = f": {wrong[0].name}: {wrong[0].evidence[0]}" if wrong else ""
        raise InconclusiveError(f"{build.image}: objects are missing in the full build{found}")
