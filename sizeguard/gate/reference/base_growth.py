"""Growth since the merge base, which is shown even if the checks use another base."""

from __future__ import annotations

from sizeguard.attribution.analysis import Analysis
from sizeguard.base.errors import BuildError
from sizeguard.builds.sizes import Sizes
from sizeguard.gate.causes.growth_result import SizeGrowth
from sizeguard.gate.gate_result import MEASURED, SNAPSHOT, Base
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.history import History
from sizeguard.gate.reference.reference import MeasuredApp
from sizeguard.measurement.measured_analysis import sizes_of


def growth_since_base(
    history: History, base: Base | None, subject: MeasuredApp, growth: SizeReference, source: str
) -> SizeGrowth | None:
    """Subtract the merge base's sizes from those of the app; None if they cannot be measured.

    A given snapshot stands for the merge base, which is not built then.

    growth, source: the base of the growth checks. That is the change's own baseline if it has a new
                    one; the merge base is measured nevertheless.
    """
    if source != SNAPSHOT and (base is None or not base.commit):
        return None
    old: Sizes | None = None
    if growth.measured is not None and source in (SNAPSHOT, MEASURED):
        old = growth.measured.sizes
    elif source != SNAPSHOT and base is not None:
        analysis = analysis_at(history, base.commit, subject)
        old = sizes_of(analysis) if analysis is not None else None
    now = subject.now.sizes
    if old is None:
        return None
    return SizeGrowth(now.load - old.load, now.ram - old.ram, now.file - old.file)


def analysis_at(history: History, commit: str, subject: MeasuredApp) -> Analysis | None:
    """Measure the app at a commit; None if it does not build there."""
    recipe = subject.recipe
    if history.head is None or recipe is None:
        return None
    try:
        return history.measure(commit, recipe, subject.build.tools).analysis
    except BuildError:
        # The checks use the baseline, so a base that does not build is not a failure
        return None
