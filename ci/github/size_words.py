"""Status and comment of a measuring run, from its artifacts if they can be trusted."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ci.github.hub_api import Api, Refused
from ci.github.measured_run import ENDS, Run, are_only, how_it_ended, is_merge_of, open_pulls
from ci.github.size_artifact import Missing, Names, archives, has_pages, member
from ci.results.judged_result import RESULT, Judged, Part, joined, judged_again
from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.causes.growth_result import MOVED
from sizeguard.gate.gate_result import GROWTH, AppResult, GateResult
from sizeguard.report.gate.comment_blocks import COMMENT, Frame
from sizeguard.report.gate.gate_json import LARGEST
from sizeguard.report.gate.gate_markdown import markdown_text
from sizeguard.report.gate.markdown_sizes import TITLE, is_changed, title_text
from sizeguard.report.writers.markdown import code, prose
from sizeguard.report.writers.printable import at_most, printable
from sizeguard.report.writers.source_links import links_at

NUMBER = "pull-request"
_FOOT = 600  # bytes reserved for the text below the result
_LINES = 20  # maximum contradictions shown
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
    missing: names of the jobs that left no result, while others did
    has_pages: the run left pages and snapshots
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
    missing: tuple[str, ...] = ()
    has_pages: bool = False

    @property
    def warnings(self) -> list[str]:
        """Warnings for the log of the run."""
        first = [f"not measured at {self.run.head[:7]}: {self.reason}"] if self.reason else []
        problems = self.result.problems[: len(self.missing)] if self.result else ()
        first += [printable(problem.message) for problem in problems]
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
        by = "by the merge request" if run.is_of_gitlab else "without rights by the pull request"
        pages = (
            f" It left [pages and snapshots]({run.address}#artifacts)." if self.has_pages else ""
        )
        which = "this pipeline" if run.is_of_gitlab else "this run"
        foot = (
            f"\n\n<sub>Measured {by}'s own code in [{which}]"
            f"({run.address}): its word, judged again from its numbers.{pages}</sub>"
        )
        if self.result is None or not self.is_shown:
            return _without_green("\n".join([marker, *self._instead()])) + foot
        notes = [] if not self.against else ["", *self._contradictions()]
        frame = Frame(
            marker,
            links_at(
                f"{run.server}/{run.repository}",
                self.measured or run.head,
                gitlab=run.is_of_gitlab,
            ),
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
Reader = Callable[[], Files]  # raises Refused if they cannot be read


@dataclass(frozen=True, slots=True)
class Known:
    """Facts from the API of GitHub or the like; no artifact can change them.

    is_merge_of:   whether a commit merges another one
    are_documents: whether pull requests change only documents
    """

    is_merge_of: Callable[[str, str], bool]
    are_documents: Callable[[list[int]], bool]


def report_of(
    api: Api,
    run: Run,
    names: Names,
    *,
    is_informational: bool = False,
    documents: tuple[str, ...] = (),
) -> Report:
    """Judge the artifacts of a run; a bad artifact sets the reason and raises no error.

    documents: patterns; a pull request may pass unmeasured if they match all its files
    """
    pulls = open_pulls(api, run) if run.is_of_pull_request else []
    known = Known(
        lambda commit, head: is_merge_of(api, commit, head),
        lambda numbers: bool(documents) and are_only(api, numbers, documents),
    )
    parts = {name: _reader(read) for name, read in archives(api, run, names).items()}
    report = report_of_parts(run, pulls, parts, known, is_informational=is_informational)
    return replace(report, has_pages=bool(report.result) and has_pages(api, run, names))


def _reader(read: Callable[[], bytes]) -> Reader:
    def files() -> Files:
        archive = read()
        return member(archive, NUMBER, 20), member(archive, RESULT, LARGEST)

    return files


def report_of_parts(
    run: Run,
    pulls: list[int],
    parts: Mapping[str, Reader],
    known: Known,
    *,
    is_informational: bool = False,
) -> Report:
    """Judge the results of a run's jobs, by their names; of one job, or joined from several."""
    today = datetime.date.today()
    left, read = LARGEST, list[_Read]()
    for name, files in parts.items():
        read.append(_read(run, pulls, name, files, left, today))
        left -= read[-1].size
    meant = [each.pulls for each in read if each.part.judged]
    pulls = [number for number in pulls if all(number in each for each in meant)]
    if not meant:
        return _without(run, pulls, _reason(read), is_missing=all(each.is_missing for each in read))
    found = read[0].part.judged if len(read) == 1 else joined([each.part for each in read])
    assert found
    missing = tuple(each.part.name for each in read if each.part.judged is None)
    if found.is_nothing and known.are_documents(pulls):
        found = replace(found, against=())
    return _report(run, pulls, found, missing, known, is_informational)


def _report(
    run: Run,
    pulls: list[int],
    found: Judged,
    missing: tuple[str, ...],
    known: Known,
    is_informational: bool,
) -> Report:
    result = found.result
    measured = _measured(run, result, known)
    against = [*found.against, *_against_run(run, result, measured, is_informational, missing)]
    verdict = result.verdict
    if against and verdict == PASS:
        verdict = INCONCLUSIVE
    result = replace(result, verdict=verdict, head=measured or run.head)
    return Report(
        run,
        _state(verdict, bool(against), is_informational),
        _title(result, against, is_informational, missing),
        result,
        pulls,
        against=tuple(printable(text) for text in against),
        is_shown=not found.against,
        measured=measured,
        is_informational=is_informational,
        missing=missing,
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A part, and the pull requests that it is about."""

    part: Part
    pulls: list[int]
    size: int = 0
    is_missing: bool = False


def _read(
    run: Run, pulls: list[int], name: str, files: Reader, left: int, today: datetime.date
) -> _Read:
    try:
        number, data = files()
        meant = _meant(pulls, number)
        if data is None:
            raise Missing(f"the run ended before it measured: {how_it_ended(run)}")
        if len(data) > left:
            raise Refused(f"the results are together larger than {LARGEST:,} bytes")
        return _Read(Part(name, judged_again(data, today)), meant, len(data))
    except (Refused, InputError) as error:
        is_missing = isinstance(error, Missing)
        reason = how_it_ended(run) if is_missing and run.conclusion in ENDS else str(error)
        return _Read(Part(name, None, reason), pulls, is_missing=is_missing)


def _reason(read: Sequence[_Read]) -> str:
    """Return why there is no result at all."""
    if len({each.part.reason for each in read}) == 1:
        return read[0].part.reason
    return "; ".join(f"{each.part.name}: {each.part.reason}" for each in read[:_LINES])


def _meant(pulls: list[int], number: bytes | None) -> list[int]:
    """Choose the pull request that the artifact names; raise Refused if it is not in `pulls`."""
    if number is None:
        return pulls
    if not re.fullmatch(rb"[1-9][0-9]{0,8}\n?", number):
        raise Refused(f"{NUMBER} in the artifact is not a number")
    if pulls and int(number) not in pulls:
        raise Refused(f"the artifact names pull request {int(number)}, which is at another commit")
    return [each for each in pulls if each == int(number)]


def _without(run: Run, pulls: list[int], reason: str, *, is_missing: bool) -> Report:
    is_waiting = is_missing and run.conclusion == "action_required"
    return Report(
        run,
        "pending" if is_waiting else "error",
        at_most(printable(f"not measured: {reason}"), TITLE),
        None,
        pulls,
        printable(reason),
    )


def _measured(run: Run, result: GateResult, known: Known) -> str:
    """Return the measured commit if it is the run's commit or merges it; else an empty string."""
    if result.head == run.head or (
        run.is_of_pull_request and known.is_merge_of(result.head, run.head)
    ):
        return result.head
    return ""


def _against_run(
    run: Run, result: GateResult, measured: str, is_informational: bool, missing: tuple[str, ...]
) -> list[str]:
    found = []
    if result.verdict == PASS and run.conclusion != "success":
        ended = how_it_ended(run).replace("it ended", "the run ended")
        found.append(f"the result says pass, but {ended}")
    is_known = is_informational or (missing and result.verdict == INCONCLUSIVE)
    if result.verdict != PASS and run.conclusion == "success" and not is_known:
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


def _title(
    result: GateResult, against: list[str], is_informational: bool, missing: tuple[str, ...]
) -> str:
    if against:
        return at_most(printable(f"contradiction: {against[0]}"), TITLE)
    begin = "informational, " if is_informational else ""
    if missing and result.verdict == INCONCLUSIVE:
        return at_most(printable(f"{begin}inconclusive: not measured: {', '.join(missing)}"), TITLE)
    return begin + title_text(result, TITLE - len(begin))
