"""Record the links of a build while it runs.

    with Recording(folder) as recording:
        subprocess.run(command, env=recording.environment(os.environ))
    recording.result.links  # also after a failed build, those that were made

A recipe that runs its build in its own way follows this example. Begin before the build, and give
the build `environment(...)`. Leave the block when the build and all its child processes have ended.
`record_build` does this for a plain command. The records are in `folder`, where `find_record` of
sizeguard/builds/recorded_links.py and the commands find them by the image.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_write, locked
from sizeguard.builds.link_record import LinkRecord
from sizeguard.builds.recorded_links import COPIES, write_records
from sizeguard.toolchains.links.preload import preload_library
from sizeguard.toolchains.links.raw_links import linker_version, raw_links, record_of
from sizeguard.toolchains.links.wrappers import WRAPPER, wrapper_folders

_FOLDER, _SINCE, _WRAPPER = (
    "SIZEGUARD_LINKS",
    "SIZEGUARD_LINKS_SINCE",
    "SIZEGUARD_LINKS_WRAPPER",
)
_PRELOAD = "LD_PRELOAD"
# The kernel stamps files with the time of its last tick, which is up to 10 ms ago (CONFIG_HZ=100).
# Twice that, so that no file of the build seems older than the recording.
_TICKS_NS = 20_000_000


@dataclass(frozen=True, slots=True)
class RecordedLinks:
    """Result of a recording.

    links:  the records, one for each output, in the order in which the links ended
    files:  the file of each
    failed: number of linker runs that failed or were stopped
    """

    links: tuple[LinkRecord, ...] = ()
    files: tuple[Path, ...] = ()
    failed: int = 0


class Recording:
    """Record the links of a build, from `with` to the end of the block.

    folder:   where the records are stored
    cache:    folder of the preloaded library; None for the user's cache
    wrappers: whether to use wrappers instead of the preloaded library
    """

    def __init__(self, folder: Path, *, cache: Path | None = None, wrappers: bool = False) -> None:
        """Prepare a recording; nothing is written before it begins."""
        self.folder = Path(os.path.abspath(folder))  # noqa: PTH100  (links stay as they are)
        self.library = None if wrappers else preload_library(cache)
        self.result = RecordedLinks()
        self._raw: Path | None = None
        self._since = 0

    def __enter__(self) -> Recording:
        """Begin. Raises InputError if the folder cannot be written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._raw = Path(tempfile.mkdtemp(prefix="raw-", dir=self.folder))
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        self._raw.chmod(0o777 & ~_mask())  # a build may run as another user
        (self._raw / "links").mkdir()
        self._since = time.clock_gettime_ns(time.CLOCK_REALTIME) - _TICKS_NS
        return self

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for the build: `given`, and variables that make linkers record."""
        if self._raw is None:
            raise ValueError("the recording has not begun")
        found = {
            **given,
            _FOLDER: str(self._raw / "links"),
            _SINCE: str(self._since),
            _WRAPPER: str(WRAPPER),
        }
        if self.library is not None:
            before = given.get(_PRELOAD, "")
            found[_PRELOAD] = f"{self.library}:{before}" if before else str(self.library)
            return found
        return found | wrapper_folders(self._raw, given)

    def __exit__(self, *_: object) -> None:
        """End: write the records of all successful links."""
        if self._raw is None:
            return
        try:
            self.result = self._collected(self._raw)
        finally:
            shutil.rmtree(self._raw, ignore_errors=True)
            self._raw = None

    def _collected(self, raw: Path) -> RecordedLinks:
        versions: dict[tuple[str, str], str] = {}
        records: dict[Path, LinkRecord] = {}
        failed = 0
        with locked(self.folder / ".lock"):  # one recording at a time writes there
            for link in raw_links(raw / "links"):
                if link.code != 0:
                    failed += 1
                    continue
                program = (link.program, link.words[0])
                if program not in versions:
                    versions[program] = linker_version(link)
                record = record_of(link, self.folder / COPIES, versions[program])
                if record is not None and record.output is not None:
                    records.pop(record.output, None)
                    records[record.output] = record
            files = write_records(self.folder, records.values())
        return RecordedLinks(tuple(records.values()), tuple(files), failed)


@dataclass(frozen=True, slots=True)
class RecordedBuild:
    """The exit code of a recorded build (as in subprocess), and its links."""

    code: int
    links: RecordedLinks


def record_build(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    records: Path,
    *,
    wrappers: bool,
) -> RecordedBuild:
    """Run a build command and record its links.

    folder:      working directory of the command
    environment: whole environment of the build
    records:     folder of the records
    wrappers:    as in Recording

    Raises InputError if the command cannot be started.
    """
    recording = Recording(records, wrappers=wrappers)
    with recording:
        try:
            process = subprocess.Popen(command, cwd=folder, env=recording.environment(environment))
        except OSError as error:
            raise InputError(f"{command[0]}: cannot be started: {error.strerror}") from error
        code = _wait(process)
    return RecordedBuild(code, recording.result)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for a build. It receives an interrupt, too, and may clean up before it ends."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise


def _mask() -> int:
    """Return the process's umask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
