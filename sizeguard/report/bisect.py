"""Turns a bisect into text: terminal, json, csv, markdown, html."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence

from sizeguard.bisect.history import Commit
from sizeguard.bisect.result import LEVELS, BisectResult, Branch, Culprit, Row, commits_text
from sizeguard.report.names import NOTHING, printable, shown
from sizeguard.report.sizes import csv_rows, markdown_cell
from sizeguard.report.style import Style

SCHEMA_VERSION = 1
_SUBJECT = 44
_CSV_HEAD = ["commit", "last", "author", "date", "subject", "delta", "total", "load", "ram", "file"]


def bisect_chunks(result: BisectResult, format_: str, limit: int, style: Style | None = None) -> Iterator[str]:
    """The text of one format, in pieces that end with a line. limit: rows of each culprit in terminal, markdown and html, 0 for all."""
    if format_ == "json":
        yield json.dumps(_json(result), indent=1) + "\n"
    elif format_ == "csv":
        yield from csv_rows(_CSV_HEAD, map(_csv, result.culprits))
    elif format_ == "html":
        from sizeguard.report.bisect_html import bisect_html

        yield from bisect_html(result, limit)
    else:
        style = style or Style()
        lines = _markdown(result, limit) if format_ == "markdown" else map(style.finish, _terminal(result, limit, style))
        yield "".join(f"{line}\n" for line in lines)


def _json(result: BisectResult) -> dict[str, object]:
    first, last = result.points[0], result.points[-1]
    return {
        "schema_version": SCHEMA_VERSION,
        "metric": str(result.metric),
        "nearest": result.nearest,
        "built": result.what,
        "good": {"revision": result.good, "commit": first.commit.id, "value": result.old},
        "bad": {"revision": result.bad, "commit": last.commit.id, "value": result.new},
        "delta": result.delta,
        "culprits": [_culprit_json(each) for each in result.culprits],
        "smaller": {"threshold": result.threshold, "count": result.smaller.count, "delta": result.smaller.delta},
        "commits": len(result.points) - 1,
        "builds": result.builds.done,
        "failed_builds": result.builds.failed,
        "reused": result.builds.reused,
        "skipped": result.not_measured,
        "equal_inputs": result.equal_inputs,
        "skipped_ranges": [{"first": each.first.id, "last": each.last.id, "commits": each.commits} for each in result.skipped],
        "exhaustive": result.exhaustive,
        "narrow": result.narrow,
        "blind_spot": result.blind_spot,
        "neutral": [commit.id for commit in result.neutral],
        "series": [{"commit": point.commit.id, "value": point.value, "how": point.how} for point in result.points],
    }


def _culprit_json(culprit: Culprit) -> dict[str, object]:
    commits = culprit.commits
    which: dict[str, object] = {"commit": commits[0].id} if len(commits) == 1 else {"range": [commit.id for commit in commits]}
    result = {
        **which,
        "author": commits[-1].author,
        "date": commits[-1].date,
        "subject": commits[-1].subject,
        "delta": culprit.delta,
        "total": culprit.total,
        "sizes": dict(zip(("load", "ram", "file"), culprit.sizes, strict=True)),
        "rows": [_row_json(row) for row in culprit.rows],
        "does_not_build": [{"commit": each.commit.id, "message": each.message} for each in culprit.failures],
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


def _row_json(row: Row) -> dict[str, object]:
    return {**dict(zip(LEVELS, row.keys, strict=True)), "old": row.old, "new": row.new, "delta": row.delta, "cause": row.cause}


def _csv(culprit: Culprit) -> list[object]:
    first, last = culprit.commits[0], culprit.commits[-1]
    return [first.id, last.id, printable(last.author), last.date, printable(last.subject), culprit.delta, culprit.total, *culprit.sizes]


def verdict(result: BisectResult) -> str:
    """aten::convolution grew 2,412 bytes in 48 commits: 3 of them did it"""
    name = printable(result.metric.name or result.metric.kind.replace("_", " "))
    commits = _count(len(result.points) - 1, "commit")
    moved = "did not change" if not result.delta else f"{'grew' if result.delta > 0 else 'shrank'} {_count(abs(result.delta), 'byte')}"
    found = len(result.culprits) + result.smaller.count
    if not found:
        return f"{name} {moved} in {commits}: none moved it"
    both = ", there and back" if not result.delta else ""
    return f"{name} {moved} in {commits}: {_count(found, 'change')} did it{both}"


def effort(result: BisectResult) -> str:
    """built 11 of 48, 29 share inputs"""
    builds = result.builds
    parts = [f"built {builds.done} of {len(result.points)}"]
    if builds.failed:
        parts.append(f"{builds.failed} of them in vain")
    if builds.reused:
        parts.append(f"{builds.reused} known before")
    if result.equal_inputs:
        parts.append(f"{result.equal_inputs} share inputs")
    return ", ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def failures_text(culprit: Culprit) -> str:
    """3 commits, the first 2 do not build (main.c:1: error: …)"""
    failed = len(culprit.failures)
    which = f"{failed} of them {'does' if failed == 1 else 'do'} not build"
    return f"{_count(len(culprit.commits), 'commit')}, {which} ({printable(culprit.failures[0].message)})"


def row_texts(row: Row, width: int) -> tuple[str, str, str]:
    """Operator, dtype and symbol as people read them."""
    operator, dtype, symbol = row.keys
    return shown("operator", operator, 40), shown("dtype", dtype) if dtype else "", shown("symbol", symbol, width)


def by_dtype(rows: Sequence[Row]) -> str:
    """Float -410  Double -330: the three that changed most."""
    sums: dict[str, int] = {}
    for row in rows:
        sums[row.keys[1]] = sums.get(row.keys[1], 0) + row.delta
    named = sorted(((abs(size), dtype, size) for dtype, size in sums.items() if dtype and size), key=lambda each: (-each[0], each[1]))
    return "  ".join(f"{printable(dtype)} {size:+,}" for _, dtype, size in named[:3])


def rest_of(rows: Sequence[Row], limit: int) -> tuple[Sequence[Row], int, int]:
    """The rows that are shown, how many are not, and the sum of those."""
    kept = rows if limit == 0 else rows[:limit]
    return kept, len(rows) - len(kept), sum(row.delta for row in rows[len(kept) :])


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
        small = f"{_count(result.smaller.count, 'commit')} of less than {result.threshold:,} bytes each"
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
        yield style.dim(f"{indent}{'':>12}{'; '.join(_short(commit, 50) for commit in culprit.commits[-1:])}")
    else:
        subject = printable(last.subject)
        subject = subject if len(subject) <= _SUBJECT else f"{subject[: _SUBJECT - 1]}…"
        yield f"{indent}{delta}  {commits_text(culprit.commits)}  {subject:<{_SUBJECT}}  {by_dtype(culprit.rows)}"
    yield style.dim(f"{indent}{'':>12}{printable(last.author)}, {last.date[:10]}; total {culprit.total:+,}")
    rows, rest, rest_sum = rest_of(culprit.rows, limit)
    for row in rows:
        operator, dtype, symbol = row_texts(row, max(style.width - 74, 24))
        yield f"{indent}{'':>12}{row.delta:>+10,}  {operator}  {dtype}{'  ' if dtype else ''}{symbol}  {row.cause.replace('_', ' ')}"
    if rest:
        yield f"{indent}{'':>12}{rest_sum:>+10,}  {_count(rest, 'smaller row')}"
    if culprit.branch is not None:
        yield from _branch_lines(culprit.branch, limit, style, f"{indent}    ")


def _branch_lines(branch: Branch, limit: int, style: Style, indent: str) -> Iterator[str]:
    yield f"{indent}the branch: {_count(branch.commits, 'commit')}"
    for culprit in branch.culprits:
        yield from _culprit_lines(culprit, limit, style, indent)
    if branch.smaller.count:
        yield f"{indent}{branch.smaller.delta:>+10,}  {_count(branch.smaller.count, 'smaller commit')}"
    yield f"{indent}{branch.merge_itself:>+10,}  the merge itself, where both lines meet"


def _short(commit: Commit, width: int) -> str:
    subject = printable(commit.subject)
    return subject if len(subject) <= width else f"{subject[: width - 1]}…"


def notes_of(result: BisectResult) -> Iterator[str]:
    """What else is to be known, and what to do."""
    if result.nearest:
        yield f"neither end has {printable(str(result.metric))}; nearest is {printable(result.nearest)}"
    if result.neutral:
        named = ", ".join(commit.id[:7] for commit in result.neutral[:3])
        more = f" and {len(result.neutral) - 3} more" if len(result.neutral) > 3 else ""
        yield f"{_count(len(result.neutral), 'commit')} moved bytes inside of the image, and {result.metric} by nothing: {named}{more}"
    if result.failures:
        yield f"{_count(result.failures, 'commit')} of those tried {'does' if result.failures == 1 else 'do'} not build"
    if result.blind_spot:
        yield f"note: {result.blind_spot}"
    if result.culprits:
        worst = max(result.culprits, key=lambda culprit: abs(culprit.delta))
        yield f"see the largest: git show {worst.commits[-1].id[:12]}"


def _wrapped(text: str, width: int) -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(text, width - 2, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _markdown(result: BisectResult, limit: int) -> Iterator[str]:
    name = markdown_cell(printable(str(result.metric)))
    yield f"{name}: **{result.delta:+,}** bytes in {_count(len(result.points) - 1, 'commit')}, {effort(result)}"
    yield ""
    yield "| change | total | commit | subject | author | by dtype |"
    yield "|---:|---:|---|---|---|---|"
    for culprit in result.culprits:
        last = culprit.commits[-1]
        subject = markdown_cell(failures_text(culprit) if culprit.failures else _short(last, 80))
        dtypes = by_dtype(culprit.rows).replace("|", "\\|")
        cells = (f"`{commits_text(culprit.commits)}`", subject, markdown_cell(printable(last.author)), dtypes)
        yield f"| {culprit.delta:+,} | {culprit.total:+,} | {' | '.join(cells)} |"
    if result.smaller.count:
        yield f"| {result.smaller.delta:+,} | | | {result.smaller.count} of less than {result.threshold:,} bytes each | | |"
    good, bad = (markdown_cell(printable(each)) for each in (result.good, result.bad))
    yield f"| **{result.delta:+,}** | | | {good} {result.old:,} → {bad} {result.new:,} | | |"
    for culprit in result.culprits:
        yield ""
        yield f"<details><summary>{commits_text(culprit.commits)} {culprit.delta:+,}</summary>"
        yield ""
        yield "| change | old | new | cause | operator | dtype | symbol |"
        yield "|---:|---:|---:|---|---|---|---|"
        rows, rest, rest_sum = rest_of(culprit.rows, limit)
        for row in rows:
            names = " | ".join(markdown_cell(text) if text not in ("", NOTHING) else text for text in row_texts(row, 80))
            yield f"| {row.delta:+,} | {row.old:,} | {row.new:,} | {row.cause.replace('_', ' ')} | {names} |"
        if rest:
            yield f"| {rest_sum:+,} | | | | {rest:,} smaller | | |"
        yield ""
        yield "</details>"
    notes = list(notes_of(result))
    if notes:
        yield ""
        yield from (f"- {markdown_cell(note) if set(note) & set('`<*_[@|') else note}" for note in notes)
