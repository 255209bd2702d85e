"""Test waivers: the growth that they allow, and when they fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest

from sizeguard.builds.sizes import Sizes
from sizeguard.gate.gate_result import Check
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.limits import GrowthLimit, Limit
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.policy.waiver_use import in_force, waived_bytes, waiver_uses
from sizeguard.gate.reference.reference import MeasuredApp
from sizeguard.gate.reference.used_waivers import used_bytes
from sizeguard.measurement.measurement import Measurement
from tests.support.verdicts.waiver_terms import CONFIG, TODAY

# Load may grow by 1 % of 10,000 bytes, so up to 10,100 bytes need no waiver.
LIMITS = (Limit("load", "growth", GrowthLimit("1%", 1000, 0), place="sizeguard.yaml:1:1"),)


def waiver(
    metric: str = "load",
    app: str = "vision",
    size: int = 100,
    expires: str = "2027-01-31",
    source: str = "x:1",
    target: str = "",
) -> Waiver:
    return Waiver(metric, app, target, size, "tiles", "ann", expires, source)


def loaded(load: int) -> Measurement:
    return Measurement(Sizes(load, 0, load, 0), {}, {})


def checks_of(
    loads: Mapping[str, int], waivers: Sequence[Waiver], base: int | None = 10_000
) -> list[Check]:
    """Check the load of each app on linux as the gate does."""
    valid = in_force(waivers, TODAY)
    reference = SizeReference(
        "merge base 1234567", None if base is None else loaded(base), "no base"
    )
    found: list[Check] = []
    for app, load in loads.items():
        waived = partial(waived_bytes, valid, app, "linux")
        found += size_checks(CheckedApp(app, "linux", loaded(load), waived), LIMITS, reference, {})
    return found


def outcome(
    waivers: Sequence[Waiver],
    loads: Mapping[str, int],
    *,
    base: int | None = 10_000,
    whole: bool = True,
    reviewed: Sequence[Check] = (),
) -> list[str]:
    """Return the verdict of each check, then the use of each waiver."""
    checks = checks_of(loads, waivers, base)
    uses = waiver_uses(waivers, checks, reviewed, TODAY, whole=whole)
    return [each.verdict for each in checks] + [
        f"{use.state} {use.used} {use.verdict}" for use in uses
    ]


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (9_000, ["pass", "spent 0 fail"]),
        (10_100, ["pass", "spent 0 fail"]),  # the limit's 1 % is enough
        (10_101, ["pass", "used 1 pass"]),
        (10_160, ["pass", "used 60 pass"]),
        (10_200, ["pass", "used 100 pass"]),
        (10_201, ["fail", "exceeded 100 fail"]),
        (20_000, ["fail", "exceeded 100 fail"]),
    ],
)
def test_a_waiver_of_100_bytes(load: int, expected: list[str]) -> None:
    assert outcome([waiver()], {"vision": load}) == expected


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (10_100, ["pass", "spent 0 fail", "spent 0 fail"]),
        (10_101, ["pass", "used 1 pass", "spent 0 fail"]),
        (10_150, ["pass", "used 50 pass", "spent 0 fail"]),
        (10_151, ["pass", "used 50 pass", "used 1 pass"]),
        (10_180, ["pass", "used 50 pass", "used 30 pass"]),
        (10_181, ["fail", "exceeded 50 fail", "exceeded 30 fail"]),
    ],
)
def test_waivers_of_50_and_30_bytes_add_up_and_each_must_be_needed(
    load: int, expected: list[str]
) -> None:
    two = [waiver(size=50, source="x:1"), waiver(size=30, source="x:7")]
    assert outcome(two, {"vision": load}) == expected


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        # A waiver expires after its last day; then it allows nothing.
        (waiver(expires="2026-11-20"), ["fail", "expired 0 fail"]),
        (waiver(expires="2026-11-21"), ["pass", "used 60 pass"]),
        # A waiver of another metric, app or target allows nothing and is not needed.
        (waiver("ram"), ["fail", "spent 0 fail"]),
        (waiver("operator/aten::add.Tensor"), ["fail", "spent 0 fail"]),
        (waiver(app="language"), ["fail", "spent 0 fail"]),
        (waiver(target="mac"), ["fail", "spent 0 fail"]),
        # An empty app or target matches all.
        (waiver(app=""), ["pass", "used 60 pass"]),
        (waiver(target="linux"), ["pass", "used 60 pass"]),
        (waiver(app="", target="linux"), ["pass", "used 60 pass"]),
    ],
)
def test_which_growth_a_waiver_is_of(given_: Waiver, expected: list[str]) -> None:
    assert outcome([given_], {"vision": 10_160}) == expected


def test_a_waiver_of_what_was_not_measured_is_unused() -> None:
    of_language = waiver(app="language")
    assert outcome([of_language], {"vision": 10_000}, whole=False) == ["pass", "unused 0 pass"]
    assert outcome([of_language], {"vision": 10_000}) == ["pass", "spent 0 fail"]
    # Other jobs measure the other apps and targets of it
    for of_all in (waiver(app=""), waiver(target="")):
        assert outcome([of_all], {"vision": 10_000}, whole=False) == ["pass", "unused 0 pass"]
        assert outcome([of_all], {"vision": 10_000}) == ["pass", "spent 0 fail"]
    of_this = waiver(app="vision", target="linux")
    assert outcome([of_this], {"vision": 10_000}, whole=False) == ["pass", "spent 0 fail"]


def test_without_a_base_nobody_can_say_whether_a_waiver_is_needed() -> None:
    assert outcome([waiver()], {"vision": 10_160}, base=None) == [
        "inconclusive",
        "unused 0 inconclusive",
    ]


def test_a_waiver_of_all_apps_holds_for_each_and_is_needed_by_one() -> None:
    every = [waiver(app="")]
    assert outcome(every, {"vision": 10_100, "language": 10_170}) == [
        "pass",
        "pass",
        "used 70 pass",
    ]
    assert outcome(every, {"vision": 10_200, "language": 10_200}) == [
        "pass", "pass", "used 100 pass",
    ]  # fmt: skip
    assert outcome(every, {"vision": 10_100, "language": 10_300}) == [
        "pass", "fail", "exceeded 100 fail",
    ]  # fmt: skip


def test_a_waiver_that_was_merged_holds_until_a_baseline_has_its_growth() -> None:
    """The merge base has the 60 bytes; the baseline has them only in the second case."""
    of_file, of_trailer = [waiver()], [waiver(source="commit 1234567")]
    merged = {"vision": 10_160}
    before, after = checks_of(merged, of_file, 10_000), checks_of(merged, of_file, 10_160)
    assert outcome(of_file, merged, base=10_160, reviewed=before) == ["pass", "used 60 pass"]
    assert outcome(of_file, merged, base=10_160, reviewed=after) == ["pass", "spent 0 fail"]
    assert outcome(of_trailer, merged, base=10_160, reviewed=before) == ["pass", "spent 0 fail"]
    # The growth was removed before a baseline had it.
    gone = {"vision": 10_000}
    assert outcome(of_file, gone, reviewed=checks_of(gone, of_file)) == ["pass", "spent 0 fail"]


@pytest.mark.parametrize(
    ("base", "load", "merged", "expected"),
    [
        (10_100, 10_301, True, ["pass", "used 100 pass"]),  # growth of the usual kind used none
        (10_160, 10_300, True, ["pass", "used 39 pass"]),
        (10_160, 10_301, True, ["pass", "used 40 pass"]),
        (10_160, 10_302, True, ["fail", "exceeded 40 fail"]),
        (10_160, 10_361, False, ["pass", "used 100 pass"]),  # a new one, beside an older baseline
        (10_200, 10_400, True, ["fail", "exceeded 100 fail"]),
        (10_900, 10_999, True, ["pass", "used 100 pass"]),
    ],
)
def test_bytes_of_a_merged_waiver_are_used_once(
    base: int, load: int, merged: bool, expected: list[str]
) -> None:
    """The baseline has 10,000 bytes; the merge base exceeds its limit by what was used."""
    waivers = [waiver()]
    subject = SimpleNamespace(app=CONFIG.apps[0], target="linux")
    used = used_bytes(
        cast(MeasuredApp, subject), waivers if merged else [], LIMITS,
        SizeReference("merge base", loaded(base)), SizeReference("baseline", loaded(10_000)),
    )  # fmt: skip
    waived = partial(waived_bytes, waivers, "vision", "linux")
    checked = CheckedApp("vision", "linux", loaded(load), waived, used=used)
    checks = size_checks(checked, LIMITS, SizeReference("merge base", loaded(base)), {})
    reviewed = checks_of({"vision": load}, waivers)
    (use,) = waiver_uses(waivers, checks, reviewed, TODAY, whole=True)
    assert [checks[0].verdict, f"{use.state} {use.used} {use.verdict}"] == expected


@pytest.mark.parametrize(("base", "baseline"), [(None, 10_000), (10_160, None)])
def test_without_a_baseline_no_use_is_known(base: int | None, baseline: int | None) -> None:
    subject = cast(MeasuredApp, SimpleNamespace(app=CONFIG.apps[0], target="linux"))
    pair = (SizeReference("", None if each is None else loaded(each)) for each in (base, baseline))
    assert used_bytes(subject, [waiver()], LIMITS, *pair)("load") == 0


def test_what_fails_says_what_to_do() -> None:
    (spent,) = waiver_uses(
        [waiver(source="baselines/waivers.yaml:4")],
        checks_of({"vision": 10_000}, [waiver()]),
        [],
        TODAY,
        whole=True,
    )
    assert (spent.message, spent.advice) == (
        (
            "the waiver of 100 bytes for load of vision (baselines/waivers.yaml:4) is spent: load"
            " is within its limits without it"
        ),
        "remove the entry at baselines/waivers.yaml:4",
    )
    (expired,) = waiver_uses(
        [waiver(expires="2026-01-01", source="commit 1234567")], [], [], TODAY, whole=True
    )
    assert "expired on 2026-01-01: ask ann" in expired.message
    assert "remove the trailer from commit 1234567" in expired.advice
    (exceeded,) = waiver_uses(
        [waiver()], checks_of({"vision": 11_234}, [waiver()]), [], TODAY, whole=True
    )
    assert (exceeded.message, exceeded.advice) == (
        (
            "the waiver of 100 bytes for load of vision (x:1) is exceeded: load of vision for linux"
            " is 1,034 bytes above it"
        ),
        "shrink it, or ask ann for more",
    )
    assert in_force([waiver(expires="2026-01-01"), waiver()], TODAY) == [waiver()]
