"""Turns a link's mode and its linker's rules into the sections that stay by themselves."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sizeguard.linkgraph.columns import Bool, Sections, SymbolColumns
from sizeguard.linkgraph.resolve import Loaded
from sizeguard.linkgraph.rules import Rules, is_identifier

STV_INTERNAL, STV_HIDDEN = 1, 2


def find_roots(loaded: Loaded, sections: Sections, symbols: SymbolColumns, rules: Rules, unwind: Iterable[int]) -> dict[int, str]:
    """Section rows and why they stay. Without --gc-sections, and of a relocatable link without roots, all do."""
    inputs = loaded.inputs
    rows = np.flatnonzero(sections.is_source).tolist()
    if not inputs.gc_sections:
        return dict.fromkeys(rows, "no --gc-sections")
    found: dict[int, str] = {}
    asked = [(name.encode(), "-u") for name in inputs.undefined]
    if inputs.mode != "relocatable":
        asked += [(inputs.entry.encode(), "entry"), (inputs.init.encode(), "init"), (inputs.fini.encode(), "fini")]
    definition = _definitions(loaded, symbols)
    if inputs.mode in ("executable", "static") and definition.get(loaded.numbers.get(inputs.entry.encode(), -1), -1) < 0:
        asked.append((b"main", "entry"))  # the start-up code was not given
    for name, why in asked:
        row = definition.get(loaded.numbers.get(name, -1), -1)
        if row >= 0:
            found.setdefault(row, why)
    for row in rows:
        # What it holds lives or dies record by record, each a node of its own.
        why = (
            "unwind table"
            if sections.names[row] == ".eh_frame"
            else rules.root_of(sections.names[row], int(sections.type[row]), int(sections.flags[row]))
        )
        if why:
            found.setdefault(row, why)
    for row in _start_stop(loaded, sections, visible := _visible(loaded, symbols)):
        found.setdefault(row, "exported")
    for row in _exported(loaded, visible, definition):
        found.setdefault(row, "exported")
    for row in unwind:
        found.setdefault(row, "unwind table")
    return {row: why for row, why in found.items() if sections.is_source[row]}


def _definitions(loaded: Loaded, symbols: SymbolColumns) -> dict[int, int]:
    """Number of a symbol → row of the section that defines it."""
    where = loaded.definition
    defined = np.flatnonzero(where[:, 0] >= 0)
    rows = symbols.own[symbols.base[where[defined, 0]] + where[defined, 1]]
    return dict(zip(defined.tolist(), rows.tolist(), strict=True))


def _exported(loaded: Loaded, visible: Bool, definition: dict[int, int]) -> list[int]:
    inputs = loaded.inputs
    exports_all = inputs.mode == "shared" or inputs.export_dynamic
    names = list(loaded.numbers)
    found = []
    for number, row in definition.items():
        if row < 0 or not visible[number]:
            continue
        name = names[number]
        if inputs.exports is not None:
            is_exported = name in inputs.exports
        else:
            # A shared library that names a symbol, defining it or not, shall find the program's.
            is_exported = exports_all or bool(loaded.from_shared[number] or loaded.in_shared[number])
            if not is_exported and inputs.exported is not None:
                is_exported = inputs.exported.is_shown(name.decode("utf-8", "backslashreplace"))
            is_exported = is_exported and not inputs.version_script.is_hidden(name.decode("utf-8", "backslashreplace"))
            is_exported = is_exported and not (inputs.exclude_libs and _is_excluded(loaded, number))
        if is_exported:
            found.append(row)
    return found


def _start_stop(loaded: Loaded, sections: Sections, visible: Bool) -> list[int]:
    """GNU ld defines __start_X in the first section X, and exports it like any symbol, whether what asks for it stays or not."""
    inputs = loaded.inputs
    if inputs.linker.family != "bfd" or inputs.start_stop_gc or not (inputs.mode == "shared" or inputs.export_dynamic):
        return []
    first: dict[str, int] = {}
    for row in np.flatnonzero(sections.is_input).tolist():
        if is_identifier(sections.names[row]):
            first.setdefault(sections.names[row], row)
    asked = [(prefix + name, row) for name, row in first.items() for prefix in ("__start_", "__stop_")]
    return [
        row
        for name, row in asked
        if (number := loaded.numbers.get(name.encode())) is not None and visible[number] and not inputs.version_script.is_hidden(name)
    ]


def _visible(loaded: Loaded, symbols: SymbolColumns) -> Bool:
    """Of each number: whether no object that names it hides it. The strictest wins, also of one that only refers to it."""
    strict = np.full(len(loaded.numbers), 4, np.int64)
    is_global = symbols.number >= 0
    visibility = symbols.visibility[is_global].astype(np.int64)
    np.minimum.at(strict, symbols.number[is_global], np.where(visibility == 0, 4, visibility))
    return np.asarray((strict != STV_INTERNAL) & (strict != STV_HIDDEN))


def _is_excluded(loaded: Loaded, number: int) -> bool:
    defining = loaded.objects[int(loaded.definition[number, 0])]
    return bool(defining.member) and ("ALL" in loaded.inputs.exclude_libs or defining.path.name in loaded.inputs.exclude_libs)
