"""Read names and functions of PE and COFF files: symbol records, exports and unwind tables."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.pe.layout import (
    DELAYED_IMPORTS,
    EXCEPTIONS,
    EXPORTS,
    IMPORTS,
    PeLayout,
    PeSection,
    string_table,
)
from sizeguard.formats.sectioned import CodeExtent

_EXPORT_TABLE = 40  # bytes
_MOST_EXPORTS = 1 << 20
_MOST_LIBRARIES = 4096
_MOST_NAME = 8 << 10
# Storage classes of symbols that name bytes: external, static, label, weak external.
_EXTERNAL, _STATIC, _LABEL, _WEAK = 2, 3, 6, 105
_FUNCTION = 0x20  # the type of a function
_FUNCTION_BITS = {"arm64": 4, "armv7": 2, "arm": 2}  # bytes of a unit of FunctionLength


@dataclass(frozen=True, slots=True)
class PlacedName:
    """A name for an address; section: index for symbols of objects, else -1."""

    address: int
    name: bytes
    section: int = -1


@dataclass(frozen=True, slots=True)
class _Symbol:
    """A symbol record for a section of the file; more: its first further record, or nothing."""

    name: bytes
    value: int
    section: PeSection
    index: int
    kind: int
    storage: int
    more: bytes

    @property
    def is_section(self) -> bool:
        """Return whether it stands for the bytes that one object adds to a section."""
        return self.storage == _STATIC and bool(self.more) and self.kind != _FUNCTION


def symbol_names(layout: PeLayout) -> Iterator[PlacedName]:
    """Yield the symbol records that name bytes of a section.

    Section symbols and compilers' own marks are left out.
    """
    for symbol in _symbols(layout):
        name = symbol.name
        if symbol.storage not in (_EXTERNAL, _STATIC, _LABEL, _WEAK):
            continue
        if symbol.is_section and symbol.value == 0:
            continue
        if not name or name[:1] in (b".", b"$") or name[:2] == b"L$":
            continue
        if layout.is_object:
            yield PlacedName(symbol.value, name, symbol.index)
        elif symbol.value < symbol.section.memory:
            yield PlacedName(symbol.section.address + symbol.value, name)


def added_pieces(layout: PeLayout) -> Iterator[CodeExtent]:
    """Yield the address ranges that objects added to an image's sections, as GNU ld lists them.

    No name extends beyond the range that it is in.
    """
    if layout.is_object:
        return
    for symbol in _symbols(layout):
        if symbol.is_section and symbol.name[:1] == b"." and symbol.value < symbol.section.memory:
            start = symbol.section.address + symbol.value
            yield CodeExtent(start, start + int.from_bytes(symbol.more[:4], "little"))


def _symbols(layout: PeLayout) -> Iterator[_Symbol]:
    start, count, width = layout.symbols
    if not start or not count:
        return
    count = min(count, (len(layout.data) - start) // width)
    records = layout.data[start : start + count * width].tobytes()
    low, high = string_table(layout)
    strings = layout.data[low:high].tobytes()
    form = struct.Struct("<8sIhHBB" if width == 18 else "<8sIiHBB")
    at = 0
    while at < count:
        raw, value, section, kind, storage, more = form.unpack_from(records, at * width)
        after = (at + 1) * width
        at += 1 + more
        if 0 < section <= len(layout.sections):
            name = _string(raw, strings)
            further = records[after : after + width] if more else b""
            place = layout.sections[section - 1]
            yield _Symbol(name, value, place, section - 1, kind, storage, further)


def _string(raw: bytes, strings: bytes) -> bytes:
    if raw[:4] != b"\0\0\0\0":
        return raw.rstrip(b"\0")
    offset = int.from_bytes(raw[4:], "little")
    end = strings.find(b"\0", offset, offset + _MOST_NAME)
    return strings[offset : end if end >= 0 else offset + _MOST_NAME] if offset >= 4 else b""


def exports(layout: PeLayout) -> Iterator[PlacedName]:
    """Yield the exported functions and data, without forwarders.

    An export without a name is called by its number.
    """
    address, size = layout.directory(EXPORTS)
    table = _export_table(layout)
    if len(table) < _EXPORT_TABLE:
        return
    base, _, names, _, at_names, at_numbers = struct.unpack_from("<IIIIII", table, 16)
    names = min(names, _MOST_EXPORTS)
    called: dict[int, bytes] = {}
    numbers = _numbers(layout.at(at_numbers, 2 * names), "<u2")
    for number, place in zip(
        numbers, _numbers(layout.at(at_names, 4 * names), "<u4"), strict=False
    ):
        called.setdefault(number, layout.at(place, 4096).split(b"\0")[0])
    for number, place in enumerate(_exported(layout, table)):
        if place and not address <= place < address + size:
            yield PlacedName(place, called.get(number) or f"#{base + number}".encode())


def _export_table(layout: PeLayout) -> bytes:
    """Return the head of the export directory; empty without one."""
    address, size = layout.directory(EXPORTS)
    return layout.at(address, _EXPORT_TABLE) if size else b""


def _exported(layout: PeLayout, table: bytes) -> list[int]:
    """Return the addresses of all exports; a forwarder's is that of a text in the directory."""
    (functions,), (at,) = struct.unpack_from("<I", table, 20), struct.unpack_from("<I", table, 28)
    return _numbers(layout.at(at, 4 * min(functions, _MOST_EXPORTS)), "<u4")


def _forwarded_to(layout: PeLayout) -> Iterator[str]:
    """Yield the DLLs that exports are forwarded to: `other.f` is f of other.dll."""
    address, size = layout.directory(EXPORTS)
    table = _export_table(layout)
    if len(table) < _EXPORT_TABLE:
        return
    texts = {
        layout.at(place, 512).split(b"\0")[0]
        for place in _exported(layout, table)
        if address <= place < address + size
    }
    for module in {text.rpartition(b".")[0] for text in texts} - {b""}:
        name = module.decode("utf-8", "backslashreplace")
        yield name if "." in name else f"{name}.dll"


def _numbers(raw: bytes, kind: str) -> list[int]:
    width = np.dtype(kind).itemsize
    found: list[int] = np.frombuffer(raw[: len(raw) // width * width], kind).tolist()
    return found


def functions(layout: PeLayout) -> list[CodeExtent]:
    """Return the functions that the exception directory lists, by address."""
    address, size = layout.directory(EXCEPTIONS)
    raw = layout.at(address, size) if size else b""
    if layout.arch == "x86_64":
        rows = np.frombuffer(raw[: len(raw) // 12 * 12], "<u4").reshape(-1, 3)
        return [CodeExtent(low, high) for low, high in rows[:, :2].tolist() if low < high]
    unit = _FUNCTION_BITS.get(layout.arch, 0)
    if not unit:
        return []
    rows = np.frombuffer(raw[: len(raw) // 8 * 8], "<u4").reshape(-1, 2)
    found = []
    for start, word in rows.tolist():
        if word & 3:
            length = (word >> 2) & 0x7FF
        else:
            length = int.from_bytes(layout.at(word, 4), "little") & 0x3FFFF
        begin = start & ~1 if unit == 2 else start  # the lowest bit means Thumb
        if begin and length:
            found.append(CodeExtent(begin, begin + length * unit))
    return found


def libraries(layout: PeLayout) -> tuple[str, ...]:
    """Return the names of the DLLs that the loader also loads, at once or later, sorted.

    It loads a DLL that exports are forwarded to if a program imports one of them.
    """
    imported = _library_names(layout, IMPORTS, row=20, name=12)
    delayed = _library_names(layout, DELAYED_IMPORTS, row=32, name=4)
    return tuple(sorted({*imported, *delayed, *_forwarded_to(layout)} - {""}))


def _library_names(layout: PeLayout, directory: int, row: int, name: int) -> Iterator[str]:
    """Yield the names of the DLLs in an import directory.

    row: bytes of an entry; name: offset of the address of the DLL's name in it
    """
    address, size = layout.directory(directory)
    for i in range(_MOST_LIBRARIES if size else 0):
        entry = layout.at(address + row * i, row)
        if len(entry) < row or not any(entry):
            break
        at = int.from_bytes(entry[name : name + 4], "little")
        yield layout.at(at, 512).split(b"\0")[0].decode("utf-8", "backslashreplace")
