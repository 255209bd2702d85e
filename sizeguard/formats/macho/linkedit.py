"""Read __LINKEDIT: function starts, exports, and the symbols of pointers and stubs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Int
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.uleb import UlebReader, read_ulebs

EXPORT_REEXPORT, EXPORT_STUB_AND_RESOLVER = 0x08, 0x10
# The names of a trie of n bytes may take n² / 8 bytes. Those of real tries take less than ten times
# the trie.
_MOST_NAME_BYTES = 256


def function_starts(image: MachO) -> Int:
    """Return the addresses of functions, ascending. Stripping keeps them.

    Raises InputError for a damaged table.
    """
    try:
        deltas = read_ulebs(image.part("function starts"))
    except ValueError as error:
        raise InputError(f"{image.path}: damaged function starts: {error}") from error
    end = np.flatnonzero(deltas == 0)  # the table ends with a 0, followed by zeros
    deltas = deltas[: end[0]] if len(end) else deltas
    reach = max((s.address + s.memory_size for s in image.segments), default=0) - image.base
    # Deltas are below 2^63, and their sum must not exceed the image; a float finds that without
    # wrapping around.
    if len(deltas) and float(deltas.astype(np.float64).sum()) > reach:
        raise InputError(f"{image.path}: damaged function starts: a function outside the image")
    starts = np.cumsum(deltas) + image.base
    return starts & -2 if image.cpu == c.CPU_ARM else starts  # the lowest bit means Thumb


@dataclass(frozen=True, slots=True)
class Export:
    """An exported symbol: its address; 0 if it is re-exported from another library."""

    name: str
    address: int
    flags: int


def exports(image: MachO) -> Iterator[Export]:
    """Yield the exports of the trie, in its order. Raises InputError for a damaged trie."""
    trie = image.part("exports trie").tobytes()
    if not trie:
        return
    damaged = f"{image.path}: a damaged exports trie"
    left = _MOST_NAME_BYTES * len(trie)
    seen = set()
    stack = [(0, b"")]
    try:
        while stack:
            node, prefix = stack.pop()
            if node in seen:
                raise InputError(f"{damaged}: two paths to the node at {node}")
            seen.add(node)
            left -= len(prefix)
            if left < 0:
                raise InputError(f"{damaged}: names of more than {_MOST_NAME_BYTES} times its size")
            reader = UlebReader(trie, node)
            size = reader.uleb()
            children = reader.position + size
            if size:
                flags = reader.uleb()
                address = 0 if flags & EXPORT_REEXPORT else image.base + reader.uleb()
                yield Export(prefix.decode("utf-8", "backslashreplace"), address, flags)
            reader.position = children
            below = []
            for _ in range(reader.byte()):
                label = reader.text()
                below.append((reader.uleb(), prefix + label))
            stack.extend(reversed(below))
    except (IndexError, ValueError) as error:
        raise InputError(f"{damaged}: a node is truncated") from error


@dataclass(frozen=True, slots=True)
class Slots:
    """The entries of a section with stubs or pointers; size: bytes of an entry.

    symbol: an index into MachO.symbols; -1 for none.
    """

    section: Section
    size: int
    symbol: Int


_POINTER_TYPES = (
    c.S_NON_LAZY_SYMBOL_POINTERS,
    c.S_LAZY_SYMBOL_POINTERS,
    c.S_LAZY_DYLIB_SYMBOL_POINTERS,
    c.S_THREAD_LOCAL_VARIABLE_POINTERS,
)


def slots(image: MachO) -> Iterator[Slots]:
    """Yield the slots of each section whose entries are in the indirect symbol table.

    Entries outside the table have no symbol.
    """
    for section in image.sections:
        if section.type == c.S_SYMBOL_STUBS:
            size = section.reserved2
        elif section.type in _POINTER_TYPES:
            size = image.pointer_size
        else:
            continue
        if not size:
            continue
        first = min(section.reserved1, len(image.indirect))
        symbols = image.indirect[first : first + section.file_size // size].astype(np.int64)
        known = symbols < len(image.symbols)
        yield Slots(section, size, np.where(known, symbols, -1))
