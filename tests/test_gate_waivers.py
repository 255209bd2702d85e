"""Waivers: what they allow, when they fail, and that a waiver that cannot be read allows nothing."""

from __future__ import annotations

import datetime
import multiprocessing
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sizeguard.errors import InputError
from sizeguard.gate.config import App, Config, Target
from sizeguard.gate.metric_names import MetricNames
from sizeguard.gate.result import Check, Waiver
from sizeguard.gate.waiver_use import in_force, waived_bytes, waiver_uses
from sizeguard.gate.waivers import TRAILER, add_waiver, make_waiver, parse_trailer, read_waivers, trailer_text, waivers_path

CONFIG = Config(
    (App("vision", Path("s"), (), ("linux", "mac")), App("language", Path("s"), (), ("linux",))),
    (Target("linux", "x86_64-linux"), Target("mac", "arm64-macos")),
    (),
)
TODAY = datetime.date(2026, 11, 21)
TEXT = st.text(min_size=1, max_size=40).filter(lambda text: text.strip() and "\0" not in text and text.isprintable())


def waiver(metric: str = "load", app: str = "vision", size: int = 100, expires: str = "2027-01-31", source: str = "x:1") -> Waiver:
    return Waiver(metric, app, "", size, "tiles", "ann", expires, source)


def check(metric: str, actual: int, bound: int, waived: int = 0, app: str = "vision", target: str = "linux", kind: str = "growth") -> Check:
    verdict = "pass" if actual <= bound + waived else "fail"
    left = bound + waived - actual
    return Check(
        f"{app}/{target}/{metric}/{kind}", app, target, metric, bound + waived, actual, left, verdict, "1%", "", kind, waived=waived
    )


def states(waivers: list[Waiver], checks: list[Check], whole: bool = True, reviewed: tuple[Check, ...] = ()) -> list[tuple[str, str, int]]:
    return [(use.state, use.verdict, use.used) for use in waiver_uses(waivers, checks, reviewed, TODAY, whole=whole)]


def test_what_becomes_of_a_waiver() -> None:
    assert states([waiver()], [check("load", 1060, 1000, 100)]) == [("used", "pass", 60)]
    assert states([waiver()], [check("load", 1000, 1000, 100)]) == [("spent", "fail", 0)]
    assert states([waiver()], [check("load", 1101, 1000, 100)]) == [("exceeded", "fail", 100)]
    assert states([waiver(expires="2026-11-20")], [check("load", 1001, 1000)]) == [("expired", "fail", 0)]
    assert states([waiver(expires="2026-11-21")], [check("load", 1001, 1000, 100)]) == [("used", "pass", 1)]
    assert states([waiver("ram")], [check("load", 1060, 1000)]) == [("spent", "fail", 0)]
    assert states([waiver(app="language")], [check("load", 1060, 1000)], whole=False) == [("unused", "pass", 0)]
    assert states([waiver(app="")], [check("load", 1000, 1000, 100), check("load", 1070, 1000, 100, app="language")]) == [
        ("used", "pass", 70)
    ]


def test_waivers_of_one_metric_add_up_and_each_must_be_needed() -> None:
    two = [waiver(size=50, source="x:1"), waiver(size=30, source="x:7")]
    assert waived_bytes(two, "vision", "linux", "load") == 80
    assert waived_bytes(two, "language", "linux", "load") == waived_bytes(two, "vision", "linux", "ram") == 0
    assert states(two, [check("load", 1070, 1000, 80)]) == [("used", "pass", 50), ("used", "pass", 20)]
    assert states(two, [check("load", 1040, 1000, 80)]) == [("used", "pass", 40), ("spent", "fail", 0)]


def test_a_waiver_that_was_merged_holds_until_a_baseline_has_its_growth() -> None:
    merged, gone = check("load", 1060, 1060, 100), check("load", 1000, 1000, 100)
    assert states([waiver()], [merged], reviewed=(check("load", 1060, 1000, 100),)) == [("used", "pass", 60)]
    assert states([waiver()], [merged], reviewed=(check("load", 1060, 1060, 100),)) == [("spent", "fail", 0)]
    assert states([waiver()], [gone], reviewed=(gone,)) == [("spent", "fail", 0)]
    assert states([waiver(source="commit 1234567")], [merged], reviewed=(check("load", 1060, 1000, 100),)) == [("spent", "fail", 0)]


def test_what_fails_says_what_to_do() -> None:
    (spent,) = waiver_uses([waiver(source="baselines/waivers.yaml:4")], [check("load", 1, 2, 100)], [], TODAY, whole=True)
    assert (spent.message, spent.advice) == (
        "the waiver of 100 bytes for load of vision (baselines/waivers.yaml:4) is spent: load is within its limits without it",
        "remove the entry at baselines/waivers.yaml:4",
    )
    (expired,) = waiver_uses([waiver(expires="2026-01-01", source="commit 1234567")], [], [], TODAY, whole=True)
    assert "expired on 2026-01-01: ask ann" in expired.message
    assert "remove the trailer from commit 1234567" in expired.advice
    assert in_force([waiver(expires="2026-01-01"), waiver()], TODAY) == [waiver()]


@given(st.integers(0, 400), st.lists(st.integers(1, 200), max_size=3))
def test_a_check_passes_with_waivers_exactly_if_none_is_exceeded(over: int, sizes: list[int]) -> None:
    waivers = [waiver(size=size, source=f"x:{i}") for i, size in enumerate(sizes)]
    found = check("load", 1000 + over, 1000, sum(sizes))
    uses = waiver_uses(waivers, [found], [], TODAY, whole=True)
    assert sum(use.used for use in uses) == min(over, sum(sizes))
    if waivers:
        assert (found.verdict == "fail") == any(use.state == "exceeded" for use in uses)


@pytest.fixture(scope="module")
def names(root: Path) -> MetricNames:
    return MetricNames(root)


@settings(deadline=None, max_examples=40)
@given(TEXT, TEXT, st.integers(1, 10**12), st.sampled_from(["load", "operator/aten::add.Tensor", "symbol/a b'c*", "operator/(core)"]))
def test_a_waiver_reads_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, names: MetricNames, reason: str, owner: str, size: int, metric: str
) -> None:
    folder = tmp_path_factory.mktemp("waivers")
    given_ = {"metric": metric, "app": "vision", "bytes": str(size), "reason": reason, "owner": owner, "expires": "2027-01-31"}
    made = make_waiver(given_, "", "waive", CONFIG, names)
    path = add_waiver(folder, made)
    add_waiver(folder, made)
    (first, second) = read_waivers(folder, CONFIG, names)
    for found in (first, second):
        assert (found.metric, found.bytes, found.reason, found.owner) == (metric, size, made.reason, made.owner)
    assert (first.source, second.source) == ("baselines/waivers.yaml:2", "baselines/waivers.yaml:8")
    assert [entry["reason"] for entry in yaml.safe_load(path.read_text())] == [made.reason] * 2
    line = trailer_text(made)
    assert "\n" not in line
    assert parse_trailer(line.removeprefix(f"{TRAILER}: "), "a" * 40, CONFIG, names).reason == made.reason


WRONG = [
    ("{}", r"waivers\.yaml:1:1: expected a list of waivers"),
    ("- load", r"waivers\.yaml:1:3: a waiver is a table"),
    ("- {metric: load, byte: 3}", r"waivers\.yaml:1:18: 'byte' is none of metric,"),
    ("- {metric: load, metric: load}", r"'metric' is there twice"),
    ("- {metric: load, bytes: 3, reason: x, expires: 2027-01-31}", r"waivers\.yaml:1: a waiver needs owner"),
    ("- {metric: lod, bytes: 3, reason: x, owner: y, expires: 2027-01-31}", r"unknown metric 'lod'; nearest is 'load'"),
    ("- {metric: operator/*, bytes: 3, reason: x, owner: y, expires: 2027-01-31}", r"is more than one metric"),
    (
        "- {metric: load, app: vison, bytes: 3, reason: x, owner: y, expires: 2027-01-31}",
        r"there is no app vison; there are vision, ",
    ),
    ("- {metric: load, target: win, bytes: 3, reason: x, owner: y, expires: 2027-01-31}", r"there is no target win"),
    ("- {metric: load, bytes: -3, reason: x, owner: y, expires: 2027-01-31}", r"bytes is a whole number, not '-3'"),
    ("- {metric: load, bytes: 0, reason: x, owner: y, expires: 2027-01-31}", r"bytes is a whole number"),
    ("- {metric: load, bytes: 3, reason: x, owner: y, expires: 2027-02-31}", r"expires is a day such as 2027-01-31, not '2027-02-31'"),
    ("- {metric: load, bytes: 3, reason: x, owner: y, expires: never}", r"expires is a day"),
    ("- {", r"waivers\.yaml:\d+: not YAML"),
    ("", "is empty"),
    ("\x00", "not YAML"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_waiver_that_cannot_be_read_stops_the_gate(tmp_path: Path, names: MetricNames, text: str, message: str) -> None:
    waivers_path(tmp_path).parent.mkdir()
    waivers_path(tmp_path).write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_waivers(tmp_path, CONFIG, names)
    assert "\n" not in str(error.value)


def test_a_waiver_file_that_is_no_file_stops_the_gate(tmp_path: Path, names: MetricNames) -> None:
    assert read_waivers(tmp_path, CONFIG, names) == ()
    waivers_path(tmp_path).mkdir(parents=True)
    with pytest.raises(InputError, match=r"waivers\.yaml: cannot read"):
        read_waivers(tmp_path, CONFIG, names)
    waivers_path(tmp_path).rmdir()
    waivers_path(tmp_path).symlink_to("nowhere")
    with pytest.raises(InputError, match=r"waivers\.yaml: cannot read"):
        read_waivers(tmp_path, CONFIG, names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a waiver needs metric"),
        ("load --bytes 3", "a waiver needs reason"),
        ("load --bytes 3 --reason 'x", "No closing quotation"),
        ("load 3", "'3' is not understood"),
        ("load --help", "'--help' is not understood"),
        ("load --bytes 3 --bytes 4", "'--bytes' is not understood"),
        ("load --bytes 3 --reason x --owner y --expires 1", "expires is a day"),
    ],
)
def test_a_trailer_that_cannot_be_read_stops_the_gate_and_names_its_commit(names: MetricNames, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"commit abcabcabca: Size-Waiver: .*{message}"):
        parse_trailer(text, "abc" * 10, CONFIG, names)


def add_many(root: Path, owner: str) -> None:
    for i in range(20):
        add_waiver(root, Waiver("load", "vision", "", i + 1, "why", owner, "2027-01-31", ""))


def test_two_who_waive_at_once_both_stay(tmp_path: Path, names: MetricNames) -> None:
    writers = [multiprocessing.get_context("spawn").Process(target=add_many, args=(tmp_path, owner)) for owner in ("ann", "bob")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = read_waivers(tmp_path, CONFIG, names)
    for owner in ("ann", "bob"):
        assert sorted(each.bytes for each in found if each.owner == owner) == list(range(1, 21))
