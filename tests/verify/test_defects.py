"""Runtime defects that the verifier must find without hints, with only the fast builds.

tests/soak/verifier/defects.py tests all defects.
"""

from pathlib import Path

import pytest

from tests.support.refactorings.defective_runtime import DEFECTS, Runtime
from tests.support.whole_products import choose

QUICK = (
    "direct_call",
    "exported_symbol",
    "kernel_table",
    "unmatched_tag",
    # These two compile the whole runtime again.
    "misspelled_option",
    "static_initializer",
)


@pytest.fixture(scope="module")
def runtime(root: Path, tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Runtime:
    made = Runtime(root, tmp_path_factory.mktemp("defects"))
    assert made.outcome(None).findings == ()
    return made


@pytest.mark.parametrize("name", choose(QUICK[:4], QUICK))
def test_a_defect_is_caught_by_the_verifier(runtime: Runtime, name: str) -> None:
    outcome = runtime.outcome(DEFECTS / f"{name}.patch")
    assert outcome.caught_by == "verify"
    assert any(finding.startswith("fail ") for finding in outcome.findings)


def test_every_class_of_defect_has_a_patch() -> None:
    classes = {path.stem for path in DEFECTS.glob("*.patch")}
    assert len(classes) == 10
    further = [path.stem for path in (DEFECTS / "further").glob("*.patch")]
    assert {
        name: sum(other.startswith(name) for other in further) for name in classes
    } == dict.fromkeys(classes, 3)
