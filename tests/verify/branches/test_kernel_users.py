"""Check operators whose kernels use other operators' code, selected without those operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files, files_of
from sizeguard.claims.verdict import FAIL
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import list_claims
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.toolchain import Toolchain
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.judge_claims import Judge
from tests.conftest import built
from tests.support.builds.single_selections import selection_text

pytestmark = pytest.mark.native

# logical_and calls the loop of bitwise_and's Bool; the others once called kernels of div and item.
OPERATORS = ("aten::logical_and", "aten::div.Tensor_mode", "aten::Bool.Tensor")
LOOP = "binary_loop<bool, bool, And>"


@pytest.fixture(scope="module")
def alone(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Build:
    selection: Path = tmp_path_factory.mktemp("alone") / "selected_operators.yaml"
    selection.write_text(selection_text(OPERATORS))
    return built(Variant("selective", "alone", selection), toolchain)


@pytest.fixture(scope="module")
def evidence(alone: Build) -> Evidence:
    return gather(files_of(alone))


def failing(
    root: Path, alone: Build, evidence: Evidence, users: Mapping[str, tuple[str, ...]] | None = None
) -> set[str]:
    listed = list_claims(root, alone.image.parent, RequestedClaims(), Files(alone.image)).claims
    assert listed is not None
    given = listed if users is None else replace(listed, users=users)
    return {v.name for v in Judge(evidence, given).verdicts() if v.verdict == FAIL}


def test_code_of_other_operators_is_known_by_its_users(
    root: Path, alone: Build, evidence: Evidence
) -> None:
    assert failing(root, alone, evidence) == set()


@pytest.mark.parametrize("users", [{}, {LOOP: ()}, {LOOP: ("relu", "logical_or")}])
def test_a_body_that_no_known_user_calls_is_a_leak(
    root: Path, alone: Build, evidence: Evidence, users: dict[str, tuple[str, ...]]
) -> None:
    assert failing(root, alone, evidence, users) == {"bitwise_and:Bool"}
