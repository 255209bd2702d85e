"""What the gate found, as plain data: whoever shows it needs nothing else, and it can be kept as JSON and shown again.

Only texts, whole numbers, booleans, None, tuples and these classes: plain_data writes and reads them by their types.
Paths are texts, relative to the source tree. Bytes are whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.result import CORE, OUTSIDE, SHARED
from sizeguard.build.sizes import Sizes
from sizeguard.errors import SizeguardError
from sizeguard.verify.result import Verification

PASS, FAIL, INCONCLUSIVE, NOT_RUN = "pass", "fail", "inconclusive", "not_run"

# What a check compares with. elimination counts claims that do not hold; the others are bytes.
ABSOLUTE, GROWTH, CREEP, ELIMINATION = "absolute", "growth", "creep", "elimination"
CHECK_KINDS = (ABSOLUTE, GROWTH, CREEP, ELIMINATION)

# What became of a waiver. All but used and unused fail: unused is one whose app or target this run did not measure.
USED, UNUSED, SPENT, EXCEEDED, EXPIRED = "used", "unused", "spent", "exceeded", "expired"
WAIVER_STATES = (USED, UNUSED, SPENT, EXCEEDED, EXPIRED)

# Where the sizes came from that growth is counted from.
MEASURED, REVIEWED = "merge base", "baseline"


@dataclass(frozen=True, slots=True)
class Baseline:
    """Reviewed sizes of one app with one toolchain, in bytes.

    tools:     versions in full, such as gcc 12.2.0, bfd 2.40; empty in files of older versions
    operators: loaded bytes of each, and of (core) and the like: they sum to the load
    tables:    the same by other levels: kernel, dtype, component, section, symbol (the globs that limits name)
    """

    app: str
    target: str
    toolchain: str
    load: int
    ram: int
    file: int
    operators: Mapping[str, int]
    page_slack: int = 0
    tools: str = ""
    tables: Mapping[str, Mapping[str, int]] | None = None

    def size(self, metric: str) -> int:
        return {"load": self.load, "ram": self.ram, "file": self.file, "page_slack": self.page_slack}[metric]


@dataclass(frozen=True, slots=True)
class Saving:
    """Loaded bytes of one operator, or of what is none: (core), (shared by operators), (headers, tables, padding)."""

    operator: str
    full: int
    selective: int

    @property
    def saved(self) -> int:
        return self.full - self.selective

    @property
    def is_operator(self) -> bool:
        return self.operator not in (CORE, SHARED, OUTSIDE)


@dataclass(frozen=True, slots=True)
class ModelResult:
    """verdict: pass, fail, or not_run where the target does not run here.

    missing: operators and classes that the selective build lacks. message: what went wrong, or why it did not run.
    cached:  not run again: model, full build, selective build and emulator are those of an earlier run that passed.
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
class Share:
    """What one commit did to a metric that crept, in bytes. commit: short id, or "uncommitted"; date: YYYY-MM-DD."""

    commit: str
    subject: str
    delta: int
    date: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One number against one limit.

    id:      unique: vision/x86_64-linux/load/growth
    kind:    of CHECK_KINDS
    limit:   the most that is allowed, waivers included; None, as headroom, if there is nothing to compare with
    base:    what growth and creep are counted from; None for the others
    rule:    as the policy says it: max(1%, 512B)
    since:   what base is of: "merge base 4f2a91c", "baseline", "v1.2"
    place:   where the policy says it: sizeguard.yaml:14:7
    pattern: the metric as the policy says it: operator/*; equal to metric if it names one thing
    waived:  bytes that waivers allow beyond the rule
    shares:  of creep that fails: what each commit did; they sum to actual - base
    advice:  what to do; empty if it passes
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


@dataclass(frozen=True, slots=True)
class Growth:
    """What changed since the base: loaded bytes of an operator, or of (core) and the like."""

    operator: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Cause:
    """Loaded bytes that changed since the base, the largest change first; all causes sum to the change of `load`.

    operator, dtype, symbol: empty where there is none. symbol is demangled; for kind "unwind", "padding" and "other" it is empty
    kind:  symbol; unwind (unwind tables of all symbols), padding, other (headers, tables; and what is too small to be named)
    cause: as in a diff: grew, shrank, added, removed, more_instances, fewer_instances, moved, padding
    place: the symbol's source, with its line if debug information has it; empty if unknown
    """

    operator: str
    dtype: str
    symbol: str
    old: int
    new: int
    kind: str = "symbol"
    cause: str = ""
    place: str = ""

    @property
    def delta(self) -> int:
        return self.new - self.old


@dataclass(frozen=True, slots=True)
class Offer:
    """A limit that has become much too wide, and what it could be. text: the line for sizeguard.yaml."""

    metric: str
    limit: int
    offered: int
    actual: int
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """Something to do next. label: see why, reproduce, accept it, make it normal."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class AppResult:
    """One app for one target.

    target:    the name in sizeguard.yaml
    sizes:     of the selective build; None if it could not be measured: then a problem says why
    full:      of the full build
    old_sizes: of the base; None if there is none
    base:      MEASURED, REVIEWED or empty: where old_sizes and causes come from
    folder:    the build, relative to the source tree: build/vision
    unchanged: all inputs are those of an earlier run: what is shown was found then
    verification: None if nothing could be verified; then the check of the elimination says why
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


@dataclass(frozen=True, slots=True)
class SelectionFinding:
    """What is wrong, or was checked, in an app's selection.

    kind:    operator, dtype, class, feature (needed and not selected), closure (a kernel now calls another operator), trace
             (older than the code), export (a model changed since it was traced), lint, covered (nothing is wrong)
    name:    aten::add.Tensor, add_stub Float …
    target:  empty if it holds for all
    verdict: pass, fail or inconclusive
    place:   file:line of the selection, or of the kernel
    """

    app: str
    kind: str
    name: str
    verdict: str
    message: str
    advice: str = ""
    place: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Waiver:
    """Bytes that a metric may have beyond its limits. app and target: empty for all.

    expires: YYYY-MM-DD, the last day on which it holds
    source:  baselines/waivers.yaml:4, or commit 4f2a91c
    """

    metric: str
    app: str
    target: str
    bytes: int
    reason: str
    owner: str
    expires: str
    source: str


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """state: of WAIVER_STATES. used: bytes that a check needed of it. message and advice: if it fails."""

    waiver: Waiver
    state: str
    verdict: str
    used: int = 0
    message: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be done: a build that failed, evidence that is missing. It fails the gate closed.

    app, target: empty if it concerns all. exit_code: 1 to 4, as in sizeguard.errors.
    """

    app: str
    target: str
    message: str
    advice: str
    exit_code: int

    @staticmethod
    def of(error: SizeguardError, app: str, target: str) -> Problem:
        """What was raised while something was done for an app, a target, or an app for a target."""
        only = (f" --app {app}" if app else "") + (f" --target {target}" if target else "")
        return Problem(app, target, str(error), f"put it right, then: sizeguard gate{only}", error.exit_code)


@dataclass(frozen=True, slots=True)
class Base:
    """The commit that growth is counted from. ref: what was asked for, origin/main; text: a line of why there is none."""

    commit: str
    ref: str
    subject: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class GateResult:
    """fail if anything fails; inconclusive if nothing fails and something could not be decided.

    apps:    by app and target
    base:    None outside of git
    skipped: why nothing was measured; empty if it was
    """

    verdict: str
    apps: tuple[AppResult, ...]
    selection: tuple[SelectionFinding, ...] = ()
    waivers: tuple[WaiverUse, ...] = ()
    problems: tuple[Problem, ...] = ()
    base: Base | None = None
    head: str = ""
    skipped: str = ""

    @property
    def exit_code(self) -> int:
        """0 holds, 1 something fails, 2 what was given is malformed, 3 inconclusive, 4 a build failed. Never 0 unless all passed.

        Of several the first of 4, 1, 2 and 3: of what could be judged a failure says more than a file that could not be read.
        """
        codes = {problem.exit_code for problem in self.problems}
        verdicts = {app.verdict for app in self.apps} | {finding.verdict for finding in self.selection}
        verdicts |= {use.verdict for use in self.waivers}
        if FAIL in verdicts or (self.verdict == FAIL and codes <= {3}):
            codes.add(1)
        if self.verdict != PASS:
            codes.add(3)
        return next((code for code in (4, 1, 2, 3) if code in codes), 0)


def overall(verdicts: set[str]) -> str:
    """Of parts: fail if one fails, inconclusive if one is undecided; what was not run decides nothing."""
    return FAIL if FAIL in verdicts else INCONCLUSIVE if INCONCLUSIVE in verdicts else PASS


@dataclass(frozen=True, slots=True)
class Update:
    """A baseline before (None if there was none) and after."""

    path: Path
    old: Baseline | None
    new: Baseline


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """What a commit made of a baseline. delta: of its load, from the entry before; None for the first.

    load: None if the commit removed it, or wrote what is no baseline
    """

    file: str
    commit: str
    date: str
    author: str
    subject: str
    load: int | None
    delta: int | None


@dataclass(frozen=True, slots=True)
class SelectionUpdate:
    """added, dropped: operators, and "tag Dtype", that the file did not have before, or had. calls: new since the last record, "X → Y"."""

    app: str
    selection: Path
    record: Path
    changed: tuple[Path, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    calls: tuple[str, ...]
