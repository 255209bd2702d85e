"""Find operators of rows from the objects of a link, else from registration tables and names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.owner_rows import OwnerRows, at, first_known
from sizeguard.attribution.size_report import CORE, OUTSIDE, SHARED, UNATTRIBUTED
from sizeguard.columns.label import Label
from sizeguard.columns.pool import Pool
from sizeguard.columns.texts import Int, Int32
from sizeguard.ledger.ledger import NONE, Ledger

if TYPE_CHECKING:
    from sizeguard.attribution.owners.placed_owners import PlacedOwners
    from sizeguard.attribution.owners.registered_owners import Served
    from sizeguard.names.labels import NameLabels

# Kinds of content that belong to the image, not to a part of the program.
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


def operators_by_reach(rows: OwnerRows, placed: PlacedOwners) -> Label:
    """Label the rows of a build: bytes that only one operator reaches belong to it.

    An entry of a registration table belongs to the operator that it registers.
    """
    pool = Pool()
    ledger, owners = rows.ledger, rows.ledger.owners
    of_cut, of_input = _numbers(pool, placed.of_cut), _numbers(pool, placed.of_input)
    of_cut = np.append(of_cut, np.zeros(len(owners) - len(of_cut), np.int32))
    known = set(placed.reached.labels)
    parts = (ledger.parts[i] for i in range(len(ledger.parts)))
    of_part = _numbers(pool, (text if text in known else "" for text in parts))
    ids = first_known(
        at(of_part, rows.of_owner(owners.part)),
        first_known(rows.of_owner(of_cut), at(of_input, rows.of_owner(owners.input))),
    )
    _split_joint(ids, rows, pool, placed)
    unknown, core = pool.number(UNATTRIBUTED), pool.number(CORE)
    rest = np.where(rows.is_unexplained(), unknown, np.where(rows.symbol >= 0, core, 0))
    # Removing an input section also removes the padding inside it.
    is_inside = rows.has_kind(("padding",)) & (ids > 0) & (ids != core)
    ids = np.where(rows.has_kind(TABLES) & ~is_inside, 0, first_known(ids, rest))
    imported = rows.of_symbol(_imports(ledger, placed, pool))
    ids = np.where((imported > 0) & ((ids == 0) | (ids == core)), imported, ids)
    return pool.label(first_known(ids, pool.number(OUTSIDE)))


def _imports(ledger: Ledger, placed: PlacedOwners, pool: Pool) -> Int32:
    """Return the operator of each imported symbol that only operators use; 0 for others."""
    found = np.zeros(len(ledger.symbols), np.int32)
    wanted = {name: text for name, text in placed.of_import.items() if text not in ("", CORE)}
    if wanted:
        for i in range(len(found)):
            text = wanted.get(ledger.symbols[i].partition("@")[0], "")
            found[i] = pool.number(SHARED if ", " in text else text)
    return found


def _split_joint(ids: Int32, rows: OwnerRows, pool: Pool, placed: PlacedOwners) -> None:
    """Change `ids` in place: the rows of an owner of several operators get one operator each."""
    for joint in sorted({text for text in placed.reached.labels if ", " in text}):
        here = np.flatnonzero(ids == pool.number(joint))
        operators = _numbers(pool, joint.split(", "))
        ids[here] = operators[rows.nth_operator[here]]


def operators_per_owner(ledger: Ledger, placed: PlacedOwners) -> Int:
    """Count the operators that each owner serves through one kernel registered for all of them."""
    owners = ledger.owners
    of_input = np.array([text.count(", ") + 1 for text in placed.of_input] or [1], np.int64)
    of_cut, is_cut = np.ones(len(owners), np.int64), np.zeros(len(owners), bool)
    known = len(placed.of_cut)  # owners of dtype branches follow
    of_cut[:known] = [text.count(", ") + 1 for text in placed.of_cut]
    is_cut[:known] = [text != "" for text in placed.of_cut]
    is_section = (owners.input >= 0) & (owners.part < 0)
    counts = np.where(is_cut, of_cut, of_input[np.maximum(owners.input, 0)])
    return np.where(is_cut | is_section, counts, 1)


def operators_by_name(
    rows: OwnerRows,
    names: NameLabels,
    component: Label,
    served: Served | None,
    *,
    knows_operators: bool,
) -> Label:
    """Label the rows of a file without its link: by its registration tables, then by names.

    If the rules know no operators, the kernel replaces the operator; without a kernel, the
    component does.

    names, component: labels of the ledger's symbols
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
    # A stripped Go image still has the names of its functions, in Go's own table.
    known = np.where(rows.has_kind(("code",), left), pool.number(CORE), outside)
    ids[left] = np.where(rows.is_unexplained(left), unknown, known)
    return pool.label(ids)


def _kernels(rows: OwnerRows, names: NameLabels, served: Served | None, pool: Pool) -> Int32:
    """Return `kernel NAME` of each symbol, or the operators for which NAME is registered."""
    of_kernel = pool.add(names.kernel.texts, "kernel ", used=names.kernel.ids)
    if served is not None:
        for kernel, operators in _registered_kernels(rows, names, served).items():
            of_kernel[kernel] = pool.number(", ".join(sorted(operators)))
    found: Int32 = of_kernel[names.kernel.ids]
    return found


def _registered_kernels(rows: OwnerRows, names: NameLabels, served: Served) -> dict[int, set[str]]:
    """Map each kernel number in the names of registered functions to its operators.

    Such a function is box<&sg::kernels::add>.
    """
    number = _registered(rows, served)
    kernel = rows.of_symbol(names.kernel.ids)
    found: dict[int, set[str]] = {}
    for row in np.flatnonzero((number >= 0) & (kernel > 0)).tolist():
        found.setdefault(int(kernel[row]), set()).update(served.operators[number[row]].split(", "))
    return found


def _registered(rows: OwnerRows, served: Served) -> Int32:
    """Return each row's index into `served.operators`; NONE for most rows."""
    # Owners of dtype branches follow those that the registrations cover.
    more = len(rows.ledger.owners) - len(served.operator)
    return rows.of_owner(np.concatenate([served.operator, np.full(more, NONE, np.int32)]))


def _numbers(pool: Pool, texts: Iterable[str]) -> Int32:
    """Return the numbers of texts in the pool; 0 if there are none."""
    return np.array([pool.number(text) for text in texts] or [0], np.int32)
