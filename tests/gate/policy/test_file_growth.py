"""Test the default limit on file growth, which allows pages but not hidden bytes."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.builds.measured_sizes import segment_pages
from sizeguard.builds.sizes import Sizes
from sizeguard.gate.policy.checks import CheckedApp, SizeReference
from sizeguard.gate.policy.file_growth import allowed_growth, file_check
from sizeguard.gate.policy.limits import GrowthLimit, Limit
from sizeguard.measurement.measurement import Measurement

PAGE = 4096
PAGES = 3 * PAGE  # three segments
OLD = Sizes(load=40_000, ram=900, file=44_000, page_slack=1_000)  # 3,000 bytes are not loaded
LOAD = Limit("load", "growth", GrowthLimit("1%", 1000, 0))


def verdict(new: Sizes, old: Sizes | None = OLD, *limits: Limit, waived: int = 0) -> list[str]:
    subject = CheckedApp("vision", "linux", Measurement(new, {}, {}), lambda metric: waived)
    measured = None if old is None else Measurement(old, {}, {})
    found = file_check(subject, limits, SizeReference("baseline", measured, "none"), PAGES)
    for each in found:
        assert bool(each.advice) == (each.limit is None)
        assert each.base == (None if old is None else old.file)
        known = None if each.limit is None else (each.limit - new.file, waived)
        assert (each.headroom, each.waived) == (known or (None, 0))
    return [each.verdict for each in found]


@pytest.mark.parametrize(
    ("load", "slack", "file", "expected"),
    [
        (40_000, 1_000, 44_000, "pass"),
        (40_001, 999, 44_000, "pass"),
        (40_001, 999 + PAGE, 44_000 + PAGE, "pass"),  # a byte that needs a new page does not fail
        (39_999, 1_001, 44_000, "pass"),
        (40_100, 5_000, 44_000 + 4_100 + 512, "pass"),
        (40_100, 5_000, 44_000 + 4_100 + 513, "fail"),
        (40_000, 1_000, 44_512, "pass"),
        (40_000, 1_000, 44_513, "fail"),  # after the last segment, or in a debug link
        (36_000, 1_000, 44_000, "pass"),
        (36_000, 1_000, 44_513, "fail"),  # fewer loaded bytes allow no others
        (40_000, PAGES, 43_000 + PAGES, "pass"),
        (40_000, PAGES + 512, 43_512 + PAGES, "pass"),
        (40_000, PAGES + 513, 43_513 + PAGES, "fail"),
        (40_000, 1_000 + 9 * PAGE, 44_000 + 9 * PAGE, "fail"),  # gaps of many pages
        (39_000, 2_000 + 9 * PAGE, 43_000 + PAGES + 512, "pass"),
        (39_000, 2_000 + 9 * PAGE, 43_000 + PAGES + 513, "fail"),
        (90_000, 1_000, 94_000, "pass"),  # the limit on load fails instead
    ],
)
def test_growth(load: int, slack: int, file: int, expected: str) -> None:
    assert verdict(Sizes(load, 900, file, slack)) == [expected]


@given(
    st.integers(0, 1 << 20), st.integers(0, PAGES), st.integers(0, 1 << 16), st.integers(1, 9_000)
)
def test_a_byte_and_a_page_for_each_segment_pass(
    load: int, slack: int, rest: int, more: int
) -> None:
    old = Sizes(load, 0, load + slack + rest, slack)
    for gap in (-min(slack, more), min(PAGE - more % PAGE, PAGES - slack), PAGES - slack):
        new = Sizes(load + more, 0, old.file + more + gap, slack + gap)
        assert new.file - old.file <= allowed_growth(old, new, PAGES)
        hidden = max(rest // 100, 512) + 1
        if more + gap >= 0:
            assert new.file + hidden - old.file > allowed_growth(old, new, PAGES)


def test_pages_of_several_changes_do_not_add_up() -> None:
    """Each change widens the gaps by less than three pages, by a larger page size."""
    state = OLD
    verdicts: list[str] = []
    for gaps in (12_000, 24_000, 36_000):
        new = Sizes(OLD.load, OLD.ram, OLD.file - OLD.page_slack + gaps, gaps)
        assert new.file - state.file < PAGES
        verdicts += verdict(new, state)
        state = new
    assert verdicts == ["pass", "fail", "fail"]


def test_a_share_of_much_that_is_not_loaded() -> None:
    old = Sizes(40_000, 0, 140_000, 0)
    assert verdict(Sizes(40_000, 0, 141_000, 0), old) == ["pass"]
    assert verdict(Sizes(40_000, 0, 141_001, 0), old) == ["fail"]


def test_a_limit_of_the_policy_decides_instead() -> None:
    limit = Limit("file", "growth", GrowthLimit("9%", 9000, 0))
    assert verdict(Sizes(40_000, 900, 49_000, 1_000), OLD, limit) == []
    absolute = Limit("file", "absolute", GrowthLimit("60 KiB", 0, 60 << 10))
    assert verdict(Sizes(40_000, 900, 49_000, 1_000), OLD, absolute) == ["fail"]


def test_waived_bytes_are_allowed() -> None:
    assert verdict(Sizes(40_000, 900, 44_600, 1_000), waived=87) == ["fail"]
    assert verdict(Sizes(40_000, 900, 44_600, 1_000), waived=88) == ["pass"]


def test_nothing_to_compare_with() -> None:
    assert verdict(OLD, None, LOAD) == ["inconclusive"]
    assert verdict(OLD, None, waived=7) == ["not_run"]  # the policy does not limit growth
    absolute = Limit("file", "absolute", GrowthLimit("60 KiB", 0, 60 << 10))
    assert verdict(OLD, None, absolute) == []  # the absolute limit decides


def test_pages_of_an_image() -> None:
    """Compare with the program headers of Python's executable, read without our reader."""
    image = Path(sys.executable).resolve()
    data = image.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01"
    (machine,) = struct.unpack_from("<H", data, 18)
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    segments = sum(kind == 1 and file_size > 0 for kind, _, _, _, _, file_size in headers)
    assert segments > 1
    em_x86_64 = 62
    assert segment_pages(image) == segments * (PAGE if machine == em_x86_64 else 16 * PAGE)
