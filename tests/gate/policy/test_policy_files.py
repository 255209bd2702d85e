"""Waivers, baselines and needed libraries: which text is refused, and what each state says."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import GROWTH, NOT_RUN, Check
from sizeguard.gate.policy.baselines import (
    baseline_files,
    baseline_of,
    baseline_text,
    made_otherwise,
    measurement_of_baseline,
    parse_baseline,
    read_baseline,
    toolchain_key,
    tools_text,
)
from sizeguard.gate.policy.checks import CheckedApp, SizeReference
from sizeguard.gate.policy.limits import LARGEST
from sizeguard.gate.policy.needed import needed_checks
from sizeguard.gate.policy.terms_result import EXCEEDED, SPENT, UNUSED, USED, Waiver
from sizeguard.gate.policy.waiver_use import waiver_uses
from sizeguard.gate.policy.waivers import (
    COMMAND_LINE,
    add_waiver,
    make_waiver,
    parse_waivers,
    waivers_path,
)
from sizeguard.gate.review_result import Baseline
from sizeguard.measurement.measurement import Measurement
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.measurement.snapshot_origin import rules_part
from sizeguard.projects.project import App, Config, Target

CONFIG = Config((App("a", Path("s"), (), ("t",)),), (Target("t", "x86_64-linux"),), ())
NAMES = MetricNames(None)
TODAY = datetime.date(2026, 6, 15)
FIELDS = {
    "metric": "load", "bytes": "100", "reason": "why", "owner": "ann", "expires": "2027-01-31",
}  # fmt: skip
SIZES = Sizes(10, 2, 12, 0)


def made(place: str = "waivers.yaml:1", **changes: str) -> Waiver:
    return make_waiver({**FIELDS, **changes}, "waivers.yaml:1", place, CONFIG, NAMES)


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": "0"},
        {"bytes": f"{LARGEST + 1}"},
        {"bytes": "9" * 5_000},
        {"bytes": "-1"},
        {"bytes": "٣"},
        {"reason": "x" * 2_001},
        {"expires": "20270131"},
        {"expires": "2027-W05-1"},
        {"expires": "2027-02-29"},
        {"app": "b"},
        {"target": "u"},
        {"metric": "operator/*"},
    ],
)
def test_a_field_of_a_waiver_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"^waivers\.yaml:1: "):
        made(**change)


@pytest.mark.parametrize(
    "change",
    [{"bytes": "1"}, {"bytes": f"{LARGEST}"}, {"bytes": "1,000"}, {"reason": "x" * 2_000}],
)
def test_a_field_of_a_waiver_is_accepted(change: dict[str, str]) -> None:
    found = made(**change)
    assert found.bytes == int(change.get("bytes", "100").replace(",", ""))
    assert len(found.reason) == len(change.get("reason", "why"))


def test_an_error_names_the_option_or_the_place() -> None:
    with pytest.raises(InputError, match=r"^--bytes is a whole number"):
        made(COMMAND_LINE, bytes="many")
    with pytest.raises(InputError, match=r"^x:1: expires is a date"):
        made("x:1", expires="soon")


@pytest.mark.parametrize("text", ["~", "null", "[]"])
def test_a_file_without_waivers(text: str) -> None:
    assert parse_waivers(text.encode(), CONFIG, NAMES) == ()


@pytest.mark.parametrize("text", ["text", "7", "{}", "[text]", "[[]]"])
def test_a_file_that_is_no_list_of_waivers(text: str) -> None:
    with pytest.raises(InputError, match=r"waivers\.yaml:1"):
        parse_waivers(text.encode(), CONFIG, NAMES)


@pytest.mark.parametrize("end", ["", "\n"])
def test_an_entry_is_added_behind_a_last_line_of_any_end(tmp_path: Path, end: str) -> None:
    add_waiver(tmp_path, made())
    path = waivers_path(tmp_path)
    path.write_text(path.read_text().rstrip("\n") + end)
    add_waiver(tmp_path, made(bytes="7"))
    assert path.read_text().count("\n\n") == 0
    found = parse_waivers(path.read_bytes(), CONFIG, NAMES)
    assert [each.bytes for each in found] == [100, 7]


def test_any_text_is_read_as_it_was_added(tmp_path: Path) -> None:
    """Characters that YAML forbids are escaped; so are quotes beside them."""
    texts = ["it's", "a\u200bb", "a\u200b\"c\\d'e", "a: b # c"]
    for text in texts:
        add_waiver(tmp_path, made(reason=text))
    written = waivers_path(tmp_path).read_text()
    found = parse_waivers(written.encode(), CONFIG, NAMES)
    assert [each.reason for each in found] == texts
    assert "reason: 'it''s'\n" in written
    assert written.count("\\u200b") == 2


def sized(actual: int, limit: int | None, waived: int = 0, app: str = "a") -> Check:
    room = None if limit is None else limit - actual
    verdict = INCONCLUSIVE if room is None else PASS if room >= 0 else FAIL
    return Check(
        f"{app}/t/load/growth", app, "t", "load", limit, actual, room, verdict, "1%", "", GROWTH,
        waived=waived,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("checks", "reviewed", "more", "state", "verdict"),
    [
        ([sized(150, 200, 100)], [], {}, USED, PASS),
        ([sized(100, 200, 100)], [], {}, SPENT, FAIL),
        ([], [], {}, SPENT, FAIL),
        ([], [], {"whole": False}, UNUSED, PASS),
        ([sized(100, None)], [], {}, UNUSED, INCONCLUSIVE),
        ([sized(250, 200, 100)], [], {}, EXCEEDED, FAIL),
        # Merged growth is in no baseline yet, is in one, or nobody knows
        ([sized(100, 200, 100)], [sized(150, 100)], {}, USED, PASS),
        ([sized(100, 200, 100)], [sized(100, 100)], {}, SPENT, FAIL),
        ([sized(100, 200, 100)], [sized(100, None)], {}, UNUSED, PASS),
        ([sized(150, 200, 100)], [sized(100, None)], {}, USED, PASS),
    ],
)
def test_the_state_of_an_entry(
    checks: list[Check], reviewed: list[Check], more: dict[str, Any], state: str, verdict: str
) -> None:
    (use,) = waiver_uses([made()], checks, reviewed, TODAY, **{"whole": True, **more})
    assert (use.state, use.verdict) == (state, verdict)
    assert bool(use.message) == (verdict != PASS)
    if state == SPENT:
        told = "is within its limits without it" if checks else "no limit applies to load"
        assert told in use.message


def test_a_message_names_the_app_and_the_largest_excess() -> None:
    every, one = made(), made(app="a")
    checks = [sized(250, 200, 100), sized(290, 200, 100, "b"), sized(220, 200, 100, "c")]
    (use,) = waiver_uses([every], checks, [], TODAY, whole=True)
    assert "load of b for t is 90 bytes above it" in use.message
    assert use.message.startswith("the waiver of 100 bytes for load (waivers.yaml:1) ")
    (use,) = waiver_uses([one], checks, [], TODAY, whole=True)
    assert use.message.startswith("the waiver of 100 bytes for load of a (waivers.yaml:1) ")


def needing(*libraries: str) -> Measurement:
    return Measurement(SIZES, {}, {}, needed=libraries)


UNREAD = Measurement(SIZES, {}, {})


@pytest.mark.parametrize(
    ("now", "base", "why", "counts", "expected"),
    [
        (needing("libc"), needing("libc"), "", True, [("needed", PASS, 0)]),
        (needing(), None, "", True, [("needed", PASS, 0)]),
        (needing("libc"), needing(), "", True, [("needed/libc", FAIL, -1)]),
        (
            needing("a", "b", "c"), needing("b"), "", True,
            [("needed/a", FAIL, -1), ("needed/c", FAIL, -1)],
        ),
        (needing("libc"), UNREAD, "", True, [("needed", INCONCLUSIVE, None)]),
        (UNREAD, needing("libc"), "", True, [("needed", INCONCLUSIVE, None)]),
        (needing("libc"), None, "no base", True, [("needed", INCONCLUSIVE, None)]),
        (needing("libc"), None, "", False, [("needed", NOT_RUN, None)]),
    ],
)  # fmt: skip
def test_needed_libraries(
    now: Measurement,
    base: Measurement | None,
    why: str,
    counts: bool,
    expected: list[tuple[str, str, int | None]],
) -> None:
    subject = CheckedApp("a", "t", now, lambda metric: 0)
    found = needed_checks(subject, SizeReference("base", base, why), counts=counts)
    assert [(each.metric, each.verdict, each.headroom) for each in found] == expected
    for each in found:
        assert each.actual == (each.verdict == FAIL)
        assert each.limit == (None if each.headroom is None else 0)
        assert bool(each.advice) == (each.verdict != PASS)
    if base is None and now.needed:
        assert found[0].advice.startswith(why or "libc has no base to compare with; sizeguard")


BUILD = Build(
    "selective/a", "a", "x86_64-linux", "gcc-12.2-bfd-2.40", "s", Path("/p/a"), Path("/p/x"),
    Path("/p/m"), Path("/p/l"), (), Path("/p/e.yaml"), None, "f", SIZES,
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "end"),
    [
        ({}, "-Os"),
        ({"optimize": ""}, ""),
        ({"link": "shared"}, "-Os-shared"),
        ({"lto": "full"}, "-Os-lto"),
        ({"lto": "thin"}, "-Os-thinlto"),
        ({"link": "shared", "lto": "full"}, "-Os-shared-lto"),
    ],
)
def test_the_key_of_a_toolchain(change: dict[str, str], end: str) -> None:
    assert toolchain_key(replace(BUILD, **change)) == f"gcc-12.2-bfd-2.40{end}"


def test_a_baseline_is_that_of_its_build(tmp_path: Path) -> None:
    now = Measurement(SIZES, {"operator": {"x::a": 8}, "dtype": {}}, {}, needed=())
    build = replace(BUILD, tools="gcc 12.2.0")
    assert tools_text(None, build) == "gcc 12.2.0"
    found = baseline_of(build, None, now)
    assert (found.app, found.toolchain) == ("a", toolchain_key(build))
    assert found.tables == {"dtype": {}}
    assert "dtypes: {}\n" in baseline_text(found)
    assert "needed: []\n" in baseline_text(found)
    assert "tools: gcc 12.2.0\n" in baseline_text(found)
    assert "tools:" not in baseline_text(replace(found, tools=""))
    assert "tools: 'a: b'\n" in baseline_text(replace(found, tools="a: b"))
    nameless = baseline_of(replace(build, app=""), None, now)
    assert nameless.app == build.variant
    symbols = baseline_of(build, None, replace(now, symbols={"f*": 3}))
    assert symbols.tables == {"dtype": {}, "symbol": {"f*": 3}}
    then = measurement_of_baseline(parse_baseline(baseline_text(symbols).encode(), "x"))
    assert (then.sizes, then.symbols, then.needed) == (SIZES, {"f*": 3}, ())
    assert measurement_of_baseline(replace(found, tables=None)).tables == {"operator": {"x::a": 8}}
    (tmp_path / "baselines").mkdir()
    for name in ("a.t.gcc.yaml", "waivers.yaml", "a.txt"):
        (tmp_path / "baselines" / name).touch()
    assert [path.name for path in baseline_files(tmp_path)] == ["a.t.gcc.yaml"]


TEXT = "app: a\ntarget: t\ntoolchain: c\nload: 1\nram: 1\nfile: 1\noperators: {}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "expected a table"),
        (f"{TEXT}more: 1\n", "unknown 'more'"),
        (f"{TEXT}app: b\n", "duplicate key 'app'"),
        (TEXT.replace("ram: 1\n", ""), "it lacks ram"),
        (TEXT.replace("operators: {}\n", ""), "it lacks operators"),
        (f"{TEXT}needed: libc\n", "expected a list of libraries"),
        (f"{TEXT}needed: [[]]\n", "expected text"),
        (TEXT.replace("app: a", "app: [a]"), "expected text"),
        (TEXT.replace("load: 1", f"load: {'1' * 19}"), "sizes are whole numbers"),
        (TEXT.replace("load: 1", "load: -1"), "sizes are whole numbers"),
        (TEXT.replace("load: 1", "load: ٣"), "sizes are whole numbers"),
        (TEXT.replace("load: 1", "load: [1]"), "sizes are whole numbers"),
        (TEXT.replace("operators: {}", "operators: []"), "expected a table"),
    ],
)
def test_a_text_that_is_no_baseline(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_baseline(text.encode(), "x")


def test_the_largest_size_of_a_baseline() -> None:
    found = parse_baseline(TEXT.replace("load: 1", f"load: {'9' * 18}").encode(), "x")
    assert found == Baseline("a", "t", "c", int("9" * 18), 1, 1, {}, tables={})


def test_a_baseline_is_read_from_the_file_of_its_name(tmp_path: Path) -> None:
    baseline = Baseline("a", "t", "gcc-12", 10, 2, 12, {"x": 1}, needed=("libc.so.6", "libm.so"))
    path = tmp_path / "a.t.gcc-12.yaml"
    path.write_text(baseline_text(baseline))
    assert read_baseline(path) == replace(baseline, tables={})
    other = path.rename(tmp_path / "a.t.gcc-13.yaml")
    with pytest.raises(InputError, match="states the sizes of a for t by gcc-12, but is named"):
        read_baseline(other)
    with pytest.raises(InputError, match=r"a\.t\.gcc-12\.yaml"):
        read_baseline(path)


@pytest.mark.parametrize(
    ("stated", "components", "rules", "words"),
    [
        ("", {}, "", ""),
        ("", {"a": 1}, "", ""),
        ("", {}, "[]", ""),
        ("", {"a": 1}, "[]", "does not state by which rules"),
        ("0e1", {}, "[]", "has names by other rules"),
        ("0e1", {"a": 1}, "", "has names by other rules"),
    ],
)
def test_components_of_unknown_rules_are_no_reference(
    stated: str, components: dict[str, int], rules: str, words: str
) -> None:
    """Files of older versions lack the rules; another component may have had more bytes."""
    build: Any = SimpleNamespace(rules=rules, tools="gcc")
    tables = {"component": components}
    baseline = Baseline("a", "t", "gcc", 1, 1, 1, {}, tools="gcc", tables=tables, rules=stated)
    found = made_otherwise(baseline, None, build)
    assert (words in found) if words else not found
    if rules:
        (own,) = rules_part(build).values()
        assert not made_otherwise(replace(baseline, rules=own), None, build)
