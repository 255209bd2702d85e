"""Terms of a gate from files in a mapping."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sizeguard.gate.policy.changes.policy_changes import compare_terms
from sizeguard.gate.policy.terms import Terms, TermsReader
from sizeguard.gate.policy.terms_result import PolicyChange
from sizeguard.projects.reader import parse_config
from tests.support.tricks.changed_projects import NAMES_FILE, PROJECT, Files, blob


class GivenFiles:
    """Files from a mapping of paths to texts."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def text(self, path: str) -> bytes | None:
        return self.files[path].encode() if path in self.files else None

    def names(self, folder: str) -> Sequence[str]:
        return sorted(
            posixpath.basename(path) for path in self.files if posixpath.dirname(path) == folder
        )

    def identities(self, paths: Iterable[str]) -> Mapping[str, str]:
        return {path: blob(self.files[path]) for path in paths if path in self.files}


def case_role(name: str) -> str:
    """Return the role of a file beside a model."""
    if not (name.startswith("case") and name.endswith(".npy")):
        return ""
    return "expected output" if "_expected" in name else "input"


def changed(files: Files) -> dict[str, str]:
    """Return the files of the project with some changed."""
    after: dict[str, str | None] = {**PROJECT, **files}
    return {path: text for path, text in after.items() if text is not None}


def terms(files: Mapping[str, str]) -> Terms:
    """Read the terms of files."""
    root = Path("/project")
    read = parse_config(root, files["sizeguard.yaml"].encode())
    return TermsReader(GivenFiles(files), root, case_role, NAMES_FILE).read(read)


Row = tuple[str, str, str, str, bool]  # what, name, old, new, loosens


def rows(changes: Iterable[PolicyChange]) -> list[Row]:
    return [(each.what, each.name, each.old, each.new, each.loosens) for each in changes]


def compared(old: Files, new: Files) -> list[PolicyChange]:
    return list(compare_terms(terms(changed(old)), terms(changed(new))))
