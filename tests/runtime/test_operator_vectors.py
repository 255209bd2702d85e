"""Every operator gives the same results as PyTorch, and refuses the same calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from tests.support.builds.operator_table import ACCEPTS_MORE, TABLE
from tests.support.builds.vectors import Runner, operators, read_vectors, vector_files

KNOWN = operators()
SHOWN = 12  # listed failures of one operator


def file_of(name: str) -> str:
    return name.replace("::", ".")


@pytest.mark.native
def test_every_operator_has_cases() -> None:
    assert {path.stem for path in vector_files()} == {file_of(name) for name in KNOWN}
    for path in vector_files():
        assert read_vectors(path).cases, path


@pytest.mark.parametrize("name", KNOWN, ids=file_of)
def test_results(
    name: str, full_build: Build, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    vectors = read_vectors(next(path for path in vector_files() if path.stem == file_of(name)))
    failures = Runner(full_build.shipped, tmp_path, KNOWN).run(vectors, vectors.cases)
    total = Counter(case.dtype for case in vectors.cases)
    failed = Counter(failure.case.dtype for failure in failures)
    record_property(
        TABLE, [name, {dtype: [count - failed[dtype], count] for dtype, count in total.items()}]
    )
    shown = [
        f"case {failure.case.number}: {vectors.describe(failure.case)}: {failure.what}"
        for failure in failures[:SHOWN]
    ]
    assert not failures, "\n".join(
        [f"{name}: {len(failures)} of {len(vectors.cases)} cases differ from PyTorch", *shown]
    )


@pytest.mark.parametrize("name", KNOWN, ids=file_of)
def test_refusals(
    name: str, full_build: Build, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Calls that PyTorch refuses end in one line and exit 1 or 2.

    A call with a dtype that only this runtime accepts is listed.
    """
    vectors = read_vectors(next(path for path in vector_files() if path.stem == file_of(name)))
    runner = Runner(full_build.shipped, tmp_path, KNOWN)
    accepted, wrong = [], []
    for case in vectors.refusals:
        outcome, _ = runner.attempt(vectors, [case])
        what = f"{vectors.describe(case)} (PyTorch: {case.message})"
        if outcome.returncode == 0 and not case.must:
            accepted.append(what)
        elif outcome.returncode == 0:
            wrong.append(f"accepted: {what}")
        elif outcome.returncode not in (1, 2) or not one_error_line(outcome.stderr):
            wrong.append(f"exit {outcome.returncode}, stderr {outcome.stderr!r}: {what}")
    record_property(ACCEPTS_MORE, [name, accepted])
    assert not wrong, "\n".join(
        [f"{name}: {len(wrong)} of {len(vectors.refusals)} refusals are wrong", *wrong[:SHOWN]]
    )


def one_error_line(text: str) -> bool:
    return text.startswith("error: ") and text.count("\n") == 1
