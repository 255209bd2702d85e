"""Bytes that only move between operators are shown as moved and do not count as growth."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.owners.library_rows import KIND as OF_LIBRARY
from sizeguard.attribution.size_report import CORE
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.causes.growth_causes import causes_between
from sizeguard.gate.causes.growth_result import MOVED
from sizeguard.gate.causes.source_lines import SourceLines
from sizeguard.gate.gate_result import GROWTH, Check
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.limits import Limit, parse_limit
from sizeguard.gate.reference.moved_bytes import Moves, moved_bytes
from sizeguard.measurement.measurement import Measurement
from tests.support.images.made_up import MadeUp, Part
from tests.support.places import ROOT

SHARED = "(shared by operators)"
Rows = dict[tuple[str, str], int]  # bytes by operator and symbol


def image(rows: Rows, kind: str = "code", object_: str = "a.o", library: int = 0) -> MadeUp:
    """Make an image. library: size of a library beside it."""
    parts = [
        Part({"operator": operator, "symbol": symbol, "object": object_, "kind": kind}, size)
        for (operator, symbol), size in rows.items()
    ]
    beside = Part({"operator": CORE, "object": "also/libx.so", "kind": OF_LIBRARY}, library)
    return MadeUp([*parts, *([beside] if library else [])])


def measured(rows: Rows) -> Measurement:
    table: dict[str, int] = {}
    for (operator, _), size in rows.items():
        table[operator] = table.get(operator, 0) + size
    load = sum(rows.values())
    return Measurement(Sizes(load, 0, load, 0), {"operator": table}, {}, image(rows))


def checked(old: Measurement, new: Measurement) -> dict[str, Check]:
    limit = Limit("operator/*", GROWTH, parse_limit("max(10%, 512B)", "x"))
    subject = CheckedApp("vision", "linux", new, lambda _: 0, Moves(new).of)
    found = size_checks(subject, [limit], SizeReference("base", old), {})
    return {check.metric.partition("/")[2]: check for check in found}


BEFORE = {(SHARED, "rows"): 4000, ("aten::tanh", "tanh"): 300, ("aten::sigmoid", "sigmoid"): 400}
AFTER = {("aten::sigmoid", "rows"): 4000, ("aten::sigmoid", "sigmoid"): 400}


def test_shared_code_that_became_exclusive_is_no_growth() -> None:
    check = checked(measured(BEFORE), measured(AFTER))["aten::sigmoid"]
    assert (check.verdict, check.actual, check.base) == (PASS, 4400, 400)
    assert (check.moved, check.limit) == (3488, 4400)


def test_growth_beside_moved_bytes_is_growth() -> None:
    """New code, and the growth of moved code, count fully towards the limit."""
    for more in ({("aten::sigmoid", "new"): 513}, {("aten::sigmoid", "rows"): 4513}):
        check = checked(measured(BEFORE), measured({**AFTER, **more}))["aten::sigmoid"]
        assert (check.verdict, check.headroom) == (FAIL, -1)
    check = checked(measured(BEFORE), measured({**AFTER, ("aten::sigmoid", "new"): 512}))
    assert check["aten::sigmoid"].verdict == PASS


def test_moves_are_counted_for_each_reference() -> None:
    """Moves since one reference must not excuse growth since another."""
    shared, exclusive = measured(BEFORE), measured({**AFTER, ("aten::sigmoid", "new"): 9})
    moves = Moves(measured(AFTER))
    assert [moves.of(each, "aten::sigmoid") for each in (shared, exclusive, shared)] == [
        4000,
        0,
        4000,
    ]


def test_code_of_another_name_did_not_move() -> None:
    clone = {("aten::sigmoid", "rows2"): 4000, ("aten::sigmoid", "sigmoid"): 400}
    assert checked(measured(BEFORE), measured(clone))["aten::sigmoid"].verdict == FAIL


def test_unnamed_bytes_of_a_section_move_only_as_a_whole() -> None:
    """Unnamed bytes of a section count as moved only if their size did not change."""
    old, new = {(SHARED, "(.rodata)"): 600}, {("aten::a", "(.rodata)"): 600}
    assert moved_bytes(image(old), image(new)) == {"aten::a": 600}
    assert moved_bytes(image(old), image({("aten::a", "(.rodata)"): 601})) == {}


def test_a_baseline_has_no_symbols_that_could_have_moved() -> None:
    old = measured(BEFORE)
    baseline = Measurement(old.sizes, old.tables, {})
    assert checked(baseline, measured(AFTER))["aten::sigmoid"].verdict == FAIL


def test_moves_stand_beside_the_causes_and_change_no_sum() -> None:
    grown = {**AFTER, ("aten::sigmoid", "rows"): 4010}
    causes = causes_between(image(BEFORE), image(grown), SourceLines(ROOT))
    assert [(c.operator, c.symbol, c.delta) for c in causes if c.kind != MOVED] == [
        ("aten::tanh", "tanh", -300),
        ("aten::sigmoid", "rows", 10),
    ]
    (moved,) = [cause for cause in causes if cause.kind == MOVED]
    assert (moved.operator, moved.symbol, moved.origin) == ("aten::sigmoid", "rows", SHARED)
    assert (moved.old, moved.new) == (4000, 4000)


def test_objects_that_only_one_image_names_are_no_change() -> None:
    """An image in place has no map, and the base's link is recorded."""
    small, grown = {("aten::a", "f"): 40, ("aten::a", "g"): 8}, {("aten::a", "f"): 50}
    for objects in (("a.o", ""), ("", "a.o"), ("", ""), ("a.o", "a.o")):
        old, new = (image(r, object_=o) for r, o in zip((small, grown), objects, strict=True))
        causes = causes_between(old, new, SourceLines(ROOT))
        assert [(each.symbol, each.delta) for each in causes] == [("f", 10), ("g", -8)]
        old, new = (
            image(r, object_=o, library=900) for r, o in zip((small, grown), objects, strict=True)
        )
        causes = causes_between(old, new, SourceLines(ROOT))
        assert [(each.symbol, each.delta) for each in causes] == [("f", 10), ("g", -8)]
    moved = causes_between(image(small), image(small, object_="b.o"), SourceLines(ROOT))
    assert {(each.symbol, each.delta) for each in moved if each.symbol == "g"} == {
        ("g", 8),
        ("g", -8),
    }


def test_a_library_beside_the_image_is_a_cause_by_its_name() -> None:
    old, new = (image(BEFORE, library=size) for size in (900, 1000))
    (cause,) = causes_between(old, new, SourceLines(ROOT))
    assert (cause.kind, cause.symbol, cause.old, cause.new) == (
        OF_LIBRARY, "also/libx.so", 900, 1000,
    )  # fmt: skip
    assert not cause.place


ROWS = st.dictionaries(
    st.tuples(st.sampled_from([SHARED, "aten::a", "aten::b"]), st.sampled_from("fgh")),
    st.integers(0, 50),
    max_size=9,
)


@given(ROWS, ROWS)
def test_no_growth_of_a_piece_counts_as_moved(old: Rows, new: Rows) -> None:
    """Bytes that move to an operator leave another one, and do not include a symbol's growth."""
    moved = moved_bytes(image(old), image(new))
    limit = 0
    for symbol in "fgh":
        before = {name: size for (name, each), size in old.items() if each == symbol}
        after = {name: size for (name, each), size in new.items() if each == symbol}
        names = {*before, *after}
        lost = sum(max(0, before.get(name, 0) - after.get(name, 0)) for name in names)
        came = sum(max(0, after.get(name, 0) - before.get(name, 0)) for name in names)
        limit += min(lost, came)
    assert sum(moved.values()) <= limit
    assert all(size > 0 for size in moved.values())
    back = moved_bytes(image(new), image(old))
    assert abs(sum(back.values()) - sum(moved.values())) <= 6  # because of rounding


@given(ROWS, ROWS)
def test_causes_sum_to_the_change(old: Rows, new: Rows) -> None:
    causes = causes_between(image(old), image(new), SourceLines(ROOT))
    assert sum(cause.delta for cause in causes) == sum(new.values()) - sum(old.values())
