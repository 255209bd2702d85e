"""Recognize a file's format by its first bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sizeguard.base.files import cannot_read, is_there
from sizeguard.base.input_files import readable, recognizable
from sizeguard.formats.magics import ARCHIVE as ARCHIVE
from sizeguard.formats.magics import BITCODE as BITCODE
from sizeguard.formats.magics import COFF as COFF
from sizeguard.formats.magics import CONTAINERS as CONTAINERS
from sizeguard.formats.magics import DEBIAN as DEBIAN
from sizeguard.formats.magics import ELF as ELF
from sizeguard.formats.magics import HEAD as HEAD
from sizeguard.formats.magics import IMAGES as IMAGES
from sizeguard.formats.magics import MACHO as MACHO
from sizeguard.formats.magics import MACHO_MAGICS as MACHO_MAGICS
from sizeguard.formats.magics import MEMBER as MEMBER
from sizeguard.formats.magics import PE as PE
from sizeguard.formats.magics import THIN_MAGIC
from sizeguard.formats.magics import UNKNOWN as UNKNOWN
from sizeguard.formats.magics import WASM as WASM
from sizeguard.formats.magics import ZIP as ZIP
from sizeguard.formats.magics import format_of as format_of
from sizeguard.formats.magics import is_fat as is_fat
from sizeguard.formats.magics import is_macho as is_macho


def image_format(path: Path) -> str:
    """Return elf, macho, pe, coff, wasm, archive, deb, zip, bitcode or unknown.

    macho includes universal binaries, archive includes thin archives. A member of a container
    (app.zip!lib/x.so) is unpacked when its format is first requested.

    Raises InputError if the file cannot be read.
    """
    if names_member(path):
        # The import takes 9 ms, and plain files do not need it.
        from sizeguard.formats.containers.member_files import unpack_member

        unpack_member(path)
    try:
        with recognizable(path).open("rb") as file:
            head = file.read(HEAD)
            size = file.seek(0, 2) if head[:1] and format_of(head) == UNKNOWN else len(head)
    except OSError as error:
        raise cannot_read(path, error) from error
    format_ = format_of(head, size)
    if format_ != UNKNOWN:
        readable(path)
    return format_


def is_thin(path: Path) -> bool:
    """Return whether a file is an archive whose members are other files."""
    with readable(path).open("rb") as file:
        return file.read(len(THIN_MAGIC)) == THIN_MAGIC


def names_member(path: Path) -> bool:
    """Check for a path such as app.zip!lib/x.so that is not itself a file."""
    return MEMBER in str(path) and not is_there(path)


def spelling_of_files(format_: str) -> Callable[[str], str]:
    """Return the function that makes equal file names equal for images of a format.

    Windows, whose images are PE files, ignores case.
    """
    return str.casefold if format_ == PE else str
