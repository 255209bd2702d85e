"""Mach-O objects with the interface that verification uses for ELF; atoms appear as sections."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.formats.archive import contents
from sizeguard.formats.elf import (
    ET_REL,
    SHT_PROGBITS,
    STT_FUNC,
    STT_OBJECT,
    STT_SECTION,
    Relocations,
    Section,
    Symbol,
)
from sizeguard.formats.macho import MachO, parse_macho_file
from sizeguard.formats.macho.constants import CPU_ARM64, N_EXT, N_SECT, N_STAB, N_TYPE
from sizeguard.formats.macho.uleb import UlebReader
from sizeguard.formats.magics import BITCODE_MAGICS
from sizeguard.linkgraph.macho.atoms import Atoms
from sizeguard.verify.evidence.code_search import Pattern
from sizeguard.verify.evidence.macho import (
    MachoSymbolTable,
    View,
    defined,
    made_section,
    plain,
    section_flags,
    section_kind,
)
from sizeguard.verify.evidence.object_evidence import (
    Definition,
    ObjectFile,
    Objects,
)

_LABEL = re.compile(r"ltmp\d+|[lL]tmp.*")
# x86_64: loads of an address that become the address itself, from the table of addresses and of a
# thread-local's descriptor. The instruction's second byte changes, too.
_LOADS = (3, 9)  # X86_64_RELOC_GOT_LOAD, X86_64_RELOC_TLV
_UNSIGNED = 0
_MAGICS = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")


@dataclass(frozen=True, eq=False)
class MachoObject(View):
    """Mach-O object with atoms as sections, numbered from 1.

    Debug information follows, with ELF's section names.
    """

    atoms: Atoms
    type: int = ET_REL
    is_stripped: bool = False

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Atoms, then debug sections."""
        found = [made_section(0, "", 0, 0, 0, 0, 0, 1)]
        for number, atom in enumerate(self.atoms.rows, 1):
            section = self.macho.sections[atom.section]
            flags = (
                section_flags(section, section.segment_name.startswith("__DATA"))
                if section.segment_name != "__LD"
                else 0
            )
            kind = section_kind(section)
            found.append(
                made_section(
                    number,
                    section.full_name,
                    kind,
                    flags,
                    0,
                    section.offset + atom.start,
                    atom.size,
                    atom.align,
                )
            )
        for section in self.macho.sections:
            if section.is_debug:
                name = "." + section.name.removeprefix("__")
                found.append(
                    made_section(
                        len(found), name, SHT_PROGBITS, 0, 0, section.offset, section.file_size, 1
                    )
                )
        return tuple(found)

    def section(self, name: str) -> Section | None:
        """Return the first section with that name; None if there is none."""
        return next((section for section in self.sections if section.name == name), None)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Symbols in the file's order, then one for each atom.

        The latter are used for references to a section and a place in it.
        """
        table = self.macho.symbols
        rows = []
        for i, name in enumerate(self.atoms.names):
            kind = int(table.type[i])
            if kind & N_STAB or kind & N_TYPE not in (0, N_SECT):
                rows.append(Symbol("", 0, 0, STT_SECTION, 0, 0))
                continue
            atom, inside = self.atoms.of_symbol(i)
            type_ = (
                STT_FUNC
                if atom >= 0 and self.macho.sections[self.atoms.rows[atom].section].is_code
                else STT_OBJECT
            )
            text = plain(name.decode("utf-8", "backslashreplace"))
            rows.append(
                Symbol(
                    text, inside, self._size(atom, inside), type_, int(bool(kind & N_EXT)), atom + 1
                )
            )
        rows += [
            Symbol("", 0, 0, STT_SECTION, 0, number)
            for number in range(1, len(self.atoms.rows) + 1)
        ]
        return tuple(rows)

    @cached_property
    def _inside(self) -> dict[int, list[int]]:
        """Atoms → the ascending places of their symbols."""
        found: dict[int, list[int]] = {}
        for i in defined(self.macho):
            atom, inside = self.atoms.of_symbol(i)
            found.setdefault(atom, []).append(inside)
        return {atom: sorted(places) for atom, places in found.items()}

    def _size(self, atom: int, inside: int) -> int:
        if atom < 0:
            return 0
        places = self._inside.get(atom, [])
        following = bisect_right(places, inside)
        return min([*places[following : following + 1], self.atoms.rows[atom].size]) - inside

    @property
    def static_symbols(self) -> tuple[MachoSymbolTable, ...]:
        """Symbol tables, with all symbols."""
        return (MachoSymbolTable(self.symbols),)

    @property
    def dynamic_symbols(self) -> tuple[MachoSymbolTable, ...]:
        """No symbol tables, since objects do not export anything."""
        return ()

    @cached_property
    def relocations(self) -> dict[int, Relocations]:
        """Numbers of atoms → their relocations, by rows of `symbols`."""
        rows: dict[int, list[tuple[int, int, int, int]]] = {}
        for section in self.macho.sections:
            if section.is_debug:
                continue
            for reference in self.atoms.references(section):
                holder = self.atoms.at(section.index, reference.place)
                if reference.symbol >= 0:
                    symbol, addend = reference.symbol, reference.value
                else:
                    atom = self.atoms.at(reference.section, reference.value)
                    if atom < 0:
                        continue
                    symbol, addend = (
                        len(self.atoms.names) + atom,
                        reference.value - self.atoms.rows[atom].start,
                    )
                offset = reference.place - self.atoms.rows[holder].start
                rows.setdefault(holder + 1, []).append((offset, reference.type, symbol, addend))
        return {number: _columns(sorted(table)) for number, table in rows.items()}

    @cached_property
    def changed(self) -> dict[int, list[tuple[int, int]]]:
        """Numbers of atoms → the bytes that linking changes.

        These are relocated fields, and instructions that hints let the linker rewrite.
        """
        is_arm = self.macho.cpu == CPU_ARM64
        found: dict[int, list[tuple[int, int]]] = {}
        for section in self.macho.sections:
            if section.is_debug:
                continue
            for reference in self.atoms.references(section):
                holder = self.atoms.at(section.index, reference.place)
                begin = reference.place - self.atoms.rows[holder].start
                before = 2 if not is_arm and reference.type in _LOADS else 0
                # In linked arm64 images, pointers are links of chains.
                length = (
                    8 if reference.length == 8 or (is_arm and reference.type == _UNSIGNED) else 4
                )
                found.setdefault(holder + 1, []).append((begin - before, begin + length))
        for address in self._hinted:
            inside = next(
                (
                    s
                    for s in self.macho.sections
                    if s.is_code and s.address <= address < s.address + s.size
                ),
                None,
            )
            if inside is not None:
                holder = self.atoms.at(inside.index, address - inside.address)
                begin = address - inside.address - self.atoms.rows[holder].start
                found.setdefault(holder + 1, []).append((begin, begin + 4))
        return found

    @cached_property
    def _hinted(self) -> list[int]:
        """Return the addresses of instructions that LC_LINKER_OPTIMIZATION_HINT names.

        Each hint is a kind, a count, and that many addresses.
        """
        part = self.macho.part("linker optimization hints").tobytes()
        reader = UlebReader(part)
        found: list[int] = []
        try:
            while reader.position < len(part) and reader.uleb():
                found += [reader.uleb() for _ in range(min(reader.uleb(), len(part)))]
        except (IndexError, ValueError) as error:
            raise InputError(f"{self.path}: damaged linker optimization hints") from error
        return found


@dataclass(frozen=True, eq=False)
class AtomFile(ObjectFile):
    """Mach-O object of a link."""

    elf: MachoObject

    @property
    def relocations(self) -> Mapping[int, Relocations]:
        """Relocations, by atom."""
        return self.elf.relocations

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Symbols in the order of the file, then one for each atom."""
        return self.elf.symbols

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """List the symbols that the object defines; their section is an atom."""
        return tuple(
            Definition(symbol.name, symbol.section, symbol.address, symbol.size)
            for symbol in self.elf.symbols
            if symbol.section and symbol.name and not _LABEL.fullmatch(symbol.name)
        )

    def pattern(self, section: Section) -> Pattern:
        """Predict the bytes of an atom in the image."""
        data = np.frombuffer(self.elf.content(section), np.uint8)
        fixed = np.ones(len(data), bool)
        for begin, end in self.elf.changed.get(section.index, ()):
            fixed[max(begin, 0) : max(end, 0)] = False
        return Pattern(data, fixed)


def read_macho_objects(paths: Iterable[Path], folder: Path | None = None) -> Objects:
    """Read files, archives and folders. Raises InputError for a file that is not Mach-O."""
    files: list[ObjectFile] = []
    lto: list[str] = []
    for path, label, member, data in contents(paths, folder, _MAGICS):
        if data[:4] in BITCODE_MAGICS:
            lto.append(label)
            continue
        macho = parse_macho_file(Path(label), np.frombuffer(data, np.uint8))
        if not isinstance(macho, MachO) or not macho.is_object:
            raise InputError(f"{label}: not a relocatable Mach-O object")
        files.append(
            AtomFile(
                label,
                path,
                member,
                MachoObject(macho, Path(label), Atoms(label, macho, macho.symbols.raw_names())),
            )
        )
    return Objects(tuple(files), tuple(lto))


def _columns(rows: list[tuple[int, int, int, int]]) -> Relocations:
    table = np.array(rows, np.int64).reshape(-1, 4)
    nowhere = np.zeros(len(table), np.int64)
    return Relocations(
        table[:, 0].copy(),
        table[:, 1].astype(np.uint32),
        table[:, 2].copy(),
        table[:, 3].copy(),
        nowhere,
        nowhere,
    )
