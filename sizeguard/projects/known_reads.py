"""Store the files that the builds of an app read, beside the store of measurements.

Only a change of these files can change the image, even if `inputs` and `ignore` name others. The
set is the union over all builds, so a measurement under a key of this set was made without reading
any other file.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.files import write_atomic
from sizeguard.git.trees import Reads
from sizeguard.toolchains.read_files import ReadFiles

FOLDER = "reads"
_VERSION = 2
_UNKNOWN = "unknown"
_ASKS_GIT = "asks_git"


@dataclass(frozen=True, slots=True)
class KnownReads:
    """The known reads of an app's builds with the same commands.

    folder: shared by all apps; name: depends on the commands
    """

    folder: Path
    name: str

    def get(self) -> Reads | None:
        """Return the files that any build read; None if a build's reads are unknown."""
        found = self._read()
        return (
            Reads(found.files, found.folders, found.asks_git)
            if isinstance(found, ReadFiles)
            else None
        )

    def add(self, read: ReadFiles | None) -> None:
        """Add the files that a build read; None if unknown, which makes the set unknown."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            before = self._read()
            if before == _UNKNOWN:
                return
            content: dict[str, object] = {"version": _VERSION, _UNKNOWN: read is None}
            if read is not None:
                united = read | before if isinstance(before, ReadFiles) else read
                content["files"] = sorted(map(_text, united.files))
                content["folders"] = sorted(map(_text, united.folders))
                content[_ASKS_GIT] = united.asks_git
            write_atomic(self._file, json.dumps(content) + "\n")

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.name}.json"

    def _read(self) -> ReadFiles | str | None:
        """Read the file: a set, _UNKNOWN, or None if nothing was built yet."""
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(content, dict) or content.get("version") != _VERSION:
            return _UNKNOWN
        if content.get(_UNKNOWN) is not False:
            return _UNKNOWN
        files, folders = content.get("files"), content.get("folders")
        if not isinstance(files, list) or not isinstance(folders, list):
            return _UNKNOWN
        return ReadFiles(
            frozenset(map(str, files)),
            frozenset(map(str, folders)),
            content.get(_ASKS_GIT) is not False,
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _text(name: str) -> str:
    """Write a path as git's tree listings do."""
    return name.encode("utf-8", "backslashreplace").decode()
