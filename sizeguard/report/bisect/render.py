"""Write a bisect in any format: terminal, json, csv, markdown, html."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Iterator

from sizeguard.bisect.bisect_result import (
    LEVELS,
    BisectResult,
    Branch,
    Culprit,
    commits_text,
)
from sizeguard.report.bisect.bisect_page import bisect_html
from sizeguard.report.bisect.bisect_words import (
    by_dtype,
    effort,
    failures_text,
    notes_of,
    row_texts,
    short_subject,
    shown_rows,
    verdict,
)
from sizeguard.report.screen.fit import screen_lines
from sizeguard.report.writers.markdown import prose
from sizeguard.report.writers.printable import NOTHING, counted, printable
from sizeguard.report.writers.size_rows import row_json
from sizeguard.report.writers.style import Style
from sizeguard.report.writers.table import csv_rows, markdown_cell

SCHEMA_VERSION = 1
_SUBJECT = 44  # columns of a commit's subject
_CSV_HEAD = ["commit", "last", "author", "date", "subject", "delta", "total", "load", "ram", "file"]


def bisect_chunks(
    result: BisectResult, format_: str, limit: int, style: Style | None = None
) -> Iterator[str]:
    """Write the bisect in pieces that end with a line.

    limit: rows of each culprit in terminal, markdown and html, 0 for all
    """
    if format_ == "json":
        yield json.dumps(_json(result), indent=1) + "\n"
    elif format_ == "csv":
        yield from csv_rows(_CSV_HEAD, map(_csv, result.culprits))
    elif format_ == "html":
        yield from bisect_html(result, limit, "\n".join(_markdown(result, limit)))
    else:
        style = style or Style()
        lines = (
            _markdown(result, limit)
            if format_ == "markdown"
            else screen_lines(_terminal(result, limit, style), style)
        )
        yield "".join(f"{line}\n" for line in lines)


def _json(result: BisectResult) -> dict[str, object]:
    first, last = result.points[0], result.points[-1]
    return {
        "schema_version": SCHEMA_VERSION,
        "metric": str(result.metric),
        "nearest": result.nearest,
        "unknown": result.is_unknown,
        "built": result.what,
        "good": {"revision": result.good, "commit": first.commit.id, "value": result.old},
        "bad": {"revision": result.bad, "commit": last.commit.id, "value": result.new},
        "delta": result.delta,
        "culprits": [_culprit_json(each) for each in result.culprits],
        "smaller": {
            "threshold": result.threshold,
            "count": result.smaller.count,
            "delta": result.smaller.delta,
        },
        "commits": len(result.points) - 1,
        "builds": result.builds.done,
        "failed_builds": result.builds.failed,
        "reused": result.builds.reused,
        "skipped": result.not_measured,
        "equal_inputs": result.equal_inputs,
        "skipped_ranges": [
            {"first": each.first.id, "last": each.last.id, "commits": each.commits}
            for each in result.skipped
        ],
        "exhaustive": result.exhaustive,
        "narrow": result.narrow,
        "blind_spot": result.blind_spot,
        "neutral": [commit.id for commit in result.neutral],
        "series": [
            {"commit": point.commit.id, "value": point.value, "how": point.how}
            for point in result.points
        ],
    }


def _culprit_json(culprit: Culprit) -> dict[str, object]:
    commits = culprit.commits
    which: dict[str, object] = (
        {"commit": commits[0].id}
        if len(commits) == 1
        else {"range": [commit.id for commit in commits]}
    )
    result = {
        **which,
        "author": commits[-1].author,
        "date": commits[-1].date,
        "subject": commits[-1].subject,
        "delta": culprit.delta,
        "total": culprit.total,
        "sizes": dict(zip(("load", "ram", "file"), culprit.sizes, strict=True)),
        "rows": [row_json(LEVELS, row) for row in culprit.rows],
        "does_not_build": [
            {"commit": each.commit.id, "message": each.message} for each in culprit.failures
        ],
    }
    if culprit.branch is not None:
        branch = culprit.branch
        result["branch"] = {
            "commits": branch.commits,
            "culprits": [_culprit_json(each) for each in branch.culprits],
            "smaller": {"count": branch.smaller.count, "delta": branch.smaller.delta},
            "merge_itself": branch.merge_itself,
        }
    return result


def _csv(culprit: Culprit) -> list[object]:
    first, last = culprit.commits[0], culprit.commits[-1]
    return [
        first.id,
        last.id,
        printable(last.author),
        last.date,
        printable(last.subject),
        culprit.delta,
        culprit.total,
        *culprit.sizes,
    ]


def _terminal(result: BisectResult, limit: int, style: Style) -> Iterator[str]:
    head, right = verdict(result), effort(result)
    space = style.width - len(head) - len(right)
    yield style.bold(head) + (f"{' ' * max(space, 2)}{right}" if space >= 2 else "")
    if space < 2:
        yield right
    yield style.dim(f"{printable(result.what)}: {result.metric}")
    yield ""
    for culprit in result.culprits:
        yield from _culprit_lines(culprit, limit, style, "  ")
    if result.smaller.count:
        count = counted(result.smaller.count, "commit")
        small = f"{count} of less than {result.threshold:,} bytes each"
        yield f"  {result.smaller.delta:>+10,}  {small}"
    ends = f"= {printable(result.good)} {result.old:,} → {printable(result.bad)} {result.new:,}"
    yield style.bold(f"  {result.delta:>+10,}  {ends}")
    notes = list(notes_of(result))
    if notes:
        yield ""
        yield from itertools.chain.from_iterable(_wrapped(note, style.width) for note in notes)


def _culprit_lines(culprit: Culprit, limit: int, style: Style, indent: str) -> Iterator[str]:
    last = culprit.commits[-1]
    delta = style.signed(f"{culprit.delta:>+10,}", culprit.delta)
    if culprit.failures:
        yield f"{indent}{delta}  {commits_text(culprit.commits)}  {failures_text(culprit)}"
        yield style.dim(f"{indent}{'':>12}{short_subject(last, 50)}")
    else:
        head = f"{indent}{culprit.delta:>+10,}  {commits_text(culprit.commits)}  "
        dtypes = by_dtype(culprit.rows)
        left = style.width - len(head) - len(dtypes) - 2
        width = _SUBJECT if style.full else min(max(left, 16), _SUBJECT)
        subject = printable(last.subject) if style.full else short_subject(last, width)
        yield f"{indent}{delta}  {commits_text(culprit.commits)}  {subject:<{width}}  {dtypes}"
    yield style.dim(
        f"{indent}{'':>12}{printable(last.author)}, {last.date[:10]}; total {culprit.total:+,}"
    )
    part = shown_rows(culprit.rows, limit)
    for row in part.rows:
        texts = row_texts(row, style.room(24))
        names = "".join(f"{name}  " for name in (texts.operator, texts.dtype) if name)
        head = f"{indent}{'':>12}{row.delta:>+10,}  {names}"
        cause = row.cause.replace("_", " ")
        left = style.width - len(head) - len(cause) - 2
        symbol = row_texts(row, style.room(max(left, 16))).symbol
        yield f"{head}{symbol}  {cause}"
    if part.others:
        others = counted(part.others, "smaller row")
        yield f"{indent}{'':>12}{part.other_bytes:>+10,}  {others}"
    if culprit.branch is not None:
        yield from _branch_lines(culprit.branch, limit, style, f"{indent}    ")


def _branch_lines(branch: Branch, limit: int, style: Style, indent: str) -> Iterator[str]:
    yield f"{indent}the branch: {counted(branch.commits, 'commit')}"
    for culprit in branch.culprits:
        yield from _culprit_lines(culprit, limit, style, indent)
    if branch.smaller.count:
        yield (
            f"{indent}{branch.smaller.delta:>+10,} "
            f" {counted(branch.smaller.count, 'smaller commit')}"
        )
    yield f"{indent}{branch.merge_itself:>+10,}  the merge itself, which joins both lines"


def _wrapped(text: str, width: int) -> Iterator[str]:

    yield from textwrap.wrap(
        text,
        width - 2,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _markdown(result: BisectResult, limit: int) -> Iterator[str]:
    name = markdown_cell(printable(str(result.metric)))
    yield (
        f"{name}: **{result.delta:+,}** bytes in {counted(len(result.points) - 1, 'commit')},"
        f" {effort(result)}"
    )
    yield ""
    yield "| change | total | commit | subject | author | by dtype |"
    yield "|---:|---:|---|---|---|---|"
    for culprit in result.culprits:
        last = culprit.commits[-1]
        subject = markdown_cell(
            failures_text(culprit) if culprit.failures else short_subject(last, 80)
        )
        dtypes = prose(by_dtype(culprit.rows)) if by_dtype(culprit.rows) else ""
        cells = (
            f"`{commits_text(culprit.commits)}`",
            subject,
            markdown_cell(printable(last.author)),
            dtypes,
        )
        yield f"| {culprit.delta:+,} | {culprit.total:+,} | {' | '.join(cells)} |"
    if result.smaller.count:
        yield (
            f"| {result.smaller.delta:+,} | | | {result.smaller.count} of less than"
            f" {result.threshold:,} bytes each | | |"
        )
    good, bad = (markdown_cell(printable(each)) for each in (result.good, result.bad))
    yield f"| **{result.delta:+,}** | | | {good} {result.old:,} → {bad} {result.new:,} | | |"
    for culprit in result.culprits:
        yield from _markdown_rows(culprit, limit)
    notes = list(notes_of(result))
    if notes:
        yield ""
        yield from (
            f"- {markdown_cell(note) if set(note) & set('`<*_[@|') else note}" for note in notes
        )


def _markdown_rows(culprit: Culprit, limit: int) -> Iterator[str]:
    """Write the rows of a culprit, folded."""
    yield ""
    yield f"<details><summary>{commits_text(culprit.commits)} {culprit.delta:+,}</summary>"
    yield ""
    yield "| change | old | new | cause | operator | dtype | symbol |"
    yield "|---:|---:|---:|---|---|---|---|"
    part = shown_rows(culprit.rows, limit)
    for row in part.rows:
        names = " | ".join(
            markdown_cell(text) if text not in ("", NOTHING) else text
            for text in row_texts(row, 80)
        )
        sizes = f"| {row.delta:+,} | {row.old:,} | {row.new:,}"
        yield f"{sizes} | {row.cause.replace('_', ' ')} | {names} |"
    if part.others:
        yield f"| {part.other_bytes:+,} | | | | {part.others:,} smaller | | |"
    yield ""
    if culprit.branch is not None:
        yield from _markdown_branch(culprit.branch)
    yield "</details>"


def _markdown_branch(branch: Branch) -> Iterator[str]:
    """Write the culprits of a merged branch."""
    yield f"The branch: {counted(branch.commits, 'commit')}"
    yield ""
    yield "| change | commit | subject |"
    yield "|---:|---|---|"
    for each in branch.culprits:
        subject = markdown_cell(short_subject(each.commits[-1], 80))
        yield f"| {each.delta:+,} | `{commits_text(each.commits)}` | {subject} |"
    if branch.smaller.count:
        yield f"| {branch.smaller.delta:+,} | | {branch.smaller.count:,} smaller |"
    yield f"| {branch.merge_itself:+,} | | the merge itself, which joins both lines |"
    yield ""
