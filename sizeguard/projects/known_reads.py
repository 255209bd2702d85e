"""Files that the builds of an app were seen to read, kept beside the store of measurements.

A change of other files cannot change the image, whatever `inputs` and `ignore` say; a change of
these can. The sets of all builds are united. So a measurement that is kept under a key of the
united set was made by reading no other file.
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
_VERSION = 1
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class KnownReads:
    """Known reads of an app's builds by the same commands.

    folder: of all apps; name: of the commands
    """

    folder: Path
    name: str

    def get(self) -> Reads | None:
        """Return all that any build read; None if that is not known of each."""
        found = self._read()
        return Reads(found.files, found.folders) if isinstance(found, ReadFiles) else None

    def add(self, read: ReadFiles | None) -> None:
        """Add what a build read; None if it is unknown, which it stays then."""
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
        return ReadFiles(frozenset(map(str, files)), frozenset(map(str, folders)))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _text(name: str) -> str:
    """Write a path as git's listings of a tree do here."""
    return name.encode("utf-8", "backslashreplace").decode()
