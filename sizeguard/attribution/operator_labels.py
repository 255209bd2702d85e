"""Operators of rows: by the objects of a link, or else by registration tables and names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.owner_rows import OwnerRows, at, first_known
from sizeguard.attribution.size_report import CORE, OUTSIDE, UNATTRIBUTED
from sizeguard.columns.label import Label
from sizeguard.columns.pool import Pool
from sizeguard.columns.texts import Int, Int32
from sizeguard.ledger.ledger import NONE, Ledger

if TYPE_CHECKING:
    from sizeguard.attribution.owners.object_owners import Reached
    from sizeguard.attribution.owners.registered_owners import Served
    from sizeguard.formats.linkmap.link_map import InputSection
    from sizeguard.names.labels import NameLabels

# Kinds that belong to the image, not to a part of the program.
TABLES = (
    "symbol table",
    "string table",
    "dynamic",
    "import",
    "note",
    "header",
    "padding",
    "page slack",
    "section gap",
    "comment",
    "debug",
    "load commands",
    "exports",
    "function starts",
    "code signature",
    "other",
)


def operators_by_reach(rows: OwnerRows, reached: Reached) -> Label:
    """Label the rows of a build: an input section belongs to the operator that reaches it.

    An entry of a registration table belongs to the operator that it registers.
    """
    pool = Pool()
    ledger = rows.ledger
    of_input = _numbers(pool, (_owner_of(section, reached) for section in ledger.inputs))
    registered = {entry.operator for entry in reached.entries}
    parts = (ledger.parts[i] for i in range(len(ledger.parts)))
    of_part = _numbers(pool, (text if text in registered else "" for text in parts))
    ids = first_known(
        at(of_part, rows.of_owner(ledger.owners.part)),
        at(of_input, rows.of_owner(ledger.owners.input)),
    )
    _split_joint(ids, rows, pool, reached)
    unknown, core = pool.number(UNATTRIBUTED), pool.number(CORE)
    rest = np.where(rows.is_unexplained(), unknown, np.where(rows.symbol >= 0, core, 0))
    ids = np.where(rows.has_kind(TABLES), 0, first_known(ids, rest))
    return pool.label(first_known(ids, pool.number(OUTSIDE)))


def _split_joint(ids: Int32, rows: OwnerRows, pool: Pool, reached: Reached) -> None:
    """Give each row of an owner that serves several operators one of them, in place."""
    for joint in sorted({text for text in reached.owners.values() if ", " in text}):
        here = np.flatnonzero(ids == pool.number(joint))
        operators = _numbers(pool, joint.split(", "))
        ids[here] = operators[rows.nth_operator[here]]


def operators_per_owner(ledger: Ledger, reached: Reached) -> Int:
    """Count the operators that each owner serves, by one kernel that is registered for them."""
    counts = [_owner_of(section, reached).count(", ") + 1 for section in ledger.inputs]
    of_input = np.array(counts or [1], np.int64)
    owners = ledger.owners
    is_section = (owners.input >= 0) & (owners.part < 0)
    return np.where(is_section, of_input[np.maximum(owners.input, 0)], 1)


def _owner_of(section: InputSection, reached: Reached) -> str:
    return "" if section.is_merged else reached.owners.get((section.file, section.name), CORE)


def operators_by_name(
    rows: OwnerRows,
    names: NameLabels,
    component: Label,
    served: Served | None,
    *,
    knows_operators: bool,
) -> Label:
    """Label the rows of a file alone: by its registration tables, then by names.

    A kernel stands in for an operator unless the rules know operators, and a component for both.

    names, component: of the ledger's symbols
    """
    pool = Pool()
    named = pool.add(names.operator.texts, used=names.operator.ids)[names.operator.ids]
    others = np.zeros(len(named), np.int32)
    if not knows_operators:
        others = _kernels(rows, names, served, pool)
    of_component = pool.add(component.texts, "(", ")", component.ids)[component.ids]
    others = first_known(others, of_component)
    # By symbol first: three million rows have half a million symbols.
    of_code = first_known(first_known(named, others), pool.number(CORE))
    of_tables = first_known(named, pool.number(OUTSIDE))
    ids = rows.of_symbol(of_code)
    tables = np.flatnonzero(rows.has_kind(TABLES))
    ids[tables] = rows.of_symbol(of_tables, pool.number(OUTSIDE), tables)
    if served is not None:
        registered = at(_numbers(pool, served.operators), _registered(rows, served))
        ids = first_known(registered, ids)
    left = np.flatnonzero(ids == 0)
    unknown, outside = pool.number(UNATTRIBUTED), pool.number(OUTSIDE)
    ids[left] = np.where(rows.is_unexplained()[left], unknown, outside)
    return pool.label(ids)


def _kernels(rows: OwnerRows, names: NameLabels, served: Served | None, pool: Pool) -> Int32:
    """Return `kernel NAME` of each symbol, or the operators that NAME is registered for."""
    of_kernel = pool.add(names.kernel.texts, "kernel ", used=names.kernel.ids)
    if served is not None:
        for kernel, operators in _registered_kernels(rows, names, served).items():
            of_kernel[kernel] = pool.number(", ".join(sorted(operators)))
    found: Int32 = of_kernel[names.kernel.ids]
    return found


def _registered_kernels(rows: OwnerRows, names: NameLabels, served: Served) -> dict[int, set[str]]:
    """Return the operators of each kernel that a registered function names, by its number.

    Such a function is box<&sg::kernels::add>.
    """
    number = _registered(rows, served)
    kernel = rows.of_symbol(names.kernel.ids)
    found: dict[int, set[str]] = {}
    for row in np.flatnonzero((number >= 0) & (kernel > 0)).tolist():
        found.setdefault(int(kernel[row]), set()).update(served.operators[number[row]].split(", "))
    return found


def _registered(rows: OwnerRows, served: Served) -> Int32:
    """Return the index into `served.operators` of each row, NONE for most."""
    # Owners of dtype branches come after those that registrations know.
    more = len(rows.ledger.owners) - len(served.operator)
    return rows.of_owner(np.concatenate([served.operator, np.full(more, NONE, np.int32)]))


def _numbers(pool: Pool, texts: Iterable[str]) -> Int32:
    """Return the numbers of texts, at least one entry."""
    return np.array([pool.number(text) for text in texts] or [0], np.int32)
