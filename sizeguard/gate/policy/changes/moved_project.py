"""Find the folder that a project had in a commit, if a change moves it within its repository."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.errors import InputError
from sizeguard.git.file_versions import CommitFiles
from sizeguard.git.trees import tree_entries
from sizeguard.projects.project import CONFIG
from sizeguard.projects.reader import parse_config


class _Likeness(NamedTuple):
    """How alike two projects are, the most telling first: apps of one name, then folders."""

    apps: int
    folders: int


def folder_before(top: Path, commit: str, folder: str, apps: Iterable[str]) -> str | None:
    """Return where a project was, as a path from the repository's root; None if it is new.

    Of several projects whose sizeguard.yaml is gone, the most similar one counts.

    folder, apps: of the project as it is now
    """
    own = (top / folder / CONFIG).resolve()
    files = CommitFiles(top, commit)
    gone = [
        posixpath.dirname(path)
        for path in sorted(tree_entries(top, commit, "-r", "--full-tree"))
        if posixpath.basename(path) == CONFIG and _is_gone(top / path, own)
    ]
    here = {*apps}

    def likeness(place: str) -> _Likeness:
        return _Likeness(
            len(here & _apps_of(top, files.text(posixpath.join(place, CONFIG)))),
            len(posixpath.commonprefix([_backwards(place), _backwards(folder)])),
        )

    return max(gone, key=likeness, default=None)


def _is_gone(file: Path, own: Path) -> bool:
    """Return whether a policy is no longer there, or only a link to the moved one."""
    return not file.is_file() or file.resolve() == own


def _apps_of(top: Path, text: bytes | None) -> set[str]:
    try:
        return {app.name for app in parse_config(top, text).apps} if text is not None else set()
    except InputError:
        return set()


def _backwards(folder: str) -> list[str]:
    return folder.split("/")[::-1]
