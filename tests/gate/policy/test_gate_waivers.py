"""Test waivers: allowed growth, and failures. An unreadable waiver allows nothing."""

from __future__ import annotations

import datetime
import multiprocessing
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.builds.sizes import Sizes
from sizeguard.gate.gate_result import Check
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.limits import LARGEST, GrowthLimit, Limit
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.policy.waiver_use import in_force, waived_bytes, waiver_uses
from sizeguard.gate.policy.waivers import (
    add_waiver,
    make_waiver,
    parse_trailer,
    parse_waivers,
    read_waivers,
    trailer_text,
    waivers_path,
)
from sizeguard.gate.reference.reference import MeasuredApp
from sizeguard.gate.reference.used_waivers import used_bytes
from sizeguard.measurement.measurement import Measurement
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.projects.project import App, Config, Target

CONFIG = Config(
    (App("vision", Path("s"), (), ("linux", "mac")), App("language", Path("s"), (), ("linux",))),
    (Target("linux", "x86_64-linux"), Target("mac", "arm64-macos")),
    (),
)
TODAY = datetime.date(2026, 11, 21)
WORD = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)
TEXT = st.lists(WORD, min_size=1, max_size=4).map(" ".join)


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


@pytest.fixture(scope="module")
def names(root: Path) -> MetricNames:
    return MetricNames(root)


@settings(deadline=None, max_examples=40)
@given(
    TEXT,
    TEXT,
    st.integers(1, 10**12),
    st.sampled_from(["load", "operator/aten::add.Tensor", "symbol/a b'c*", "operator/(core)"]),
)
def test_a_waiver_reads_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    names: MetricNames,
    reason: str,
    owner: str,
    size: int,
    metric: str,
) -> None:
    """Read it back with our reader and another YAML reader, and as a trailer by a shell's rules."""
    folder = tmp_path_factory.mktemp("waivers")
    given_ = {
        "metric": metric,
        "app": "vision",
        "bytes": str(size),
        "reason": reason,
        "owner": owner,
        "expires": "2027-01-31",
    }
    made = make_waiver(given_, "", "waive", CONFIG, names)
    path = add_waiver(folder, made)
    add_waiver(folder, made)
    expires = datetime.date(2027, 1, 31)
    written = {**given_, "bytes": size, "expires": expires}
    assert yaml.safe_load(path.read_text()) == [written, written]
    first, second = read_waivers(folder, CONFIG, names)
    assert (first.source, second.source) == ("baselines/waivers.yaml:2", "baselines/waivers.yaml:8")
    line = trailer_text(made)
    assert "\n" not in line
    trailer = parse_trailer(line.removeprefix("Size-Waiver: "), "a" * 40, CONFIG, names)
    for found in (first, second, trailer):
        assert (found.metric, found.app, found.target) == (metric, "vision", "")
        assert (found.bytes, found.reason, found.owner) == (size, reason, owner)
        assert found.expires == "2027-01-31"


FIELDS = {"metric": "load", "bytes": "1", "reason": "r", "owner": "o", "expires": "2027-01-31"}


def test_a_reason_with_unprintable_characters_reads_as_it_was_written(
    tmp_path: Path, names: MetricNames
) -> None:
    """Another YAML reader reads the same."""
    reason = 'it\'s \x07 "a" \\ \u200b \U0001f600 \x1b[31m'
    made = make_waiver({**FIELDS, "reason": reason}, "", "waive", CONFIG, names)
    path = add_waiver(tmp_path, made)
    assert yaml.safe_load(path.read_text())[0]["reason"] == reason
    assert [each.reason for each in read_waivers(tmp_path, CONFIG, names)] == [reason]
    assert path.read_text().replace("\n", "").isprintable()


def test_a_waiver_is_added_after_a_line_without_an_end(tmp_path: Path, names: MetricNames) -> None:
    made = make_waiver(FIELDS, "", "waive", CONFIG, names)
    path = add_waiver(tmp_path, made)
    path.write_text(path.read_text().rstrip("\n"))
    add_waiver(tmp_path, made)
    assert len(read_waivers(tmp_path, CONFIG, names)) == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [("bytes", str(LARGEST)), ("bytes", "1"), ("reason", "x" * 2000), ("expires", "2028-02-29")],
)
def test_the_largest_values_of_a_waiver(names: MetricNames, field: str, value: str) -> None:
    made = make_waiver({**FIELDS, field: value}, "", "waive", CONFIG, names)
    assert str(getattr(made, field)) == value


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bytes", str(LARGEST + 1)), ("bytes", "0"), ("bytes", "9" * 5000), ("bytes", "²"),
        ("expires", "20270131"), ("expires", "2027-W04-7"), ("expires", "2027-02-29"),
        ("reason", "x" * 2001), ("app", "visio"), ("target", "x86"),
    ],
)  # fmt: skip
def test_a_value_that_is_refused_is_named_as_it_was_given(
    names: MetricNames, field: str, value: str
) -> None:
    """On the command line it is an option, in a file a place."""
    for place, shown in (("waive", f"--{field}"), ("x.yaml:3", f"x.yaml:3: {field}")):
        with pytest.raises(InputError) as raised:
            make_waiver({**FIELDS, field: value}, "", place, CONFIG, names)
        words = f"{place}: a reason has at most 2000 characters" if field == "reason" else shown
        assert str(raised.value).startswith(words)


def test_what_is_written() -> None:
    given_ = Waiver("load", "vision", "", 4096, "tiles: it's ours", "ann", "2027-01-31", "")
    assert trailer_text(given_) == (
        "Size-Waiver: load --bytes 4096 --app vision --owner ann --expires 2027-01-31 --reason"
        " 'tiles: it'\"'\"'s ours'"
    )


def test_spaces_and_lines_of_a_reason_are_folded(names: MetricNames) -> None:
    fields = {
        "metric": "load",
        "bytes": "4,096",
        "reason": " tiles \n for  the camera\t",
        "owner": "ann",
        "expires": "2027-01-31",
    }
    made = make_waiver(fields, "", "waive", CONFIG, names)
    assert (made.reason, made.bytes) == ("tiles for the camera", 4096)


def test_a_waiver_of_a_name_that_nothing_knows_is_inconclusive(names: MetricNames) -> None:
    fields = {
        "metric": "operator/aten::reluu",
        "bytes": "100",
        "reason": "tiles",
        "owner": "ann",
        "expires": "2027-01-31",
    }
    made = make_waiver(fields, "w", "waive", CONFIG, names)
    assert made.nearest == "operator/aten::relu"
    for whole in (True, False):
        (use,) = waiver_uses([made], [], [], TODAY, whole=whole)
        assert (use.verdict, use.state) == ("inconclusive", "unused")
        assert "nothing is called that; nearest is operator/aten::relu" in use.message


WRONG = [
    ("{}", r"waivers\.yaml:1:1: expected a list of waivers"),
    ("- load", r"waivers\.yaml:1:3: a waiver is a table"),
    (
        "- {metric: load, byte: 3}",
        r"waivers\.yaml:1:18: 'byte' is no key of a waiver; nearest is 'bytes'",
    ),
    ("- {metric: load, metric: load}", r"'metric' is given twice"),
    (
        "- {metric: load, bytes: 3, reason: x, expires: 2027-01-31}",
        r"waivers\.yaml:1: owner: a waiver needs an owner",
    ),
    (
        "- {metric: lod, bytes: 3, reason: x, owner: y, expires: 2027-01-31}",
        r"unknown metric 'lod'; nearest is 'load'",
    ),
    (
        "- {metric: operator/*, bytes: 3, reason: x, owner: y, expires: 2027-01-31}",
        r"matches several metrics",
    ),
    (
        "- {metric: load, app: vison, bytes: 3, reason: x, owner: y, expires: 2027-01-31}",
        r"has no app 'vison'; did you mean 'vision'",
    ),
    (
        "- {metric: load, target: win, bytes: 3, reason: x, owner: y, expires: 2027-01-31}",
        r"there is no target 'win'; there are linux, mac",
    ),
    (
        "- {metric: load, bytes: -3, reason: x, owner: y, expires: 2027-01-31}",
        r"bytes is a whole number, not '-3'",
    ),
    (
        "- {metric: load, bytes: 0, reason: x, owner: y, expires: 2027-01-31}",
        r"bytes is a whole number",
    ),
    (
        "- {metric: load, bytes: 3, reason: x, owner: y, expires: 2027-02-31}",
        r"expires is a date \(YYYY-MM-DD\) such as 2027-01-31, not '2027-02-31'",
    ),
    ("- {metric: load, bytes: 3, reason: x, owner: y, expires: never}", r"expires is a date"),
    ("- {", r"waivers\.yaml:\d+: not YAML"),
    ("{}", "expected a list of waivers"),
    ("\x00", "not YAML"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_waiver_that_cannot_be_read_stops_the_gate(
    tmp_path: Path, names: MetricNames, text: str, message: str
) -> None:
    waivers_path(tmp_path).parent.mkdir()
    waivers_path(tmp_path).write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_waivers(tmp_path, CONFIG, names)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "# Growth that is accepted for a time.\n", "[]\n", "---\n"])
def test_a_file_without_a_waiver_allows_nothing(
    tmp_path: Path, names: MetricNames, text: str
) -> None:
    waivers_path(tmp_path).parent.mkdir()
    waivers_path(tmp_path).write_text(text)
    assert read_waivers(tmp_path, CONFIG, names) == ()
    assert parse_waivers(text.encode(), CONFIG, names) == ()


def test_a_waiver_file_that_is_no_file_stops_the_gate(tmp_path: Path, names: MetricNames) -> None:
    assert read_waivers(tmp_path, CONFIG, names) == ()
    waivers_path(tmp_path).mkdir(parents=True)
    with pytest.raises(InputError, match=r"waivers\.yaml: is a folder, not a file"):
        read_waivers(tmp_path, CONFIG, names)
    waivers_path(tmp_path).rmdir()
    waivers_path(tmp_path).symlink_to("nowhere")
    with pytest.raises(InputError, match=r"waivers\.yaml: cannot read"):
        read_waivers(tmp_path, CONFIG, names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "metric: a waiver needs a metric"),
        ("load --bytes 3", "reason: a waiver needs a reason"),
        ("load --bytes 3 --reason 'x", "No closing quotation"),
        ("load 3", "cannot parse '3'"),
        ("load --help", "cannot parse '--help'"),
        ("load --bytes 3 --bytes 4", "cannot parse '--bytes'"),
        ("load --bytes 3 --reason x --owner y --expires 1", "expires is a date"),
    ],
)
def test_a_trailer_that_cannot_be_read_stops_the_gate_and_names_its_commit(
    names: MetricNames, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"commit abcabcabca: Size-Waiver: .*{message}"):
        parse_trailer(text, "abc" * 10, CONFIG, names)


def add_many(root: Path, owner: str) -> None:
    for i in range(20):
        add_waiver(root, Waiver("load", "vision", "", i + 1, "why", owner, "2027-01-31", ""))


def test_two_who_waive_at_once_both_stay(tmp_path: Path, names: MetricNames) -> None:
    writers = [
        multiprocessing.get_context("spawn").Process(target=add_many, args=(tmp_path, owner))
        for owner in ("ann", "bob")
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = read_waivers(tmp_path, CONFIG, names)
    for owner in ("ann", "bob"):
        assert sorted(each.bytes for each in found if each.owner == owner) == list(range(1, 21))
