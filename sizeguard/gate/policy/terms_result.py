"""Results about the terms of a gate: changes of them, and the use of waivers."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import PASS

# First words of `what` for changes of reviewed files, which a trailer can accept.
BASELINE, WAIVER, RECORD, NAMES = "baseline", "waiver", "selection record", "names"
ACCEPTABLE = (BASELINE, WAIVER, RECORD, NAMES)
# States of a waiver. All states but used and unused fail. Unused: this run did not measure its app
# or target.
USED, UNUSED, SPENT, EXCEEDED, EXPIRED = "used", "unused", "spent", "exceeded", "expired"
NONE_NEAR = "none"  # a waiver's `nearest`, if its metric is unknown and nothing is like it
WAIVER_STATES = (USED, UNUSED, SPENT, EXCEEDED, EXPIRED)


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One difference between the terms of the merge base and the change.

    Terms are sizeguard.yaml, baselines, waivers, selections, models and names of the full build.

    what:     limit loosened, app removed, baseline replaced, …
    name:     the term: load growth of vision
    old, new: as written; empty if the term is absent
    loosens:  it allows what the base's terms do not allow, or removes what they check
    bytes:    allowed in addition, negative if fewer are allowed; None if that is not a number
    verdict:  fail if the base says `policy_changes: fail` and no trailer accepts the change
    accepted: the trailer that accepts it: commit 4f2a91c
    place:    where the change has the term
    """

    what: str
    name: str
    old: str
    new: str
    loosens: bool
    bytes: int | None = None
    verdict: str = PASS
    accepted: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class RegionLimit:
    """A share of a memory region that has another size than in the base.

    metric: region/FLASH; rule: 90%
    old, new: bytes that the share allows in the base's region, and in the change's
    place:  where the change has the limit
    """

    metric: str
    rule: str
    old: int
    new: int
    place: str


@dataclass(frozen=True, slots=True)
class Waiver:
    """Bytes that a metric may have beyond its limits.

    app, target: empty for all
    expires: YYYY-MM-DD, the last day on which it holds
    source:  baselines/waivers.yaml:4, or commit 4f2a91c
    nearest: for an unknown metric, the most similar known one
    """

    metric: str
    app: str
    target: str
    bytes: int
    reason: str
    owner: str
    expires: str
    source: str
    nearest: str = ""

    @property
    def is_trailer(self) -> bool:
        """Return whether it is in a commit's message, not in the file."""
        return self.source.startswith("commit ")


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """The state of a waiver after the checks.

    state: one of WAIVER_STATES
    used: the bytes that checks needed
    message, advice: empty unless it fails
    """

    waiver: Waiver
    state: str
    verdict: str
    used: int = 0
    message: str = ""
    advice: str = ""
