"""Savings of all operators and dtype branches of an image, or why they are not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build, read_build
from sizeguard.formats.linkmap.link_map import LinkMap
from sizeguard.linkgraph.merged_functions import coarse_objects
from sizeguard.predict.prediction import PredictedSaving
from sizeguard.predict.predictor import Kept, Predictor
from sizeguard.predict.savings.branch_savings import BranchSavings
from sizeguard.predict.savings.case_code import read_case_code
from sizeguard.predict.savings.code_changes import Span
from sizeguard.predict.savings.compiled_branches import (
    Branch,
    CompiledBranches,
    compiled_branches,
)
from sizeguard.predict.savings.image_change import ImageChange
from sizeguard.predict.savings.operator_savings import OperatorSavings
from sizeguard.predict.savings.recompiled import Absent, Recompiler
from sizeguard.runtimes.known import runtime_named


@dataclass(frozen=True, slots=True)
class ImageSavings:
    """Savings of each part of an image.

    operators: by name; dtypes: by tag and dtype; None if a saving is not known
    handler:   bytes that the first omitted dtype adds; 0 if the image has the handler
    unknown:   reasons why all savings of a kind are missing
    """

    operators: Mapping[str, PredictedSaving | None] = field(default_factory=dict)
    dtypes: Mapping[Branch, PredictedSaving | None] = field(default_factory=dict)
    handler: int = 0
    unknown: tuple[str, ...] = ()


class Savings:
    """Compute savings in the images that selections make from a full build."""

    def __init__(self, predictor: Predictor, path: Path, link_map: LinkMap | None = None) -> None:
        """Read the code of the dtype branches.

        path:     the full build's folder or its build.json, from which the predictor was made
        link_map: the build's map, if it was read before
        """
        self._predictor = predictor
        self._unknown: list[str] = []
        self._branches: CompiledBranches | None = None
        self._coarse = frozenset(coarse_objects(predictor.graph))
        build = read_build(path)
        self._refusal = _refusal(build)
        if self._refusal:
            self._unknown.append(self._refusal)
            return
        functions = {switch.function for switch in predictor.facts.switches}
        try:
            runtime = runtime_named(predictor.facts.runtime)
            code = read_case_code(predictor.graph, build, runtime, functions, link_map)
        except InconclusiveError as error:
            self._unknown.append(f"savings of dtypes: {error}")
            return
        self._branches = compiled_branches(
            predictor.graph, predictor.facts, predictor.branches, code
        )

    def of(self, kept: Kept) -> ImageSavings:
        """Return the savings of an image that keeps these parts of the full build."""
        if self._refusal:
            return ImageSavings(unknown=tuple(self._unknown))
        if self._branches is None and kept.dtypes is not None:
            reason = "savings of operators: the effect of omitted dtypes on them is unknown"
            return ImageSavings(unknown=(*self._unknown, reason))
        change = ImageChange(self._predictor, kept)
        recompiler = Recompiler(change.graph, Absent(change.base.without, change.base.cut))
        if self._branches is None:
            operators = OperatorSavings(change, recompiler, self._coarse, lambda _: Span())
            return ImageSavings(operators.all(kept), unknown=tuple(self._unknown))
        branches = BranchSavings(change, recompiler, self._branches, kept.dtypes, self._coarse)
        operators = OperatorSavings(change, recompiler, self._coarse, branches.deselected)
        return ImageSavings(operators.all(kept), branches.all(), change.handler)


def _refusal(build: Build) -> str:
    """Explain why savings are not known for a kind of build."""
    if build.lto:
        return "savings: the linker moves code between objects with LTO"
    if not build.target.startswith("x86_64-linux"):
        return f"savings: intervals are known for x86_64-linux, not for {build.target}"
    return ""
