"""Differences of limits, of families of limits, and of reviewed sizes of other levels."""

from __future__ import annotations

import pytest

from tests.support.tricks.changed_projects import BASELINE, REVIEWED, Files, config
from tests.support.tricks.given_terms import compared, rows


def with_tables(sizes: str) -> Files:
    return {REVIEWED: f"{BASELINE.format(app='vision')}components:\n{sizes}"}


def test_sizes_of_other_levels_of_a_baseline_are_terms() -> None:
    (change,) = compared(with_tables("  a: 10\n  b: 20\n"), with_tables("  a: 30\n  b: 0\n"))
    assert (change.what, change.loosens, change.bytes) == ("baseline replaced", True, 0)
    assert change.old.endswith("component/a 10, component/b 20")
    assert change.new.endswith("component/a 30, component/b 0")
    (less,) = compared(with_tables("  a: 10\n"), with_tables("  a: 9\n"))
    assert not less.loosens


def limits(*lines: str) -> Files:
    return config(("  operator/*:\n", "".join(f"  {line}\n" for line in lines) + "  operator/*:\n"))


def limit_rows(old: Files, new: Files) -> list[tuple[str, str, str, str, bool]]:
    return rows([each for each in compared(old, new) if each.what.startswith("limit")])


def test_a_family_that_decides_for_a_reviewed_name_of_any_level() -> None:
    """component/third was in a family limited to 1 %; a longer pattern now matches it."""
    tables = with_tables("  third: 10\n")
    old = {**limits("component/*ird: {growth: 1%}"), **tables}
    new = {**limits("component/*ird: {growth: 1%}", "component/thir*: {growth: 9%}"), **tables}
    assert ("limit loosened", "component/third growth", "1%", "9%", True) in limit_rows(old, new)


def test_of_two_equal_families_the_first_decides_as_in_the_gate() -> None:
    one, other = "operator/aten::re*: {growth: 1%}", "operator/*en::relu: {growth: 9%}"
    found = limit_rows(limits(one, other), limits(other, one))
    assert ("limit loosened", "operator/aten::relu growth", "1%", "9%", True) in found


def test_an_overload_is_limited_by_its_operator_too() -> None:
    """A limit of aten::relu is one of aten::relu.out, and a longer name decides."""
    one = "operator/aten::relu: {max: 1 KiB}"
    for name in ("aten::relu.out", "::aten::relu"):
        found = limit_rows(limits(one), limits(one, f"operator/{name}: {{max: 9 KiB}}"))
        metric = f"operator/{name.removeprefix('::')} maximum"
        assert found == [("limit loosened", metric, "1 KiB", "9 KiB", True)]


def test_an_overload_may_be_limited_by_its_family_only() -> None:
    """If an image has an operator named aten::relu, a limit of it means no overloads."""
    one, own = "operator/aten::relu: {max: 9 KiB}", "operator/aten::relu.out: {max: 2 KiB}"
    every = "operator/aten::*: {max: 1 KiB}"
    found = limit_rows(limits(every, one), limits(every, one, own))
    name = "operator/aten::relu.out maximum"
    assert ("limit loosened", name, "1 KiB", "2 KiB", True) in found


@pytest.mark.parametrize("name", ["symbol/::f", "symbol/ns::operator/::f", "operator/::aten::*"])
def test_no_limit_hides_behind_colons(name: str) -> None:
    found = limit_rows(limits(f"{name}: {{max: 1 KiB}}"), limits(f"{name}: {{max: 9 KiB}}"))
    assert found == [("limit loosened", f"{name} maximum", "1 KiB", "9 KiB", True)]


SINCE = "creep: max(2%, 1 KiB) since v1"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["ram: {creep: 1% since v1}"], ["ram: {creep: 1% since v2}"],
         [("limit loosened", "ram creep", "1% since v1", "1% since v2", True)]),
        ([], ["ram: {creep: 1% since v1}"],
         [("limit added", "ram creep", "", "1% since v1", False)]),
        (["ram: {creep: 1% since v1}"], [],
         [("limit removed", "ram creep", "1% since v1", "", True)]),
        (["ram: {creep: 1% since v1}"], ["ram: {creep: 2% since v1}"],
         [("limit loosened", "ram creep", "1% since v1", "2% since v1", True)]),
        # Fewer percent or fewer bytes with as much of the other
        (["ram: {growth: 'max(2%, 512B)'}"], ["ram: {growth: 'max(1%, 512B)'}"],
         [("limit tightened", "ram growth", "max(2%, 512B)", "max(1%, 512B)", False)]),
        (["ram: {growth: 'max(2%, 512B)'}"], ["ram: {growth: 'max(2%, 511B)'}"],
         [("limit tightened", "ram growth", "max(2%, 512B)", "max(2%, 511B)", False)]),
        (["ram: {growth: 'max(2%, 512B)'}"], ["ram: {growth: 'max(1%, 513B)'}"],
         [("limit loosened", "ram growth", "max(2%, 512B)", "max(1%, 513B)", True)]),
    ],
)  # fmt: skip
def test_a_limit_and_its_way(
    old: list[str], new: list[str], expected: list[tuple[str, str, str, str, bool]]
) -> None:
    assert limit_rows(limits(*old), limits(*new)) == expected


@pytest.mark.parametrize(
    ("kind", "metric"),
    [("max: 0", "maximum"), ("growth: 1%", "growth"), ("creep: 0 since v1", "creep")],
)
def test_a_name_that_may_be_unknown_loosens_its_limit(kind: str, metric: str) -> None:
    """A misspelt name is inconclusive without it, and passes with it."""
    old, new = (limits(f"symbol/f: {{{kind}{more}}}") for more in ("", ", unknown: ok"))
    text, name = kind.partition(": ")[2], f"symbol/f {metric}"
    ok = f"{text}, unknown: ok"
    assert limit_rows(old, new) == [("limit loosened", name, text, ok, True)]
    assert limit_rows(new, old) == [("limit tightened", name, ok, text, False)]
    assert limit_rows(new, new) == []


def test_creep_since_several_releases() -> None:
    """One app has a limit since v1, the other one since v2, and one of them is left."""
    two = limits("ram: {creep: 1% since v1}")
    own = "      dtype/Double: 0\n"
    more = {"sizeguard.yaml": str(two["sizeguard.yaml"]).replace(
        own, f"{own}      ram: {{creep: 3% since v2}}\n"
    )}  # fmt: skip
    new = limits("ram: {creep: 1% since v3}")
    for old, now, other in ((more, new, "limit removed"), (new, more, "limit added")):
        found = [(what, name) for what, name, *_ in limit_rows(old, now)]
        assert sorted(found) == sorted([
            (other, "ram creep of vision"),
            ("limit loosened", "ram creep of language"),
            ("limit loosened", "ram creep of vision"),
        ])  # fmt: skip


def test_a_family_covers_the_names_that_it_changes_alike() -> None:
    """The reviewed baselines name two operators."""
    found = limit_rows({}, config(("growth: max(10%, 512B)", "growth: max(20%, 512B)")))
    assert found == [
        ("limit loosened", "operator/* growth", "max(10%, 512B)", "max(20%, 512B)", True)
    ]


def test_a_name_that_one_app_loosens_beside_its_family() -> None:
    """The family's change is for one app alone, so it does not cover the name's for all."""
    own = "      dtype/Double: 0\n"
    old = limits("component/*: {growth: 1%}", "component/a: {growth: 1%}")
    new = limits("component/*: {growth: 1%}", "component/a: {growth: 5%}")
    wide = {"sizeguard.yaml": str(new["sizeguard.yaml"]).replace(
        own, f"{own}      component/*: {{growth: 5%}}\n"
    )}  # fmt: skip
    assert ("limit loosened", "component/a growth", "1%", "5%", True) in limit_rows(old, wide)


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        ("90%", "80%", None),
        ("90%", "4 KiB", None),
        ("4 KiB", "90%", None),
        ("4 KiB", "5 KiB", 1024),
    ],
)  # fmt: skip
def test_bytes_of_a_share_are_unknown(old: str, new: str, size: int | None) -> None:
    (change,) = compared(limits(f"region/FLASH: {old}"), limits(f"region/FLASH: {new}"))
    assert change.bytes == size


def test_two_families_overlap_in_names_of_no_baseline() -> None:
    """`operator/aten::*` decided for aten::erf; then a longer pattern does."""
    none: Files = {REVIEWED: None, "baselines/language.linux.gcc-12.2-bfd-2.40-Os.yaml": None}
    own = "  operator/aten::*: {growth: 0}\n"
    wide = "  operator/*::erf******: {growth: 'max(10%, 512B)'}\n"
    old = {**none, **config(("  operator/*:\n", f"{own}  operator/*:\n"))}
    new = {**none, **config(("  operator/*:\n", f"{own}{wide}  operator/*:\n"))}
    name = "operator/aten::*::erf* growth"
    assert rows(compared(old, new)) == [("limit loosened", name, "0", "max(10%, 512B)", True)]
