"""Judge two images by --fail-if conditions: load > +1%, symbol/std::regex* > 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from sizeguard.attribution.analysis import Analysis
from sizeguard.base.errors import InputError
from sizeguard.gate.gate_result import ABSOLUTE, GROWTH, Check, overall
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.limits import GrowthLimit, Limit, parse_limit, parse_most
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measurement import Measurement
from sizeguard.measurement.metric_kinds import TOTALS
from sizeguard.measurement.metric_names import MetricNames, split_metric

FORMS = "METRIC > +1%, METRIC > '+max(1%, 512B)' or METRIC > 40KiB"


class Judged:
    """Conditions on two images, judged after both are measured."""

    def __init__(self, conditions: Iterable[str]) -> None:
        """Parse METRIC > LIMIT: +SIZE limits growth, SIZE limits the new image.

        Raises InputError for a malformed condition or an unknown metric.
        """
        self._limits = tuple(map(_limit, conditions))
        self._measured: dict[bool, Measurement] = {}

    @property
    def levels(self) -> frozenset[str]:
        """The levels of the conditions' metrics, which an analysis must be able to tell apart."""
        return frozenset(split_metric(limit.metric)[0] for limit in self._limits) - {*TOTALS}

    def measure(self, analysis: Analysis, *, is_new: bool) -> None:
        """Measure the conditions' metrics in one of the two images."""
        if self._limits:
            metrics = [limit.metric for limit in self._limits]
            self._measured[is_new] = measurement_of(analysis, metrics, levels=self.levels)

    @cached_property
    def checks(self) -> Sequence[Check]:
        """Judge the new image and its growth; a name that neither image has is inconclusive."""
        if not self._limits:
            return ()
        subject = CheckedApp("", "", self._measured[True], lambda metric: 0)
        old = SizeReference("OLD", self._measured[False])
        return size_checks(subject, self._limits, old, _NO_CREEP)

    @property
    def verdict(self) -> str:
        """Fail if one condition is true, inconclusive if one cannot be decided."""
        return overall({check.verdict for check in self.checks})

    def lines(self) -> Iterable[str]:
        """Write a line for each condition: its verdict and figures."""
        for check in self.checks:
            if check.limit is None or check.advice:
                # The gate's advice is about sizeguard.yaml, which a diff does not read.
                why = check.advice.partition("; write `unknown")[0]
                yield f"{check.verdict} {check.metric}: {why}"
                continue
            sizes = f"{check.actual:,} B"
            if check.base is not None:
                sizes = f"{check.base:,} → {sizes} ({check.actual - check.base:+,})"
            yield f"{check.verdict} {check.metric}: {sizes}, at most {check.limit:,} ({check.rule})"


_NO_CREEP: Mapping[str, SizeReference] = {}


def _limit(text: str) -> Limit:
    # The last sign counts, since names may end with it: symbol/std::operator>> > 0
    metric, found, bound = (part.strip() for part in text.rpartition(">"))
    where = f"--fail-if '{text}'"
    if not found or not metric or not bound or bound.startswith("="):
        metric = text.strip() if text.strip() in TOTALS else "METRIC"
        raise InputError(f"{where}: not a condition; write {FORMS.replace('METRIC', metric)}")
    first, _, more = metric.partition(">")
    if first.strip() in TOTALS and more.strip():
        raise InputError(f"{where}: more than one condition; give --fail-if once for each")
    if problem := MetricNames(None).problem(metric):
        raise InputError(f"{where}: {problem}")
    if bound.startswith("+"):
        return Limit(metric, GROWTH, _growth(bound, where), only_images_know=True)
    if bound.startswith("-"):
        raise InputError(f"{where}: not a condition; write {FORMS}")
    if "%" in bound and not metric.startswith("region/"):
        raise InputError(f"{where}: a percentage is a growth limit; write +{bound}")
    most = parse_most(metric, bound, where)
    return Limit(metric, ABSOLUTE, most, only_images_know=True)


def _growth(bound: str, where: str) -> GrowthLimit:
    found = parse_limit(bound[1:], where)
    return GrowthLimit(f"+{found.text}", found.milli_percent, found.bytes)
