"""Differences between baselines, waivers and records, as values: what loosens, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.gate.policy.changes.reviewed_changes import (
    baseline_changes,
    record_changes,
    waiver_changes,
)
from sizeguard.gate.policy.terms_result import PolicyChange, Waiver
from sizeguard.gate.review_result import Baseline

OLD = Baseline(
    "app", "linux", "gcc-12", 1000, 100, 1500, {"aten::add": 300, "aten::mul": 200}, 50,
    "gcc 12.2.0", {"component": {"core": 400}}, ("libc.so.6",), "elf x86_64", "program",
)  # fmt: skip
PATH = "baselines/app.linux.gcc-12.yaml"
SIZES = "load 1,000, ram 100, file 1,500"


def changes_of(
    old: Mapping[str, Baseline | None], new: Mapping[str, Baseline | None], *known: tuple[str, str]
) -> list[PolicyChange]:
    """Compare the baselines of two commits; known: pairs of app and target on the base."""
    terms: list[Any] = [
        SimpleNamespace(baselines=each, pairs=lambda: set(known)) for each in (old, new)
    ]
    return list(baseline_changes(*terms))


def replaced(new: Baseline, old: Baseline = OLD) -> PolicyChange:
    (change,) = changes_of({PATH: old}, {PATH: new})
    assert (change.what, change.name, change.place) == ("baseline replaced", PATH, PATH)
    return change


@pytest.mark.parametrize(
    ("changed", "loosens"),
    [
        ({"load": 1001}, True),
        ({"load": 999, "file": 1499}, False),
        ({"ram": 101}, True),
        ({"ram": 99}, False),
        ({"file": 1501}, True),
        ({"file": 1499}, False),
        # Growth of the file is limited for what is loaded, gaps included, and for the rest
        ({"load": 999}, True),  # 501 bytes are not loaded
        ({"page_slack": 51}, True),
        ({"page_slack": 49}, True),
        ({"load": 999, "page_slack": 51}, False),
        ({"file": 1499, "page_slack": 49}, False),
        ({"operators": {"aten::add": 301, "aten::mul": 200}}, True),
        ({"operators": {"aten::add": 299, "aten::mul": 200}}, False),
        ({"operators": {"aten::add": 300}}, False),
        ({"operators": {**OLD.operators, "aten::relu": 1}}, True),
        ({"tables": {"component": {"core": 401}}}, True),
        ({"tables": {"component": {"core": 399}}}, False),
        ({"tables": {}}, False),
        ({"tables": None}, False),
        ({"tables": {"component": {"core": 400}, "symbol": {"f": 1}}}, True),
        # Files of older versions do not state the sizes of memory regions
        ({"tables": {**(OLD.tables or {}), "region_length": {"RAM": 4096}}}, False),
        ({"tools": "gcc 12.3.0"}, True),
        ({"toolchain": "gcc-13"}, True),
        ({"app": "other"}, True),
        ({"target": "macos"}, True),
        ({"needed": ("libc.so.6", "libm.so.6")}, True),
        ({"needed": ("libm.so.6",)}, True),
        ({"needed": ()}, False),
        ({"needed": None}, False),
        ({"machine": "elf aarch64"}, True),
        ({"machine": ""}, True),
        ({"kind": "library"}, True),
        ({"kind": ""}, True),
    ],
)
def test_a_baseline_loosens_by_growth_or_another_subject(
    changed: dict[str, Any], loosens: bool
) -> None:
    new = replace(OLD, **changed)
    change = replaced(new)
    assert (change.loosens, change.bytes) == (loosens, new.load - OLD.load)
    assert change.old != change.new


@pytest.mark.parametrize(
    ("old", "new", "loosens"),
    [
        ({"machine": ""}, {}, False),
        ({"kind": ""}, {}, False),
        ({"machine": "", "kind": ""}, {}, False),
        ({"machine": "", "kind": "library"}, {}, True),
        ({"needed": None}, {}, True),
        ({"needed": None}, {"needed": ()}, False),
        ({"needed": ()}, {"needed": None}, False),
    ],
)
def test_what_older_versions_did_not_say_is_no_other_subject(
    old: dict[str, Any], new: dict[str, Any], loosens: bool
) -> None:
    assert replaced(replace(OLD, **new), replace(OLD, **old)).loosens == loosens


@pytest.mark.parametrize(
    ("changed", "was", "now"),
    [
        ({"load": 2000}, SIZES, "load 2,000, ram 100, file 1,500"),
        ({"load": 2000, "page_slack": 60}, SIZES, "load 2,000, ram 100, file 1,500"),
        (
            {"operators": {"aten::add": 310, "aten::mul": 150}},
            f"{SIZES}, operator/aten::add 300, operator/aten::mul 200",
            f"{SIZES}, operator/aten::add 310, operator/aten::mul 150",
        ),
        (
            {"tables": {"component": {}, "symbol": {"f": 5000}}},
            f"{SIZES}, component/core 400, symbol/f 0",
            f"{SIZES}, component/core 0, symbol/f 5,000",
        ),
        (
            {"tools": "gcc 12.3.0"},
            f"{SIZES} by gcc 12.2.0",
            f"{SIZES} by gcc 12.3.0",
        ),
        ({"tools": ""}, f"{SIZES} by gcc 12.2.0", f"{SIZES} by gcc-12"),
        ({"toolchain": "gcc-13"}, f"{SIZES} by gcc 12.2.0, toolchain gcc-12",
         f"{SIZES} by gcc 12.2.0, toolchain gcc-13"),
        ({"page_slack": 1051}, f"{SIZES}, page_slack 50", f"{SIZES}, page_slack 1,051"),
        ({"app": "b", "target": "t"}, f"{SIZES}, app app, target linux",
         f"{SIZES}, app b, target t"),
        (
            {"needed": ("a.so", "b.so")},
            f"{SIZES}, needed libc.so.6",
            f"{SIZES}, needed a.so b.so",
        ),
        ({"needed": ()}, f"{SIZES}, needed libc.so.6", f"{SIZES}, needed nothing"),
        ({"needed": None}, f"{SIZES}, needed libc.so.6", f"{SIZES}, needed not said"),
        (
            {"machine": "elf arm", "kind": ""},
            f"{SIZES}, machine elf x86_64, kind program",
            f"{SIZES}, machine elf arm, kind not said",
        ),
    ],
)  # fmt: skip
def test_the_text_of_a_baseline_says_what_differs(
    changed: dict[str, Any], was: str, now: str
) -> None:
    change = replaced(replace(OLD, **changed))
    assert (change.old, change.new) == (was, now)


def test_the_three_sizes_that_moved_most_are_named() -> None:
    before = dict.fromkeys("abcde", 1000)
    after = {"a": 1010, "b": 980, "c": 1001, "d": 1000, "e": 1030}
    change = replaced(replace(OLD, operators=after), replace(OLD, operators=before))
    assert change.old == f"{SIZES}, operator/a 1,000, operator/b 1,000, operator/e 1,000"
    assert change.new == f"{SIZES}, operator/a 1,010, operator/b 980, operator/e 1,030"


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ({"x": 1}, {}, "x"),
        ({}, {"x": 1}, "x"),
        ({"x": 10, "p": 1, "q": 1, "y": 1}, {"p": 99, "q": 99, "y": 11}, "pqx"),
        ({"p": 1, "q": 1, "y": 1}, {"x": 11, "p": 99, "q": 99, "y": 11}, "pqx"),
    ],
)
def test_names_of_one_side_moved_by_their_size(
    before: dict[str, int], after: dict[str, int], named: str
) -> None:
    change = replaced(replace(OLD, operators=after), replace(OLD, operators=before))
    for text, sizes in ((change.old, before), (change.new, after)):
        shown = "".join(f", operator/{name} {sizes.get(name, 0)}" for name in named)
        assert text == f"{SIZES}{shown}"


@pytest.mark.parametrize(("old", "new"), [(OLD, None), (None, OLD)])
def test_a_baseline_that_cannot_be_read_loosens(old: Baseline | None, new: Baseline | None) -> None:
    (change,) = changes_of({PATH: old}, {PATH: new})
    texts = [SIZES if each else "cannot be read" for each in (old, new)]
    assert [change.old, change.new] == texts
    assert change == PolicyChange("baseline replaced", PATH, *texts, True, place=PATH)


@pytest.mark.parametrize(
    ("path", "added", "known", "loosens"),
    [
        (PATH, OLD, (), False),
        (PATH, OLD, (("app", "macos"), ("other", "linux")), False),
        (PATH, OLD, (("app", "linux"),), True),  # the base judges this app without one
        ("baselines/other.yaml", OLD, (), True),
        (PATH, None, (), True),
    ],
)
def test_a_new_baseline_loosens_unless_its_app_is_new(
    path: str, added: Baseline | None, known: tuple[tuple[str, str], ...], loosens: bool
) -> None:
    (change,) = changes_of({}, {path: added}, *known)
    text = SIZES if added else "cannot be read"
    assert change == PolicyChange("baseline added", path, "", text, loosens, place=path)


def test_each_baseline_is_compared_with_its_own() -> None:
    more = replace(OLD, load=1001)
    found = changes_of({"a": OLD, "c": OLD, "d": None, "e": OLD}, {"b": OLD, "c": OLD, "e": more})
    assert [(change.what, change.name, change.loosens) for change in found] == [
        ("baseline removed", "a", True),
        ("baseline added", "b", True),
        ("baseline removed", "d", True),
        ("baseline replaced", "e", True),
    ]
    assert [change.old for change in found[::2]] == [SIZES, "cannot be read"]
    assert changes_of({"d": None}, {"d": None}) == []


WAIVER = Waiver("load", "app", "linux", 100, "why", "ann", "2027-01-31", "waivers.yaml:4")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([WAIVER], [replace(WAIVER, source="waivers.yaml:9")], []),
        ([WAIVER, WAIVER], [WAIVER], [("waiver removed", False, -100)]),
        ([WAIVER], [WAIVER, WAIVER], [("waiver added", True, 100)]),
        ([WAIVER], [], [("waiver removed", False, -100)]),
        ([], [WAIVER], [("waiver added", True, 100)]),
        ([WAIVER], [replace(WAIVER, bytes=101)], [("waiver changed", True, 1)]),
        ([WAIVER], [replace(WAIVER, bytes=99)], [("waiver changed", False, -1)]),
        ([WAIVER], [replace(WAIVER, expires="2027-02-01")], [("waiver changed", True, 0)]),
        ([WAIVER], [replace(WAIVER, reason="because")], [("waiver changed", False, 0)]),
        # Another metric, app or target is another waiver
        *(
            (
                [WAIVER],
                [replace(WAIVER, **{field: "x"})],
                [("waiver added", True, 100), ("waiver removed", False, -100)],
            )
            for field in ("metric", "app", "target")
        ),
        # An equal one is not the changed one
        (
            [WAIVER, replace(WAIVER, bytes=50)],
            [replace(WAIVER, bytes=50), replace(WAIVER, bytes=150)],
            [("waiver changed", True, 50)],
        ),
        (
            [WAIVER],
            [replace(WAIVER, bytes=200), replace(WAIVER, bytes=300)],
            [("waiver changed", True, 100), ("waiver added", True, 300)],
        ),
    ],
)
def test_waivers_are_compared_by_what_they_are_for(
    old: list[Waiver], new: list[Waiver], expected: list[tuple[str, bool, int]]
) -> None:
    found = list(waiver_changes(old, new))
    assert [(change.what, change.loosens, change.bytes) for change in found] == expected


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({}, "load of app for linux"),
        ({"app": ""}, "load for linux"),
        ({"target": ""}, "load of app"),
        ({"app": "", "target": ""}, "load"),
    ],
)
def test_a_waiver_says_its_scope_and_its_source(changed: dict[str, Any], name: str) -> None:
    waiver = replace(WAIVER, **changed)
    text = "100 bytes until 2027-01-31, ann: why"
    (added,) = waiver_changes([], [waiver])
    place = "waivers.yaml:4"
    assert added == PolicyChange("waiver added", name, "", text, True, 100, place=place)
    (removed,) = waiver_changes([waiver], [])
    assert removed == PolicyChange("waiver removed", name, text, "", False, -100)
    by_trailer = replace(waiver, source="commit 4f2a91c", bytes=1000)
    (changed_,) = waiver_changes([waiver], [by_trailer])
    assert (changed_.accepted, changed_.place, changed_.old) == ("commit 4f2a91c", "", text)
    assert changed_.new == "1,000 bytes until 2027-01-31, ann: why"


def test_records_are_compared_by_their_contents() -> None:
    old = {"a": "1" * 40, "b": "2" * 40, "d": "4" * 40}
    new = {"a": "1" * 40, "b": "3" * 40, "c": "5" * 40}
    assert list(record_changes(old, new)) == [
        PolicyChange("selection record replaced", "b", "2222222", "3333333", True, place="b"),
        PolicyChange("selection record added", "c", "", "5555555", False, place="c"),
        PolicyChange("selection record removed", "d", "4444444", "", True),
    ]
