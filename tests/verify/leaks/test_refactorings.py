"""Harmless refactorings of kernels pass verification.

tests/soak/verifier/refactorings.py tries each.
"""

import shutil
from pathlib import Path

from tests.support.refactorings.defective_runtime import DEFECTS, Runtime
from tests.support.refactorings.refactored_forms import NEW_SELECTED_OPERATOR
from tests.support.refactorings.refactored_runtime import COVERING, REFACTORINGS, named
from tests.support.whole_products import is_whole


def test_there_are_enough_and_the_covering_ones_exist() -> None:
    names = [each.name for each in REFACTORINGS]
    assert len(names) == len(set(names)) >= 25
    assert set(COVERING) <= set(names)


def test_each_refactoring_applies_to_the_sources(root: Path, tmp_path: Path) -> None:
    for i, each in enumerate((*REFACTORINGS, NEW_SELECTED_OPERATOR)):
        for file in each.files():
            copy = tmp_path / str(i) / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            if (root / file).is_file():
                shutil.copy(root / file, copy)
        each.apply(tmp_path / str(i))


def test_all_covering_refactorings_at_once_pass(
    root: Path, tmp_path: Path, native_tools: None
) -> None:
    """In soak, a defect among them fails: hardtanh checks dtypes at run time, in a header."""
    runtime = Runtime(root, tmp_path)
    for name in COVERING:
        named(name).apply(runtime.root)
    assert runtime.judged().findings == ()
    if not is_whole():  # half a minute
        return
    findings = runtime.outcome(DEFECTS / "runtime_check.patch").findings
    assert any(finding.startswith("fail dtype hardtanh:Double") for finding in findings), findings
