"""Test that the comparison with PyTorch's answers can fail.

It finds and names wrong numbers, dtypes and shapes, and calls that end a program.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sizeguard.builds.build_record import Build
from sizeguard.models.array_difference import difference
from sizeguard.models.npy import Array
from tests.support.builds.operator_table import table
from tests.support.builds.vectors import VECTORS, Runner, operators, read_vectors


def floats(*numbers: float, dtype: str = "Float") -> Array:
    return Array(
        dtype,
        (len(numbers),),
        np.array(numbers, {"Float": "<f4", "Double": "<f8", "Half": "<f2"}[dtype]).tobytes(),
    )


def bfloats(*numbers: float) -> Array:
    return Array(
        "BFloat16",
        (len(numbers),),
        (np.array(numbers, "<f4").view("<u4") >> 16).astype("<u2").tobytes(),
    )


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (floats(1.0, NAN, INF, -INF), floats(1.0, NAN, INF, -INF)),
        (floats(1.000001), floats(1.0)),
        (floats(0.000009), floats(0.0)),
        (floats(1.0 + 9e-8, dtype="Double"), floats(1.0, dtype="Double")),
        (floats(1.0009765625, dtype="Half"), floats(1.0, dtype="Half")),
        (bfloats(1.0078125), bfloats(1.0)),
        (Array("Bool", (2,), b"\x01\x00"), Array("Bool", (2,), b"\x01\x00")),
    ],
)
def test_equal_enough(actual: Array, expected: Array) -> None:
    assert difference(actual, expected) is None


@pytest.mark.parametrize(
    ("actual", "expected", "what"),
    [
        (floats(1.00002), floats(1.0), "at [0]"),
        (floats(0.00002), floats(0.0), "at [0]"),
        (floats(1.0, NAN), floats(1.0, 2.0), "at [1]"),
        (floats(2.0), floats(NAN), "at [0]"),
        (floats(INF), floats(-INF), "at [0]"),
        (floats(3.4e38), floats(INF), "at [0]"),
        (floats(1.0 + 4e-7, dtype="Double"), floats(1.0, dtype="Double"), "at [0]"),
        (floats(1.0029296875, dtype="Half"), floats(1.0, dtype="Half"), "at [0]"),
        (bfloats(1.03125), bfloats(1.0), "at [0]"),
        (floats(1.0), floats(1.0, dtype="Double"), "dtype Float, expected Double"),
        (floats(1.0), replace(floats(1.0), shape=(1, 1)), "shape (1,), expected (1, 1)"),
        (
            Array("Long", (1,), (2**62 + 1).to_bytes(8, "little")),
            Array("Long", (1,), (2**62).to_bytes(8, "little")),
            "4611686018427387905",
        ),
        (Array("Bool", (2,), b"\x01\x00"), Array("Bool", (2,), b"\x01\x01"), "at [1]"),
    ],
)
def test_different(actual: Array, expected: Array, what: str) -> None:
    assert what in str(difference(actual, expected))


def test_slack_widens_the_absolute_tolerance() -> None:
    assert difference(floats(1.5), floats(1.0), slack=0.5) is None
    assert difference(floats(1.5), floats(1.0), slack=0.4) is not None


def test_failing_cases_are_found_among_others(full_build: Build, tmp_path: Path) -> None:
    """Run cases with two wrong expectations, and a call that ends the whole program."""
    vectors = read_vectors(VECTORS / "aten.select.int.zip")
    cases = vectors.cases[:40]
    refused = next(case for case in vectors.refusals if case.must)
    cases[7] = replace(
        cases[7], expected=[replace(cases[7].expected[0], dtype="Short"), *cases[7].expected[1:]]
    )
    cases[30] = replace(
        cases[30], expected=[*cases[30].expected[:-1], replace(cases[30].expected[-1], shape=(99,))]
    )
    cases.insert(20, replace(refused, number=1000))
    failures = Runner(full_build.shipped, tmp_path, operators()).run(vectors, cases)
    assert [failure.case.number for failure in failures] == [7, 1000, 30]
    assert "expected Short" in failures[0].what
    assert "exit 2: error:" in failures[1].what
    assert "expected (99,)" in failures[2].what


def test_table_shows_what_failed() -> None:
    lines = table(
        {
            "aten::mul.Tensor": {"Float": [2, 3], "Int": [5, 5]},
            "aten::add.Tensor": {"Float": [7, 7]},
        }
    )
    assert [line.split() for line in lines[1:]] == [
        ["aten::add.Tensor", *["·"] * 7, "7", *["·"] * 3],
        ["aten::mul.Tensor", *["·"] * 3, "5", *["·"] * 3, "2/3", *["·"] * 3],
        ["all", *["·"] * 3, "5", *["·"] * 3, "9/10", *["·"] * 3],
    ]
