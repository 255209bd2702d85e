"""Labels of mangled names by rules and members, compared with plain loops over one name."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sizeguard.columns.texts import Texts
from sizeguard.names.labels import FirstValues, label_names
from sizeguard.names.rules import MANGLED_ANONYMOUS
from sizeguard.names.scan.dtype_words import dtype_texts
from sizeguard.names.scan.scan_names import Scanned, scan_names
from tests.support.names.drawn_names import NAMES, OF_MEMBERS, RULES, rows_of
from tests.support.names.packed_texts import side_by_side

pytestmark = pytest.mark.native


VALUES = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 9), st.integers(0, 3)), max_size=6),
    min_size=1,
    max_size=3,
)


@given(VALUES, st.booleans())
def test_the_value_with_the_lowest_place_counts(
    pieces: list[list[tuple[int, int, int]]], with_otherwise: bool
) -> None:
    found = FirstValues(4)
    for piece in pieces:
        name, place, value = np.array(piece, np.int64).reshape(-1, 3).T
        found.add(
            np.ascontiguousarray(name, np.int32),
            np.ascontiguousarray(place),
            np.ascontiguousarray(value, np.int32),
        )
    otherwise = np.array([7, 7, 0, 0], np.int32) if with_otherwise else None
    expected = [0] * 4 if otherwise is None else otherwise.tolist()
    best: dict[int, int] = {}
    for name, place, value in itertools.chain(*pieces):
        if value and place < best.get(name, 10):
            best[name], expected[name] = place, value
    assert found.values(otherwise).tolist() == expected


# Values, each with the place or rule number that orders it.
Said = list[tuple[int, str]]


def first_of(*lists: Said) -> str:
    """Return the value with the lowest key in the first list that is not empty."""
    return next((min(said, key=lambda pair: pair[0])[1] for said in lists if said), "")


def judged(identifier: str, scope: tuple[str, ...]) -> tuple[dict[str, str], int]:
    """Return the labels that the rules give a member, and the first rule that gives one."""
    said: dict[str, str] = {}
    first = len(RULES.rules)
    operator = "" if identifier in RULES.shared else RULES.names.find(identifier)
    for number, rule in enumerate(RULES.rules):
        if (
            rule.within != scope
            or not fnmatchcase(identifier, rule.identifier or "*")
            or identifier == MANGLED_ANONYMOUS
        ):
            continue
        for level in ("operator", "kernel", "dtype", "component"):
            pattern = getattr(rule, level)
            if pattern and level not in said and (operator or "{operator}" not in pattern):
                said[level] = pattern.replace("{operator}", operator).replace("{name}", identifier)
                first = min(first, number)
    return said, first


def plain_labels(scanned: Scanned, i: int) -> tuple[str, str, str, str]:
    """Return operator, kernel, dtype and component of name i."""
    hits, members = scanned.rules, scanned.members
    own, mentions, weak = [], [], []
    for number, rule, start, is_mention in zip(
        *(c.tolist() for c in (hits.name, hits.rule, hits.start, hits.is_mention)), strict=True
    ):
        if number == i:
            is_weak = RULES.rules[rule].weak
            (mentions if is_mention else weak if is_weak else own).append((rule, start))
    of_members = []
    for row in np.flatnonzero(members.name == i).tolist():
        start = int(members.start[row])
        text = scanned.names.buffer[start : start + int(members.length[row])].tobytes().decode()
        said, first = judged(text, scanned.scopes[int(members.scope[row])])
        of_members.append((start, first, said))

    def by_rules(level: str, rows: list[tuple[int, int]], key: Callable[[int, int], int]) -> Said:
        values = [(key(rule, start), getattr(RULES.rules[rule], level)) for rule, start in rows]
        return [(place, value) for place, value in values if value]

    def by_members(level: str, *, is_operator: bool = False) -> Said:
        return [
            (start, said[level])
            for start, _, said in of_members
            if said.get(level) and (not is_operator or said.get("operator"))
        ]

    def place(rule: int, start: int) -> int:
        return start

    def word_first(rule: int, start: int) -> int:
        return start - (len(scanned.names.buffer) if RULES.rules[rule].identifier else 0)

    def in_order(rule: int, start: int) -> int:
        return rule

    components = by_rules("component", own, in_order)
    components += [
        (first, said["component"]) for _, first, said in of_members if "component" in said
    ]
    ids, labels = dtype_texts(scanned.dtypes, scanned.first_dtype)
    return (
        first_of([*by_rules("operator", own + weak, word_first), *by_members("operator")]),
        first_of(
            [*by_rules("kernel", own + weak, place), *by_members("kernel", is_operator=True)],
            by_members("kernel"),
        ),
        first_of(
            [*by_rules("dtype", own + weak, place), *by_members("dtype")], [(0, labels[ids[i]])]
        ),
        first_of(
            components,
            by_rules("component", mentions, place),
            by_rules("component", weak, in_order),
        ),
    )


@given(st.one_of(NAMES, OF_MEMBERS))
@example(["_ZN2at6nativeS0_999_12E", "_ZN2at6nativeES_999xE"])  # lengths beyond all names
def test_labels_are_those_of_a_loop_over_rules_and_members(names: list[str]) -> None:
    texts = side_by_side(names)
    scanned = scan_names(texts, RULES)
    found, few = label_names(texts, RULES), label_names(texts, RULES, dtypes=False)
    for i in range(len(names)):
        columns = (found.operator, found.kernel, found.dtype, found.component)
        assert tuple(c.texts[c.ids[i]] for c in columns) == plain_labels(scanned, i), names[i]
        for whole, part in zip(
            columns, (few.operator, few.kernel, None, few.component), strict=True
        ):
            assert part is None or part.texts[part.ids[i]] == whole.texts[whole.ids[i]]


OPERATOR = "_ZStlsIdcSt11char_traitsIcEERSt13basic_ostreamIT0_T1_ES6_RKSt7complexIT_E"


@given(NAMES)
@example(["_ZN2at6native3addILi16EEEv", OPERATOR])  # 16E looks like an identifier
@example(["_ZN2at6native12_GLOBAL__N_13addE", "_ZN2at6native10add_kernelIdE"])
def test_the_dtypes_of_a_name_do_not_depend_on_its_neighbours(names: list[str]) -> None:
    """A string table has a zero after each name, and a name alone has zeros after it."""
    together = side_by_side(names)
    assert dtypes_of(together) == [each for name in names for each in dtypes_of(Texts.of([name]))]


def dtypes_of(names: Texts) -> list[str]:
    found = label_names(names, RULES).dtype
    return [found.texts[i] for i in found.ids]


def test_few_names_of_a_large_buffer_are_labelled_like_the_names_alone() -> None:
    few = ["_ZN2at6native10add_kernelIfEEvv", "_ZN2at6native10mul_kernelIdEEvv"]
    texts = Texts.of([few[0], "_ZN4dnnl1fEv" * 10_000, few[1]])
    found, alone = label_names(texts.take([0, 2]), RULES), label_names(Texts.of(few), RULES)
    assert rows_of(found) == rows_of(alone)
