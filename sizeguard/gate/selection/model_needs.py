"""Find the needs of a model from a trace, the selection's own record and the call graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.operators.dtypes import DTYPES
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.reachable import reachable_operators
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.reachable_needs import met_dtypes, needs_of_model
from sizeguard.selection.selection import Selection


@dataclass(frozen=True, slots=True)
class Needed:
    """The parts of the runtime that models need.

    dtypes: kernel tag → dtypes
    """

    operators: frozenset[str] = frozenset()
    dtypes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    classes: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()

    def union(self, other: Needed) -> Needed:
        """Combine the needs of two models."""
        tags = self.dtypes.keys() | other.dtypes.keys()
        none: frozenset[str] = frozenset()
        return Needed(
            self.operators | other.operators,
            {tag: self.dtypes.get(tag, none) | other.dtypes.get(tag, none) for tag in tags},
            self.classes | other.classes,
            self.features | other.features,
        )


def needed_by(
    full: FullBuild, info: OperatorInfo, trace: Selection | None, recorded: Provenance | None
) -> Needed:
    """Collect everything that a model needs, or may need for other inputs.

    Operators are all reachable ones. A dtype counts if the trace has it, or if it follows from the
    dtypes of the model's tensors. It also counts if the record has it and the model can reach its
    switch. Features come from the trace and the record.

    trace: of the model's present content; None if the last trace is up to date
    recorded: the model's needs in the selection file
    """
    reached = reachable_operators(full, info)
    possible = needs_of_model(full.op_deps, info, frozenset(), reached).selection.kernel_metadata
    likely = _likely_dtypes(full, info, frozenset(reached))
    asked = recorded or Provenance()
    dtypes = {
        tag: likely.get(tag, frozenset()) | (asked.kernel_metadata.get(tag, frozenset()) & most)
        for tag, most in possible.items()
    }
    found = Needed(frozenset(reached), dtypes, info.classes, asked.build_features)
    if trace is None:
        return found
    used = Needed(
        frozenset(trace.operators),
        trace.kernel_metadata,
        trace.custom_classes,
        trace.build_features,
    )
    return found.union(used)


def _likely_dtypes(
    full: FullBuild, info: OperatorInfo, reached: frozenset[str]
) -> dict[str, frozenset[str]]:
    """Infer the dtypes of switches: an operator gets the dtypes of its tensors and of its callers.

    Operators that are called at load may get any dtype.
    """
    calls, tags = full.op_deps.calls, full.op_deps.tags
    of_model = met_dtypes(frozenset().union(*info.operators.values()))
    met: dict[str, frozenset[str]] = {
        name: met_dtypes(dtypes) or of_model for name, dtypes in info.operators.items()
    }
    met |= dict.fromkeys(info.classes, of_model)
    met |= dict.fromkeys(full.op_deps.at_load, frozenset(DTYPES))
    waiting = list(met)
    while waiting:
        caller = waiting.pop()
        for name in calls.get(caller, ()):
            known = met.get(name)
            if known is None or not met[caller] <= known:
                met[name] = (known or frozenset()) | met[caller]
                waiting.append(name)
    found: dict[str, frozenset[str]] = {}
    for name in (*reached, *info.classes):
        for tag in tags.get(name, ()):
            found[tag] = found.get(tag, frozenset()) | met.get(name, frozenset())
    return found
