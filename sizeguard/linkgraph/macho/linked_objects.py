"""Read the Mach-O objects of a link, and the members of archives that they need."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.formats.archive import read_archive
from sizeguard.formats.macho import parse_macho_file
from sizeguard.formats.macho.constants import (
    CPU_ARM64,
    CPU_X86_64,
    N_EXT,
    N_SECT,
    N_STAB,
    N_TYPE,
    N_WEAK_DEF,
)
from sizeguard.formats.macho.image import MachO
from sizeguard.linkgraph.inputs.link_inputs import kind_of
from sizeguard.linkgraph.macho.atoms import Atoms


@dataclass(slots=True, eq=False)
class LinkedObject:
    """An object of a link, or a member of an archive.

    label:     its path, with the member's name for a member
    names:     of all its symbols, in the order of the symbol table
    first:     node of its first atom in the graph
    defined:   index, name and weakness of each global symbol that it defines
    undefined: names of the symbols that it needs
    """

    label: str
    image: MachO
    atoms: Atoms
    names: list[bytes]
    first: int = 0
    defined: list[tuple[int, bytes, bool]] = field(default_factory=list)
    undefined: list[bytes] = field(default_factory=list)


def load_objects(files: Sequence[Path], asked: list[bytes]) -> Iterator[LinkedObject]:
    """Yield the objects in order, then the members that define a symbol that is still needed.

    asked: symbols that are needed from the start
    """
    objects: list[LinkedObject] = []
    lazy: dict[bytes, LinkedObject] = {}
    for path in files:
        if kind_of(path) == "archive":
            for member_name, data in read_archive(path):
                found = _read(f"{path}({member_name})", np.frombuffer(data, np.uint8))
                for _, symbol, _ in found.defined:
                    lazy.setdefault(symbol, found)
        else:
            objects.append(_read(str(path), np.frombuffer(readable(path).read_bytes(), np.uint8)))
    waiting = deque([*asked, *(name for found in objects for name in found.undefined)])
    known = {name for found in objects for _, name, _ in found.defined}
    while waiting:
        name = waiting.popleft()
        member = lazy.get(name)
        if name not in known and member is not None:
            objects.append(member)
            known.update(symbol for _, symbol, _ in member.defined)
            waiting.extendleft(reversed(member.undefined))
    yield from objects


def _read(label: str, data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> LinkedObject:
    image = parse_macho_file(Path(label), data)
    if not isinstance(image, MachO) or not image.is_object:
        raise InputError(f"{label}: not a relocatable Mach-O object")
    if image.cpu not in (CPU_X86_64, CPU_ARM64):
        raise InputError(f"{label}: section graphs support only x86_64 and arm64 objects")
    names = image.symbols.raw_names()
    found = LinkedObject(label, image, Atoms(label, image, names), names)
    for i, (kind, description) in enumerate(
        zip(image.symbols.type.tolist(), image.symbols.description.tolist(), strict=True)
    ):
        if kind & N_STAB or not kind & N_EXT:
            continue
        if kind & N_TYPE == N_SECT:
            found.defined.append((i, found.names[i], bool(description & N_WEAK_DEF)))
        elif kind & N_TYPE == 0:
            found.undefined.append(found.names[i])
    return found
