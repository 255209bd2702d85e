"""Verdicts on deselected contents of an image, under any name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import Verdict
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.leaks.deselected_code import DeselectedCode
from sizeguard.verify.leaks.explained_bytes import judge_explained
from sizeguard.verify.leaks.full_objects import read_full
from sizeguard.verify.leaks.hidden_code import judge_copies, judge_namesakes
from sizeguard.verify.leaks.written_names import judge_written_names


@dataclass(frozen=True, slots=True)
class Deselected:
    """Names that a selection leaves out.

    bodies:  names of functions of dtype branches → the dtypes for which none is selected
    handled: classes that selected operators take or return
    """

    operators: tuple[str, ...]
    kernels: tuple[str, ...]
    classes: tuple[str, ...]
    bodies: Mapping[str, frozenset[str]]
    handled: frozenset[str] = frozenset()


def judge_leaks(evidence: Evidence, deselected: Deselected) -> Iterator[Verdict]:
    """Judge one claim for each way in which something deselected can be in an image."""
    code = DeselectedCode(evidence, read_full(evidence))
    yield judge_copies(code)
    yield judge_namesakes(
        code, deselected.kernels, deselected.classes, deselected.bodies, deselected.handled
    )
    yield judge_written_names(code, (*deselected.operators, *deselected.classes))
    yield from judge_explained(evidence)
