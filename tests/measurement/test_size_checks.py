"""Limits on made-up sizes: which limit holds, which names it means, and what is unknown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from sizeguard.attribution.size_report import CORE, UNATTRIBUTED
from sizeguard.base.errors import InputError
from sizeguard.builds.sizes import Sizes
from sizeguard.formats.link_kind import OBJECT
from sizeguard.formats.magics import ARCHIVE
from sizeguard.gate.gate_result import ABSOLUTE, CREEP, GROWTH
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.limits import (
    LARGEST,
    GrowthLimit,
    Limit,
    parse_limit,
    parse_most,
    parse_size,
)
from sizeguard.gate.reference.moved_bytes import BytesHolders
from sizeguard.ledger.region_use import RegionUse
from sizeguard.measurement.measurement import Measurement
from sizeguard.measurement.metric_kinds import JOINED, OBJECTS, SOURCES
from sizeguard.measurement.nameless_code import lost_places, nameless_code
from tests.support.images.made_up import MadeUp, Part


def measured(load: int, **tables: Mapping[str, int]) -> Measurement:
    return Measurement(Sizes(load, 0, load, 0), tables, {})


def limit(metric: str, kind: str, text: str, app: str = "", target: str = "") -> Limit:
    amount = (
        GrowthLimit(text, 0, parse_size(text, "x")) if kind == ABSOLUTE else parse_limit(text, "x")
    )
    return Limit(metric, kind, amount, app=app, target=target)


def checked(
    now: Measurement,
    base: Measurement | None,
    *limits: Limit,
    creep: Mapping[str, Measurement] | None = None,
) -> dict[str, tuple[str, int | None]]:
    """Return the verdict and the limit of each check."""
    references = {name: SizeReference(name, each) for name, each in (creep or {}).items()}
    subject = CheckedApp("a", "t", now, lambda metric: 0)
    found = size_checks(subject, limits, SizeReference("base", base), references)
    assert len({check.id for check in found}) == len(found)
    return {check.id: (check.verdict, check.limit) for check in found}


@pytest.mark.parametrize(
    ("app", "target", "applies"),
    [
        ("", "", True), ("a", "", True), ("", "t", True), ("a", "t", True),
        ("b", "", False), ("", "u", False), ("a", "u", False), ("b", "t", False),
        ("b", "u", False),
    ],
)  # fmt: skip
def test_a_limit_applies_to_its_app_and_its_target(app: str, target: str, applies: bool) -> None:
    found = checked(measured(10), None, limit("load", ABSOLUTE, "9 B", app, target))
    assert found == ({"a/t/load/absolute": ("fail", 9)} if applies else {})


def test_of_equal_limits_the_first_holds() -> None:
    now = measured(10, component={"xy": 10})
    first, second = limit("component/x*", ABSOLUTE, "9 B"), limit("component/*y", ABSOLUTE, "11 B")
    assert checked(now, None, first, second) == {"a/t/component/xy/absolute": ("fail", 9)}
    assert checked(now, None, second, first) == {"a/t/component/xy/absolute": ("pass", 11)}


def test_a_family_has_the_names_of_its_reference() -> None:
    """An operator that only the release has is checked for creep, not for growth."""
    now, old = measured(10, operator={"x::a": 4}), measured(10, operator={"x::b": 6})
    since = {"v1": old, "v2": measured(5, operator={"x::a": 1})}
    every = replace(limit("operator/*", CREEP, "2 B"), since="v1")
    again = replace(limit("operator/x::a", CREEP, "2 B"), since="v2")
    growth = limit("operator/*", GROWTH, "2 B")
    assert checked(now, now, every, again, growth, creep=since) == {
        "a/t/operator/x::a/creep-v1": ("fail", 2),
        "a/t/operator/x::b/creep-v1": ("pass", 8),
        "a/t/operator/x::a/creep-v2": ("fail", 3),
        "a/t/operator/x::a/growth": ("pass", 6),
    }


@pytest.mark.parametrize(
    ("metric", "kind", "bound", "verdict"),
    [
        ("section/.hot*", ABSOLUTE, "0 B", "pass"),
        ("section/.hot*", ABSOLUTE, "9 B", "inconclusive"),
        ("section/.hot*", GROWTH, "0 B", "inconclusive"),
        # Without a map no object is known, so nothing shows that none matches.
        ("object/*regex*", ABSOLUTE, "0 B", "inconclusive"),
        # Only kernels are known, as in macOS images.
        ("operator/x::*", ABSOLUTE, "0 B", "inconclusive"),
    ],
)
def test_a_family_without_a_name_is_told(metric: str, kind: str, bound: str, verdict: str) -> None:
    now = measured(10, section={".text": 10}, operator={"kernel add": 4})
    found = checked(now, now, replace(limit(metric, kind, bound), only_images_know=True))
    assert [each for each, _ in found.values()] == [verdict]


def test_a_listed_family_may_be_absent_from_an_app() -> None:
    """The sources have operators named so; this app selects none of them."""
    now = measured(10, operator={"x::a": 10})
    assert checked(now, now, limit("operator/y::*", ABSOLUTE, "9 B")) == {}


def test_an_operator_without_its_overload_means_all() -> None:
    now = measured(30, operator={"x::add.Tensor": 20, "x::add.Scalar": 5, "x::adds": 5})
    found = checked(now, None, limit("operator/x::add", ABSOLUTE, "9 B"))
    assert found == {
        "a/t/operator/x::add.Scalar/absolute": ("pass", 9),
        "a/t/operator/x::add.Tensor/absolute": ("fail", 9),
    }


@pytest.mark.parametrize("level", ["section", "component", "kernel", "dtype"])
def test_a_name_of_another_level_has_no_overloads(level: str) -> None:
    now = measured(30, **{level: {"text.hot": 20, "text.cold": 5}})
    found = checked(now, None, limit(f"{level}/text", ABSOLUTE, "9 B"))
    assert list(found) == [f"a/t/{level}/text/absolute"]


def region(size: int, used: int) -> Measurement:
    found = MadeUp([Part({}, used)])
    found.image = replace(
        found.image, regions=(RegionUse("FLASH", 0, size, used, used, used, (".text",)),)
    )
    return Measurement(Sizes(used, 0, used, 0), {"region": {"FLASH": used}}, {}, found)


@pytest.mark.parametrize(
    ("size", "used", "expected"),
    [
        (1_000, 900, ("pass", 900)),
        (1_000, 901, ("fail", 900)),
        (0, 1, ("inconclusive", None)),  # a region without an end
    ],
)
def test_a_share_of_a_region(size: int, used: int, expected: tuple[str, int | None]) -> None:
    most = parse_most("region/FLASH", "90%", "x")
    assert (most.milli_percent, most.bytes) == (90_000, 0)
    found = checked(region(size, used), None, Limit("region/FLASH", ABSOLUTE, most))
    assert found == {"a/t/region/FLASH/absolute": expected}
    # A metric that was not measured is undecided, whatever its limit
    assert set(checked(measured(1), None, Limit("region/FLASH", ABSOLUTE, most)).values()) == {
        ("inconclusive", None)
    }


def test_a_share_limits_only_regions() -> None:
    with pytest.raises(InputError, match="is not a size"):
        parse_most("load", "90%", "x")
    assert parse_most("region/FLASH", "9 KiB", "x").bytes == 9 << 10


def test_the_largest_size() -> None:
    assert parse_size(f"{LARGEST} B", "x") == LARGEST
    assert parse_size(f"{LARGEST >> 10} KiB", "x") == LARGEST
    for text in (f"{LARGEST + 1} B", f"{(LARGEST >> 10) + 1} KiB", f"{'9' * 5_000} B"):
        with pytest.raises(InputError, match="is not a size"):
            parse_size(text, "x")


def test_a_piece_that_keeps_its_holders_moved_nothing() -> None:
    assert BytesHolders({"x::a": 5}, {"x::a": 5}).moved() == {}
    assert BytesHolders({"x::a": 5}, {"x::a": 3}).moved() == {}
    assert BytesHolders({"x::a": 5, "x::b": 1}, {"x::b": 6}).moved() == {"x::b": 5}


@pytest.mark.parametrize(
    ("metric", "text"), [("region/*", "0 B"), ("region/F*", "0 B"), ("object/a*", "9 B")]
)
def test_a_family_that_was_not_measured_is_not_one_that_matches_nothing(
    metric: str, text: str
) -> None:
    subject = CheckedApp("a", "t", measured(10), lambda metric: 0)
    found = size_checks(subject, [limit(metric, ABSOLUTE, text)], SizeReference("", None), {})
    assert [check.verdict for check in found] == ["inconclusive"]
    assert "matches nothing" not in found[0].advice
    assert "`unknown: ok`" not in found[0].advice
    assert "was not measured" in found[0].advice or "names no object" in found[0].advice


@pytest.mark.parametrize(("sections", "verdict"), [({".text": 4}, "pass"), ({}, "inconclusive")])
def test_nothing_matches_a_pattern_only_where_names_are_known(
    sections: dict[str, int], verdict: str
) -> None:
    """An image without section headers may have any section."""
    subject = CheckedApp("a", "t", measured(10, section=sections), lambda metric: 0)
    zero = limit("section/.debug*", ABSOLUTE, "0 B")
    (found,) = size_checks(subject, [zero], SizeReference("", None), {})
    assert found.verdict == verdict
    assert "section/.debug* matches nothing" in found.advice


@pytest.mark.parametrize(
    ("operators", "nameless", "verdict"),
    [
        (["aten::add"], 0, "pass"),
        ([CORE, "(C++ library)", UNATTRIBUTED], 0, "inconclusive"),
        (["aten::add"], 1, "inconclusive"),
    ],
)
def test_what_no_image_names_may_be_the_code_without_a_name(
    operators: list[str], nameless: int, verdict: str
) -> None:
    """The base is stripped, too, so that it shows as little."""
    now = replace(measured(9, operator=dict.fromkeys(operators, 4)), nameless=nameless)
    zero = replace(limit("operator/aten::conv*", ABSOLUTE, "0 B"), only_images_know=True)
    assert [each for each, _ in checked(now, now, zero).values()] == [verdict]


@pytest.mark.parametrize(
    ("metric", "kind", "bound", "verdicts"),
    [
        ("aten::add.out", ABSOLUTE, "11 B", ["inconclusive"]),
        ("aten::add.out", ABSOLUTE, "12 B", ["pass"]),
        ("aten::add.out", ABSOLUTE, "2 B", ["fail"]),
        ("aten::add.out", GROWTH, "3 B", ["inconclusive"]),
        ("aten::add.out", GROWTH, "4 B", ["pass"]),
        ("aten::add.*", ABSOLUTE, "11 B", ["inconclusive"]),
        ("aten::add*", ABSOLUTE, "11 B", ["pass", "pass"]),
        ("aten::add", ABSOLUTE, "9 B", ["pass"]),
        ("aten::mul.out", ABSOLUTE, "9 B", ["pass"]),
    ],
)
@pytest.mark.parametrize("is_listed", [False, True])
def test_code_of_an_operator_may_be_of_any_overload(
    metric: str, kind: str, bound: str, verdicts: list[str], is_listed: bool
) -> None:
    """The names of ExecuTorch's kernels tell no overload, but their registrations do."""
    analysis = MadeUp([])
    operators = {"aten::add": 9, "aten::add.out": 3, "aten::mul.out": 4}
    now = replace(measured(20, operator=operators), analysis=analysis)
    base = measured(20, operator={**operators, "aten::add": 5})
    asked = replace(limit(f"operator/{metric}", kind, bound), only_images_know=not is_listed)
    if is_listed:
        verdicts = ["pass" if each == "inconclusive" else each for each in verdicts]
    assert [each for each, _ in checked(now, base, asked).values()] == verdicts
    if "inconclusive" in verdicts:
        subject = CheckedApp("a", "t", now, lambda metric: 0)
        (check,) = size_checks(subject, [asked], SizeReference("base", base), {})
        text = "9 B of aten::add may be of any overload; set a limit for operator/aten::add"
        assert check.advice == text


def test_what_the_base_used_of_a_waiver_counts_for_growth_alone() -> None:
    """Creep and a maximum count from before the waiver: all its bytes are above them."""
    reference = SizeReference("base", measured(20))
    subject = CheckedApp("a", "t", measured(30), lambda metric: 10, used=lambda metric: 4)
    limits = [
        limit("load", ABSOLUTE, "20 B"),
        limit("load", GROWTH, "0"),
        replace(limit("load", CREEP, "0"), since="v1"),
    ]
    found = size_checks(subject, limits, reference, {"v1": reference})
    assert {check.kind: (check.verdict, check.waived) for check in found} == {
        ABSOLUTE: ("pass", 10),
        GROWTH: ("fail", 6),
        CREEP: ("pass", 10),
    }


@pytest.mark.parametrize(
    ("size", "nameless", "verdict"),
    [(0, 4, "pass"), (0, 5, "inconclusive"), (3, 5, "pass"), (5, 0, "fail")],
)
def test_a_symbol_that_is_gone_may_be_the_code_without_a_name(
    size: int, nameless: int, verdict: str
) -> None:
    """The base has its name; a symbol that is found is all of it."""
    base = replace(measured(20), symbols={"f": 4})
    now = replace(measured(20), symbols={"f": size}, nameless=nameless)
    found = checked(now, base, replace(limit("symbol/f", ABSOLUTE, "4 B"), only_images_know=True))
    assert [each for each, _ in found.values()] == [verdict]


@pytest.mark.parametrize("metric", ["load", "section/.text"])
def test_code_without_a_name_is_part_of_totals_and_sections(metric: str) -> None:
    now = replace(measured(4, section={".text": 4}), nameless=4)
    assert [each for each, _ in checked(now, None, limit(metric, ABSOLUTE, "4 B")).values()] == [
        "pass"
    ]


@pytest.mark.parametrize(
    ("nameless", "before", "verdict"),
    [(0, 0, "pass"), (4, 0, "pass"), (5, 0, "inconclusive"), (9, 5, "pass"), (5, None, "pass")],
)
@pytest.mark.parametrize("kind", [ABSOLUTE, GROWTH])
def test_a_component_that_is_gone_may_be_the_code_without_a_name(
    kind: str, nameless: int, before: int | None, verdict: str
) -> None:
    """An image that is stripped names no components; the base had other code without a name."""
    base = replace(measured(20, component={"own": 4}), nameless=before or 0)
    now = replace(measured(20, component={}), nameless=nameless)
    sizes = {ABSOLUTE: "4 B", GROWTH: "0"}
    if before is None:
        now, verdict = replace(measured(20, component={"own": 5}), nameless=9), "fail"
    found = checked(now, base, limit("component/own", kind, sizes[kind]))
    assert [each for each, _ in found.values()] == [verdict]


@pytest.mark.parametrize("metric", ["component/own", "archive/own"])
@pytest.mark.parametrize("lost", [SOURCES, OBJECTS, JOINED])
def test_a_metric_may_have_lost_its_places(metric: str, lost: str) -> None:
    """A baseline does not say if it had them, so a metric of some size has not lost them."""
    level, key = metric.partition("/")[0], metric if metric[0] == "c" else "archive"
    now = replace(measured(20, **{level: {}}), lost={key: lost})
    some = replace(now, tables={level: {"own": 3}})
    had = replace(measured(20, **{level: {"own": 4}}), analysis=MadeUp([]))
    lacked = replace(had, lost={key: lost})
    baseline = replace(had, analysis=None)
    for image, base, verdict in (
        (now, had, "inconclusive"), (some, had, "inconclusive"), (now, lacked, "pass"),
        (now, baseline, "inconclusive"), (some, baseline, "pass"),
    ):  # fmt: skip
        found = checked(image, base, limit(metric, ABSOLUTE, "4 B"))
        assert [each for each, _ in found.values()] == [verdict]


@pytest.mark.parametrize(
    ("size", "sourceless", "is_baseline", "verdict"),
    [
        (1, 12, False, "pass"), (1, 13, False, "inconclusive"), (0, 13, False, "pass"),
        (4, 99, False, "pass"), (1, 99, True, "pass"),
    ],
)  # fmt: skip
def test_a_component_may_have_lost_some_of_its_sources(
    size: int, sourceless: int, is_baseline: bool, verdict: str
) -> None:
    """One that did not shrink has lost none; before, 9 bytes of code had no source."""
    metric = "component/own"
    now = replace(measured(20, component={"own": size}), sourceless={metric: sourceless})
    analysis = None if is_baseline else MadeUp([])
    sources = {} if is_baseline else {metric: 9}
    base = replace(measured(20, component={"own": 4}), analysis=analysis, sourceless=sources)
    found = checked(now, base, limit(metric, ABSOLUTE, "4 B"))
    assert [each for each, _ in found.values()] == [verdict]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([""], OBJECTS),
        (["a.o", "libz.a(b.o)", "lto/a.o", "melton.o"], ""),
        (["a.o", "ltrans0.ltrans.o"], JOINED),
        (["/tmp/lto-llvm-97fcb6.o"], JOINED),
        (["app.lto.o"], JOINED),
        (["/tmp/app.lto.a-b0d6e4.o"], JOINED),
    ],
)
def test_objects_of_link_time_optimization_join_others(objects: list[str], expected: str) -> None:
    rules = json.dumps({"rules": [{"object": "*libz*", "component": "zed"}]})
    analysis = MadeUp([Part({"object": name}, load=1) for name in objects])
    keys = ("object", "archive", "component/zed") if expected else ()
    assert lost_places(analysis, rules) == dict.fromkeys(keys, expected)


@pytest.mark.parametrize(
    ("outside", "other", "expected"),
    [
        (1024, 0, 0),  # start-up code and stubs
        (1025, 0, 1025),
        (1024, 1024, 0),  # those of two images
        (1025, 1024, 1025),
        (4001, 0, 4008),  # more than what has names: the data has none either
    ],
)
def test_code_outside_of_functions_is_of_functions_without_names(
    outside: int, other: int, expected: int
) -> None:
    """They have no unwind records, as in firmware with a library that was stripped before."""
    code = {"kind": "code", "image": "a"}
    parts = [
        Part({**code, "symbol": "main"}, load=4000),
        Part({**code, "symbol": "(.text)"}, load=outside),
        Part({**code, "symbol": "(.text)", "image": "b"}, load=other),
        Part({"kind": "data", "symbol": "(.data)", "image": "a"}, load=7),
    ]
    analysis = MadeUp(parts)
    assert nameless_code(analysis) == expected
    of_linker = analysis.image
    for image in (replace(of_linker, kind=OBJECT), replace(of_linker, format=ARCHIVE)):
        analysis.image = image
        assert nameless_code(analysis) == (outside + other if outside < 4000 else expected)
