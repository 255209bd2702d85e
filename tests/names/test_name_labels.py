"""Labels of mangled names by rules and members, compared with plain loops over one name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sizeguard.columns.texts import Texts
from sizeguard.names.labels import FirstValues, label_names
from sizeguard.names.rules import MANGLED_ANONYMOUS
from sizeguard.names.scan.dtype_scan import dtype_texts
from sizeguard.names.scan.rule_hits import Scanned
from sizeguard.names.scan.rule_scan import scan_names
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
        found.add(name, place, value.astype(np.int32))
    otherwise = np.array([7, 7, 0, 0], np.int32) if with_otherwise else None
    expected = [0] * 4 if otherwise is None else otherwise.tolist()
    best: dict[int, int] = {}
    for name, place, value in itertools.chain(*pieces):
        if value and place < best.get(name, 10):
            best[name], expected[name] = place, value
    assert found.values(otherwise).tolist() == expected


def identifier_at(text: bytes, place: int) -> bytes:
    """Return the identifier whose length is at `place`, or after an L (internal linkage) there."""
    match = re.compile(rb"L?([1-9][0-9]{0,2})(?=[A-Za-z_])").match(text, place)
    found = text[match.end() : match.end() + int(match[1])] if match else b""
    return found if match and len(found) == int(match[1]) else b""


def scopes_in(text: bytes) -> list[tuple[int, bool, int]]:
    """Return the end of each namespace, whether it is transparent, and its scope (-1: none).

    A transparent namespace takes the scope before it, preferably a certain one.
    """
    words = []
    # The pattern skips the 6native of 16native_layernorm.
    for match in re.finditer(rb"2at|(?:(?<![0-9])6native|6native(?![a-z_]))|12_GLOBAL__N_1", text):
        before, is_transparent = text[: match.start()], match[0] != b"2at"
        is_substituted = before.endswith(b"_") and b"2at" in before
        scope, is_sure = -1, False
        if match[0] == b"2at":
            scope, is_sure = 0, True
        elif match[0] == b"6native" and (before.endswith(b"2at") or is_substituted):
            scope, is_sure = 1, not is_substituted
        words.append([match.end(), is_transparent, scope, is_sure])
    for only_certain in (True, False):
        last = -1
        for word in words:
            if word[2] >= 0 and (not only_certain or word[3] or not word[1]):
                last = word[2]
            elif word[1] and last >= 0:
                word[2] = last
    return [(end, is_transparent, scope) for end, is_transparent, scope, _ in words]


def plain_members(text: bytes, begin: int, end: int) -> list[tuple[bytes, int]]:
    """Return identifiers after a namespace, and kernels after a substitution that follows one.

    The name is text[begin:end]; an identifier of a damaged name may extend into the next name.
    """
    namespaces = [(begin + at, *others) for at, *others in scopes_in(text[begin:end])]
    transparent = {at for at, is_transparent, _ in namespaces if is_transparent}
    found = [
        (identifier, scope)
        for at, _, scope in namespaces
        if scope >= 0 and (identifier := identifier_at(text, at))
        if text.index(identifier, at) + len(identifier) not in transparent
    ]
    for match in re.compile(rb"(?<=[0-9A-Z])_(?=[0-9L])").finditer(text, begin, end):
        identifier = identifier_at(text, match.end())
        before = [scope for at, _, scope in namespaces if at <= match.end() and scope >= 0]
        if before and identifier.endswith(b"_kernel") and len(identifier) > len(b"_kernel"):
            found.append((identifier, before[-1]))
    return sorted(found)


@given(OF_MEMBERS)
def test_members_are_those_of_a_loop_over_namespaces(names: list[str]) -> None:
    places = side_by_side(Texts.of(names))
    scanned = scan_names(places, RULES)
    assert scanned.scopes == (("at",), ("at", "native"))
    texts = scanned.names.texts(scanned.members.start, scanned.members.length)
    rows = list(
        zip(scanned.members.name.tolist(), texts, scanned.members.scope.tolist(), strict=True)
    )
    for i, (begin, end) in enumerate(zip(places.start.tolist(), places.end.tolist(), strict=True)):
        expected = plain_members(places.buffer[: places.end[-1]].tobytes(), begin, end)
        assert sorted((text, scope) for k, text, scope in rows if k == i) == expected, names[i]


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
        (text,) = scanned.names.texts(members.start[[row]], members.length[[row]])
        said, first = judged(text.decode(), scanned.scopes[int(members.scope[row])])
        of_members.append((int(members.start[row]), first, said))

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
        return start - (scanned.names.places if RULES.rules[rule].identifier else 0)

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
    texts = side_by_side(Texts.of(names))
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
    text = "".join(f"{name}\0" for name in names).encode()
    end = np.flatnonzero(np.frombuffer(text, np.uint8) == 0)
    together = Texts(np.frombuffer(text, np.uint8), np.append(0, end[:-1] + 1), end)
    assert dtypes_of(together) == [each for name in names for each in dtypes_of(Texts.of([name]))]


def dtypes_of(names: Texts) -> list[str]:
    found = label_names(names, RULES).dtype
    return [found.texts[i] for i in found.ids]


def test_few_names_of_a_large_buffer_are_scanned_without_the_text_between() -> None:
    few = ["_ZN2at6native10add_kernelIfEEvv", "_ZN2at6native10mul_kernelIdEEvv"]
    texts = Texts.of([few[0], "_ZN4dnnl1fEv" * 10_000, few[1]])
    scanned = scan_names(texts.take([0, 2]), RULES)
    assert scanned.names.places < 100
    found, alone = label_names(texts.take([0, 2]), RULES), label_names(Texts.of(few), RULES)
    assert rows_of(found) == rows_of(alone)


def test_a_member_ends_in_its_name() -> None:
    """The 125 after _N_ is no length: a text of 125 bytes would end with the name behind it."""
    names = [f"_ZN2at12_GLOBAL__N_125{'a' * 25}E", f"_Z{'f' * 89}_kernel"]
    members = (scanned := scan_names(side_by_side(Texts.of(names)), RULES)).members
    assert scanned.names.texts(members.start, members.length) == [b"a" * 25]
