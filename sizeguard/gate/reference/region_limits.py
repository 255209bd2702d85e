"""Limits in shares of a memory region whose size the change edits in its linker script.

The entry in sizeguard.yaml is the same, but it allows another number of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from sizeguard.gate.gate_result import ABSOLUTE, Base, Check
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.policy.limits import parse_most
from sizeguard.gate.policy.terms_result import RegionLimit
from sizeguard.gate.reference.base_growth import analysis_at
from sizeguard.gate.reference.history import History
from sizeguard.gate.reference.reference import MeasuredApp
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measurement import Measurement
from sizeguard.measurement.metric_names import split_metric

LEVEL = "region"


def region_limits(
    history: History,
    base: Base | None,
    subject: MeasuredApp,
    growth: SizeReference,
    checks: Iterable[Check],
) -> tuple[RegionLimit, ...]:
    """List the shares of regions whose size is another one than in the base.

    growth: the base of the growth checks. A baseline may be the change's own, so the sizes of
            regions are those of the merge base, if that can be measured.
    """
    shares = [check for check in checks if _is_share(check)]
    if not shares:
        return ()
    old = growth.measured
    if old is None or old.analysis is None:
        analysis = analysis_at(history, base.commit, subject) if base and base.commit else None
        old = measurement_of(analysis, (), levels=()) if analysis is not None else old
    return changed_shares(shares, old, subject.now) if old is not None else ()


def changed_shares(
    checks: Iterable[Check], old: Measurement, new: Measurement
) -> tuple[RegionLimit, ...]:
    """List the shares of regions that have another size now."""
    found = []
    for check in filter(_is_share, checks):
        name = split_metric(check.metric)[1]
        before, after = old.region_size(name), new.region_size(name)
        if before and after and before != after:
            share = parse_most(check.metric, check.rule, check.place).milli_percent
            was, now = (size * share // 100_000 for size in (before, after))
            found.append(RegionLimit(check.metric, check.rule, was, now, check.place))
    return tuple(found)


def _is_share(check: Check) -> bool:
    is_of_region = split_metric(check.metric)[0] == LEVEL
    return check.kind == ABSOLUTE and is_of_region and check.rule.endswith("%")
