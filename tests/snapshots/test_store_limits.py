"""Limits of the store: options win over sizeguard.yaml, and what is no age or size is refused."""

from __future__ import annotations

import pytest

from sizeguard.base.errors import InputError
from sizeguard.gate.policy.read_limits import store_limits
from sizeguard.projects.project import StoreEntry
from sizeguard.report.writers.style import size_text
from sizeguard.snapshots.cleaning import USUAL_AGE, USUAL_SIZE, StoreLimits

DAY = 86400
PLACE = "sizeguard.yaml:7"
ENTRY = StoreEntry("3 MiB", "2 weeks", PLACE)


@pytest.mark.parametrize(
    ("entry", "options", "expected"),
    [
        (StoreEntry(), (), StoreLimits(USUAL_SIZE, USUAL_AGE, "")),
        (ENTRY, (), StoreLimits(3 << 20, 14 * DAY, PLACE)),
        (ENTRY, ("1 KiB",), StoreLimits(1024, 14 * DAY, "options")),
        (ENTRY, ("", "1 day"), StoreLimits(3 << 20, DAY, "options")),
        (ENTRY, ("1 KiB", "10d"), StoreLimits(1024, 10 * DAY, "options")),
        (StoreEntry("0", "", PLACE), (), StoreLimits(0, USUAL_AGE, PLACE)),
        (StoreEntry("", "1w", PLACE), (), StoreLimits(USUAL_SIZE, 7 * DAY, PLACE)),
    ],
)
def test_options_win_over_the_entry(
    entry: StoreEntry, options: tuple[str, ...], expected: StoreLimits
) -> None:
    assert store_limits(entry, *options) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), f"{PLACE}: '5 years' is not an age"),
        (("", "soon"), "--max-age: 'soon' is not an age"),
        (("7",), "--max-size: '7' has no unit"),
    ],
)
def test_a_wrong_limit_is_named_with_its_place(options: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        store_limits(StoreEntry("", "5 years", PLACE), *options)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1536, "1.5 KiB"),
        ((10 << 20) - 1, "10,240.0 KiB"),
        (10 << 20, "10.0 MiB"),
        (500 << 20, "500.0 MiB"),
        (USUAL_SIZE, "2.0 GiB"),
        (-3 << 30, "-3.0 GiB"),
    ],
)
def test_units_of_sizes(size: int, text: str) -> None:
    assert size_text(size) == text
