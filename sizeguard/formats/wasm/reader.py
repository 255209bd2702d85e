"""Read WebAssembly modules as parts with named ranges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Bytes
from sizeguard.formats.mapped import mapped
from sizeguard.formats.sectioned import FilePart, NamedPart, SectionedImage
from sizeguard.formats.wasm.names import (
    DataSymbol,
    ModuleNames,
    read_dylink,
    read_exports,
    read_imports,
    read_linking,
    read_memories,
    read_names,
    read_old_dylink,
)
from sizeguard.formats.wasm.stream import Stream

_MEMORY_ADDRESS = 1 << 40  # address after the sections, which have no addresses
_CUSTOM, _IMPORT, _MEMORY, _EXPORT, _CODE, _DATA = 0, 2, 5, 7, 10, 11
_OF_LINKED = frozenset({_MEMORY, 8})  # objects import memory and name no start
_MODULE, _COMPONENT = 0, 1  # layers of the header
# Name and kind of each section, by id.
_SECTIONS = {
    1: ("type", "header"),
    _IMPORT: ("import", "import"),
    3: ("function", "header"),
    4: ("table", "data"),
    _MEMORY: ("memory", "header"),
    6: ("global", "data"),
    _EXPORT: ("export", "exports"),
    8: ("start", "header"),
    9: ("element", "rodata"),
    _CODE: ("code", "code"),
    _DATA: ("data", "data"),
    12: ("datacount", "header"),
    13: ("tag", "header"),
}
_COMPONENT_SECTIONS = {
    1: ("core module", "code"),
    2: ("core instance", "header"),
    3: ("core type", "header"),
    4: ("component", "code"),
    5: ("instance", "header"),
    6: ("alias", "header"),
    7: ("type", "header"),
    8: ("canon", "header"),
    9: ("start", "header"),
    10: ("import", "import"),
    11: ("export", "exports"),
    12: ("value", "data"),
}
_CUSTOM_KINDS = (
    (".debug", "debug"),
    ("sourceMappingURL", "debug"),
    ("external_debug_info", "debug"),
    ("name", "symbol table"),
    ("linking", "symbol table"),
    ("reloc.", "relocation"),
    ("dylink", "dynamic"),
    ("producers", "comment"),
    ("target_features", "comment"),
    ("build_id", "note"),
)


@dataclass(frozen=True, slots=True)
class _WasmSection:
    """A section: [start, end) of the file, including its header; the content begins at `body`."""

    number: int
    name: str
    kind: str
    start: int
    body: int
    end: int


def read_wasm(path: Path) -> SectionedImage:
    """Read a module, an object or a component.

    load: all sections except custom ones, which an engine may ignore. ram: the initial memory of
    the module, or what an object or a side module adds to that of its program.

    Raises InputError for a damaged file.
    """
    return parse_wasm(path, mapped(path, "WebAssembly"))


def parse_wasm(path: Path, data: Bytes) -> SectionedImage:
    """Parse bytes as read_wasm does; path appears in messages."""
    head = data[:8].tobytes()
    if len(head) < 8 or head[6] not in (_MODULE, _COMPONENT):
        raise InputError(f"{path}: a damaged WebAssembly file: its header has {len(head)} bytes")
    content = data.tobytes()
    is_module = head[6] == _MODULE
    sections = list(_sections(path, content, _SECTIONS if is_module else _COMPONENT_SECTIONS))
    names = _names(path, content, sections) if is_module else ModuleNames()
    parts = [FilePart("(header)", "", "header", 0, 8, 0, 8, 8)]
    ranges: list[NamedPart] = []
    for section in sections:
        if is_module and section.number == _CODE:
            ranges += _functions(path, content, section, names, len(parts))
        elif is_module and section.number == _DATA:
            ranges += _segments(path, content, section, names, len(parts))
        size = section.end - section.start
        load = size if section.number != _CUSTOM else 0
        parts.append(
            FilePart(section.name, "", section.kind, section.start, size, section.start, load, load)
        )
    # A module that wasm-ld --emit-relocs linked has the symbols of its objects, too.
    is_linked = not _OF_LINKED.isdisjoint(section.number for section in sections)
    is_object = not is_linked and any(section.name == "linking" for section in sections)
    if memory := _memory(names, is_object=is_object):
        at = _MEMORY_ADDRESS
        parts.append(FilePart("(linear memory)", "", "zero", len(data), 0, at, memory, 0, True))
    needed = tuple(sorted(name.decode("utf-8", "backslashreplace") for name in names.modules))
    return SectionedImage(
        path,
        "wasm",
        ("wasm64" if names.is_64 else "wasm32") if is_module else "wasm component",
        _build_id(content, sections),
        len(data),
        tuple(parts),
        tuple(ranges),
        needed,
        is_object,
        data,
    )


def _memory(names: ModuleNames, *, is_object: bool) -> int:
    """Return the bytes of memory: objects and side modules import that of their program."""
    if is_object:
        return names.content
    return names.memory if names.reserved is None else names.reserved


def _sections(
    path: Path, content: bytes, known: dict[int, tuple[str, str]]
) -> Iterator[_WasmSection]:
    stream = Stream(path, content, 0)
    stream.at = 8
    while not stream.is_at_end:
        start = stream.at
        number = content[stream.skip(1)]
        size = stream.number()
        body = stream.skip(size)
        if number == _CUSTOM:
            inner = Stream(path, content[body : body + min(size, 4096)], body)
            name = inner.name().decode("utf-8", "backslashreplace")
            kind = next((kind for begin, kind in _CUSTOM_KINDS if name.startswith(begin)), "other")
            yield _WasmSection(number, name, kind, start, body + inner.at, body + size)
        elif number in known:
            yield _WasmSection(number, *known[number], start, body, body + size)
        else:
            stream.at = start
            stream.damaged(f"a section of kind {number}")


def _names(path: Path, content: bytes, sections: list[_WasmSection]) -> ModuleNames:
    names = ModuleNames()
    read = {_IMPORT: read_imports, _MEMORY: read_memories, _EXPORT: read_exports}
    custom = {
        "name": read_names,
        "linking": read_linking,
        "dylink.0": read_dylink,
        "dylink": read_old_dylink,
    }
    for section in sections:
        reader = custom.get(section.name) if section.number == _CUSTOM else read.get(section.number)
        if reader is not None:
            reader(names, Stream(path, content[section.body : section.end], section.body))
    return names


def _functions(
    path: Path, content: bytes, section: _WasmSection, names: ModuleNames, part: int
) -> Iterator[NamedPart]:
    stream = Stream(path, content[section.body : section.end], section.body)
    shift = section.body - section.start
    for index in range(names.imported, names.imported + stream.count()):
        begin = stream.at
        stream.skip(stream.number())
        found = names.function(index)
        yield NamedPart(
            part,
            begin + shift,
            stream.at + shift,
            found,
            "symbol table" if found else "function starts",
            without=b"" if found else f"function {index}".encode(),
        )


def _segments(
    path: Path, content: bytes, section: _WasmSection, names: ModuleNames, part: int
) -> Iterator[NamedPart]:
    symbols: dict[int, list[DataSymbol]] = {}
    for symbol in names.symbols:
        symbols.setdefault(symbol.segment, []).append(symbol)
    stream = Stream(path, content[section.body : section.end], section.body)
    shift = section.body - section.start
    for index in range(stream.count()):
        begin = stream.at + shift
        flags = stream.number()
        if flags == 2:
            stream.number()
        if flags in (0, 2):
            _expression(stream)
        size = stream.number()
        at = stream.skip(size) + shift
        names.content += size
        name = names.segments.get(index, b"")
        of_segment = (name,) if name else ()
        done = begin
        for symbol in sorted(symbols.get(index, ()), key=lambda s: (s.offset, s.size)):
            low, high = at + symbol.offset, at + min(symbol.offset + symbol.size, size)
            if low >= done and high > low:
                if low > done:
                    yield NamedPart(part, done, low, of_segment, "section")
                yield NamedPart(part, low, high, (symbol.name,), "symbol table")
                done = high
        if done < at + size:
            source = "symbol table" if of_segment else "section"
            yield NamedPart(part, done, at + size, of_segment, source)


def _expression(stream: Stream) -> None:
    """Skip a constant expression, which ends with 0x0b."""
    while True:
        code = stream.data[stream.skip(1)]
        if code == 0x0B:
            return
        if code in (0x41, 0x42, 0x23, 0xD0, 0xD2):
            stream.number()
        elif code == 0x43:
            stream.skip(4)
        elif code == 0x44:
            stream.skip(8)
        elif code not in (0x6A, 0x6B, 0x6C, 0x7C, 0x7D, 0x7E):
            stream.damaged(f"an initial value with the instruction {code:#x}")


def _build_id(content: bytes, sections: list[_WasmSection]) -> str:
    """Return the id. wasm-ld writes its length before it; other tools write only the id."""
    for section in sections:
        if section.name == "build_id" and section.number == _CUSTOM:
            body = content[section.body : section.end]
            return (body[1:] if body and body[0] == len(body) - 1 else body).hex()
    return ""
