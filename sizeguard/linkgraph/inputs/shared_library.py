"""Shared libraries as a linker reads them: symbols that they define and symbols they request."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.formats.elf import SHT_GNU_VERDEF, SHT_GNU_VERSYM, STB_WEAK, Elf, read_elf
from sizeguard.linkgraph.inputs.objects import names_of


@dataclass(slots=True, eq=False)
class Library:
    """Dynamic symbols that a plain name can mean.

    foo@V is a different symbol from foo; foo@@V is the same. `versions` maps defined names to their
    versions.
    """

    defined: list[bytes]
    undefined: list[bytes]
    undefined_weak: list[bytes]
    versions: dict[bytes, str]


def read_library(path: Path, machine: str) -> Library:
    """Read a shared library. Raises InputError if its machine differs from that of the objects."""
    elf = read_elf(path)
    if machine and elf.machine != machine:
        raise InputError(f"{path}: a library for {elf.machine}, the objects are for {machine}")
    found = Library([], [], [], {})
    for table in elf.dynamic_symbols:
        version = _versions(elf, len(table))
        undefined = (table.section == 0) & (version & 0x7FFF <= 1)
        for names, chosen in (
            (found.defined, (table.section != 0) & (version & 0x8000 == 0) & (version != 0)),
            (found.undefined, undefined & (table.binding != STB_WEAK)),
            (found.undefined_weak, undefined & (table.binding == STB_WEAK)),
        ):
            rows = np.flatnonzero(chosen & (table.binding != 0))
            names += names_of(table, rows)
            if names is found.defined:
                texts = version_names(elf)
                numbers = (version[rows] & 0x7FFF).tolist()
                found.versions.update(
                    (name, texts.get(n, "")) for name, n in zip(names, numbers, strict=True)
                )
    return found


def version_names(elf: Elf) -> dict[int, str]:
    """Map the numbers of the versions that a library defines to their names (.gnu.version_d)."""
    found: dict[int, str] = {}
    for section in elf.sections:
        if section.type == SHT_GNU_VERDEF and section.link < len(elf.sections):
            content, names = elf.content(section), elf.content(elf.sections[section.link])
            position = 0
            for _ in range(section.info):
                if position + 20 > len(content):
                    break
                _, _, number, _, _, first, following = struct.unpack_from(
                    elf.layout.order + "HHHHIII", content, position
                )
                if position + first + 4 <= len(content):
                    (name,) = struct.unpack_from(elf.layout.order + "I", content, position + first)
                    found[number] = names[name : names.find(b"\0", name)].decode(
                        "utf-8", "backslashreplace"
                    )
                if following == 0:
                    break
                position += following
    return found


def _versions(elf: Elf, count: int) -> npt.NDArray[np.uint16]:
    """Return the version numbers of the dynamic symbols: 0 for local symbols, 1 without a version.

    The bit 0x8000 marks a symbol that is only reached by its full name.
    """
    for section in elf.sections:
        if section.type == SHT_GNU_VERSYM and section.size == 2 * count:
            found: npt.NDArray[np.uint16] = np.frombuffer(
                elf.content(section), elf.layout.order + "u2"
            )
            return found
    return np.ones(count, np.uint16)
