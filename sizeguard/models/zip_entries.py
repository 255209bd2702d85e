"""Read the entries of a .pt2 file, an uncompressed zip, by their names below its top folder."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import lacks_zip_list, readable
from sizeguard.models.json_fields import Json

MAXIMUM_JSON = 1 << 29  # bytes
MAXIMUM_ENTRIES = 1 << 20

# What zipfile raises for a damaged archive.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
    OverflowError,
)


@dataclass(frozen=True, slots=True)
class Pt2Archive:
    """An open .pt2 file.

    names: entry below the top folder → entry
    """

    path: Path
    file: zipfile.ZipFile
    names: dict[str, zipfile.ZipInfo]

    def read(self, name: str) -> bytes:
        """Read the bytes of an entry.

        Raises InputError if it is missing or damaged.
        """
        info = self.names.get(name)
        if info is None:
            raise InputError(f"{self.path}: the entry {name} is missing")
        try:
            return self.file.read(info)
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot read: {error.strerror or 'truncated'}"
            ) from error
        except ZIP_ERRORS as error:
            raise InputError(
                f"{self.path}: the entry {name} is damaged: {_one_line(error)}"
            ) from error

    def read_json(self, name: str) -> Json:
        """Read and decode a JSON entry.

        Raises InputError if it is missing, too large or not JSON.
        """
        info = self.names.get(name)
        if info is not None and info.file_size > MAXIMUM_JSON:
            raise InputError(
                f"{self.path}: {name} has {info.file_size} bytes; at most {MAXIMUM_JSON} are read"
            )
        try:
            return Json(json.loads(self.read(name)), f"{self.path}: {name}")
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path}: {name} is not JSON: {_one_line(error)}") from error


def open_archive(path: Path) -> Pt2Archive:
    """Open a .pt2 file; the caller closes `file`.

    Raises InputError if it is not such an archive.
    """
    try:
        size = path.stat().st_size
        file = zipfile.ZipFile(readable(path))
    except OSError as error:
        raise cannot_read(path, error) from error
    except ZIP_ERRORS as error:
        why = _one_line(error)
        more = f": {why}"
        if lacks_zip_list(error):
            with readable(path).open("rb") as begun:
                is_begun = begun.read(4) == b"PK\x03\x04"
            more = ", or the file is truncated" if is_begun else ""
        raise InputError(f"{path}: not a .pt2 file: not a zip archive{more}") from error
    try:
        return Pt2Archive(path, file, _entries(path, file, size))
    except InputError:
        file.close()
        raise


def _entries(path: Path, file: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    infos = file.infolist()
    if len(infos) > MAXIMUM_ENTRIES:
        raise InputError(f"{path}: {len(infos)} entries, too many for a model")
    names: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        top, slash, name = info.filename.partition("/")
        if not slash or top != infos[0].filename.partition("/")[0]:
            raise InputError(
                f"{path}: not a .pt2 file: {info.filename!r} is not in its one top folder"
            )
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise InputError(
                f"{path}: the entry {info.filename!r} is compressed or encrypted; torch.export.save"
                " writes it plain"
            )
        if name in names:
            raise InputError(f"{path}: the entry {info.filename!r} is given twice")
        names[name] = info
    # With overlapping entries, a small file could expand into a huge one.
    if sum(info.file_size for info in infos) > size:
        raise InputError(f"{path}: its entries have more bytes than the file")
    return names


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:100]
