"""Find the input sections of a link's objects and archives by symbol."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.formats.archive import contents
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import (
    RELOCATION_TYPES,
    SHF_MERGE,
    STB_LOCAL,
    STT_FILE,
    STT_FUNC,
    STT_IFUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STT_SECTION,
    STT_TLS,
    Elf,
    Relocations,
    Section,
    Symbol,
    parse_elf,
)
from sizeguard.formats.elf.machines import place_of
from sizeguard.formats.linkmap.link_map import is_mapping_symbol
from sizeguard.formats.magics import BITCODE_MAGICS, MACHO_MAGICS
from sizeguard.names.demangle import without_clones
from sizeguard.verify.evidence.code_search import (
    WITH_KNOWN_PADDING,
    Pattern,
    is_padding,
    patterns_of,
)

_ELF = (b"\x7fELF",)
# Prefixes that -ffunction-sections and -fdata-sections put before a symbol's name. Alone, they are
# the names of sections for all symbols.
_KIND = r"(?:unlikely|startup|exit|hot|unknown|sorted(?:\.\d+)?|rel(?:\.ro)?(?:\.local)?)"
_OWN_SECTION = re.compile(
    rf"\.(?:text|rodata|data|bss|tdata|tbss)(?!\.{_KIND}\.?\Z)(?:\.{_KIND}(?=\.))?\.(.+)"
)

_CONSTANTS = (".rodata", ".srodata", ".lrodata", ".data.rel.ro")
_VARIABLES = (".data", ".bss", ".tdata", ".tbss", ".sdata", ".sbss", ".ldata", ".lbss")
_NAMED = (STT_FUNC, STT_OBJECT, STT_IFUNC, STT_TLS, STT_NOTYPE)
_NOP = 4  # bytes of the longest instruction without effect of other machines than x86


@dataclass(frozen=True, slots=True)
class NamedPiece:
    """Bytes [offset, offset + size) of an input section that have a name."""

    object: int
    section: int
    offset: int
    size: int
    symbol: str


class Definition(NamedTuple):
    """A symbol that an object defines: bytes [offset, offset + size) of a section."""

    symbol: str
    section: int
    offset: int
    size: int

    def in_object(self, number: int) -> NamedPiece:
        """Return the definition with the number of its object."""
        return NamedPiece(number, self.section, self.offset, self.size, self.symbol)


@dataclass(frozen=True, eq=False)
class ObjectFile(ABC):
    """An object of the link.

    label: as linkers name it: libk.a(add.o)
    path:  the file; for a member, its archive
    """

    label: str
    path: Path
    member: str
    elf: Binary

    @property
    @abstractmethod
    def relocations(self) -> Mapping[int, Relocations]:
        """Index of a section → its relocations."""

    @property
    @abstractmethod
    def symbols(self) -> tuple[Symbol, ...]:
        """Symbols in the order in which relocations number them."""

    @property
    @abstractmethod
    def definitions(self) -> tuple[Definition, ...]:
        """List the symbols that the object defines.

        A section that is named after a symbol counts as a definition.
        """

    @property
    def named(self) -> tuple[Definition, ...]:
        """List the definitions in the symbol table, without those that only sections name."""
        return self.definitions

    @abstractmethod
    def pattern(self, section: Section) -> Pattern:
        """Return the section's bytes in the image, with unknown ones masked."""

    def patterns(self, sections: Sequence[Section]) -> list[Pattern]:
        """Return the patterns of many sections."""
        return [self.pattern(section) for section in sections]

    def is_named_data(self, section: Section) -> bool:
        """Return whether compilers name all data of a section."""
        return False

    @cached_property
    def nameless(self) -> frozenset[int]:
        """Indices of sections with code or data that no symbol names, as `strip -x` leaves them."""
        named: dict[int, list[tuple[int, int]]] = {}
        for definition in self.named:
            end = definition.offset + definition.size
            named.setdefault(definition.section, []).append((definition.offset, end))
        return frozenset(
            section.index
            for section in self.elf.sections
            if section.is_allocated and section.size
            if section.is_executable or self.is_named_data(section)
            if self._has_gap(section, sorted(named.get(section.index, ())))
        )

    def _has_gap(self, section: Section, named: Sequence[tuple[int, int]]) -> bool:
        """Return whether there is more than padding between ascending ranges of a section."""
        size, place = section.size, 0
        for start, end in (*named, (size, size)):
            if start > place and not self._is_padding(section, place, start):
                return True
            place = max(place, end)
        return False

    def _is_padding(self, section: Section, start: int, end: int) -> bool:
        if not section.is_executable:
            data = b"" if section.is_nobits else self.elf.content(section)[start:end]
            # Nothing follows the last variable of a section; before others there are fewer bytes
            # than the alignment of their place.
            return not any(data) and end < section.size and end - start < end & -end
        if self.elf.machine not in WITH_KNOWN_PADDING:
            return start > 0 and end - start < max(section.alignment, _NOP)
        return is_padding(self.elf.content(section)[start:end])


@dataclass(frozen=True, eq=False)
class ElfFile(ObjectFile):
    """An ELF object of the link."""

    elf: Elf

    @cached_property
    def relocations(self) -> Mapping[int, Relocations]:
        """Relocations of each section."""
        return {k: self.elf.relocation_table(table) for k, table in self._tables.items()}

    def is_named_data(self, section: Section) -> bool:
        """Return whether compilers name all data of a section.

        They have tables and texts without names among constants. If a tool removed all local names,
        even that of the source, it may have removed those of other constants.
        """
        name = section.name
        if name.startswith(_CONSTANTS):
            return not self._has_local_names and not section.flags & SHF_MERGE
        return name.startswith(_VARIABLES)

    @cached_property
    def _has_local_names(self) -> bool:
        return any(
            s.binding == STB_LOCAL and s.name and (s.section > 0 or s.type == STT_FILE)
            for s in self.symbols
            if s.type != STT_SECTION
        )

    @cached_property
    def _tables(self) -> Mapping[int, Section]:
        """Index of a section → the section with its relocations."""
        sections = self.elf.sections
        return {
            s.info: s for s in sections if s.type in RELOCATION_TYPES and 0 < s.info < len(sections)
        }

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Symbols in the order of their table."""
        tables = self.elf.static_symbols
        return tables[0].objects() if tables else ()

    def pattern(self, section: Section) -> Pattern:
        """Predict the section's bytes in the image."""
        return self.patterns([section])[0]

    def patterns(self, sections: Sequence[Section]) -> list[Pattern]:
        """Predict the bytes of many sections in the image, in a third of the time."""
        # Debug information has most of an object's relocations, and it is not in the image.
        tables = [self._tables.get(section.index) for section in sections]
        relocations, counts = self.elf.relocation_tables([t for t in tables if t is not None])
        each = iter(counts)
        counts = [0 if table is None else next(each) for table in tables]
        return patterns_of(self.elf, sections, relocations, counts)

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """List the symbols of the table, then the sections that are named after other symbols."""
        found = list(self.named)
        names = {(definition.symbol, definition.section) for definition in found}
        for section in self.elf.sections:
            own = _OWN_SECTION.fullmatch(section.name) if section.is_allocated else None
            # A symbol may be renamed while its section keeps its name.
            if (
                own
                and section.size
                and (own[1], section.index) not in names
                and not section.flags & SHF_MERGE
            ):
                found.append(Definition(own[1], section.index, 0, section.size))
        return tuple(found)

    @cached_property
    def named(self) -> tuple[Definition, ...]:
        """List the definitions in the symbol table."""
        sections = self.elf.sections
        return tuple(
            Definition(symbol.name, *place, symbol.size or self._reach(symbol))
            for symbol in self.symbols
            if 0 < symbol.section < len(sections)
            and symbol.name
            and symbol.type in _NAMED
            and not symbol.name.startswith(".L")
            and not is_mapping_symbol(symbol.name)
            for own in ((symbol.section, place_of(symbol, self.elf.machine)),)
            for place in (self._described.get(own, own),)
        )

    @cached_property
    def _described(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Section and place of a function's descriptor → those of its code.

        On big-endian PowerPC, a function's symbol names its descriptor in .opd.
        """
        found = {}
        for section in self.elf.sections if self.elf.machine == "ppc64" else ():
            if section.name == ".opd" and section.index in self.relocations:
                table = self.relocations[section.index]
                columns = (table.offset, table.symbol, table.addend)
                for offset, index, addend in zip(*(c.tolist() for c in columns), strict=True):
                    symbol = self.symbols[index]
                    if 0 < symbol.section < len(self.elf.sections):
                        code = symbol.section, symbol.address + addend
                        found[section.index, offset] = code
        return found

    def _reach(self, symbol: Symbol) -> int:
        """Return the bytes of a symbol without a size: up to the next one or the section's end."""
        size = self.elf.sections[symbol.section].size
        starts = self._starts[symbol.section]
        place = place_of(symbol, self.elf.machine)
        following = bisect_right(starts, place)
        return min([*starts[following : following + 1], size]) - place

    @cached_property
    def _starts(self) -> dict[int, list[int]]:
        """Section → the ascending places of its symbols."""
        found: dict[int, list[int]] = {}
        for symbol in self.symbols:
            if symbol.type != STT_SECTION and not is_mapping_symbol(symbol.name):
                place = place_of(symbol, self.elf.machine)
                found.setdefault(symbol.section, []).append(place)
        return {section: sorted(places) for section, places in found.items()}


@dataclass(frozen=True, eq=False)
class Objects:
    """All objects of a link, in its order.

    lto: objects without machine code, which cannot be judged
    """

    files: tuple[ObjectFile, ...]
    lto: tuple[str, ...]
    _index: dict[str, list[NamedPiece]] = field(default_factory=dict, repr=False)

    @property
    def index(self) -> dict[str, list[NamedPiece]]:
        """Symbols → their definitions."""
        if not self._index:
            for number, file in enumerate(self.files):
                for definition in file.definitions:
                    pieces = self._index.setdefault(definition.symbol, [])
                    pieces.append(definition.in_object(number))
        return self._index

    @cached_property
    def made_by_lto(self) -> tuple[int, ...]:
        """Numbers of the objects that the linker generated, recognised by their names."""
        return tuple(
            number
            for number, file in enumerate(self.files)
            if "ltrans" in file.label or ".lto." in file.label
        )

    def find(self, symbol: str) -> list[NamedPiece]:
        """List the definitions of a symbol and of its clones, f.cold and f.constprop.0."""
        pieces = list(self.index.get(symbol, ()))
        for name in self._clones.get(symbol, ()):
            pieces += self.index[name]
        return pieces

    @cached_property
    def _clones(self) -> dict[str, list[str]]:
        clones: dict[str, list[str]] = {}
        for name in self.index:
            base = without_clones(name)
            if base and base != name:
                clones.setdefault(base, []).append(name)
        return clones

    def section(self, piece: NamedPiece) -> Section:
        """Return the section of a piece."""
        return self.files[piece.object].elf.sections[piece.section]

    def label(self, piece: NamedPiece) -> str:
        """Return the label of a piece's object."""
        return self.files[piece.object].label


def read_objects(paths: Iterable[Path], folder: Path | None = None) -> Objects:
    """Read files, archives, and folders that contain them.

    folder: the linker's working directory; maps name objects relative to it

    Raises InputError for files that are not objects, and for objects of two machines.
    """
    files: list[ObjectFile] = []
    lto: list[str] = []
    machines: dict[str, str] = {}
    for path, label, member, data in contents(paths, folder, _ELF):
        if data[:4] in BITCODE_MAGICS:
            lto.append(label)
            continue
        elf = parse_elf(Path(label), data)
        if not elf.is_relocatable:
            raise InputError(f"{label}: not a relocatable object")
        machines.setdefault(elf.machine, label)
        if len(machines) > 1:
            (one, first), (other, second) = machines.items()
            raise InputError(f"{second}: an object for {other}, {first} is for {one}")
        if _is_lto(elf):
            lto.append(label)
        else:
            files.append(ElfFile(label, path, member, elf))
    return Objects(tuple(files), tuple(lto))


def _is_lto(elf: Elf) -> bool:
    """Return whether an object is a slim LTO object of gcc, which has bytecode but no code."""
    has_bytecode = any(section.name.startswith(".gnu.lto_") for section in elf.sections)
    return has_bytecode and not any(
        section.is_executable and section.size for section in elf.sections
    )


def undescribed_lto(paths: Iterable[Path]) -> tuple[str, ...]:
    """List the LTO objects among a link's inputs that have functions and do not describe them.

    Raises InputError for files that are not objects.
    """
    from sizeguard.formats.lto_object import functions_of, has_debug_information  # 0.4 ms

    return tuple(
        each.label
        for each in contents(paths, None, (*_ELF, *MACHO_MAGICS))
        if each.data[:4] not in MACHO_MAGICS
        and functions_of(each.data)
        and not has_debug_information(each.data)
    )
