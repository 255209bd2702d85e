"""Status and comment of a measuring run, from its artifact if that can be trusted."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from ci.github.hub_api import Api, Refused
from ci.github.measured_run import Run, are_only, is_merge_of, open_pulls
from ci.github.size_artifact import Missing, member, newest_archive
from sizeguard.base.errors import InputError
from sizeguard.gate.contradictions import NOTHING, contradictions
from sizeguard.gate.gate_result import (
    FAIL,
    GROWTH,
    INCONCLUSIVE,
    MOVED,
    PASS,
    AppResult,
    GateResult,
)
from sizeguard.gate.remade_advice import with_remade_advice
from sizeguard.report.gate.comment_blocks import COMMENT, Frame
from sizeguard.report.gate.gate_json import LARGEST, result_of
from sizeguard.report.gate.gate_markdown import markdown_text
from sizeguard.report.gate.markdown_sizes import TITLE, is_changed, title_text
from sizeguard.report.writers.markdown import code, prose
from sizeguard.report.writers.printable import printable
from sizeguard.report.writers.source_links import links_at

RESULT, NUMBER = "gate.json", "pull-request"
_FOOT = 600  # bytes reserved for the text below the result
_LINES = 20  # maximum contradictions shown
_ENDS = {
    "cancelled": "the run was cancelled",
    "timed_out": "the run took too long",
    "action_required": "the run waits for a maintainer's approval",
    "startup_failure": "the workflow could not be started",
    "stale": "the run was given up by GitHub",
    "neutral": "the run ended without a result",
}
_STATES = {PASS: "success", FAIL: "failure", INCONCLUSIVE: "error"}


@dataclass(frozen=True, slots=True)
class Report:
    """Status and comment of a run.

    state, title: of the commit's status
    result:  None if there is no result to show
    reason:  why there is no result, in one sentence
    against: contradictions of the result; if there are any, no part of the comment is green
    pulls:   numbers of the pull requests to comment on
    measured: the commit that the result claims to measure, if GitHub confirms it; else empty
    """

    run: Run
    state: str
    title: str
    result: GateResult | None
    pulls: list[int]
    reason: str = ""
    against: tuple[str, ...] = ()
    is_shown: bool = True
    measured: str = ""
    is_informational: bool = False

    @property
    def warnings(self) -> list[str]:
        """Warnings for the log of the run."""
        first = [f"not measured at {self.run.head[:7]}: {self.reason}"] if self.reason else []
        return first + [f"the result contradicts itself: {text}" for text in self.against[:_LINES]]

    @property
    def is_pass(self) -> bool:
        """Return whether the result passes without contradictions."""
        return self.result is not None and self.result.verdict == PASS and not self.against

    @property
    def is_changed(self) -> bool:
        """Return whether the change changes anything that the gate compares with the base."""
        if self.result is None or self.result.policy_changes:
            return True
        return any(map(_is_other, self.result.apps))

    def body(self, marker: str) -> str:
        """Write the comment."""
        run = self.run
        foot = (
            f"\n\n<sub>Measured without rights by the pull request's own code in [this run]"
            f"({run.address}): its word, judged again from its numbers.</sub>"
        )
        if self.result is None or not self.is_shown:
            return _without_green("\n".join([marker, *self._instead()])) + foot
        notes = [] if not self.against else ["", *self._contradictions()]
        frame = Frame(
            marker,
            links_at(f"{run.server}/{run.repository}", self.measured or run.head),
            self._measured(),
            notes,
            self.is_informational,
        )
        text = markdown_text(self.result, COMMENT - _FOOT, frame)
        return (_without_green(text) if self.against else text) + foot

    def _measured(self) -> str:
        head = f"Measured at {code(self.run.head[:7])}"
        if not self.measured or self.measured == self.run.head:
            return f"{head}."
        return f"{head}, merged with the base as {code(self.measured[:7])}."

    def _instead(self) -> list[str]:
        at = code(self.run.head[:7])
        if self.reason:
            return [f"### ⚠️ Size gate: not measured at {at}", "", f"{prose(self.reason)}."]
        return [
            f"### ⚠️ Size gate: the result of {at} contradicts itself",
            "",
            *self._contradictions(),
            "",
            "Its numbers are not shown.",
        ]

    def _contradictions(self) -> list[str]:
        more = len(self.against) - _LINES
        return [f"- ⚠️ {prose(text[:400])}" for text in self.against[:_LINES]] + (
            [f"- and {more:,} more"] if more > 0 else []
        )


def _is_other(app: AppResult) -> bool:
    """Return whether a size, an operator, a symbol or another metric differs from the base."""
    rows = any(row.old != row.new for row in (*app.growth, *app.causes))
    moved = any(cause.kind == MOVED for cause in app.causes)
    compared = (check for check in app.checks if check.kind == GROWTH and check.base is not None)
    return is_changed(app) or rows or moved or any(each.actual != each.base for each in compared)


def _without_green(text: str) -> str:
    """Remove the green marks from a result that contradicts itself or the run."""
    return text.replace("✅", "➖")


Files = tuple[bytes | None, bytes | None]  # pull request number and result, None if absent


def report_of(
    api: Api,
    run: Run,
    artifact: str,
    *,
    is_informational: bool = False,
    documents: tuple[str, ...] = (),
) -> Report:
    """Judge the artifact of a run; a bad artifact sets the reason and raises no error.

    documents: patterns; a pull request may pass unmeasured if they match all its files
    """

    def files() -> Files:
        archive = newest_archive(api, run.id, artifact)
        return member(archive, NUMBER, 20), member(archive, RESULT, LARGEST)

    pulls = open_pulls(api, run) if run.is_of_pull_request else []
    return report_of_archive(
        api, run, pulls, files, is_informational=is_informational, documents=documents
    )


def report_of_archive(
    api: Api,
    run: Run,
    pulls: list[int],
    files: Callable[[], Files],
    *,
    is_informational: bool = False,
    documents: tuple[str, ...] = (),
) -> Report:
    """Judge a result and a pull request's number; `files` raises Refused if they cannot be read."""
    try:
        number, data = files()
        pulls = _meant(pulls, number)
        if data is None:
            raise Missing(f"the run ended before it measured: {_how(run)}")
        result = result_of(data, RESULT)
    except (Refused, InputError) as error:
        is_missing = isinstance(error, Missing)
        reason = _how(run) if is_missing and run.conclusion in _ENDS else str(error)
        return _without(run, pulls, reason, is_missing=is_missing)
    today = datetime.date.today()
    result = with_remade_advice(result, today)
    measured = _measured(api, run, result)
    inside = [*contradictions(result, today), *_against_code(result, data)]
    if inside == [NOTHING] and documents and are_only(api, pulls, documents):
        inside = []
    against = [*inside, *_against_run(run, result, measured, is_informational)]
    verdict = result.verdict
    if against and verdict == PASS:
        verdict = INCONCLUSIVE
    result = replace(result, verdict=verdict, head=measured or run.head)
    return Report(
        run,
        _state(verdict, bool(against), is_informational),
        _title(result, against, is_informational),
        result,
        pulls,
        against=tuple(printable(text) for text in against),
        is_shown=not inside,
        measured=measured,
        is_informational=is_informational,
    )


def _meant(pulls: list[int], number: bytes | None) -> list[int]:
    """Choose the pull request that the artifact names; raise Refused if it is not in `pulls`."""
    if number is None:
        return pulls
    if not re.fullmatch(rb"[1-9][0-9]{0,8}\n?", number):
        raise Refused(f"{NUMBER} in the artifact is not a number")
    if pulls and int(number) not in pulls:
        raise Refused(f"the artifact names pull request {int(number)}, which is at another commit")
    return [each for each in pulls if each == int(number)]


def _how(run: Run) -> str:
    return _ENDS.get(run.conclusion, f"it ended with {run.conclusion or 'nothing'}")


def _without(run: Run, pulls: list[int], reason: str, *, is_missing: bool) -> Report:
    is_waiting = is_missing and run.conclusion == "action_required"
    title = printable(f"not measured: {reason}")
    return Report(
        run,
        "pending" if is_waiting else "error",
        title if len(title) <= TITLE else f"{title[: TITLE - 1]}…",
        None,
        pulls,
        printable(reason),
    )


def _measured(api: Api, run: Run, result: GateResult) -> str:
    """Return the measured commit if it is the run's commit or merges it; else an empty string."""
    if result.head == run.head or (
        run.is_of_pull_request and is_merge_of(api, result.head, run.head)
    ):
        return result.head
    return ""


def _against_code(result: GateResult, data: bytes) -> list[str]:
    stated = json.loads(data).get("exit_code")
    if stated == result.exit_code:
        return []
    return [f"the exit code is {str(stated)[:20]}, but its parts give {result.exit_code}"]


def _against_run(run: Run, result: GateResult, measured: str, is_informational: bool) -> list[str]:
    found = []
    if result.verdict == PASS and run.conclusion != "success":
        found.append(f"the result says pass, but {_how(run).replace('it ended', 'the run ended')}")
    if result.verdict != PASS and run.conclusion == "success" and not is_informational:
        found.append(f"the result says {result.verdict}, and the run ended with success")
    if run.is_of_pull_request and result.base and result.base.commit in (run.head, measured or "-"):
        found.append("growth is counted from the commit that was measured")
    if not measured:
        found.append("the commit that was measured is neither the run's nor a merge of it")
    return found


def _state(verdict: str, is_against: bool, is_informational: bool) -> str:
    if is_against:
        return "failure" if verdict == FAIL else "error"
    return "success" if is_informational else _STATES[verdict]


def _title(result: GateResult, against: list[str], is_informational: bool) -> str:
    if against:
        text = printable(f"contradiction: {against[0]}")
        return text if len(text) <= TITLE else f"{text[: TITLE - 1]}…"
    if is_informational:
        begin = "informational, "
        return begin + title_text(result, TITLE - len(begin))
    return title_text(result)
