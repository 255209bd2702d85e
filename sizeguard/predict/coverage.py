"""Compare a model's trace with the operators and dtypes that it can reach in the section graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sizeguard.base.errors import InputError
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.reach_result import Adequacy
from sizeguard.predict.reachable import reachable_operators, static_selection
from sizeguard.selection.selection import Selection


def adequacy(full: FullBuild, info: OperatorInfo, trace: Selection) -> Adequacy:
    """Compare a trace with the operators and dtypes that the model can reach.

    In a selection of several models only operators and dtypes credited to this model count. Raises
    InputError for a trace that includes all operators.
    """
    if trace.include_all_operators:
        raise InputError(
            "the trace includes all operators, so it does not show what was seen; trace the model"
        )
    found = static_selection(full, [info], frozenset())
    callers = reachable_operators(full, info)
    credited = {name for name, entry in trace.operators.items() if info.model in entry.debug_info}
    observed = credited or set(trace.operators)
    known = found.selection.kernel_metadata
    dtypes = sorted(
        f"{tag}:{dtype}"
        for tag, dtypes in _observed_dtypes(info, trace).items()
        for dtype in dtypes
        if dtype not in known.get(tag, ())
    )
    missed = tuple(sorted(set(callers) - observed))
    return Adequacy(
        model=info.model,
        reachable=len(callers),
        observed=len(observed),
        reachable_not_observed=missed,
        observed_not_reachable=tuple(sorted(observed - set(callers))),
        callers={name: callers[name] for name in missed},
        dtypes_observed_not_reachable=tuple(dtypes),
        unknown=found.unknown,
    )


def _observed_dtypes(info: OperatorInfo, trace: Selection) -> Mapping[str, Collection[str]]:
    """Return the dtypes that a trace saw in this model, by tag.

    Empty if the trace covers several models and does not say which one saw them.
    """
    asked = trace.provenance.get(info.model)
    if asked is not None:
        return asked.kernel_metadata or trace.kernel_metadata
    models = {model for entry in trace.operators.values() for model in entry.debug_info}
    return {} if len(models) > 1 else trace.kernel_metadata
