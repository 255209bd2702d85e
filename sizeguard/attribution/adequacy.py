"""Turns what a model can reach and what a trace of it saw into what the trace missed, and what the graph did."""

from __future__ import annotations

from dataclasses import dataclass

from sizeguard.attribution.static_selection import FullBuild, reachable_operators, static_selection
from sizeguard.errors import InputError
from sizeguard.linkgraph.closure import Unknown
from sizeguard.model_import.op_info import OperatorInfo
from sizeguard.selection.selection import Selection


@dataclass(frozen=True, slots=True)
class Adequacy:
    """How a trace compares with the graph.

    reachable, observed:     how many operators
    reachable_not_observed:  branches that no input took, or that no input of this model can take
    observed_not_reachable:  the graph is wrong, or of another runtime
    callers:                 of reachable_not_observed, who calls it; "" if the model names it itself
    dtypes_observed_not_reachable: "tag:Dtype" that the trace saw and the static selection would leave out
    unknown:                 calls in reach whose operator is not constant
    """

    model: str
    reachable: int
    observed: int
    reachable_not_observed: tuple[str, ...]
    observed_not_reachable: tuple[str, ...]
    callers: dict[str, str]
    dtypes_observed_not_reachable: tuple[str, ...]
    unknown: tuple[tuple[str, Unknown], ...]

    @property
    def is_contained(self) -> bool:
        return not self.observed_not_reachable and not self.dtypes_observed_not_reachable


def adequacy(full: FullBuild, info: OperatorInfo, trace: Selection) -> Adequacy:
    """Compare. Of a selection of several models only what is credited to this one counts."""
    if trace.include_all_operators:
        raise InputError("the trace includes all operators, so it says nothing of what was seen; trace the model")
    found = static_selection(full, [info], frozenset())
    callers = reachable_operators(full, info)
    credited = {name for name, entry in trace.operators.items() if info.model in entry.debug_info}
    observed = credited or set(trace.operators)
    asked = trace.provenance.get(info.model)
    metadata = asked.kernel_metadata if asked is not None and asked.kernel_metadata else trace.kernel_metadata
    if asked is None and len({name for entry in trace.operators.values() for name in entry.debug_info}) > 1:
        metadata = {}  # nobody wrote down whose dtypes these are
    known = found.selection.kernel_metadata
    dtypes = sorted(f"{tag}:{dtype}" for tag, dtypes in metadata.items() for dtype in dtypes if dtype not in known.get(tag, ()))
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
