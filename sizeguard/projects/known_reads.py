"""Store the files that the builds of an app read, beside the store of measurements.

Only a change of these files can change the image, even if `inputs` and `ignore` name others. The
set is the union over all builds, so a measurement under a key of this set was made without reading
any other file. Before a build has shown its reads, all files count, so that a first build cannot
stand for another commit.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_write, locked, write_atomic
from sizeguard.base.input_files import readable
from sizeguard.git.trees import Reads
from sizeguard.toolchains.links.watched_git import HEAD
from sizeguard.toolchains.read_files import ReadFiles

FOLDER = "reads"
_VERSION = 3
_UNKNOWN = "unknown"
_UNWATCHABLE = "unwatchable"
_ASKS_GIT = "asks_git"
_TAKES_FILES = "takes_files"


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
        if found == _UNWATCHABLE:
            return Reads(frozenset(), unwatchable=True)
        if not isinstance(found, ReadFiles):
            return None
        asks_git = found.asks_git or HEAD in found.files  # that of the checkout
        return Reads(found.files, asks_git, found.takes_files)

    def add(self, read: ReadFiles | None) -> None:
        """Add the files that a build read; None if unknown, which makes the set unknown."""
        self._put(lambda before: self._united(before, read))

    def add_unwatchable(self) -> None:
        """Add a build whose reads the file system does not record."""
        self._put(lambda before: _UNKNOWN if before == _UNKNOWN else _UNWATCHABLE)

    @staticmethod
    def _united(before: ReadFiles | str | None, read: ReadFiles | None) -> ReadFiles | str:
        if read is None:
            return _UNKNOWN
        if isinstance(before, str):
            return before
        return read | before if before is not None else read

    def _put(self, change: Callable[[ReadFiles | str | None], ReadFiles | str]) -> None:
        """Write what `change` makes of the stored set."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        with self._locked():
            before = self._read()
            after = change(before)
            if after == before:
                return
            content: dict[str, object] = {"version": _VERSION}
            if isinstance(after, str):
                content[after] = True
            else:
                content["files"] = sorted(map(_text, after.files))
                content[_ASKS_GIT] = after.asks_git
                content[_TAKES_FILES] = after.takes_files
            write_atomic(self._file, json.dumps(content) + "\n")

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.name}.json"

    def _read(self) -> ReadFiles | str | None:
        """Read the file: a set, _UNKNOWN, _UNWATCHABLE, or None if nothing was built yet."""
        try:
            return _parsed(readable(self._file).read_bytes())
        except (InputError, OSError, ValueError):
            return None

    def _locked(self) -> AbstractContextManager[None]:
        return locked(readable(self.folder / ".lock"))


# A gate reads each file about ten times, and nearly always finds what it found before.
@functools.lru_cache(1024)
def _parsed(data: bytes) -> ReadFiles | str | None:
    """Parse a file's bytes, as _read returns them. Raises ValueError."""
    content = json.loads(data.decode("utf-8"))
    if not isinstance(content, dict) or content.get("version") != _VERSION:
        return None
    if content.get(_UNWATCHABLE) is True and _UNKNOWN not in content:
        return _UNWATCHABLE
    files = content.get("files")
    if not isinstance(files, list):
        return _UNKNOWN
    return ReadFiles(
        frozenset(map(str, files)),
        content.get(_ASKS_GIT) is not False,
        content.get(_TAKES_FILES) is not False,
    )


def _text(name: str) -> str:
    """Write a path as git's tree listings do."""
    return name.encode("utf-8", "backslashreplace").decode()
