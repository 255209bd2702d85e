"""Section graph of the ELF objects of a link, built by the linker's rules."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int
from sizeguard.formats.elf import (
    SHF_EXECINSTR,
    SHF_LINK_ORDER,
    SHF_WRITE,
    SHT_NOBITS,
    STT_SECTION,
)
from sizeguard.linkgraph.edge_lists import EdgeLists
from sizeguard.linkgraph.elf.linker_rules import (
    LinkerRules,
    is_identifier,
    rules_of,
)
from sizeguard.linkgraph.elf.literals import find_literals
from sizeguard.linkgraph.elf.object_columns import (
    RelocationColumns,
    Sections,
    SymbolColumns,
    relocation_columns,
    section_columns,
    symbol_columns,
)
from sizeguard.linkgraph.elf.roots import find_roots
from sizeguard.linkgraph.elf.strings import MergeablePieces, find_pieces, merged_ends
from sizeguard.linkgraph.elf.table_entries import find_entries
from sizeguard.linkgraph.elf.unwind_nodes import UnwindNodes
from sizeguard.linkgraph.graph import (
    CONSTANT,
    ENTRY,
    GROUP,
    IMPORT,
    LINK_ORDER,
    PART,
    RELOCATION,
    SECTION,
    START_STOP,
    STRING,
    GraphSymbols,
    Nodes,
    SectionGraph,
)
from sizeguard.linkgraph.inputs.link_inputs import LinkInputs
from sizeguard.linkgraph.inputs.loaded import Loaded


def graph_of(loaded: Loaded) -> SectionGraph:
    """Build the graph of loaded objects.

    Raises InputError for unusable objects, InconclusiveError for options or objects that the graph
    does not model.
    """
    return _Builder(loaded).build()


class _Builder:
    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.inputs: LinkInputs = loaded.inputs
        self.rules: LinkerRules = rules_of(loaded.inputs.linker)
        self.sections: Sections = section_columns(loaded)
        self.symbols: SymbolColumns = symbol_columns(loaded, self.sections)
        self.relocations: RelocationColumns = relocation_columns(
            loaded, self.sections, self.symbols
        )
        self.count = len(self.sections.names)
        self.rows: list[tuple[int, int, int, int, int, str]] = []
        # Bytes of sections that are separate nodes
        self.taken = np.zeros(self.count, np.int64)
        self.lists = EdgeLists()
        self.providers: dict[int, tuple[str, str]] = {}
        self.literals: dict[tuple[int, int], str] = {}

    def build(self) -> SectionGraph:
        relocations, symbols = self.relocations, self.symbols
        target = symbols.node[relocations.symbol].astype(np.int64)
        target[(target >= 0) & ~self.sections.is_input[np.maximum(target, 0)]] = -1
        holder = relocations.section.astype(np.int64)

        unwind = (
            np.array([name == ".eh_frame" for name in self.sections.names], bool)
            & self.sections.is_input
        )
        in_unwind = unwind[holder]
        pieces = find_pieces(self.loaded, self.sections, relocations, symbols, target)
        holder = self._entries(holder, target, pieces)
        strings = self._strings(pieces)
        self._relocations(~in_unwind, holder, target, strings)
        literals = find_literals(self.loaded, self.sections, relocations, symbols, target)
        self.literals = {
            (int(holder[i]), int(relocations.offset[i])): text for i, text in literals.items()
        }
        self._imports(~in_unwind, holder)
        self.lsda_roots = UnwindNodes(
            self.loaded, self.sections, relocations, self.rules, self.lists, self.taken, self._add
        ).add(unwind, target)
        self._groups()
        self._start_stop(~in_unwind, holder)
        return self._result()

    def _add(self, kind: int, section: int, offset: int, size: int, align: int, name: str) -> int:
        self.rows.append((kind, section, offset, size, align, name))
        return self.count + len(self.rows) - 1

    def _entries(self, holder: Int, target: Int, pieces: MergeablePieces) -> Int:
        """Add a node for each table entry.

        Returns each relocation's holder: the entry that contains it, else its section.
        """
        for entry in find_entries(
            self.loaded, self.sections, self.relocations, self.symbols, target
        ):
            node = self._add(ENTRY, entry.section, entry.offset, entry.size, 8, entry.name)
            holder[list(entry.relocations)] = node
            pieces.is_entry[list(entry.relocations)] = True
            self.taken[entry.section] += entry.size
            self.lists.add(entry.section, node, PART, entry.offset)
        return holder

    def _strings(self, pieces: MergeablePieces) -> Int:
        """Add a node for each distinct content of mergeable sections.

        Returns the node that each relocation refers to; -1 if it refers to none.
        """
        nodes = np.array(
            [
                self._add(
                    STRING if p.is_text else CONSTANT, p.section, p.offset, p.size, p.align, p.text
                )
                for p in pieces.contents
            ],
            np.int64,
        )
        self.taken[pieces.sections] = self.sections.size[pieces.sections]
        keeps_all = self.inputs.linker.family in ("bfd", "gold") or not self.inputs.gc_sections
        if keeps_all and len(pieces.whole):
            # These linkers keep all strings of a section that they keep, and the others do unless
            # they look for unused sections. A string that only a table entry names would not be in
            # the object without the entry.
            whole = pieces.whole[~np.isin(pieces.whole[:, 1], pieces.content[pieces.is_entry])]
            self.lists.add(whole[:, 0], nodes[whole[:, 1]], PART)
        if self.rules.merges_ends and len(nodes):
            holder, end = merged_ends(self.sections, pieces.contents)
            self.lists.add(nodes[holder], nodes[end], PART)
        found = np.full(len(pieces.content), -1, np.int64)
        if len(nodes):
            is_named = pieces.content >= 0
            found[is_named] = nodes[pieces.content[is_named]]
        return found

    def _relocations(
        self, chosen: npt.NDArray[np.bool_], holder: Int, target: Int, strings: Int
    ) -> None:
        r, y = self.relocations, self.symbols
        # A PC-relative field of x86-64 is relative to its end.
        bias = 4 if self.loaded.machine == "x86_64" else 0
        beyond = r.addend + np.where(self.sections.flags[r.section] & SHF_EXECINSTR != 0, bias, 0)
        place = y.value[r.symbol] + np.where(y.type[r.symbol] == STT_SECTION, beyond, 0)
        self.lists.add(
            holder[chosen],
            target[chosen],
            RELOCATION,
            r.offset[chosen],
            r.symbol[chosen],
            r.type[chosen],
            place[chosen],
        )
        chosen = chosen & (strings >= 0)
        self.lists.add(
            holder[chosen],
            strings[chosen],
            RELOCATION,
            r.offset[chosen],
            r.symbol[chosen],
            r.type[chosen],
        )

    def _imports(self, chosen: npt.NDArray[np.bool_], holder: Int) -> None:
        """Add a node for each used symbol of a shared library."""
        r = self.relocations
        number = self.symbols.number[r.symbol]
        names = list(self.loaded.numbers)
        undefined = self.loaded.definition[:, 0] < 0
        if self.inputs.mode != "shared":
            undefined &= self.loaded.in_shared
        wanted = chosen & (number >= 0)
        wanted[wanted] = undefined[number[wanted]]
        nodes = np.full(len(names), -1, np.int64)
        for n in sorted(set(number[wanted].tolist())):
            nodes[n] = self._add(IMPORT, -1, 0, 0, 1, names[n].decode("utf-8", "backslashreplace"))
            if names[n] in self.loaded.providers:
                self.providers[int(nodes[n])] = self.loaded.providers[names[n]]
        self.lists.add(
            holder[wanted],
            nodes[number[wanted]],
            RELOCATION,
            r.offset[wanted],
            r.symbol[wanted],
            r.type[wanted],
        )

    def _groups(self) -> None:
        sections = self.sections
        for base, found in zip(sections.base.tolist(), self.loaded.objects, strict=False):
            for group in found.groups:
                members = [base + m for m in group.members if sections.is_input[base + m]]
                if self.rules.keeps_groups and len(members) > 1:
                    self.lists.add(members, members[1:] + members[:1], GROUP)
        if self.rules.follows_order:
            ordered = np.flatnonzero((sections.flags & SHF_LINK_ORDER != 0) & sections.is_input)
            owner = sections.base[sections.object[ordered]] + sections.link[ordered]
            valid = (sections.link[ordered] > 0) & (
                owner < sections.base[sections.object[ordered] + 1]
            )
            self.lists.add(owner[valid], ordered[valid], LINK_ORDER)

    def _start_stop(self, chosen: npt.NDArray[np.bool_], holder: Int) -> None:
        """Add edges from each reference to __start_X or __stop_X to all sections X."""
        named: dict[bytes, list[int]] = {}
        for row in np.flatnonzero(self.sections.is_input).tolist():
            name = self.sections.names[row]
            if is_identifier(name) and (
                not self.inputs.start_stop_gc or name.startswith("__libc_")
            ):
                for prefix in (b"__start_", b"__stop_"):
                    named.setdefault(prefix + name.encode(), []).append(row)
        numbers = {
            self.loaded.numbers[name]: rows
            for name, rows in named.items()
            if name in self.loaded.numbers
        }
        if not numbers:
            return
        r = self.relocations
        number = self.symbols.number[r.symbol]
        for i in np.flatnonzero(chosen & np.isin(number, list(numbers))).tolist():
            self.lists.add(
                holder[i], numbers[int(number[i])], START_STOP, r.offset[i], r.symbol[i], r.type[i]
            )

    def _result(self) -> SectionGraph:
        nodes = self._nodes()
        return SectionGraph(
            objects=tuple(found.label for found in self.loaded.objects),
            nodes=nodes,
            names=(*self.sections.names, *(row[5] for row in self.rows)),
            edges=self.lists.edges(len(nodes)),
            symbols=self._symbols(),
            root_kind=find_roots(
                self.loaded, self.sections, self.symbols, self.rules, self.lsda_roots
            ),
            is_pic=self.inputs.pic,
            packing=self.inputs.packing,
            is_dynamic=self.inputs.mode != "static" or self.inputs.pic,
            providers=self.providers,
            linker=self.inputs.linker.family,
            literals=self.literals,
        )

    def _nodes(self) -> Nodes:
        """Join the sections and the added nodes: parts of sections, and imports (in no section)."""
        s = self.sections
        extra = np.array([row[:5] for row in self.rows], np.int64).reshape(-1, 5)
        kind, inside, offset, size, align = extra.T
        known = inside >= 0

        def flag(values: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
            values = values & s.is_input
            return np.concatenate([values, values[inside] & known])

        def number(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
            return np.concatenate([values, np.where(known, values[inside], -1).astype(np.int32)])

        own_size = np.where(s.is_input, np.maximum(s.size - self.taken, 0), 0)
        return Nodes(
            sections=self.count,
            kind=np.concatenate([np.full(self.count, SECTION, np.int8), kind.astype(np.int8)]),
            object=number(s.object),
            index=number(s.index),
            offset=np.concatenate([np.zeros(self.count, np.int64), offset]),
            size=np.concatenate([own_size, size]),
            align=np.concatenate([s.align, align]),
            is_alloc=flag(s.is_input),
            is_write=flag(s.flags & SHF_WRITE != 0),
            is_exec=flag(s.flags & SHF_EXECINSTR != 0),
            is_nobits=flag(s.type == SHT_NOBITS),
            is_duplicate=np.concatenate([s.is_duplicate, np.zeros(len(inside), bool)]),
        )

    def _symbols(self) -> GraphSymbols:
        """Return all symbols by row; names are not decoded."""
        y = self.symbols
        names = []
        for k, found in enumerate(self.loaded.objects):
            if found.symbols is not None:
                buffer = found.symbols.names.buffer.data
                low, high = int(y.base[k]), int(y.base[k + 1])
                names += [
                    bytes(buffer[a:b])
                    for a, b in zip(
                        y.start[low:high].tolist(), y.name_end[low:high].tolist(), strict=True
                    )
                ]
        return GraphSymbols(
            tuple(names), y.own, y.value, y.size, y.type.astype(np.int8), y.number >= 0
        )
