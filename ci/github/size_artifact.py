"""Artifacts of a measuring run and their files, which the pull request's own code wrote.

Nothing is written to the disk, and no size, method or name in the archive is trusted.
"""

from __future__ import annotations

import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from ci.github.hub_api import Api, Refused, number_of, text_of
from ci.github.measured_run import ENDS, Run
from ci.results.judged_result import MOST_PARTS

ARCHIVE = 8 << 20  # maximum bytes; six builds have 40 KB
FILES = 1_000
PAGES = "sizeguard-pages"  # name of the artifact; of a matrix, PAGES-PART
PART = re.compile(r"[\w.-]{1,100}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_END = b"PK\x05\x06"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OverflowError,
    MemoryError,
    OSError,
)


class Missing(Refused):
    """The run has no artifact."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a run's artifacts.

    artifact: of a run that measures in one job; the artifacts of several jobs are ARTIFACT-PART
    parts:    of a matrix, the parts that each run has to measure
    """

    artifact: str
    parts: tuple[str, ...] = ()


def archives(api: Api, run: Run, names: Names) -> dict[str, Callable[[], bytes]]:
    """Find the artifacts of a run, by part; each is downloaded by a call, which may raise Refused.

    An expected part without an artifact is there, too. Without expected parts, a run either has one
    artifact or as many as it left.
    """
    if not names.parts:
        found = _newest(api, run, f"?name={names.artifact}")
        if names.artifact in found:
            return {names.artifact: _download(api, run, names.artifact, found)}
    found = _newest(api, run)
    begin = f"{names.artifact}-"
    left = [each.removeprefix(begin) for each in found if each.startswith(begin)]
    parts = list(dict.fromkeys([*names.parts, *filter(PART.fullmatch, left)]))
    if not parts:
        return {names.artifact: _download(api, run, names.artifact, {})}
    if len(parts) > MOST_PARTS:
        return {names.artifact: _too_many}
    return {part: _download(api, run, f"{begin}{part}", found) for part in parts}


def has_pages(api: Api, run: Run, names: Names) -> bool:
    """Return whether the run left pages and snapshots for people."""
    name = f"{PAGES}-{names.parts[0]}" if names.parts else PAGES
    return name in _newest(api, run, f"?name={name}")


_Artifact = tuple[int, int]  # id and size


def _newest(api: Api, run: Run, query: str = "") -> dict[str, _Artifact]:
    """List the artifacts of a run by name, each the newest if jobs were repeated."""
    found: dict[str, _Artifact] = {}
    for each in api.rows(f"actions/runs/{run.id}/artifacts{query}", "artifacts"):
        number, name = number_of(each.get("id")), text_of(each.get("name"))
        if each.get("expired") or _is_of_earlier_attempt(run, text_of(each.get("created_at"))):
            continue
        if number > found.get(name, (0, 0))[0]:
            found[name] = (number, number_of(each.get("size_in_bytes")))
    return found


def _is_of_earlier_attempt(run: Run, created: str) -> bool:
    """Return whether an attempt that was cut short cannot have left an artifact.

    After other ends it may count: jobs that passed are not repeated.
    """
    if run.attempt < 2 or run.conclusion not in ENDS:
        return False
    return bool(_TIME.fullmatch(created) and _TIME.fullmatch(run.started) and created < run.started)


def _download(api: Api, run: Run, name: str, found: Mapping[str, _Artifact]) -> Callable[[], bytes]:
    def read() -> bytes:
        if name not in found:
            raise Missing(f"run {run.id} has no artifact {name}: it ended before it measured")
        number, size = found[name]
        if size > ARCHIVE:
            raise Refused(f"the artifact has {size:,} bytes, {ARCHIVE:,} are allowed")
        return api.bytes("GET", f"actions/artifacts/{number}/zip", ARCHIVE)

    return read


def _too_many() -> bytes:
    raise Refused(f"the run has more than {MOST_PARTS} artifacts with results")


def member(archive: bytes, name: str, limit: int) -> bytes | None:
    """Read one file, at most `limit` bytes, since an archive may state a wrong size.

    Returns None if it is absent. A folder before the name is allowed, since
    actions/upload-artifact keeps folders of several paths; two files of one name are not.

    Raises Refused for an archive that cannot be read.
    """
    at = archive.rfind(_END)
    if at >= 0 and int.from_bytes(archive[at + 10 : at + 12], "little") > FILES:
        raise Refused(f"the artifact has more than {FILES:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            entries = files.infolist()
            if len(entries) > FILES:
                raise Refused(f"the artifact has more than {FILES:,} files")
            found = [each for each in entries if _is_named(each, name)]
            if len(found) > 1:
                raise Refused(f"the artifact has {len(found)} files {name}")
            if not found:
                return None
            (entry,) = found
            if entry.compress_type not in _METHODS or entry.flag_bits & _ENCRYPTED:
                raise Refused(f"{name} in the artifact is not packed as ours are")
            with files.open(entry) as file:
                content = file.read(limit + 1)
    except _UNREADABLE as error:
        raise Refused(f"the artifact cannot be read: {error}") from error
    if len(content) > limit:
        raise Refused(f"{name} in the artifact is larger than {limit:,} bytes")
    return content


def _is_named(entry: zipfile.ZipInfo, name: str) -> bool:
    path = PurePosixPath(entry.filename)
    return path.name == name and not path.is_absolute() and ".." not in path.parts
