"""Texts of limits: growth, shares, sizes and creep."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.gate.policy.limits import LARGEST, parse_creep, parse_limit, parse_size


@pytest.mark.parametrize(
    ("text", "base", "allowed"),
    [
        ("max(1%, 512B)", 10_000, 512),
        ("max(1%, 512B)", 100_000, 1000),
        ("max(512 B,1%)", 100_000, 1000),
        ("max(1%, 1,024 B)", 100, 1024),
        ("0.5%", 2001, 10),
        ("0B", 9, 0),
        ("0", 9, 0),
        ("512 B", 0, 512),
        ("1 KiB", 0, 1024),
        ("2.5 KiB", 0, 2560),
        ("1 MiB", 0, 1 << 20),
    ],
)
def test_growth(text: str, base: int, allowed: int) -> None:
    assert parse_limit(text, "x").allowed(base) == allowed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "-1%",
        "max(1%",
        "1KB",
        "max(1%; 2B)",
        "max(1%,)",
        "max()",
        "1%, 2B",
        "1,00 B",
        "0.3 B",
        "9999999 GiB",
        "1 %%",
        "max(1% 2B)",
    ],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"sizeguard\.yaml:3: .* is not a limit"):
        parse_limit(text, "sizeguard.yaml:3")


@given(st.text(alphabet="max()0123456789.,% BKiMGsince v", max_size=24))
def test_any_text_is_a_limit_or_an_error(text: str) -> None:
    for parse in (parse_limit, parse_size, parse_creep):
        try:
            found = parse(text, "x")
        except InputError as error:
            assert str(error).startswith("x: ")
        else:
            amount = (
                found
                if isinstance(found, int)
                else found[0].bytes
                if isinstance(found, tuple)
                else found.bytes
            )
            assert 0 <= amount <= LARGEST


@pytest.mark.parametrize(
    ("text", "base", "allowed"),
    [
        ("1%", 0, 0),
        ("1%", 99, 0),
        ("1%", 100, 1),
        ("1%", 199, 1),
        ("2.5%", 39, 0),
        ("2.5%", 40, 1),
        ("0.001%", 99_999, 0),
        ("0.001%", 100_000, 1),
        ("33.333%", 1_000_000, 333_330),
        ("100%", 7, 7),
        ("250%", 3, 7),
        ("1%", 1_099_511_627_775, 10_995_116_277),
    ],
)
def test_a_share_is_rounded_down_to_whole_bytes(text: str, base: int, allowed: int) -> None:
    assert parse_limit(text, "x").allowed(base) == allowed


@given(st.integers(0, 1 << 40), st.integers(0, 999), st.integers(0, 999), st.integers(0, 1 << 30))
def test_a_limit_is_the_larger_of_a_share_and_of_bytes(
    base: int, percent: int, thousandths: int, amount: int
) -> None:
    share = Fraction(f"{percent}.{thousandths:03}") / 100 * base
    of_both = parse_limit(f"max({percent}.{thousandths:03}%, {amount} B)", "x").allowed(base)
    assert of_both >= amount
    assert of_both > share - 1
    assert of_both == amount or of_both <= share


def test_sizes_and_creep() -> None:
    assert [parse_size(text, "x") for text in ("41,000 B", "40 KiB", "0", "7B")] == [
        41_000,
        40_960,
        0,
        7,
    ]
    limit, since = parse_creep("max(2%, 1 KiB) since v1.0", "x")
    assert (limit.allowed(1000), limit.allowed(100_000), since) == (1024, 2000, "v1.0")
    for text in ("2%", "2% since", "since v1", "2% since --all"):
        with pytest.raises(InputError, match="is not a creep limit; write"):
            parse_creep(text, "x")
