"""Read PE images and COFF objects as parts with named ranges."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path

from sizeguard.columns.texts import Bytes
from sizeguard.formats.mapped import mapped
from sizeguard.formats.pe.layout import (
    CERTIFICATES,
    DEBUG,
    LNK_INFO,
    LNK_REMOVE,
    MEM_DISCARDABLE,
    MEM_WRITE,
    PeLayout,
    PeSection,
    read_layout,
    string_table,
)
from sizeguard.formats.pe.symbols import (
    PlacedName,
    added_pieces,
    exports,
    functions,
    libraries,
    symbol_names,
)
from sizeguard.formats.sectioned import (
    CodeExtent,
    FilePart,
    NamedPart,
    SectionedImage,
    Start,
    ranges_of,
)

_KINDS = (
    (".pdata", "unwind"),
    (".xdata", "unwind"),
    (".eh_frame", "unwind"),
    (".gcc_except", "exception table"),
    (".debug", "debug"),
    (".zdebug", "debug"),
    (".stab", "debug"),
    (".reloc", "relocation"),
    (".idata", "import"),
    (".didat", "import"),
    (".edata", "exports"),
    (".drectve", "other"),
    (".llvm_addrsig", "other"),
    (".CRT", "initializer"),
    (".ctors", "initializer"),
)


def read_pe(path: Path) -> SectionedImage:
    """Read an image or an object.

    load: bytes of sections that are both in the file and in memory, without debug information and
    sections that linkers remove. ram: the writable sections.

    Raises InputError for a damaged file.
    """
    return parse_pe(path, mapped(path, "PE"))


def parse_pe(path: Path, data: Bytes) -> SectionedImage:
    """Parse bytes as read_pe does; path appears in messages."""
    layout = read_layout(path, data)
    parts = [FilePart("(headers)", "", "header", 0, layout.headers)]
    first = len(parts)
    parts += [_part(layout, section) for section in layout.sections]
    ranges = list(_ranges(layout, parts, first))
    parts += _tables(layout)
    return SectionedImage(
        path,
        "coff" if layout.is_object else "pe",
        layout.arch,
        _debug_id(layout),
        len(data),
        tuple(parts),
        tuple(ranges),
        None if layout.is_object else libraries(layout),
        layout.is_object,
        data,
    )


def kind_of(section: PeSection) -> str:
    """Return the kind of a section's bytes, by its name, then by its flags."""
    for prefix, kind in _KINDS:
        if section.name.startswith(prefix):
            return kind
    if section.is_code:
        return "code"
    if section.is_zeros:
        return "zero"
    if section.flags & (LNK_INFO | LNK_REMOVE):
        return "other"
    return "data" if section.flags & MEM_WRITE else "rodata"


def _part(layout: PeLayout, section: PeSection) -> FilePart:
    kind = kind_of(section)
    unused = section.flags & (LNK_INFO | LNK_REMOVE)
    # .reloc is discardable, too, but the loader reads it.
    is_loaded = (
        not unused
        and kind != "debug"
        and not (layout.is_object and section.flags & MEM_DISCARDABLE)
    )
    memory = section.memory if is_loaded else 0
    return FilePart(
        section.name,
        "",
        kind,
        section.offset,
        section.size,
        section.address,
        memory,
        min(section.size, memory),
        bool(section.flags & MEM_WRITE) and is_loaded,
    )


def _ranges(layout: PeLayout, parts: list[FilePart], first: int) -> Iterator[NamedPart]:
    """Yield the ranges of all sections, section by section."""
    named = _by_section(layout, [*symbol_names(layout), *exports(layout)])
    code = sorted(functions(layout), key=lambda f: f.start)
    begins = [f.start for f in code]
    edges = sorted({edge for piece in added_pieces(layout) for edge in (piece.start, piece.end)})
    for index, section in enumerate(layout.sections):
        part = parts[first + index]
        starts = named.get(index, [])
        low = bisect_left(begins, section.address)
        high = bisect_left(begins, section.address + section.memory)
        inside = [
            CodeExtent(f.start - section.address, f.end - section.address)
            for f in (code[low:high] if section.is_code else ())
        ]
        if starts or inside:
            room = min(part.room, section.memory or part.room)
            low = bisect_left(edges, section.address)
            high = bisect_left(edges, section.address + section.memory)
            stops = [edge - section.address for edge in edges[low:high]]
            yield from ranges_of(first + index, room, starts, inside, section.address, stops)


def _by_section(layout: PeLayout, named: list[PlacedName]) -> dict[int, list[Start]]:
    """Return the names in each section, by offset."""
    found: dict[int, list[Start]] = {}
    order = sorted(range(len(layout.sections)), key=lambda i: layout.sections[i].address)
    addresses = [layout.sections[i].address for i in order]
    is_open = not layout.symbols.records
    is_thumb = layout.arch in ("arm", "armv7")  # exports of functions have the lowest bit set
    for name in named:
        if layout.is_object:
            found.setdefault(name.section, []).append(Start(name.address, name.name))
            continue
        at = bisect_right(addresses, name.address) - 1
        section = layout.sections[order[at]] if at >= 0 else None
        if section is not None and name.address < section.address + section.memory:
            offset = name.address - section.address
            offset -= offset & 1 & (is_thumb and section.is_code)
            start = Start(offset, name.name, is_open)
            found.setdefault(order[at], []).append(start)
    return found


def _tables(layout: PeLayout) -> Iterator[FilePart]:
    """Yield the parts outside sections: symbols, strings, signatures, and bytes at the end."""
    size = len(layout.data)
    taken = [(0, layout.headers), *((s.offset, s.offset + s.size) for s in layout.sections)]
    start, count, width = layout.symbols
    low, high = string_table(layout)
    at, length = layout.directory(CERTIFICATES)
    if not layout.is_object and at and at + length <= size:
        yield FilePart("(signature)", "", "code signature", at, length)
        taken.append((at, at + length))
    if start and low:
        yield FilePart("(symbol table)", "", "symbol table", start, count * width)
        yield FilePart("(string table)", "", "string table", low, high - low)
        taken.append((start, high))
    if layout.is_object:
        for section in layout.sections:
            place, length = section.relocations
            if length:
                yield FilePart("(relocations)", "", "relocation", place, length)
        return
    end = max(end for _, end in taken)
    if end < size:
        yield FilePart("(overlay)", "", "other", end, size - end)


def _debug_id(layout: PeLayout) -> str:
    """Return the id by which a debugger finds the PDB, in hex; empty if there is none."""
    address, size = layout.directory(DEBUG)
    for i in range(min(size // 28, 64)):
        entry = layout.at(address + 28 * i, 28)
        if len(entry) < 28 or int.from_bytes(entry[12:16], "little") != 2:
            continue
        where = int.from_bytes(entry[24:28], "little")
        found = layout.data[where : where + 24].tobytes()
        if found[:4] == b"RSDS" and len(found) == 24:
            first, second, third = struct.unpack_from("<IHH", found, 4)
            return f"{first:08x}{second:04x}{third:04x}{found[12:20].hex()}"
    return ""
