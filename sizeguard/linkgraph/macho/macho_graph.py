"""Section graph of the Mach-O objects of a link, by ld64.lld's rules for dead stripping.

A node is an atom: the bytes between two symbols of a section, a literal, or a whole section.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sizeguard.columns.texts import Int
from sizeguard.formats.macho import Section
from sizeguard.formats.macho.constants import (
    CPU_ARM64,
    CPU_X86_64,
    N_EXT,
    N_NO_DEAD_STRIP,
    N_PEXT,
    N_SECT,
    N_STAB,
    N_TYPE,
    N_WEAK_DEF,
    S_INIT_FUNC_OFFSETS,
    S_MOD_INIT_FUNC_POINTERS,
    S_MOD_TERM_FUNC_POINTERS,
)
from sizeguard.formats.macho.unwind import COMPACT_ENTRY
from sizeguard.linkgraph.edge_lists import EdgeLists
from sizeguard.linkgraph.graph import (
    ENTRY,
    PART,
    RELOCATION,
    SECTION,
    UNWIND,
    GraphSymbols,
    Nodes,
    SectionGraph,
)
from sizeguard.linkgraph.macho.atoms import MERGED_TYPES, AtomReference
from sizeguard.linkgraph.macho.linked_objects import LinkedObject, load_objects
from sizeguard.operators.name import OPERATOR_TEXT

REFERENCED_DYNAMICALLY = 0x10
_INITIALIZERS = {
    S_MOD_INIT_FUNC_POINTERS: "init_array",
    S_MOD_TERM_FUNC_POINTERS: "fini_array",
    S_INIT_FUNC_OFFSETS: "init_array",
}
POINTER = 8
# Added to the architecture's relocation types, to distinguish them from those of ELF.
TYPES = {CPU_X86_64: 0x1000, CPU_ARM64: 0x2000}
_ENTRY = b"_main"
_LONGEST = 1000  # bytes of a text that a table or an operator name may have


def build_macho_graph(files: Sequence[Path], *, library: bool) -> SectionGraph:
    """Build the graph of a link with -dead_strip.

    library: whether the link makes a dynamic library, which exports all it can; otherwise an
             executable that starts at _ENTRY
    """
    asked = [] if library else [_ENTRY]
    return _Builder(list(load_objects(files, asked)), library).build()


class _Builder:
    def __init__(self, objects: list[LinkedObject], library: bool) -> None:
        self.objects = objects
        self.library = library
        # Object, section, offset, size and alignment of each atom.
        self.rows: list[tuple[int, int, int, int, int]] = []
        self.definition: dict[bytes, tuple[int, int]] = {}
        self.lists = EdgeLists()
        # Atom → its references, with the target atom and the place in it.
        self.references: dict[int, list[tuple[AtomReference, int, int]]] = {}
        # Table, place in its section, and text of each entry.
        self.entries: list[tuple[int, int, str]] = []
        # (object, index) of a defined symbol → its row in the graph.
        self.numbers: dict[tuple[int, int], int] = {}
        self.literals: dict[tuple[int, int], str] = {}
        # Equal strings and constants are merged in the image: atom → the first with the same
        # content.
        self.first_of: dict[int, int] = {}
        self.contents: dict[int, bytes] = {}

    def build(self) -> SectionGraph:
        for k, found in enumerate(self.objects):
            found.first = len(self.rows)
            self.rows += [
                (k, atom.section, atom.start, atom.size, atom.align) for atom in found.atoms.rows
            ]
            for i, name, weak in found.defined:
                other = self.definition.get(name)
                if other is None or (not weak and self._is_weak(other)):
                    self.definition[name] = (k, i)
            for i in self._in_sections(k):
                self.numbers[k, i] = len(self.numbers)
        self._merge_literals()
        for k, found in enumerate(self.objects):
            for section in found.image.sections:
                if not section.is_debug and section.name != "__eh_frame":
                    self._edges(k, found, section)
        for source, references in self.references.items():
            self._connect(source, references)
        return self._result()

    def _merge_literals(self) -> None:
        first: dict[tuple[str, bytes], int] = {}
        for found in self.objects:
            for section in found.image.sections:
                if section.is_debug or section.type not in MERGED_TYPES:
                    continue
                content = found.image.content(section).tobytes()
                for i in found.atoms.of_section(section.index):
                    atom = found.atoms.rows[i]
                    key = section.full_name, content[atom.start : atom.start + atom.size]
                    node = found.first + i
                    self.first_of[node] = first.setdefault(key, node)
                    self.contents[first[key]] = key[1]

    def _in_sections(self, k: int) -> list[int]:
        symbols = self.objects[k].image.symbols
        return np.flatnonzero(
            (symbols.type & N_STAB == 0) & (symbols.type & N_TYPE == N_SECT)
        ).tolist()

    def _connect(self, source: int, references: list[tuple[AtomReference, int, int]]) -> None:
        """Add the edges of an atom.

        A pair of a pointer to a text and, in the next word, one to code is a table entry, which
        becomes a separate node.
        """
        targets = {reference.place: target for reference, target, _ in references}
        insides = {reference.place: inside for reference, _, inside in references}
        holders: dict[int, int] = {}
        if not self._is_code(source):
            for place, target in targets.items():
                following = targets.get(place + POINTER, -1)
                text = (
                    self._text(target, insides[place])
                    if following >= 0 and self._is_code(following)
                    else ""
                )
                if text:
                    node = len(self.rows) + len(self.entries)
                    self.entries.append((source, place, text))
                    self.lists.add(source, node, PART, place)
                    holders |= {place: node, place + POINTER: node}
        k = self.rows[source][0]
        types = TYPES[self.objects[k].image.cpu]
        for reference, target, inside in references:
            holder = holders.get(reference.place, source)
            symbol = self._row(k, reference.symbol)
            self.lists.add(
                holder, target, RELOCATION, reference.place, symbol, types + reference.type, inside
            )
            text = self._name(target, inside)
            if text:
                self.literals[holder, reference.place] = text

    def _row(self, k: int, symbol: int) -> int:
        """Return the row of the symbol that a reference names, or of the definition that counts."""
        if symbol < 0:
            return -1
        found = self.objects[k]
        place = (
            self.definition.get(found.names[symbol], (k, symbol))
            if found.atoms.is_external(symbol)
            else (k, symbol)
        )
        return self.numbers.get(place, -1)

    def _name(self, target: int, inside: int) -> str:
        """Return the operator name at a place of an atom; empty if there is none."""
        if target < 0 or self._is_code(target) or self._section(target).is_zerofill:
            return ""
        text = self._bytes_at(target, inside).partition(b"\0")[0]
        return text.decode("ascii") if OPERATOR_TEXT.fullmatch(text) else ""

    def _bytes_at(self, target: int, inside: int) -> bytes:
        """Return an atom's bytes from a place, at most as many as a text may have."""
        k, _, offset, size, _ = self.rows[target]
        begin = offset + max(inside, 0)
        return (
            self.objects[k]
            .image.content(self._section(target))[begin : min(offset + size, begin + _LONGEST)]
            .tobytes()
        )

    def _section(self, atom: int) -> Section:
        return self.objects[self.rows[atom][0]].image.sections[self.rows[atom][1]]

    def _is_code(self, atom: int) -> bool:
        return atom >= 0 and self._section(atom).is_code

    def _text(self, target: int, inside: int) -> str:
        """Return the printable text that a pointer points to; empty if there is none."""
        if target < 0 or self._is_code(target) or self._section(target).segment_name != "__TEXT":
            return ""
        raw, end, _ = self._bytes_at(target, inside).partition(b"\0")
        text = raw.decode("utf-8", "replace") if end else ""
        return text if text.isprintable() else ""

    def _is_weak(self, place: tuple[int, int]) -> bool:
        return bool(self.objects[place[0]].image.symbols.description[place[1]] & N_WEAK_DEF)

    def _symbol_atom(self, k: int, i: int) -> int:
        atom, _ = self.objects[k].atoms.of_symbol(i)
        return self.objects[k].first + atom if atom >= 0 else -1

    def _target(self, k: int, found: LinkedObject, reference: AtomReference) -> tuple[int, int]:
        """Return the atom that a reference points to, and the offset in it.

        For a local symbol it is the symbol's atom, else the atom of the definition that counts.
        """
        if reference.symbol < 0:
            atom = found.atoms.at(reference.section, reference.value)
            if atom < 0:
                return -1, 0
            node = found.first + atom
            return self.first_of.get(node, node), reference.value - found.atoms.rows[atom].start
        i = reference.symbol
        if found.atoms.is_external(i):
            place = self.definition.get(found.names[i])
            if place is None:
                return -1, 0
            k, i = place
        atom, inside = self.objects[k].atoms.of_symbol(i)
        if atom < 0:
            return -1, 0
        node = self.objects[k].first + atom
        return self.first_of.get(node, node), inside + reference.value

    def _edges(self, k: int, found: LinkedObject, section: Section) -> None:
        unwind = section.name == "__compact_unwind"
        for reference in found.atoms.references(section):
            target, inside = self._target(k, found, reference)
            atom = found.atoms.at(section.index, reference.place)
            if atom < 0:
                continue
            if unwind and reference.place % COMPACT_ENTRY == 0:
                self.lists.add(target, found.first + atom, UNWIND)
            else:
                self.references.setdefault(found.first + atom, []).append(
                    (reference, target, inside)
                )

    def _roots(self) -> dict[int, str]:
        found: dict[int, str] = {}
        place = self.definition.get(_ENTRY)
        if place is not None and not self.library:
            found[self._symbol_atom(*place)] = "entry"
        for k, held in enumerate(self.objects):
            symbols = held.image.symbols
            for i in self._in_sections(k):
                kind, description = int(symbols.type[i]), int(symbols.description[i])
                if kind & N_EXT and self.definition.get(held.names[i]) != (k, i):
                    continue
                if description & (N_NO_DEAD_STRIP | REFERENCED_DYNAMICALLY):
                    found.setdefault(self._symbol_atom(k, i), "retain attribute")
                if self.library and kind & N_EXT and not kind & N_PEXT:
                    found.setdefault(self._symbol_atom(k, i), "exported")
            for section in held.image.sections:
                why = _INITIALIZERS.get(section.type) or (
                    "retain attribute" if section.no_dead_strip else ""
                )
                if why and section.name not in ("__eh_frame", "__compact_unwind"):
                    for atom in held.atoms.of_section(section.index):
                        found.setdefault(held.first + atom, why)
        found.pop(-1, None)
        return found

    def _result(self) -> SectionGraph:
        parts = [
            (self.rows[table][0], self.rows[table][1], place, 2 * POINTER, POINTER)
            for table, place, _ in self.entries
        ]
        rows = np.array([*self.rows, *parts], np.int64).reshape(-1, 5)
        sections = [
            self.objects[k].image.sections[s]
            for k, s in zip(rows[:, 0].tolist(), rows[:, 1].tolist(), strict=True)
        ]
        return SectionGraph(
            objects=tuple(found.label for found in self.objects),
            nodes=self._nodes(rows, sections),
            names=(
                *(s.full_name for s in sections[: len(self.rows)]),
                *(text for _, _, text in self.entries),
            ),
            edges=self.lists.edges(len(rows)),
            symbols=self._symbols(rows[:, 2]),
            root_kind=self._roots(),
            is_pic=False,
            is_dynamic=False,
            providers={},
            linker="ld64.lld",
            literals=self.literals,
            contents=self.contents,
        )

    def _nodes(self, rows: Int, sections: list[Section]) -> Nodes:
        """Return the nodes: atoms, then entries of tables. sections: section of each node."""
        count = len(self.rows)
        kind = np.full(len(rows), SECTION, np.int8)
        kind[count:] = ENTRY
        size = rows[:, 3].copy()
        for table, _, _ in self.entries:
            size[table] -= 2 * POINTER
        return Nodes(
            sections=count,
            kind=kind,
            object=rows[:, 0].astype(np.int32),
            index=rows[:, 1].astype(np.int32),
            offset=rows[:, 2].copy(),
            size=np.maximum(size, 0),
            align=rows[:, 4].copy(),
            is_alloc=np.array([s.segment_name != "__LD" for s in sections], bool),
            is_write=np.array([s.segment_name != "__TEXT" for s in sections], bool),
            is_exec=np.array([s.is_code for s in sections], bool),
            is_nobits=np.array([s.is_zerofill for s in sections], bool),
            is_duplicate=np.zeros(len(rows), bool),
        )

    def _symbols(self, offsets: Int) -> GraphSymbols:
        names: list[bytes] = []
        columns: list[tuple[int, int, bool]] = []
        for k, found in enumerate(self.objects):
            symbols = found.image.symbols
            for i in self._in_sections(k):
                is_global = bool(symbols.type[i] & N_EXT)
                counts = not is_global or self.definition.get(found.names[i]) == (k, i)
                node = self._symbol_atom(k, i) if counts else -1
                section = int(symbols.section[i]) - 1
                start = (
                    found.image.sections[section].address
                    if 0 <= section < len(found.image.sections)
                    else 0
                )
                inside = int(symbols.value[i]) - start - (int(offsets[node]) if node >= 0 else 0)
                names.append(found.names[i])
                columns.append((node, inside, is_global))
        table = np.array(columns, np.int64).reshape(-1, 3)
        kind = np.full(len(names), 2, np.int8)
        return GraphSymbols(
            tuple(names),
            table[:, 0].astype(np.int32),
            table[:, 1].copy(),
            np.zeros(len(names), np.int64),
            kind,
            table[:, 2] != 0,
        )
