"""Harmless refactorings of kernels do not fail the verifier; tests/soak/refactorings.py has all."""

from pathlib import Path

import pytest

from tests.support.defective_runtime import Runtime
from tests.support.refactored_runtime import COVERING, REFACTORINGS, named


def test_there_are_enough_and_the_covering_ones_exist() -> None:
    names = [each.name for each in REFACTORINGS]
    assert len(names) == len(set(names)) >= 25
    assert set(COVERING) <= set(names)


def test_all_covering_refactorings_at_once_pass(
    root: Path, tmp_path: Path, native_tools: None
) -> None:
    runtime = Runtime(root, tmp_path)
    for name in COVERING:
        named(name).apply(runtime.root)
    assert runtime.judged().findings == ()


@pytest.mark.native
def test_a_refactoring_hides_no_defect(root: Path, tmp_path: Path, native_tools: None) -> None:
    """The switch of hardtanh stands in a header, and asks the selection of another tag."""
    runtime = Runtime(root, tmp_path)
    named("switch_in_a_header").apply(runtime.root)
    header = runtime.root / "native/operators/scaling.h"
    text = header.read_text().replace("selected/hardtanh.h", "selected/copy.h")
    header.write_text(text.replace("SG_SWITCH_REAL(dtype, hardtanh", "SG_SWITCH_REAL(dtype, copy"))
    findings = runtime.judged().findings
    assert any(finding.startswith("fail dtype hardtanh:") for finding in findings), findings
