"""Track the files in a build folder that its own tools made: outputs and by-products.

A file counts as made if it did not exist before the build's tools ran, or if its state on disk
changed since. Its name does not matter. A file that the user put into the folder is an input like
any other.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.files import write_atomic
from sizeguard.base.kept.hash_cache import State, state_of
from sizeguard.builds.build_inputs import Hash

_FILE = ".made.json"
_VERSION = 1
# Tools put temporary files here, away from any project.
_TEMPORARY = ".tmp"


@dataclass(frozen=True, slots=True)
class MadeFiles:
    """Files that earlier builds and this one made in a folder.

    earlier: paths, relative to the folder, that earlier builds made and nothing else changed
    outputs: content hashes, by path, of made files that tools read or that are results
    there: the states of all files before the tools of this build ran, by absolute path
    """

    folder: Path
    earlier: frozenset[str] = frozenset()
    outputs: Mapping[str, str] = field(default_factory=dict)
    there: Mapping[str, State] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        """Return whether a build made the file with this absolute path."""
        inside = self._inside(path)
        if not inside:
            return False
        if inside in self.earlier or inside.startswith(f"{_TEMPORARY}/"):
            return True
        state = state_of(path)
        return state is None or self.there.get(f"{self.folder}/{inside}") != state

    def _inside(self, path: str) -> str:
        """Return a path relative to the folder; empty for a path outside."""
        top = f"{self.folder}/"
        at = os.path.normpath(path) if "/." in path else path
        return at[len(top) :] if at.startswith(top) else ""

    def changed_outputs(self, hash_of: Hash) -> tuple[str, ...]:
        """List outputs that something else changed since; removed outputs are not listed."""
        return tuple(
            path
            for path, content in self.outputs.items()
            if os.path.lexists(at := f"{self.folder}/{path}") and hash_of(at) != content
        )

    def without(self, paths: Iterable[str]) -> MadeFiles:
        """Forget files; they are then inputs, unless this build makes them again."""
        left = frozenset(paths)
        outputs = {path: each for path, each in self.outputs.items() if path not in left}
        return MadeFiles(self.folder, self.earlier - left, outputs, self.there)

    def began(self) -> MadeFiles:
        """Record the states of all existing files, before tools run."""
        return MadeFiles(self.folder, self.earlier, self.outputs, folder_states(self.folder))

    def save(self, outputs: Iterable[str], hash_of: Hash) -> None:
        """Write the record.

        outputs: absolute paths of files to hash; other files are not hashed
        """
        made = sorted(self._inside(path) for path in folder_states(self.folder) if path in self)
        inside = {self._inside(path): path for path in outputs if path in self}
        hashes = {name: hash_of(path) for name, path in inside.items() if state_of(path)}
        text = {"version": _VERSION, "made": made, "outputs": dict(sorted(hashes.items()))}
        write_atomic(self.folder / _FILE, json.dumps(text))


def read_made(folder: Path) -> MadeFiles:
    """Read the record of the made files in a folder; empty if it is missing or damaged."""
    try:
        content = json.loads((folder / _FILE).read_bytes())
        if content["version"] != _VERSION:
            return MadeFiles(folder)
        outputs = {str(path): str(each) for path, each in content["outputs"].items()}
        return MadeFiles(folder, frozenset(map(str, content["made"])), outputs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return MadeFiles(folder)


def temporary_folder(folder: Path) -> Path:
    """Make the empty folder for the temporary files of a build's tools."""
    found = folder / _TEMPORARY
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir()
    return found


def folder_states(folder: Path) -> dict[str, State]:
    """Return the states of all files below a folder, by absolute path."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            state = state_of(path := f"{at}/{name}")
            if state is not None:
                found[path] = state
    return found
