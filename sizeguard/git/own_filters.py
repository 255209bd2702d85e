"""Commands of the clone that git runs on the files it checks out (filter.NAME.smudge).

Such a command may read any other file, so equal blobs need not make equal files.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.git.git import common_folder, git_bytes, git_path
from sizeguard.git.trees import attributes_of, blob_bytes

# Filters whose output depends only on the file, and on keys or contents that never change.
PURE = frozenset({"lfs", "git-crypt"})
_USED = re.compile(rb"(?:^|\s)filter=(\S+)", re.M)
_COMMANDS = r"^filter\..*\.(smudge|process)$"


def own_filters(repository: Path, commit: str) -> Mapping[str, str]:
    """Return the commands that git runs to check out a commit, by their settings; mostly none."""
    commands = _commands(repository)
    if not commands:
        return {}
    texts = [*_attributes_of_clone(repository)]
    for entry in attributes_of(repository, commit).values():
        texts.append(blob_bytes(repository, entry.split()[2]))
    used = {os.fsdecode(name) for text in texts for name in _USED.findall(text)}
    return {name: text for name, text in commands.items() if _name(name) in used}


# A gate of 100 apps for 3 targets asks for each pair and commit about six times; git takes 3 ms.
@functools.lru_cache(8)
def _commands(repository: Path) -> Mapping[str, str]:
    """Read the commands of all filters from git's settings."""
    try:
        listed = git_bytes(repository, "config", "--null", "--get-regexp", _COMMANDS)
    except InputError:  # git exits with 1 if there is none
        return {}
    rows = (os.fsdecode(row).partition("\n") for row in listed.split(b"\0") if row)
    return {name: text for name, _, text in rows if _name(name) not in PURE}


def _name(setting: str) -> str:
    return setting.partition(".")[2].rpartition(".")[0]


def _attributes_of_clone(repository: Path) -> Iterator[bytes]:
    """Yield the attributes that stand in no commit."""
    places = [common_folder(repository) / "info" / "attributes"]
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    places.append(Path(home) / "git" / "attributes")
    with contextlib.suppress(InputError):
        places[1] = git_path(repository, "config", "--path", "core.attributesFile")
    for place in places:
        with contextlib.suppress(OSError):
            yield place.read_bytes()
