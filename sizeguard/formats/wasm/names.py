"""Read names of a WebAssembly module: the name section, symbols, exports and imports."""

from __future__ import annotations

from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.wasm.stream import Stream

FUNCTION, TABLE, MEMORY, GLOBAL, TAG = range(5)
_NAME_FUNCTIONS, _NAME_DATA = 1, 9
_LINKING_SYMBOLS, _LINKING_SEGMENTS = 8, 5
_DYLINK_MEMORY = 1
_SYMBOL_FUNCTION, _SYMBOL_DATA, _SYMBOL_SECTION = 0, 1, 3
_PAGE, _MEMORY_64, _MOST_MEMORY = 16, 4, 1 << 56
_REFERENCES = (0x63, 0x64)  # (ref null TYPE), (ref TYPE)
_UNDEFINED, _EXPLICIT_NAME = 0x10, 0x40


@dataclass(frozen=True, slots=True)
class DataSymbol:
    """A data symbol of an object: bytes [offset, offset + size) of a segment."""

    name: bytes
    segment: int
    offset: int
    size: int


@dataclass(slots=True)
class ModuleNames:
    """Names by index; for functions, imported ones count first.

    imported: number of imported functions; memory: bytes of memory that the module requests
    reserved: bytes that a side module needs in its program's memory; None for other modules
    content:  bytes of the data segments
    modules:  modules that it imports from
    is_64:    whether a memory has addresses of 64 bits
    """

    functions: dict[int, bytes] = field(default_factory=dict)
    segments: dict[int, bytes] = field(default_factory=dict)
    symbols: list[DataSymbol] = field(default_factory=list)
    exported: dict[int, bytes] = field(default_factory=dict)
    modules: set[bytes] = field(default_factory=set)
    imported: int = 0
    memory: int = 0
    reserved: int | None = None
    content: int = 0
    is_64: bool = False

    def function(self, index: int) -> tuple[bytes, ...]:
        """Return the names of a function; empty if it has none."""
        name = self.functions.get(index) or self.exported.get(index)
        return (name,) if name else ()


def read_imports(names: ModuleNames, stream: Stream) -> None:
    """Count imported functions and memory."""
    for _ in range(stream.count()):
        names.modules.add(stream.name())
        name = stream.name()
        kind = stream.data[stream.skip(1)]
        if kind == FUNCTION:
            names.exported.setdefault(names.imported, name)
            names.imported += 1
            stream.number()
        elif kind == TABLE:
            _type(stream)
            _limits(stream)
        elif kind == MEMORY:
            _memory(names, stream)
        elif kind == GLOBAL:
            _type(stream)
            stream.skip(1)
        elif kind == TAG:
            stream.skip(1)
            stream.number()
        else:
            stream.damaged(f"an import of kind {kind}")


def read_memories(names: ModuleNames, stream: Stream) -> None:
    """Count the bytes of the module's own memories."""
    for _ in range(stream.count()):
        _memory(names, stream)


def _memory(names: ModuleNames, stream: Stream) -> None:
    pages, page, flags = _limits(stream)
    names.memory += min(pages << min(page, 16), _MOST_MEMORY)
    names.is_64 = names.is_64 or bool(flags & _MEMORY_64)


def _limits(stream: Stream) -> tuple[int, int, int]:
    """Read the least number of pages, the logarithm of their size, and the flags."""
    flags = stream.data[stream.skip(1)]
    least = stream.number()
    if flags & 1:
        stream.number()
    return least, stream.number() if flags & 8 else _PAGE, flags


def _type(stream: Stream) -> None:
    """Skip the type of a value; references may state what they refer to."""
    if stream.data[stream.skip(1)] in _REFERENCES:
        stream.number()


def read_exports(names: ModuleNames, stream: Stream) -> None:
    """Store the names of exported functions."""
    for _ in range(stream.count()):
        name = stream.name()
        kind = stream.data[stream.skip(1)]
        index = stream.number()
        if kind == FUNCTION:
            names.exported[index] = name


def read_names(names: ModuleNames, stream: Stream) -> None:
    """Read the name section: names of functions and of data segments."""
    while not stream.is_at_end:
        kind = stream.data[stream.skip(1)]
        size = stream.number()
        end = stream.skip(size) + size
        stream.at = end - size
        if kind in (_NAME_FUNCTIONS, _NAME_DATA):
            found = names.functions if kind == _NAME_FUNCTIONS else names.segments
            for _ in range(stream.count()):
                index = stream.number()
                found[index] = stream.name()
        stream.at = end


def read_dylink(names: ModuleNames, stream: Stream) -> None:
    """Read the memory that a side module needs; it imports that of its program."""
    while not stream.is_at_end:
        kind = stream.data[stream.skip(1)]
        size = stream.number()
        end = stream.skip(size) + size
        if kind == _DYLINK_MEMORY:
            stream.at = end - size
            names.reserved = min(stream.number(), _MOST_MEMORY)
        stream.at = end


def read_old_dylink(names: ModuleNames, stream: Stream) -> None:
    """Read the section of linkers before LLVM 13, which begins with the memory."""
    names.reserved = min(stream.number(), _MOST_MEMORY)


def read_linking(names: ModuleNames, stream: Stream) -> None:
    """Read an object's symbols and the names of its data segments."""
    stream.number()  # version
    while not stream.is_at_end:
        kind = stream.data[stream.skip(1)]
        size = stream.number()
        end = stream.skip(size) + size
        stream.at = end - size
        if kind == _LINKING_SYMBOLS:
            for _ in range(stream.count()):
                _symbol(names, stream)
        elif kind == _LINKING_SEGMENTS:
            for index in range(stream.count()):
                names.segments[index] = stream.name()
                stream.number()
                stream.number()
        stream.at = end


def _symbol(names: ModuleNames, stream: Stream) -> None:
    kind = stream.data[stream.skip(1)]
    flags = stream.number()
    if kind == _SYMBOL_DATA:
        name = stream.name()
        if not flags & _UNDEFINED:
            segment, offset, size = stream.number(), stream.number(), stream.number()
            if size:
                names.symbols.append(DataSymbol(name, segment, offset, size))
    elif kind == _SYMBOL_SECTION:
        stream.number()
    else:
        index = stream.number()
        if not flags & _UNDEFINED or flags & _EXPLICIT_NAME:
            name = stream.name()
            if kind == _SYMBOL_FUNCTION:
                names.functions.setdefault(index, name)
