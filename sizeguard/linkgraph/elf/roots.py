"""Find the roots of a link: the sections that a linker keeps without a reference."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sizeguard.linkgraph.elf.linker_rules import LinkerRules, is_identifier
from sizeguard.linkgraph.elf.object_columns import Bool, Sections, SymbolColumns
from sizeguard.linkgraph.inputs.loaded import Loaded

STV_DEFAULT, STV_INTERNAL, STV_HIDDEN = 0, 1, 2  # STV_PROTECTED is 3
_LEAST_STRICT = 4  # rank of STV_DEFAULT; of the others, the lower number is the stricter


def find_roots(
    loaded: Loaded,
    sections: Sections,
    symbols: SymbolColumns,
    rules: LinkerRules,
    unwind: Iterable[int],
) -> dict[int, str]:
    """Map the row of each root section to the reason why the linker keeps it.

    unwind: rows that unwind tables keep

    All sections are roots without --gc-sections, and in a relocatable link without roots.
    """
    inputs = loaded.inputs
    rows = np.flatnonzero(sections.is_source).tolist()
    if not inputs.gc_sections:
        return dict.fromkeys(rows, "no --gc-sections")
    definition = _definitions(loaded, symbols)
    visible = _visible(loaded, symbols)
    found: dict[int, str] = {}
    for name, why in _requested(loaded, definition):
        row = definition.get(loaded.numbers.get(name, -1), -1)
        if row >= 0:
            found.setdefault(row, why)
    for row in rows:
        why = _reason_by_rule(sections, row, rules)
        if why:
            found.setdefault(row, why)
    for row in (*_start_stop(loaded, sections, visible), *_exported(loaded, visible, definition)):
        found.setdefault(row, "exported")
    for row in unwind:
        found.setdefault(row, "unwind table")
    return {row: why for row, why in found.items() if sections.is_source[row]}


def _requested(loaded: Loaded, definition: dict[int, int]) -> list[tuple[bytes, str]]:
    """List the symbols that options or the mode of the link request, and why."""
    inputs = loaded.inputs
    requested = [(name.encode(), "-u") for name in inputs.undefined]
    if inputs.mode != "relocatable":
        requested += [
            (inputs.entry.encode(), "entry"),
            (inputs.init.encode(), "init"),
            (inputs.fini.encode(), "fini"),
        ]
    entry = definition.get(loaded.numbers.get(inputs.entry.encode(), -1), -1)
    if inputs.mode in ("executable", "static") and entry < 0:
        requested.append((b"main", "entry"))  # the start-up code was not given
    return requested


def _reason_by_rule(sections: Sections, row: int, rules: LinkerRules) -> str:
    """Return why the linker's rules make a section a root; empty if they do not."""
    name = sections.names[row]
    if name == ".eh_frame":
        return "unwind table"  # its records are separate nodes, kept or removed one by one
    return rules.root_of(name, int(sections.type[row]), int(sections.flags[row]))


def _definitions(loaded: Loaded, symbols: SymbolColumns) -> dict[int, int]:
    """Map a symbol's number to the row of the section that defines it."""
    defining, index = loaded.definition.T
    defined = np.flatnonzero(defining >= 0)
    rows = symbols.own[symbols.base[defining[defined]] + index[defined]]
    return dict(zip(defined.tolist(), rows.tolist(), strict=True))


def _exported(loaded: Loaded, visible: Bool, definition: dict[int, int]) -> list[int]:
    """Return the sections of the symbols that the image exports, possibly with repeats."""
    inputs = loaded.inputs
    exports_all = inputs.mode == "shared" or inputs.export_dynamic
    names = list(loaded.numbers)
    found = []
    for number, row in definition.items():
        if row < 0:
            continue
        if _is_kept_for_library(loaded, number, bool(visible[number])):
            found.append(row)
            continue
        if not visible[number]:
            continue
        name = names[number]
        if inputs.exports is not None:
            is_exported = name in inputs.exports
        else:
            # If a library of the link defines or requests the symbol, the program exports its own.
            is_exported = exports_all or bool(
                loaded.from_shared[number] or loaded.in_shared[number]
            )
            if not is_exported and inputs.exported is not None:
                is_exported = inputs.exported.is_shown(name.decode("utf-8", "backslashreplace"))
            is_exported = is_exported and not inputs.version_script.is_hidden(
                name.decode("utf-8", "backslashreplace")
            )
            is_exported = is_exported and not (inputs.exclude_libs and _is_excluded(loaded, number))
        if is_exported:
            found.append(row)
    return found


def _is_kept_for_library(loaded: Loaded, number: int, is_visible: bool) -> bool:
    """Return whether GNU ld or gold keep a symbol that a shared library names, even if hidden.

    They keep a visible symbol that the library defines or needs, even if a version script hides it.
    GNU ld keeps a hidden symbol that the library defines in executables, gold always. lld and mold
    do not keep such symbols.
    """
    inputs = loaded.inputs
    if inputs.linker.family not in ("bfd", "gold") or inputs.exports is not None:
        return False
    is_named = loaded.in_shared[number]
    if is_visible:
        is_named |= loaded.from_shared[number]
    elif inputs.linker.family == "bfd" and inputs.mode == "shared":
        return False
    return bool(is_named) and not (inputs.exclude_libs and _is_excluded(loaded, number))


def _start_stop(loaded: Loaded, sections: Sections, visible: Bool) -> list[int]:
    """Return the sections that exported __start_X and __stop_X keep.

    GNU ld defines __start_X in the first section X and exports it like any symbol, even if no kept
    section refers to it.
    """
    inputs = loaded.inputs
    if (
        inputs.linker.family != "bfd"
        or inputs.start_stop_gc
        or not (inputs.mode == "shared" or inputs.export_dynamic)
    ):
        return []
    first: dict[str, int] = {}
    for row in np.flatnonzero(sections.is_input).tolist():
        if is_identifier(sections.names[row]):
            first.setdefault(sections.names[row], row)
    bounds = [
        (prefix + name, row) for name, row in first.items() for prefix in ("__start_", "__stop_")
    ]
    return [
        row
        for name, row in bounds
        if (number := loaded.numbers.get(name.encode())) is not None
        and visible[number]
        and not inputs.version_script.is_hidden(name)
    ]


def _visible(loaded: Loaded, symbols: SymbolColumns) -> Bool:
    """Return for each symbol number whether other images can see the symbol.

    The strictest visibility wins, even if the object only refers to the symbol.
    """
    strict = np.full(len(loaded.numbers), _LEAST_STRICT, np.int64)
    is_global = symbols.number >= 0
    visibility = symbols.visibility[is_global].astype(np.int64)
    rank = np.where(visibility == STV_DEFAULT, _LEAST_STRICT, visibility)
    np.minimum.at(strict, symbols.number[is_global], rank)
    return np.asarray((strict != STV_INTERNAL) & (strict != STV_HIDDEN))


def _is_excluded(loaded: Loaded, number: int) -> bool:
    """Return whether --exclude-libs hides a symbol: an archive in its list defines it."""
    defining = loaded.objects[int(loaded.definition[number, 0])]
    return bool(defining.member) and (
        "ALL" in loaded.inputs.exclude_libs or defining.path.name in loaded.inputs.exclude_libs
    )
