"""Write a bisect as one HTML file that needs nothing else and runs nothing.

It plots the size over the commits and marks the culprits.

Names of commits, authors and symbols are escaped text. The page has no script, and its policy
allows none.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sizeguard.bisect.bisect_result import (
    BETWEEN_EQUALS,
    BUILT,
    DOES_NOT_BUILD,
    BisectResult,
    Branch,
    Culprit,
    Point,
    commits_text,
)
from sizeguard.report.bisect.bisect_words import (
    effort,
    failures_text,
    notes_of,
    rest_of,
    row_texts,
    verdict,
)
from sizeguard.report.writers.printable import printable

_WIDTH, _HEIGHT = 1000, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 20, 20, 50
_MOST_DOTS = 3000  # beyond this number of points only the line is drawn
_SHOWN_ROWS = 20

# A backslash joins a line with the next one.
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #656d76; --paper: #fff; \
--grid: #d8dee4; --grew: #b42318; --shrank: #17663a;
  --line: #2f5d9e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #9198a1; \
--paper: #0d1117; --grid: #30363d; --grew: #ff8a7a;
  --shrank: #5fd38d; --line: #7fb0ff; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); \
max-width: 1100px; margin: 2em auto;
  padding: 0 1em; }
h1 { font-size: 1.3em; margin: 0 0 .2em; } p { margin: .3em 0; } .dim { color: var(--dim); } \
td > code, .day { white-space: nowrap; }
svg { width: 100%; height: auto; display: block; margin: 1em 0; } \
svg text { fill: var(--dim); font-size: 12px; }
table { border-collapse: collapse; width: 100%; } \
td, th { text-align: left; padding: .25em .6em; border-bottom: 1px solid var(--grid);
  vertical-align: top; overflow-wrap: anywhere; } \
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.grew { color: var(--grew); fill: var(--grew); } \
.shrank { color: var(--shrank); fill: var(--shrank); } code { font-size: .92em; }
.line { fill: none; stroke: var(--line); stroke-width: 2; } .grid { stroke: var(--grid); } \
.built { fill: var(--line); }
.guess { fill: var(--paper); stroke: var(--line); } \
.failed { stroke: var(--dim); stroke-width: 1.5; } .mark { stroke: var(--paper); }
"""


_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""


def bisect_html(result: BisectResult, limit: int) -> Iterator[str]:
    """Write the page in pieces.

    limit: rows of each culprit, 0 for all; at least 20 otherwise
    """
    title = _text(f"{result.good} → {result.bad}: {result.metric}")
    yield f"{_HEAD}<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
    yield f"<h1>{_text(verdict(result))}</h1>\n"
    yield (
        f'<p class="dim">{_text(result.what)}: <code>{_text(str(result.metric))}</code>;'
        f" {_text(effort(result))}</p>\n"
    )
    yield _plot(result)
    yield (
        '<p class="dim">● built, ○ equal inputs or between equal sizes, × does not build; bytes of'
        " the metric, commit by commit</p>\n"
    )
    yield from _table(result, limit)
    for note in notes_of(result):
        yield f'<p class="dim">{_text(note)}</p>\n'
    yield "</body>\n</html>\n"


def _table(result: BisectResult, limit: int) -> Iterator[str]:
    """Write a row for each culprit, and the sum."""
    yield '<table>\n<thead><tr><th class="n">change</th><th class="n">total</th>'
    yield "<th>commit</th><th>subject</th><th>author</th></tr></thead>\n"
    yield "<tbody>\n"
    for number, culprit in enumerate(result.culprits):
        yield from _culprit(culprit, limit, f"c{number}")
    if result.smaller.count:
        small = f"{result.smaller.count} of less than {result.threshold:,} bytes each"
        yield (
            f'<tr><td class="n">{result.smaller.delta:+,}</td><td></td><td></td><td'
            f' colspan="2">{small}</td></tr>\n'
        )
    ends = _text(f"{result.good} {result.old:,} → {result.bad} {result.new:,}")
    yield (
        f'</tbody>\n<tfoot><tr><td class="n"><b>{result.delta:+,}</b></td><td></td><td'
        f' colspan="3"><b>= {ends}</b></td></tr></tfoot>\n'
    )
    yield "</table>\n"


def _text(text: str) -> str:
    return html.escape(printable(text))


def _direction(delta: int) -> str:
    return "grew" if delta > 0 else "shrank"


def _culprit(culprit: Culprit, limit: int, anchor: str) -> Iterator[str]:
    last = culprit.commits[-1]
    subject = _text(last.subject) + (
        f'<br><span class="dim">{_text(failures_text(culprit))}</span>' if culprit.failures else ""
    )
    yield (
        f'<tr id="{anchor}"><td class="n {_direction(culprit.delta)}">{culprit.delta:+,}</td>'
        f'<td class="n">{culprit.total:+,}</td>'
        f'<td><code title="{_text(last.id)}">{commits_text(culprit.commits)}</code></td>'
        f"<td>{subject}</td><td>{_text(last.author)}<br>"
        f'<span class="dim day">{_text(last.date[:10])}</span></td></tr>\n'
    )
    rows, rest, rest_sum = rest_of(culprit.rows, 0 if limit == 0 else max(limit, _SHOWN_ROWS))
    yield '<tr><td></td><td colspan="4"><details><summary>what changed</summary><table>\n'
    for row in rows:
        operator, dtype, symbol = (_text(text) for text in row_texts(row, 120))
        yield (
            f'<tr><td class="n {_direction(row.delta)}">{row.delta:+,}</td>'
            f'<td class="n">{row.old:,} → {row.new:,}</td><td>{operator}</td>'
            f"<td>{dtype}</td><td><code>{symbol}</code></td>"
            f"<td>{row.cause.replace('_', ' ')}</td></tr>\n"
        )
    if rest:
        yield (
            f'<tr><td class="n">{rest_sum:+,}</td><td></td><td colspan="4">{rest:,}'
            " smaller</td></tr>\n"
        )
    yield "</table>\n"
    if culprit.branch is not None:
        yield from _branch(culprit.branch, limit, anchor)
    yield "</details></td></tr>\n"


def _branch(branch: Branch, limit: int, anchor: str) -> Iterator[str]:
    yield f"<p>The branch, {branch.commits:,} commits:</p>\n<table>\n"
    for number, culprit in enumerate(branch.culprits):
        yield from _culprit(culprit, limit, f"{anchor}-{number}")
    if branch.smaller.count:
        yield (
            f'<tr><td class="n">{branch.smaller.delta:+,}</td><td'
            f' colspan="4">{branch.smaller.count} smaller</td></tr>\n'
        )
    yield (
        f'<tr><td class="n">{branch.merge_itself:+,}</td><td colspan="4">the merge itself, where'
        " both lines meet</td></tr>\n</table>\n"
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """Coordinates of the drawing by commit and size.

    commits:   number of points
    low, high: bytes at the lower and the upper edge
    """

    commits: int
    low: int
    high: int

    def x(self, commit: int) -> float:
        """Return the horizontal position of a commit."""
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * commit / max(self.commits - 1, 1), 1)

    def y(self, size: int) -> float:
        """Return the vertical position of a size."""
        return round(
            _HEIGHT
            - _BOTTOM
            - (_HEIGHT - _TOP - _BOTTOM) * (size - self.low) / max(self.high - self.low, 1),
            1,
        )


def _plot(result: BisectResult) -> str:
    """Draw the sizes as steps: a size holds until the next commit.

    Commits that do not build are crosses at the foot.
    """
    points = result.points
    sizes = [point.value for point in points if point.value is not None]
    margin = max((max(sizes) - min(sizes)) // 10, 8)
    scale = _Scale(len(points), max(min(sizes) - margin, 0), max(sizes) + margin)
    parts = [
        (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
            f' aria-label="{_text(verdict(result))}">\n'
        ),
        *_axes(scale, result),
        f'<path class="line" d="{_steps(points, scale)}"/>\n',
    ]
    if len(points) <= _MOST_DOTS:
        parts += [_dot(i, point, scale) for i, point in enumerate(points)]
    place = {point.commit.id: i for i, point in enumerate(points)}
    for number, culprit in enumerate(result.culprits):
        parts.append(_mark(place[culprit.commits[-1].id], number, culprit, points, scale))
    return "".join([*parts, "</svg>\n"])


def _axes(scale: _Scale, result: BisectResult) -> Iterator[str]:
    for i in range(5):
        size = scale.low + (scale.high - scale.low) * i // 4
        y = scale.y(size)
        yield f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{size:,}</text>\n'
    for i, anchor, name in ((0, "start", result.good), (len(result.points) - 1, "end", result.bad)):
        point = result.points[i]
        label = _text(f"{name} {point.commit.date[:10]}")
        yield f'<text x="{scale.x(i)}" y="{_HEIGHT - 12}" text-anchor="{anchor}">{label}</text>\n'


def _steps(points: Sequence[Point], scale: _Scale) -> str:
    """Draw the line; it steps at measured commits and passes over those that do not build."""
    path = ""
    before: int | None = None
    for i, point in enumerate(points):
        if point.value is None:
            continue
        x, y = scale.x(i), scale.y(point.value)
        if before is None:
            path = f"M{x} {y}"
        elif point.value != before:
            path += f"H{x}V{y}"
        elif i == len(points) - 1:
            path += f"H{x}"
        before = point.value
    return path


def _dot(i: int, point: Point, scale: _Scale) -> str:
    size = (
        "does not build"
        if point.value is None
        else f"{point.value:,}" + ("" if point.how == BUILT else f" ({point.how})")
    )
    title = f"<title>{_text(f'{point.commit.id[:12]} {point.commit.subject}: {size}')}</title>"
    x = scale.x(i)
    if point.how == DOES_NOT_BUILD or point.value is None:
        y = _HEIGHT - _BOTTOM + 10
        return f'<path class="failed" d="M{x - 4} {y - 4}l8 8m0 -8l-8 8">{title}</path>\n'
    kind = "built" if point.how == BUILT else "guess"
    radius = 2 if point.how == BETWEEN_EQUALS else 3
    return (
        f'<circle class="{kind}" cx="{x}" cy="{scale.y(point.value)}"'
        f' r="{radius}">{title}</circle>\n'
    )


def _mark(i: int, number: int, culprit: Culprit, points: Sequence[Point], scale: _Scale) -> str:
    x, y = scale.x(i), scale.y(points[i].value or 0)
    direction = _direction(culprit.delta)
    title = f"{commits_text(culprit.commits)} {culprit.commits[-1].subject}: {culprit.delta:+,}"
    below = 20 if culprit.delta < 0 else -12
    return (
        f'<a href="#c{number}"><circle class="mark {direction}" cx="{x}" cy="{y}"'
        f' r="6"><title>{_text(title)}</title></circle><text class="{direction}" x="{x}"'
        f' y="{y + below}" text-anchor="middle">{culprit.delta:+,}</text></a>\n'
    )
