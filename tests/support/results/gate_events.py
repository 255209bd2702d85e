"""Events of a repository, each with the result of its gate and its visible effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.causes.growth_result import Growth
from sizeguard.gate.gate_result import NOT_RUN, Base, GateResult, Problem
from sizeguard.gate.policy.terms_result import PolicyChange
from sizeguard.report.gate.render import gate_text
from tests.support.results.consistent_results import consistent
from tests.support.results.gate_samples import (
    everything,
    failing,
    passing,
    skipped,
    terms,
    undecided,
)
from tests.support.services.local_hub import BASE, HEAD, MERGE, LocalHub, pull, zipped

OWN = {"head_repository": {"full_name": "org/runtime"}}
OWN_PULL = {
    "head": {"sha": HEAD, "repo": {"full_name": "org/runtime"}, "label": "org:tiles"},
}
PUSH = {**OWN, "event": "push", "head_branch": "main"}
AT_HEAD = "Measured at `77b01de`."
MERGED = "Measured at `77b01de`, merged with the base as `3f9a0c1`."


@dataclass(frozen=True)
class Event:
    """An event, and its visible effects.

    result:  result of the gate; None if it has none
    code:    exit code of the gate; None if it does not end
    comment: parts of the comment; None for no comment, empty for an unchanged one
    status:  state and a part of the title; None for no status
    """

    result: Callable[[], GateResult] | None
    code: int | None
    comment: tuple[str, ...] | None
    status: tuple[str, str] | None
    run: Mapping[str, Any] = field(default_factory=dict)
    pulls: tuple[Mapping[str, Any], ...] = ({},)
    number: str | None = "7\n"
    environment: Mapping[str, str] = field(default_factory=dict)
    before: tuple[tuple[str, str], ...] = ()  # first lines and bodies of our comments
    refusals: Mapping[str, list[tuple[int, dict[str, str]]]] = field(default_factory=dict)
    parents: Mapping[str, list[str]] = field(default_factory=dict)
    parts: Mapping[str, Callable[[], GateResult]] = field(default_factory=dict)  # of a matrix
    created: str = "2026-01-02T00:00:00Z"  # of the artifacts; the run started a day before
    status_of: int = 0  # a later run that has set its status


def at(result: Callable[[], GateResult], head: str) -> Callable[[], GateResult]:
    return lambda: replace(result(), head=head)


def problem(code: int, text: str, base: str = "") -> Callable[[], GateResult]:
    """Return a result without measurements, with a problem that gives the reason."""
    verdict = INCONCLUSIVE if code == 3 else FAIL
    found = Base("", "origin/main", text=base) if base else Base(BASE, "origin/main")
    return lambda: GateResult(verdict, (), problems=(Problem("", "", text, "", code),), base=found)


def without_base(text: str) -> Callable[[], GateResult]:
    return lambda: replace(undecided(), base=Base("", "origin/main", text=text))


def first_run() -> GateResult:
    """Return a result with neither baseline nor base: only absolute limits are judged."""
    (app,) = undecided().apps
    checks = tuple(
        replace(each, verdict=NOT_RUN, advice="") if each.limit is None else each
        for each in app.checks
    )
    return replace(undecided(), apps=(replace(app, checks=checks, verdict=PASS),), base=None)


def two_apps() -> GateResult:
    """Return a result of two apps that pass, one of which grew."""
    (one,) = passing().apps
    other = replace(one, app="audio", old_sizes=one.sizes, causes=())
    checks = tuple(
        replace(each, app="audio", id=f"audio/{i}") for i, each in enumerate(other.checks)
    )
    models = tuple(replace(each, app="audio") for each in other.models)
    return replace(passing(), apps=(one, replace(other, checks=checks, models=models)))


def same_sizes() -> GateResult:
    """Return a result of two apps that do not differ from the base."""
    (app,) = two_apps().apps[1:]
    checks = tuple(
        replace(each, base=each.actual) if each.base is not None else each for each in app.checks
    )
    return replace(two_apps(), apps=(replace(app, checks=checks, growth=()),))


def on(target: str, result: Callable[[], GateResult]) -> Callable[[], GateResult]:
    """Return the result of another target."""

    def made() -> GateResult:
        found = result()
        apps = tuple(
            replace(
                app,
                target=target,
                checks=tuple(replace(each, target=target) for each in app.checks),
                models=tuple(replace(each, target=target) for each in app.models),
            )
            for app in found.apps
        )
        return replace(found, apps=apps)

    return made


TRADED = (Growth("aten::add", 100, 150), Growth("aten::mul", 150, 100))
TIGHTER = PolicyChange("limit tightened", "load growth", "2%", "1%", loosens=False)
PASSED = "### ✅ Size gate: pass"
FAILED = "### ❌ Size gate: fail"
OPEN = "### ⚠️ Size gate: inconclusive"
NONE = "### ⚠️ Size gate: not measured at `77b01de`"
PASS_TITLE = "pass: vision x86_64-linux load +120 (+0.3%) to 40,120"
FAIL_TITLE = "fail: vision x86_64-linux load +1,204 (+3.0%) to 41,204"
FAILURE = {"conclusion": "failure"}
CUT = {"conclusion": "cancelled"}
OLD = "<!-- sizeguard gate run 41.1 -->"
LATER = "<!-- sizeguard gate run 43.1 -->"
GREEN = f"{OLD}\n{PASSED}, yesterday's"


PARTS = {"PARTS": "x86 arm"}
ON_ARM = on("aarch64-linux", passing)


EVENTS: dict[str, Event] = {
    "pull request of a fork": Event(passing, 0, (PASSED, MERGED), ("success", PASS_TITLE)),
    "pull request of an own branch": Event(
        passing, 0, (PASSED, MERGED), ("success", PASS_TITLE), OWN, (OWN_PULL,)
    ),
    "growth beyond the limit": Event(
        failing, 1, (FAILED, MERGED), ("failure", FAIL_TITLE), FAILURE
    ),
    "new commits pushed while it ran": Event(
        passing, 0, None, ("success", PASS_TITLE),
        pulls=({"head": {**pull()["head"], "sha": BASE}},),
    ),
    "pull request closed while it ran": Event(
        passing, 0, None, ("success", PASS_TITLE), pulls=({"state": "closed"},)
    ),
    "checkout of the head, not the merge": Event(
        at(passing, HEAD), 0, (PASSED, AT_HEAD), ("success", PASS_TITLE)
    ),
    "push to the default branch": Event(
        at(passing, HEAD), 0, None, ("success", PASS_TITLE), PUSH, ()
    ),
    "push that is too large": Event(
        at(failing, HEAD), 1, None, ("failure", FAIL_TITLE), {**PUSH, **FAILURE}, ()
    ),
    "merge queue": Event(
        at(passing, HEAD), 0, None, ("success", PASS_TITLE),
        {**OWN, "event": "merge_group", "head_branch": "gh-readonly-queue/main/pr-7"}, (),
    ),
    "merge queue that fails": Event(
        at(failing, HEAD), 1, None, ("failure", FAIL_TITLE),
        {**OWN, **FAILURE, "event": "merge_group"}, (),
    ),
    "by hand": Event(
        at(passing, HEAD), 0, None, ("success", PASS_TITLE),
        {**PUSH, "event": "workflow_dispatch"}, (),
    ),
    "weekly": Event(
        at(passing, HEAD), 0, None, ("success", PASS_TITLE), {**PUSH, "event": "schedule"}, ()
    ),
    "retargeted": Event(
        lambda: replace(passing(), base=Base(BASE, "origin/release-1")), 0,
        ("merge base with `origin/release-1`",), ("success", PASS_TITLE),
        before=((OLD, f"{OLD}\n{FAILED}"),),
    ),
    "retargeted, the older run ends last": Event(
        failing, 1, (), ("failure", FAIL_TITLE), FAILURE, before=((LATER, f"{LATER}\n{PASSED}"),)
    ),
    "draft": Event(passing, 0, (PASSED,), ("success", PASS_TITLE), pulls=({"draft": True},)),
    "draft that the workflow skips": Event(None, None, None, None, {"conclusion": "skipped"}),
    "rerun": Event(
        passing, 0, (PASSED, "run 42.2 -->"), ("success", PASS_TITLE), {"run_attempt": 2},
        before=(("", f"<!-- sizeguard gate run 42.1 -->\n{NONE}"),),
    ),
    "run started again meanwhile": Event(None, None, None, None, {"conclusion": None}),
    "shallow clone": Event(
        without_base("the clone is shallow"), 3, (OPEN, "There is no base: the clone is shallow."),
        ("error", "inconclusive: load has no base of 1 build"), FAILURE,
    ),
    "renamed default branch": Event(
        problem(3, "origin/main: there is no such branch"), 3,
        (OPEN, "origin/main: there is no such branch"),
        ("error", "inconclusive: nothing was measured"), FAILURE,
    ),
    "submodule that is not there": Event(
        problem(4, "third_party/x is empty: git submodule update --init"), 4,
        (FAILED, "is empty"), ("failure", "fail: nothing was measured"), FAILURE,
    ),
    "first run": Event(
        first_run, 0, (PASSED, "| ➖ load | – | **44,000** | – | – |".replace("**", "")),
        ("success", "pass: load has no base"),
    ),
    "no base": Event(
        without_base("nothing is common with origin/main"), 3, (OPEN, "nothing is common"),
        ("error", "inconclusive: load has no base"), FAILURE,
    ),
    "time-out": Event(
        None, None, (NONE, "the run took too long."), ("error", "not measured: the run took"),
        {"conclusion": "timed_out"},
    ),
    "time-out after yesterday's green": Event(
        None, None, (NONE,), ("error", "not measured"), {"conclusion": "timed_out"},
        before=((OLD, GREEN),),
    ),
    "cancelled": Event(None, None, (NONE, "cancelled."), ("error", "cancelled"), CUT),
    "cancelled before anything was uploaded": Event(
        None, None, (NONE, "cancelled."), ("error", "cancelled"), CUT, number=None
    ),
    "failed before it measured": Event(
        None, None, (NONE, "ended before it measured"), ("error", "not measured"), FAILURE,
        number=None,
    ),
    "a fork's run that waits for approval": Event(
        None, None, (NONE, "approval."), ("pending", "not measured: the run waits"),
        {"conclusion": "action_required"}, number=None,
    ),
    "unreadable workflow": Event(
        None, None, (NONE,), ("error", "could not be started"), {"conclusion": "startup_failure"},
        number=None,
    ),
    "two apps": Event(
        two_apps, 0, (PASSED, "| `audio` |", "| `vision` |", "1 build passed, with the sizes"),
        ("success", PASS_TITLE),
    ),
    "two apps, six builds, all that can be wrong": Event(
        everything, 4, (FAILED, "**Failures**"), ("failure", "2 more changed"), FAILURE
    ),
    "documents alone": Event(
        skipped, 0, (PASSED, "Nothing was measured: only README.md changed"),
        ("success", "pass: vision"),
    ),
    "a change of the terms": Event(
        terms, 1, (FAILED, "**Changed terms**"), ("failure", FAIL_TITLE), FAILURE
    ),
    "malformed configuration": Event(
        problem(2, "sizeguard.yaml:3: unknown metric 'laod'"), 2, (FAILED, "unknown metric"),
        ("failure", "fail: nothing was measured"), FAILURE,
    ),
    "two changes of one branch": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE), pulls=({}, {"number": 8})
    ),
    "two changes of one branch, no result": Event(
        None, None, (NONE, NONE), ("error", "cancelled"), CUT, pulls=({}, {"number": 8}),
        number=None,
    ),
    "result of another commit": Event(
        passing, 0, (OPEN, "neither the run's nor a merge of it"),
        ("error", "contradiction: the commit that was measured"), parents={MERGE: [BASE, BASE]},
    ),
    "pass in a run that failed": Event(
        passing, 0, (OPEN, "the result says pass"), ("error", "contradiction: the result"), FAILURE
    ),
    "failure in a run that passed": Event(
        failing, 1, (FAILED, "the run ended with success"), ("failure", "contradiction"), {}
    ),
    "informational": Event(
        failing, 1, ("### ❌ Size gate: informational, fail",),
        ("success", f"informational, {FAIL_TITLE}"), environment={"INFORMATIONAL": "true"},
    ),
    "comments only on failure, pass": Event(
        passing, 0, None, ("success", PASS_TITLE), environment={"COMMENT_POLICY": "on failure"}
    ),
    "comments only on failure, failed before": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE),
        environment={"COMMENT_POLICY": "on failure"}, before=((OLD, f"{OLD}\n{FAILED}"),),
    ),
    "comments only on failure, fails": Event(
        failing, 1, (FAILED,), ("failure", FAIL_TITLE), FAILURE,
        environment={"COMMENT_POLICY": "on failure"},
    ),
    "comments on change, nothing changed": Event(
        same_sizes, 0, None,
        ("success", "pass: load +0 of 1 build"), environment={"COMMENT_POLICY": "on change"},
    ),
    "comments on change, an operator pays for another": Event(
        lambda: replace(same_sizes(), apps=(replace(same_sizes().apps[0], growth=TRADED),)), 0,
        (PASSED,), ("success", "pass: load +0 of 1 build"),
        environment={"COMMENT_POLICY": "on change"},
    ),
    "comments on change, the terms changed": Event(
        lambda: replace(same_sizes(), policy_changes=(TIGHTER,)), 0,
        (PASSED,), ("success", "pass: load +0 of 1 build"),
        environment={"COMMENT_POLICY": "on change"},
    ),
    "comments on change, something changed": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE), environment={"COMMENT_POLICY": "on change"}
    ),
    "comments never": Event(
        failing, 1, None, ("failure", FAIL_TITLE), FAILURE, environment={"COMMENT_POLICY": "never"}
    ),
    "a project of several": Event(
        passing, 0, (PASSED, "<!-- sizeguard gate libs/audio run 42.1 -->"),
        ("success", PASS_TITLE), environment={"PROJECT": "libs/audio"},
    ),
    "GitHub asks to wait": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE),
        refusals={
            "GET pulls": [(429, {"Retry-After": "7"})],
            "POST issues": [(403, {"Retry-After": "3"})],
            "GET actions/artifacts": [(502, {}), (503, {"Retry-After": "1"})],
        },
    ),
    "a comment that GitHub did not confirm": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE), refusals={"POST issues": [(502, {})]}
    ),
    "matrix of two jobs": Event(
        None, 0,
        (PASSED, "| `vision` | ✅ 40,120 +120 (+0.3%) | ✅ 40,120 +120 (+0.3%) |", MERGED),
        ("success", f"{PASS_TITLE}, 1 more changed"), parts={"x86": passing, "arm": ON_ARM},
        environment=PARTS,
    ),
    "matrix, the worst job decides": Event(
        None, 1, (FAILED, "| `vision` | ✅ 40,120 +120 (+0.3%) | ❌ 41,204", "`aarch64-linux`"),
        ("failure", "fail: vision aarch64-linux load +1,204"), FAILURE,
        parts={"x86": passing, "arm": on("aarch64-linux", failing)}, environment=PARTS,
    ),
    "matrix, a job ended before it measured": Event(
        None, 0, (OPEN, "arm: not measured: ", "✅ `vision` for `x86_64-linux`"),
        ("error", "inconclusive: not measured: arm"), FAILURE,
        parts={"x86": passing}, environment=PARTS,
    ),
    "matrix, a change leaves a job out": Event(
        None, 0, (OPEN, "arm: not measured: "), ("error", "inconclusive: not measured: arm"),
        parts={"x86": passing}, environment=PARTS,
    ),
    "matrix, all jobs cancelled": Event(
        None, None, (NONE, "cancelled."), ("error", "cancelled"), CUT, number=None,
        environment=PARTS,
    ),
    "matrix without a list of its parts": Event(
        None, 0, (PASSED, "| `vision` | ✅"), ("success", PASS_TITLE),
        parts={"x86": passing, "arm": ON_ARM},
    ),
    "matrix, a job that is not listed fails": Event(
        None, 1, (FAILED, "| `vision` | ✅"), ("failure", "fail: vision x86"), FAILURE,
        parts={"x86": passing, "arm": ON_ARM, "new": on("x86", failing)}, environment=PARTS,
    ),
    "matrix of two runners": Event(
        None, 0, (PASSED, "| `x86_64-linux (old)` | `x86_64-linux (new)` |"),
        ("success", "pass: vision x86_64-linux (old) load"),
        parts={"old": passing, "new": passing}, environment={"PARTS": "old new"},
    ),
    "matrix, the jobs measured different commits": Event(
        None, 0, ("contradicts itself", "do not agree"), ("error", "contradiction: the jobs"),
        parts={"x86": passing, "arm": at(ON_ARM, HEAD)}, environment=PARTS,
    ),
    "push of a tag": Event(
        at(passing, HEAD), 0, None, ("success", PASS_TITLE), {**PUSH, "head_branch": "v1.0"}, (),
        environment={"SARIF": "true"}, refusals={"POST code-scanning": [(422, {})]},
    ),
    "retargeted, a later run has set its status": Event(
        passing, 0, (), None, before=((LATER, f"{LATER}\n{FAILED}"),), status_of=43,
    ),
    "a rerun that was cancelled, after an earlier attempt measured": Event(
        passing, 0, (NONE, "cancelled."), ("error", "cancelled"),
        {**CUT, "run_attempt": 2, "run_started_at": "2026-01-03T00:00:00Z"},
    ),
    "a failed job was repeated, another artifact is of the first attempt": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE),
        {"run_attempt": 2, "run_started_at": "2026-01-03T00:00:00Z"},
    ),
    "a person deletes the comment meanwhile": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE), before=((OLD, f"{OLD}\n{FAILED}"),),
        refusals={"PATCH issues": [(404, {})]},
    ),
    "the conversation is locked": Event(
        passing, 0, None, ("success", PASS_TITLE), refusals={"POST issues": [(403, {})]},
    ),
    "GitHub's second limit while the comment is changed": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE), before=((OLD, f"{OLD}\n{FAILED}"),),
        refusals={"PATCH issues": [(403, {"Retry-After": "9"})]},
    ),
    "a gateway fails while the status is set": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE),
        refusals={"POST statuses": [(502, {}), (504, {})]},
    ),
    "two projects, the other one has commented": Event(
        passing, 0, (PASSED,), ("success", PASS_TITLE), environment={"PROJECT": "libs/audio"},
        before=(("", f"<!-- sizeguard gate libs run 41.1 -->\n{FAILED}"),),
    ),
    "no right to set a status": Event(
        passing, 0, (PASSED,), None, refusals={"POST statuses": [(403, {})]}
    ),
}  # fmt: skip


def packed(result: Callable[[], GateResult], number: str | None) -> tuple[bytes, GateResult]:
    """Pack a result with consistent numbers, as the job that measures does."""
    made = result()
    found = consistent(made, made.head if made.head == HEAD else MERGE)
    files = {} if number is None else {"pull-request": number}
    return zipped({**files, "gate.json": gate_text(found, "json")}), found


def prepare(hub: LocalHub, event: Event) -> GateResult | None:
    hub.run = dict(event.run)
    hub.pulls = [pull(**each) for each in event.pulls]
    hub.parents |= event.parents
    hub.refusals = {route: list(answers) for route, answers in event.refusals.items()}
    user = {"type": "Bot", "login": "github-actions[bot]"}
    for i, (_, body) in enumerate(event.before):
        hub.comments.append({"id": 100 + i, "issue": 7, "user": user, "body": body})
    if event.status_of:
        address = f"https://github.example/org/runtime/actions/runs/{event.status_of}"
        later = {"state": "failure", "context": "sizeguard", "description": "later"}
        hub.statuses.append({**later, "target_url": address})
    hub.created = event.created
    parts = {name: packed(each, event.number) for name, each in event.parts.items()}
    hub.parts = {name: archive for name, (archive, _) in parts.items()}
    if event.result is not None:
        hub.archive, result = packed(event.result, event.number)
        return result
    if event.number is not None and not parts:
        hub.archive = zipped({"pull-request": event.number})
    worst = [result for _, result in parts.values()]
    return max(worst, key=lambda each: each.exit_code, default=None)
