"""Files in the artifact of a measuring run, which the pull request's own code wrote.

Nothing is written to the disk, and no size, method or name in the archive is trusted.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from pathlib import PurePosixPath

from ci.github.hub_api import Api, Refused, number_of, text_of

ARCHIVE = 8 << 20  # maximum bytes; six builds have 40 KB
FILES = 1_000
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


def newest_archive(api: Api, run: int, name: str) -> bytes:
    """Download the archive of the run's results, the newest one if the run was repeated."""
    newest, size = 0, 0
    for each in api.rows(f"actions/runs/{run}/artifacts?name={name}", "artifacts"):
        number = number_of(each.get("id"))
        if text_of(each.get("name")) == name and not each.get("expired") and number > newest:
            newest, size = number, number_of(each.get("size_in_bytes"))
    if not newest:
        raise Missing(f"run {run} has no artifact {name}: it ended before it measured")
    if size > ARCHIVE:
        raise Refused(f"the artifact has {size:,} bytes, {ARCHIVE:,} are allowed")
    return api.bytes("GET", f"actions/artifacts/{newest}/zip", ARCHIVE)


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
