"""Rows of an analysis and their labels, compared with plain loops over made-up ledgers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.inherited import inherited_components
from sizeguard.attribution.level_labels import symbols
from sizeguard.attribution.operator_labels import (
    TABLES,
    operators_by_name,
    operators_by_reach,
    operators_per_owner,
)
from sizeguard.attribution.owner_rows import OwnerRows
from sizeguard.attribution.owners.cuts import Cut, apart, with_cuts
from sizeguard.attribution.owners.graph_owners import Reached
from sizeguard.attribution.owners.placed_owners import PlacedOwners
from sizeguard.attribution.owners.registered_owners import Served
from sizeguard.attribution.size_report import CORE, OUTSIDE, SHARED, UNATTRIBUTED
from sizeguard.columns.label import Label
from sizeguard.columns.sums import WHAT, ColumnSums
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.ledger.kinds import ANALYZER, ANALYZERS, KIND, KINDS
from sizeguard.ledger.ledger import NONE, AliasGroups, ImageInfo, Ledger, MemoryPartition, Owners
from sizeguard.ledger.partition import Partition
from sizeguard.linkgraph.retained import users_of
from sizeguard.names.labels import NameLabels
from tests.support.links.made_graphs import EMPTY_GRAPH

SYMBOLS = ("f", "g", "h", "(.text)", "longer_name")
SECTIONS = (".text", "(gap)", ".data")
PARTS = ("aten::add", "other")
INPUTS = tuple(
    InputSection(".text", name, file, 0, 8, is_merged)
    for name, file, is_merged in (
        (".text.f", "a.o", False),
        (".text.g", "b.o", False),
        (".rodata.str1.1", "a.o", True),
    )
)
OPERATORS = ("", "aten::add", "aten::mul")
SIZE = 60

SOME_KINDS = st.sampled_from(("code", "rodata", "padding", "string table", "unattributed"))
SOME_ANALYZERS = st.sampled_from(("symbol table", "section", "unattributed", "function starts"))
GROUPS = st.lists(
    st.lists(st.integers(0, len(SYMBOLS) - 1), min_size=2, max_size=3, unique=True), max_size=2
)


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    """Draw a ledger of up to six owners; some have several names, and some have none."""
    count = draw(st.integers(1, 6))
    groups = draw(GROUPS)
    number = st.integers(NONE, len(groups) - 1)
    group = draw(st.lists(number, min_size=count, max_size=count))
    columns = {
        "section": [draw(st.integers(NONE, len(SECTIONS) - 1)) for _ in group],
        "segment": [NONE] * count,
        "kind": [KIND[draw(SOME_KINDS)] for _ in group],
        "analyzer": [ANALYZER[draw(SOME_ANALYZERS)] for _ in group],
        "symbol": [
            draw(st.integers(NONE, len(SYMBOLS) - 1)) if g == NONE else groups[g][0] for g in group
        ],
        "group": group,
        "input": [draw(st.integers(NONE, len(INPUTS) - 1)) for _ in group],
        "part": [draw(st.integers(NONE, len(PARTS) - 1)) for _ in group],
    }
    bounds = sorted(draw(st.sets(st.integers(1, SIZE - 1), max_size=9)))
    owner = [draw(st.integers(NONE, count - 1)) for _ in range(len(bounds) + 1)]
    file = Partition(np.array([0, *bounds]), np.array(owner), SIZE)
    sums = {what: np.array(draw(numbers(count)), np.int64) for what in WHAT}
    names = Texts.of(SYMBOLS)
    hashes = hash_texts(names)
    nothing = np.zeros(0, np.int64)
    return Ledger(
        image=ImageInfo("app", "app", "elf", "x86_64", "", SIZE, SIZE, SIZE),
        sections=SECTIONS,
        segments=(),
        symbols=names,
        inputs=INPUTS,
        parts=Texts.of(PARTS),
        owners=Owners.of(
            {
                name: np.array(column, np.int8 if name in ("kind", "analyzer") else np.int32)
                for name, column in columns.items()
            }
        ),
        groups=AliasGroups(
            np.cumsum([0, *map(len, groups)]).astype(np.int32),
            np.array([name for names_ in groups for name in names_], np.int32),
        ),
        make_file=lambda: file,
        make_memory=lambda: MemoryPartition(nothing, nothing, nothing),
        sums=ColumnSums(sums),
        hashes=hashes,
        make_hash_order=lambda: np.argsort(hashes, kind="stable"),
    )


def numbers(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 30), min_size=count, max_size=count)


@dataclass(frozen=True)
class Row:
    owner: int
    symbol: int
    nth_operator: int
    sums: tuple[int, ...]


def names_of(ledger: Ledger, owner: int) -> list[int]:
    group = int(ledger.owners.group[owner])
    if group == NONE:
        return [int(ledger.owners.symbol[owner])]
    return ledger.groups.member[
        ledger.groups.first[group] : ledger.groups.first[group + 1]
    ].tolist()


def plain_rows(ledger: Ledger, operators: list[int]) -> list[Row]:
    """Return the first row of every owner, then the others: every name for each operator."""
    own, added = [], []
    for owner in range(len(ledger.owners)):
        names = names_of(ledger, owner)
        count = len(names) * operators[owner]
        for nth in range(count):
            sums = []
            for what in WHAT:
                quotient, remainder = divmod(int(ledger.sums.column(what)[owner]), count)
                sums.append(quotient + (nth < remainder))
            row = Row(owner, names[nth % len(names)], nth // len(names), tuple(sums))
            (added if nth else own).append(row)
    return own + added


@given(ledgers())
def test_merged_names_leave_each_owner_its_bytes(ledger: Ledger) -> None:
    rows = OwnerRows(ledger, merge_names=True)
    assert rows.symbol.tolist() == [
        min(names, key=lambda name: int(ledger.hashes[name])) if names != [NONE] else NONE
        for names in (names_of(ledger, owner) for owner in range(len(ledger.owners)))
    ]
    for what in ("file", "load", "ram"):
        assert rows.sums(what).tolist() == ledger.sums.column(what).tolist()
    assert rows.counts().tolist() == ledger.count.tolist()


@given(ledgers(), st.lists(st.integers(1, 3), min_size=6, max_size=6), st.booleans())
def test_names_and_operators_share_the_bytes_of_their_owner(
    ledger: Ledger, operators: list[int], is_known: bool
) -> None:
    count = len(ledger.owners)
    operators = operators[:count] if is_known else [1] * count
    rows = OwnerRows(ledger, np.array(operators) if is_known else None)
    expected = plain_rows(ledger, operators)
    assert rows.symbol.tolist() == [row.symbol for row in expected]
    if is_known:
        assert rows.nth_operator.tolist() == [row.nth_operator for row in expected]
    assert rows.owner(np.arange(len(expected))).tolist() == [row.owner for row in expected]
    assert rows.of_owner(ledger.owners.section).tolist() == [
        int(ledger.owners.section[row.owner]) for row in expected
    ]
    ids = np.array([row.symbol % 3 for row in expected])
    for k, (what, by_id) in enumerate(zip(WHAT, rows.sums_by(ids, 3), strict=True)):
        assert rows.sums(what).tolist() == [row.sums[k] for row in expected]
        assert rows.sums(what).sum() == ledger.sums.column(what).sum()
        assert by_id.tolist() == [
            sum(row.sums[k] for row in expected if row.symbol % 3 == i) for i in range(3)
        ]


def is_unexplained(ledger: Ledger, owner: int) -> bool:
    analyzer = ANALYZERS[ledger.owners.analyzer[owner]]
    kind = KINDS[ledger.owners.kind[owner]]
    return "unattributed" in (analyzer, kind) or analyzer == "function starts"


def texts_of(label: Label) -> list[str]:
    return [label.texts[i] for i in label.ids.tolist()]


OWNED = st.sampled_from([CORE, SHARED, "aten::add", "aten::add, aten::mul", ""])


@st.composite
def placed_owners(draw: st.DrawFn) -> PlacedOwners:
    """Draw a ledger, and operators for its map rows, for owners that are cut out, and imports."""
    ledger = draw(ledgers())
    count = draw(st.integers(0, len(ledger.owners)))  # later owners belong to branches
    labels = draw(st.lists(OWNED, min_size=6, max_size=6))
    known = {"aten::add", *labels}
    return PlacedOwners(
        ledger,
        Reached(users_of(EMPTY_GRAPH), np.zeros(0, np.int32), tuple(sorted(known)), {}),
        tuple(draw(st.lists(OWNED, min_size=len(INPUTS), max_size=len(INPUTS)))),
        tuple(draw(st.lists(OWNED, min_size=count, max_size=count))),
        draw(st.dictionaries(st.sampled_from(SYMBOLS), OWNED, max_size=2)),
    )


def owned_text(placed: PlacedOwners, owner: int) -> str:
    """Return the operators of an owner: those of its cut, or else those of its map row."""
    row = int(placed.ledger.owners.input[owner])
    cut = placed.of_cut[owner] if owner < len(placed.of_cut) else ""
    return cut or (placed.of_input[row] if row != NONE else "")


@given(placed_owners())
def test_operators_by_reach_are_those_of_a_loop_over_rows(placed: PlacedOwners) -> None:
    ledger = placed.ledger
    operators = operators_per_owner(ledger, placed)
    rows = OwnerRows(ledger, operators)
    joint = {text for text in (*placed.of_input, *placed.of_cut) if ", " in text}
    placed = replace(placed, reached=replace(placed.reached, labels=(*joint, "aten::add")))
    expected = []
    for row in plain_rows(ledger, operators.tolist()):
        part = int(ledger.owners.part[row.owner])
        text = owned_text(placed, row.owner)
        if part != NONE and PARTS[part] in placed.reached.labels:
            text = PARTS[part]
        elif text:
            text = text.split(", ")[row.nth_operator] if ", " in text else text
        elif is_unexplained(ledger, row.owner):
            text = UNATTRIBUTED
        elif row.symbol != NONE:
            text = CORE
        kind = KINDS[ledger.owners.kind[row.owner]]
        is_inside = kind == "padding" and text not in (CORE, UNATTRIBUTED)
        if kind in TABLES and not is_inside:
            text = ""
        imported = placed.of_import.get(SYMBOLS[row.symbol], "") if row.symbol != NONE else ""
        if imported not in ("", CORE) and text in ("", CORE):
            text = SHARED if ", " in imported else imported
        expected.append(text or OUTSIDE)
    assert texts_of(operators_by_reach(rows, placed)) == expected


@given(placed_owners())
def test_an_owner_has_a_row_for_each_operator_that_it_serves(placed: PlacedOwners) -> None:
    ledger = placed.ledger
    for owner, count in enumerate(operators_per_owner(ledger, placed).tolist()):
        cut = placed.of_cut[owner] if owner < len(placed.of_cut) else ""
        is_part = int(ledger.owners.part[owner]) != NONE
        is_joint = ", " in (cut if is_part else owned_text(placed, owner))
        assert count == (2 if is_joint else 1)


NAME_IDS = st.lists(st.integers(0, 2), min_size=len(SYMBOLS), max_size=len(SYMBOLS))


def label_of(ids: list[int], texts: tuple[str, ...]) -> Label:
    return Label(np.array(ids, np.int32), Texts.of(texts))


@given(ledgers(), NAME_IDS, NAME_IDS, NAME_IDS, st.booleans(), st.data())
def test_operators_by_name_are_those_of_a_loop_over_rows(
    ledger: Ledger,
    operator: list[int],
    kernel: list[int],
    component: list[int],
    knows_operators: bool,
    data: st.DataObject,
) -> None:
    kernels, components = ("", "add_kernel", "mul_kernel"), ("", "ATen", "oneDNN")
    names = NameLabels(
        label_of(operator, OPERATORS),
        label_of(kernel, kernels),
        label_of([0] * len(SYMBOLS), ("",)),
        label_of(component, components),
    )
    known = data.draw(st.integers(0, len(ledger.owners)))  # the others belong to branches
    of_owner = data.draw(st.lists(st.integers(NONE, 1), min_size=known, max_size=known))
    labels = ("aten::add, aten::mul", "aten::max")
    served = None
    if data.draw(st.booleans()):
        served = Served(ledger, np.array(of_owner, np.int32), labels)
    else:
        of_owner = [NONE] * known

    rows = OwnerRows(ledger)
    plain = plain_rows(ledger, [1] * len(ledger.owners))
    registered = [of_owner[row.owner] if row.owner < known else NONE for row in plain]
    of_kernel: dict[int, set[str]] = {}
    for row, number in zip(plain, registered, strict=True):
        if number != NONE and row.symbol != NONE:
            of_kernel.setdefault(kernel[row.symbol], set()).update(labels[number].split(", "))
    expected = []
    for row, number in zip(plain, registered, strict=True):
        is_table = KINDS[ledger.owners.kind[row.owner]] in TABLES
        if number != NONE:
            expected.append(labels[number])
        elif row.symbol == NONE:
            is_known = is_table or not is_unexplained(ledger, row.owner)
            is_code = KINDS[ledger.owners.kind[row.owner]] == "code"
            known_as = CORE if is_code else OUTSIDE
            expected.append(known_as if is_known else UNATTRIBUTED)
        elif operator[row.symbol] or is_table:
            expected.append(OPERATORS[operator[row.symbol]] or OUTSIDE)
        elif kernel[row.symbol] and not knows_operators:
            number = kernel[row.symbol]
            of_tables = ", ".join(sorted(of_kernel.get(number, ())))
            expected.append(of_tables or f"kernel {kernels[number]}")
        else:
            text = components[component[row.symbol]]
            expected.append(f"({text})" if text else CORE)
    found = operators_by_name(rows, names, names.component, served, knows_operators=knows_operators)
    assert texts_of(found) == expected


@given(ledgers())
def test_rows_without_a_name_have_that_of_their_place(ledger: Ledger) -> None:
    expected = []
    for row in plain_rows(ledger, [1] * len(ledger.owners)):
        section, place = int(ledger.owners.input[row.owner]), int(ledger.owners.section[row.owner])
        part = int(ledger.owners.part[row.owner])
        analyzer = ANALYZERS[ledger.owners.analyzer[row.owner]] if part != NONE else ""
        if row.symbol != NONE:
            expected.append(SYMBOLS[row.symbol])
        elif analyzer == "function starts":
            expected.append(f"({ledger.parts[part]})")
        elif analyzer == "function table":
            expected.append(ledger.parts[part])
        elif section != NONE:
            expected.append(f"({INPUTS[section].name})")
        else:
            expected.append(f"({SECTIONS[place].strip('()')})" if place != NONE else "")
    label = symbols(OwnerRows(ledger))
    assert texts_of(label) == expected
    if label.hashes is not None and label.order is not None:
        ordered = label.hashes[label.order]
        assert (ordered[1:] >= ordered[:-1]).all()
        used = set(label.ids.tolist())
        assert used <= set(label.order.tolist())
        assert len({label.texts[i] for i in used}) == len(used)


def owner_of_bytes(file: Partition) -> list[int]:
    return np.repeat(file.owner, np.diff(file.start, append=file.size)).tolist()


@given(ledgers(), st.data())
def test_cuts_take_their_bytes_from_one_owner_each(ledger: Ledger, data: st.DataObject) -> None:
    before = owner_of_bytes(ledger.file)
    bounds = [*ledger.file.start.tolist(), SIZE]
    place = st.integers(0, SIZE - 1)
    drawn = []
    for start, length in data.draw(st.lists(st.tuples(place, st.integers(1, 9)), max_size=4)):
        end = min(start + length, next(bound for bound in bounds if bound > start))
        if before[start] != NONE:
            drawn.append(Cut(start, end, before[start], "Float"))
    cuts = apart(drawn)
    assert [cut for cut in sorted(set(drawn)) if cut in cuts] == cuts
    assert all(a.end <= b.start for a, b in pairwise(cuts))

    after = with_cuts(ledger, cuts, ANALYZER["inline frames"])
    expected = list(before)
    for k, cut in enumerate(cuts):
        expected[cut.start : cut.end] = [len(ledger.owners) + k] * (cut.end - cut.start)
    assert owner_of_bytes(after.file) == expected
    assert len(after.owners) == len(ledger.owners) + len(cuts)
    for k, cut in enumerate(cuts):
        row = len(ledger.owners) + k
        assert after.owners.symbol[row] == ledger.owners.symbol[cut.owner]
        assert ANALYZERS[after.owners.analyzer[row]] == "inline frames"
        assert after.sums.column("file")[row] == cut.end - cut.start
    for what in ("file", "load", "ram"):
        assert after.sums.column(what).sum() == ledger.sums.column(what).sum()


COMPONENTS = ("", "oneDNN", "MKL", "ATen")


def open_places(order: list[int], component: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield each name without a component, and the nearest components before and after it."""
    for k, name in enumerate(order):
        before = [component[n] for n in order[:k] if component[n]]
        behind = [component[n] for n in order[k:] if component[n]]
        if not component[name] and before and behind:
            yield name, before[-1], behind[0]


@given(
    st.lists(st.tuples(st.sampled_from(["_Zf", "xbsr", "_", "z"]), st.integers(0, 3)), max_size=9),
    st.data(),
)
def test_names_without_a_meaning_have_the_component_around_them(
    names: list[tuple[str, int]], data: st.DataObject
) -> None:
    component = [number for _, number in names]
    order = data.draw(st.permutations(range(len(names))))
    is_library = [number in (1, 2) for number in range(len(COMPONENTS))]
    found = inherited_components(
        Texts.of([name for name, _ in names]),
        np.array(component, np.int32),
        np.array(order, np.int64),
        np.array(is_library),
    )
    expected = list(component)
    for name, before, behind in open_places(list(order), component):
        if before == behind and is_library[before] and not names[name][0].startswith("_Z"):
            expected[name] = before
    assert found.tolist() == expected
