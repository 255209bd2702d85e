"""Waivers are read as they were written, in files and trailers; unreadable ones are refused."""

from __future__ import annotations

import datetime
import multiprocessing
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.gate.policy.limits import LARGEST
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.policy.waiver_use import waiver_uses
from sizeguard.gate.policy.waivers import (
    add_waiver,
    make_waiver,
    parse_trailer,
    parse_waivers,
    read_waivers,
    trailer_text,
    waivers_path,
)
from sizeguard.measurement.metric_names import MetricNames
from tests.support.verdicts.waiver_terms import CONFIG, TODAY

WORD = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)
TEXT = st.lists(WORD, min_size=1, max_size=4).map(" ".join)


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
