"""Turns the Mach-O objects of a link into their section graph, by the rules of ld64.lld's dead stripping.

A node is an atom: what lies between two symbols of a section (subsections via symbols), a literal, or a whole section.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sizeguard.errors import InputError
from sizeguard.formats.archive import read_archive
from sizeguard.formats.macho import parse_macho_file
from sizeguard.formats.macho.constants import N_EXT, N_PEXT, N_SECT, N_STAB, N_TYPE
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.relocations import relocations
from sizeguard.formats.texts import Int
from sizeguard.linkgraph.edge_lists import EdgeLists
from sizeguard.linkgraph.graph import ENTRY, PART, RELOCATION, SECTION, UNWIND, Nodes, SectionGraph, Symbols
from sizeguard.linkgraph.inputs import kind_of

N_NO_DEAD_STRIP, N_WEAK_DEF, N_ALT_ENTRY, REFERENCED_DYNAMICALLY = 0x20, 0x80, 0x200, 0x10
S_CSTRING, S_LITERAL_4, S_LITERAL_8, S_LITERAL_16 = 2, 3, 4, 14
_LITERALS = {S_LITERAL_4: 4, S_LITERAL_8: 8, S_LITERAL_16: 16}
_INITIALIZERS = {9: "init_array", 10: "fini_array", 0x16: "init_array"}
COMPACT_UNWIND = 32  # bytes of an entry: function, length, encoding, personality, exception table
CPU_X86_64, CPU_ARM64 = 0x01000007, 0x0100000C
ARM64_ADDEND = 10
POINTER = 8


@dataclass(slots=True, eq=False)
class _Object:
    label: str
    image: MachO
    names: list[bytes]
    defined: list[tuple[int, bytes, bool]] = field(default_factory=list)  # index of the symbol, name, weak
    undefined: list[bytes] = field(default_factory=list)


def build_macho_graph(files: Sequence[Path], *, library: bool, entry: str = "_main") -> SectionGraph:
    """The graph of a link with -dead_strip: an executable that starts at `entry`, or a dynamic library that exports what it can."""
    return _Builder(list(_load(files, [] if library else [entry.encode()])), library, entry.encode()).build()


def _load(files: Sequence[Path], asked: list[bytes]) -> Iterator[_Object]:
    """Objects in order; members of archives as soon as something asks for what they define."""
    objects: list[_Object] = []
    lazy: dict[bytes, _Object] = {}
    for path in files:
        if kind_of(path) == "archive":
            for member_name, data in read_archive(path):
                found = _read(f"{path}({member_name})", np.frombuffer(data, np.uint8))
                for _, symbol, _ in found.defined:
                    lazy.setdefault(symbol, found)
        else:
            objects.append(_read(str(path), np.frombuffer(path.read_bytes(), np.uint8)))
    waiting = [*asked, *(name for found in objects for name in found.undefined)]
    known = {name for found in objects for _, name, _ in found.defined}
    while waiting:
        name = waiting.pop(0)
        member = lazy.get(name)
        if name not in known and member is not None:
            objects.append(member)
            known.update(symbol for _, symbol, _ in member.defined)
            waiting = [*member.undefined, *waiting]
    yield from objects


def _read(label: str, data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> _Object:
    image = parse_macho_file(Path(label), data)
    if not isinstance(image, MachO) or not image.is_object:
        raise InputError(f"{label}: not a relocatable Mach-O object")
    if image.cpu not in (CPU_X86_64, CPU_ARM64):
        raise InputError(f"{label}: section graphs are made of x86_64 and arm64 objects")
    found = _Object(label, image, image.symbols.raw_names())
    for i, (kind, description) in enumerate(zip(image.symbols.type.tolist(), image.symbols.description.tolist(), strict=True)):
        if kind & N_STAB or not kind & N_EXT:
            continue
        if kind & N_TYPE == N_SECT:
            found.defined.append((i, found.names[i], bool(description & N_WEAK_DEF)))
        elif kind & N_TYPE == 0:
            found.undefined.append(found.names[i])
    return found


class _Builder:
    def __init__(self, objects: list[_Object], library: bool, entry: bytes) -> None:
        self.objects = objects
        self.library = library
        self.entry = entry
        self.rows: list[tuple[int, int, int, int, int]] = []  # object, section, offset, size, alignment
        self.starts: dict[tuple[int, int], tuple[list[int], int]] = {}  # of a section: where its atoms start, the first's node
        self.definition: dict[bytes, tuple[int, int]] = {}
        self.lists = EdgeLists()
        self.references: dict[int, list[tuple[int, int, int]]] = {}  # of an atom: place, target, type
        self.entries: list[tuple[int, int, str]] = []  # table, place in its section, text

    def build(self) -> SectionGraph:
        for k, found in enumerate(self.objects):
            for section in found.image.sections:
                if not section.is_debug:
                    self._cut(k, found, section)
            for i, name, weak in found.defined:
                other = self.definition.get(name)
                if other is None or (not weak and self._is_weak(other)):
                    self.definition[name] = (k, i)
        for k, found in enumerate(self.objects):
            for section in found.image.sections:
                if not section.is_debug and section.name != "__eh_frame":
                    self._edges(k, found, section)
        for source, references in self.references.items():
            self._connect(source, references)
        return self._result()

    def _connect(self, source: int, references: list[tuple[int, int, int]]) -> None:
        """Edges of an atom. Pairs of a text and, in the next word, code are entries: nodes of their own."""
        targets = {place: target for place, target, _ in references}
        holders: dict[int, int] = {}
        if not self._is_code(source):
            for place, target in targets.items():
                following = targets.get(place + POINTER, -1)
                text = self._text(target) if following >= 0 and self._is_code(following) else ""
                if text:
                    node = len(self.rows) + len(self.entries)
                    self.entries.append((source, place, text))
                    self.lists.add(source, node, PART, place)
                    holders |= {place: node, place + POINTER: node}
        for place, target, kind in references:
            self.lists.add(holders.get(place, source), target, RELOCATION, place, -1, kind)

    def _section(self, atom: int) -> Section:
        return self.objects[self.rows[atom][0]].image.sections[self.rows[atom][1]]

    def _is_code(self, atom: int) -> bool:
        return atom >= 0 and self._section(atom).is_code

    def _text(self, atom: int) -> str:
        if atom < 0 or self._section(atom).type != S_CSTRING:
            return ""
        k, _, offset, size, _ = self.rows[atom]
        raw = self.objects[k].image.content(self._section(atom))[offset : offset + size].tobytes().rstrip(b"\0")
        text = raw.decode("utf-8", "replace")
        return text if text.isprintable() else ""

    def _is_weak(self, place: tuple[int, int]) -> bool:
        return bool(self.objects[place[0]].image.symbols.description[place[1]] & N_WEAK_DEF)

    def _cut(self, k: int, found: _Object, section: Section) -> None:
        content = found.image.content(section)
        if section.type == S_CSTRING:
            starts = [0, *(np.flatnonzero(content == 0) + 1).tolist()]
        elif section.type in _LITERALS or section.name == "__compact_unwind":
            starts = list(range(0, section.size, _LITERALS.get(section.type, COMPACT_UNWIND)))
        elif found.image.subsections_via_symbols and section.name != "__eh_frame":
            symbols = found.image.symbols
            chosen = (symbols.type & N_STAB == 0) & (symbols.type & N_TYPE == N_SECT) & (symbols.section == section.index + 1)
            chosen &= symbols.description & N_ALT_ENTRY == 0
            starts = [0, *(symbols.value[chosen] - section.address).tolist()]
        else:
            starts = [0]
        starts = sorted({start for start in starts if 0 <= start < max(section.size, 1)})
        self.starts[k, section.index] = (starts, len(self.rows))
        for start, end in zip(starts, [*starts[1:], section.size], strict=True):
            self.rows.append((k, section.index, start, end - start, 1 << min(section.alignment, 15)))

    def _atom(self, k: int, section: int, offset: int) -> int:
        if (k, section) not in self.starts:
            return -1
        starts, first = self.starts[k, section]
        return first + max(int(np.searchsorted(starts, offset, side="right")) - 1, 0)

    def _symbol_atom(self, k: int, i: int) -> int:
        image = self.objects[k].image
        section = int(image.symbols.section[i]) - 1
        if not 0 <= section < len(image.sections):
            return -1
        return self._atom(k, section, int(image.symbols.value[i]) - image.sections[section].address)

    def _target(self, k: int, found: _Object, symbol: int) -> int:
        """The atom that an external relocation's symbol means: its own if it is local, else that of the definition that counts."""
        if symbol >= len(found.names):
            raise InputError(f"{found.label}: a relocation names symbol {symbol} of {len(found.names)}")
        if found.image.symbols.type[symbol] & N_EXT:
            place = self.definition.get(found.names[symbol])
            return self._symbol_atom(*place) if place is not None else -1
        return self._symbol_atom(k, symbol)

    def _edges(self, k: int, found: _Object, section: Section) -> None:
        image = found.image
        table = relocations(image, section)
        unwind = section.name == "__compact_unwind"
        content = image.content(section).tobytes()
        for place, symbol, external, kind, pcrel, length in zip(
            table.address.tolist(),
            table.symbol.tolist(),
            table.external.tolist(),
            table.type.tolist(),
            table.pcrel.tolist(),
            table.length.tolist(),
            strict=True,
        ):
            if image.cpu == CPU_ARM64 and kind == ARM64_ADDEND:
                continue
            if external:
                target = self._target(k, found, symbol)
            else:
                number = symbol - 1
                value = int.from_bytes(content[place : place + length], "little", signed=True)
                if not 0 <= number < len(image.sections):
                    continue
                if pcrel:
                    # x86_64 counts from the end of the field, or of the instruction if that has an immediate behind it.
                    value += section.address + place + 4 + {6: 1, 7: 2, 8: 4}.get(kind, 0)
                target = self._atom(k, number, value - image.sections[number].address)
            source = self._atom(k, section.index, place)
            if unwind and place % COMPACT_UNWIND == 0:
                self.lists.add(target, source, UNWIND)
            else:
                self.references.setdefault(source, []).append((place, target, kind))

    def _roots(self) -> dict[int, str]:
        found: dict[int, str] = {}
        place = self.definition.get(self.entry)
        if place is not None and not self.library:
            found[self._symbol_atom(*place)] = "entry"
        for k, held in enumerate(self.objects):
            symbols = held.image.symbols
            for i in np.flatnonzero((symbols.type & N_STAB == 0) & (symbols.type & N_TYPE == N_SECT)).tolist():
                kind, description = int(symbols.type[i]), int(symbols.description[i])
                if kind & N_EXT and self.definition.get(held.names[i]) != (k, i):
                    continue
                if description & (N_NO_DEAD_STRIP | REFERENCED_DYNAMICALLY):
                    found.setdefault(self._symbol_atom(k, i), "retain attribute")
                if self.library and kind & N_EXT and not kind & N_PEXT:
                    found.setdefault(self._symbol_atom(k, i), "exported")
            for section in held.image.sections:
                why = _INITIALIZERS.get(section.type) or ("retain attribute" if section.no_dead_strip else "")
                if why and (k, section.index) in self.starts and section.name not in ("__eh_frame", "__compact_unwind"):
                    starts, first = self.starts[k, section.index]
                    found |= {node: why for node in range(first, first + len(starts)) if node not in found}
        found.pop(-1, None)
        return found

    def _result(self) -> SectionGraph:
        count = len(self.rows)
        parts = [(self.rows[table][0], self.rows[table][1], place, 2 * POINTER, POINTER) for table, place, _ in self.entries]
        rows = np.array([*self.rows, *parts], np.int64).reshape(-1, 5)
        size = rows[:, 3].copy()
        for table, _, _ in self.entries:
            size[table] -= 2 * POINTER
        sections = [self.objects[k].image.sections[s] for k, s in zip(rows[:, 0].tolist(), rows[:, 1].tolist(), strict=True)]
        write = np.array([s.segment_name != "__TEXT" for s in sections], bool)
        kind = np.full(len(rows), SECTION, np.int8)
        kind[count:] = ENTRY
        nodes = Nodes(
            sections=count,
            kind=kind,
            object=rows[:, 0].astype(np.int32),
            index=rows[:, 1].astype(np.int32),
            offset=rows[:, 2].copy(),
            size=np.maximum(size, 0),
            align=rows[:, 4].copy(),
            is_alloc=np.array([s.segment_name != "__LD" for s in sections], bool),
            is_write=write,
            is_exec=np.array([s.is_code for s in sections], bool),
            is_nobits=np.array([s.is_zerofill for s in sections], bool),
            is_duplicate=np.zeros(len(rows), bool),
        )
        return SectionGraph(
            objects=tuple(found.label for found in self.objects),
            nodes=nodes,
            names=(*(s.full_name for s in sections[:count]), *(text for _, _, text in self.entries)),
            edges=self.lists.edges(len(rows)),
            symbols=self._symbols(rows[:, 2]),
            root_kind=self._roots(),
            is_pic=False,
            is_dynamic=False,
            providers={},
            linker="ld64.lld",
        )

    def _symbols(self, offsets: Int) -> Symbols:
        names: list[bytes] = []
        columns: list[tuple[int, int, bool]] = []
        for k, found in enumerate(self.objects):
            symbols = found.image.symbols
            for i in np.flatnonzero((symbols.type & N_STAB == 0) & (symbols.type & N_TYPE == N_SECT)).tolist():
                is_global = bool(symbols.type[i] & N_EXT)
                counts = not is_global or self.definition.get(found.names[i]) == (k, i)
                node = self._symbol_atom(k, i) if counts else -1
                section = int(symbols.section[i]) - 1
                start = found.image.sections[section].address if 0 <= section < len(found.image.sections) else 0
                inside = int(symbols.value[i]) - start - (int(offsets[node]) if node >= 0 else 0)
                names.append(found.names[i])
                columns.append((node, inside, is_global))
        table = np.array(columns, np.int64).reshape(-1, 3)
        kind = np.full(len(names), 2, np.int8)
        return Symbols(
            tuple(names), table[:, 0].astype(np.int32), table[:, 1].copy(), np.zeros(len(names), np.int64), kind, table[:, 2] != 0
        )
