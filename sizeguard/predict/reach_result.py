"""Results of reachability: operators and dtypes that models can reach, compared with a trace."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass
from sizeguard.selection.selection import Selection


@dataclass(frozen=True, slots=True)
class StaticSelection:
    """Selection of everything that models can reach.

    whole_tags: tags that keep every dtype, since the models do not show which ones their switches
        see
    unknown:    reachable calls without a constant operator, with the operator that makes them
    absent:     names passed to the dispatcher that no library registers
    """

    selection: Selection
    whole_tags: tuple[str, ...]
    unknown: tuple[tuple[str, Unknown], ...]
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Adequacy:
    """Comparison of a trace with the section graph.

    reachable, observed:     numbers of operators
    reachable_not_observed:  branches that no input took, or that no input of this model can take
    observed_not_reachable:  not empty if the graph is wrong, or belongs to another runtime
    callers:                 caller of each in reachable_not_observed; "" if the model names it
        itself
    dtypes_observed_not_reachable: "tag:Dtype" that the trace saw and the static selection omits
    unknown:                 reachable calls without a constant operator
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
        """Return whether everything that the trace saw is reachable."""
        return not self.observed_not_reachable and not self.dtypes_observed_not_reachable


@dataclass(frozen=True, slots=True, order=True)
class Unknown:
    """A function that calls an operator without a constant name, and its object."""

    function: str
    object: str
