"""The gate's result as plain data.

A report needs nothing else, and the result can be stored as JSON and shown again.

Only strings, integers, booleans, None, tuples and these classes: plain_data writes and reads them
by their types. Paths are strings, relative to the source tree. Sizes are integers, in bytes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sizeguard.attribution.size_report import CORE, OUTSIDE, SHARED
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS, Verification
from sizeguard.gate.causes.growth_result import (
    Cause,
    DependencyGrowth,
    FileGrowth,
    Growth,
    Share,
    SizeGrowth,
)
from sizeguard.gate.policy.terms_result import PolicyChange, RegionLimit, WaiverUse

NOT_RUN = "not_run"  # the verdict on a model that did not run, or a check without a reference

# Kinds of checks. elimination counts claims that do not hold; needed is about one new library; run
# is about a command that has to exit with 0; machine is about an image of another format, machine
# or kind; the others compare bytes.
ABSOLUTE, GROWTH, CREEP, ELIMINATION = "absolute", "growth", "creep", "elimination"
NEEDED, RUN, MACHINE = "needed", "run", "machine"
CHECK_KINDS = (ABSOLUTE, GROWTH, CREEP, ELIMINATION, NEEDED, RUN, MACHINE)
SIZE_KINDS = (ABSOLUTE, GROWTH, CREEP)
# Rules of MACHINE; the name of the base's machine or kind follows.
SAME_MACHINE, SAME_KIND = "the format and machine of the base", "the kind of file of the base"

REPRODUCE = "reproduce"  # the label of a command that gates a build again
# Sources of the sizes that growth is counted from.
MEASURED, PARENT, REVIEWED = "merge base", "first parent", "baseline"
SNAPSHOT = "snapshot"
IS_HEAD = "HEAD itself"  # the text of a base that is checked out


@dataclass(frozen=True, slots=True)
class Saving:
    """Loaded bytes of one operator, or of a row that is not an operator.

    Such rows are (core), (shared by operators) and (headers, tables, padding).
    """

    operator: str
    full: int
    selective: int

    @property
    def saved(self) -> int:
        """Bytes that the selective build saves."""
        return self.full - self.selective

    @property
    def is_operator(self) -> bool:
        """False for (core) and the like."""
        return self.operator not in (CORE, SHARED, OUTSIDE)


@dataclass(frozen=True, slots=True)
class ModelResult:
    """The comparison of one model on the full and the selective build.

    verdict: pass, fail, or not_run where the target does not run here
    cases:   number of bundled inputs
    missing: operators and classes that the selective build lacks
    message: the error, or why the model was not run
    cached:  not run again, because an earlier run with the same model, builds and emulator passed
    """

    model: str
    app: str
    verdict: str
    cases: int
    missing: tuple[str, ...]
    message: str
    target: str = ""
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """One number against one limit.

    id:      unique: vision/x86_64-linux/load/growth
    kind:    one of CHECK_KINDS
    limit:   the most that is allowed, waived and moved bytes included; None, like headroom, if
             there is nothing to compare with
    base:    the number that growth and creep are counted from; None for other kinds
    rule:    as written in the policy: max(1%, 512B)
    since:   source of the base: "merge base 4f2a91c", "baseline", "v1.2"
    place:   where the policy has the limit: sizeguard.yaml:14:7
    pattern: the metric as written in the policy: operator/*; equal to metric if it names one thing
    waived:  bytes that waivers allow beyond the rule
    moved:   bytes of the operator that belonged to another one in the base; they are not growth
    shares:  each commit's share of failing creep; they sum to actual - base
    advice:  the next step; empty if the check passes
    set_for: the tools that an absolute limit was set for, if the build uses others
    """

    id: str
    app: str
    target: str
    metric: str
    limit: int | None
    actual: int
    headroom: int | None
    verdict: str
    rule: str
    advice: str
    kind: str = GROWTH
    base: int | None = None
    since: str = ""
    place: str = ""
    pattern: str = ""
    waived: int = 0
    shares: tuple[Share, ...] = ()
    moved: int = 0
    set_for: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A suggestion to tighten a limit that has become much too wide.

    text: the line for sizeguard.yaml, or the command that tightens the limit
    """

    metric: str
    limit: int
    offered: int
    actual: int
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command that may help.

    label: see why, reproduce, accept it, make it normal
    """

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class ShippedSection:
    """A section of the shipped file that is not loaded and that no linker or compiler makes."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class LibrarySize:
    """A library or program that the build makes besides the image, by its path in the build."""

    name: str
    load: int
    ram: int
    file: int


@dataclass(frozen=True, slots=True)
class AppResult:
    """One app for one target.

    target:    the name in sizeguard.yaml
    sizes:     sizes of the selective build; None if it could not be measured, with the reason in a
               problem
    full:      sizes of the full build
    old_sizes: sizes of the base; None without a base
    base:      MEASURED, PARENT, REVIEWED, SNAPSHOT or empty: the source of old_sizes and causes
    folder:    the build, relative to the source tree: build/vision; empty if nothing was built and
               an earlier run's build is not there any more
    runs:      False if the target's configuration says run: false
    unchanged: the result is that of an earlier run with the same inputs
    verification: None if nothing could be verified; the elimination check has the reason
    growth_since_base: since the merge base or the snapshot given for it, even if growth checks use
               another base; None if that was not measured
    unknown_sections: unknown sections of the shipped file and of its libraries
    libraries: that the build makes besides the image; sizes include them
    growth_by_file: the causes by source file; they sum to the change of load
    growth_by_dependency: dependencies whose version the change edits
    region_limits: shares of memory regions that have another size than in the base
    """

    app: str
    target: str
    toolchain: str
    verdict: str
    sizes: Sizes | None
    full: Sizes | None
    checks: tuple[Check, ...]
    models: tuple[ModelResult, ...]
    savings: tuple[Saving, ...]
    growth: tuple[Growth, ...]
    verification: Verification | None
    old_sizes: Sizes | None = None
    base: str = ""
    causes: tuple[Cause, ...] = ()
    offers: tuple[Offer, ...] = ()
    commands: tuple[Command, ...] = ()
    folder: str = ""
    runs: bool = True
    unchanged: bool = False
    growth_since_base: SizeGrowth | None = None
    unknown_sections: tuple[ShippedSection, ...] = ()
    libraries: tuple[LibrarySize, ...] = ()
    growth_by_file: tuple[FileGrowth, ...] = ()
    growth_by_dependency: tuple[DependencyGrowth, ...] = ()
    region_limits: tuple[RegionLimit, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectionFinding:
    """One finding about an app's selection, or, with an empty app, about all selections.

    kind:    operator, dtype, class, feature (needed and not selected), closure (a kernel now calls
             another operator), trace (older than the code), export (a model changed since it was
             traced), lint, stale (a generated file is out of date), surplus (kept, but no model
             needs it), covered (nothing is wrong)
    name:    aten::add.Tensor, add_stub Float …
    target:  empty if it holds for all
    verdict: pass, fail or inconclusive
    place:   file:line of the selection, or of the kernel
    bytes:   predicted bytes of a surplus; None if unknown
    """

    app: str
    kind: str
    name: str
    verdict: str
    message: str
    advice: str = ""
    place: str = ""
    target: str = ""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Work that failed: a build, or a measurement without evidence.

    It fails the gate closed.

    app, target: empty if it concerns all
    exit_code: 1 to 4, as in sizeguard.base.errors
    """

    app: str
    target: str
    message: str
    advice: str
    exit_code: int

    @staticmethod
    def of(error: SizeguardError, app: str, target: str) -> Problem:
        """Make a problem of an error raised for an app, for a target, or for an app on a target."""
        only = (f" --app {app}" if app else "") + (f" --target {target}" if target else "")
        return Problem(
            app, target, str(error), f"fix it, then run sizeguard gate{only}", error.exit_code
        )

    def below(self, root: Path) -> Problem:
        """Name files below the project's root as the project does, as CI shows them beside code."""
        return replace(self, message=self.message.replace(f"{root.resolve()}/", ""))


@dataclass(frozen=True, slots=True)
class Base:
    """The commit that growth is counted from.

    ref:  the branch or commit that was requested: origin/main
    text: why there is no base, in one line
    merged: the change is already on its target branch: after a push, or on that branch's own commit
    """

    commit: str
    ref: str
    subject: str = ""
    text: str = ""
    merged: bool = False


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one run.

    verdict: fail if anything fails; inconclusive if nothing fails and something could not be
    decided
    apps:    by app and target
    base:    None outside git
    skipped: why nothing was measured; empty if the run measured
    policy_changes: differences between the change's terms and the merge base's, loosened terms
        first
    """

    verdict: str
    apps: tuple[AppResult, ...]
    selection: tuple[SelectionFinding, ...] = ()
    waivers: tuple[WaiverUse, ...] = ()
    problems: tuple[Problem, ...] = ()
    base: Base | None = None
    head: str = ""
    skipped: str = ""
    policy_changes: tuple[PolicyChange, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 only if all passed.

        1 something fails, 2 malformed input, 3 inconclusive, 4 a build failed. The first of 4, 1, 2
        and 3 that applies wins: a failure matters more than an unreadable file.
        """
        codes = {problem.exit_code for problem in self.problems}
        verdicts = {app.verdict for app in self.apps} | {
            finding.verdict for finding in self.selection
        }
        verdicts |= {use.verdict for use in self.waivers}
        verdicts |= {change.verdict for change in self.policy_changes}
        if FAIL in verdicts or (self.verdict == FAIL and codes <= {3}):
            codes.add(1)
        if self.verdict != PASS:
            codes.add(3)
        return next((code for code in (4, 1, 2, 3) if code in codes), 0)


def overall(verdicts: set[str]) -> str:
    """Combine verdicts: fail if one fails, inconclusive if one is undecided.

    Parts that were not run do not count.
    """
    return FAIL if FAIL in verdicts else INCONCLUSIVE if INCONCLUSIVE in verdicts else PASS
