"""Write a bisect as a self-contained HTML file without scripts.

It plots the size over the commits and marks the culprits.

Names of commits, authors and symbols are escaped text. The page has no script, and its policy
allows none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    row_texts,
    shown_rows,
    verdict,
)
from sizeguard.report.writers.plot import (
    BOTTOM,
    COMMITS_STYLE,
    HEAD,
    HEIGHT,
    STYLE,
    TABLE,
    TABLE_END,
    WIDTH,
    Scale,
    as_text,
    breakable,
    direction,
    escaped,
    legend,
    rows_on_page,
    words_in,
)
from sizeguard.report.writers.printable import NOTHING

_MOST_DOTS = 3000  # beyond this number of points only the line is drawn


def bisect_html(result: BisectResult, limit: int, text: str) -> Iterator[str]:
    """Write the page in pieces.

    text:  the result as Markdown, to copy
    limit: rows of each culprit; 0 for all, and less than 20 means 20
    """
    title = escaped(f"{result.good} → {result.bad}: {result.metric}")
    yield f"{HEAD}<title>{title}</title>\n<style>{STYLE}{COMMITS_STYLE}</style>\n</head>\n<body>\n"
    yield "<main>\n"
    yield f"<h1>{escaped(verdict(result))}</h1>\n"
    yield (
        f'<p class="dim">{escaped(result.what)}: <code>{escaped(str(result.metric))}</code>;'
        f" {escaped(effort(result))}</p>\n"
    )
    yield _plot(result)
    yield (
        '<p class="dim">● built, ○ equal inputs or between equal sizes, × does not build; bytes of'
        " the metric, commit by commit</p>\n"
    )
    yield from _table(result, limit)
    for note in notes_of(result):
        yield f'<p class="dim">{escaped(note)}</p>\n'
    names = {row_texts(row, 0).operator for each in result.culprits for row in each.rows}
    yield legend(words_in(" ".join((str(result.metric), *names)), ("load", "ram", "core", NOTHING)))
    yield as_text(text)
    yield "</main>\n</body>\n</html>\n"


def _table(result: BisectResult, limit: int) -> Iterator[str]:
    """Write a row for each culprit, and the sum."""
    yield f'{TABLE}\n<thead><tr><th class="n">change</th><th class="n">total</th>'
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
    ends = escaped(f"{result.good} {result.old:,} → {result.bad} {result.new:,}")
    yield (
        f'</tbody>\n<tfoot><tr><td class="n"><b>{result.delta:+,}</b></td><td></td><td'
        f' colspan="3"><b>= {ends}</b></td></tr></tfoot>\n'
    )
    yield f"{TABLE_END}\n"


def _culprit(culprit: Culprit, limit: int, anchor: str) -> Iterator[str]:
    last = culprit.commits[-1]
    subject = escaped(last.subject) + (
        f'<br><span class="dim">{escaped(failures_text(culprit))}</span>'
        if culprit.failures
        else ""
    )
    yield (
        f'<tr id="{anchor}"><td class="n {direction(culprit.delta)}">{culprit.delta:+,}</td>'
        f'<td class="n">{culprit.total:+,}</td>'
        f'<td><code title="{escaped(last.id)}">{commits_text(culprit.commits)}</code></td>'
        f"<td>{subject}</td><td>{escaped(last.author)}<br>"
        f'<span class="dim day">{escaped(last.date[:10])}</span></td></tr>\n'
    )
    part = shown_rows(culprit.rows, rows_on_page(limit))
    yield '<tr class="more"><td colspan="5"><details><summary>what changed</summary>'
    yield f"{TABLE}\n"
    for row in part.rows:
        operator, dtype, symbol = (breakable(text) for text in row_texts(row, 120))
        yield (
            f'<tr><td class="n {direction(row.delta)}">{row.delta:+,}</td>'
            f'<td class="n">{row.old:,} → {row.new:,}</td><td>{operator} {dtype}</td>'
            f"<td><code>{symbol}</code></td>"
            f"<td>{row.cause.replace('_', ' ')}</td></tr>\n"
        )
    if part.others:
        yield (
            f'<tr><td class="n">{part.other_bytes:+,}</td><td></td><td colspan="3">{part.others:,}'
            " smaller</td></tr>\n"
        )
    yield f"{TABLE_END}\n"
    if culprit.branch is not None:
        yield from _branch(culprit.branch, limit, anchor)
    yield "</details></td></tr>\n"


def _branch(branch: Branch, limit: int, anchor: str) -> Iterator[str]:
    yield f"<p>The branch, {branch.commits:,} commits:</p>\n{TABLE}\n"
    for number, culprit in enumerate(branch.culprits):
        yield from _culprit(culprit, limit, f"{anchor}-{number}")
    if branch.smaller.count:
        yield (
            f'<tr><td class="n">{branch.smaller.delta:+,}</td><td'
            f' colspan="4">{branch.smaller.count} smaller</td></tr>\n'
        )
    yield (
        f'<tr><td class="n">{branch.merge_itself:+,}</td><td colspan="4">the merge itself, where'
        f" both lines meet</td></tr>\n{TABLE_END}\n"
    )


def _plot(result: BisectResult) -> str:
    """Draw the sizes as steps: a size holds until the next commit.

    Commits that do not build are crosses at the foot.
    """
    points = result.points
    sizes = [point.value for point in points if point.value is not None]
    scale = Scale.around(sizes, len(points))
    parts = [
        (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="group"'
            f' aria-label="{escaped(verdict(result))}">\n'
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


def _axes(scale: Scale, result: BisectResult) -> Iterator[str]:
    yield from scale.grid()
    for i, anchor, name in ((0, "start", result.good), (len(result.points) - 1, "end", result.bad)):
        yield scale.label(i, anchor, f"{name} {result.points[i].commit.date[:10]}")


def _steps(points: Sequence[Point], scale: Scale) -> str:
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


def _dot(i: int, point: Point, scale: Scale) -> str:
    size = (
        "does not build"
        if point.value is None
        else f"{point.value:,}" + ("" if point.how == BUILT else f" ({point.how})")
    )
    title = f"<title>{escaped(f'{point.commit.id[:12]} {point.commit.subject}: {size}')}</title>"
    x = scale.x(i)
    if point.how == DOES_NOT_BUILD or point.value is None:
        y = HEIGHT - BOTTOM + 10
        return f'<path class="failed" d="M{x - 4} {y - 4}l8 8m0 -8l-8 8">{title}</path>\n'
    kind = "built" if point.how == BUILT else "guess"
    radius = 2 if point.how == BETWEEN_EQUALS else 3
    return (
        f'<circle class="{kind}" cx="{x}" cy="{scale.y(point.value)}"'
        f' r="{radius}">{title}</circle>\n'
    )


def _mark(i: int, number: int, culprit: Culprit, points: Sequence[Point], scale: Scale) -> str:
    x, y = scale.x(i), scale.y(points[i].value or 0)
    way = direction(culprit.delta)
    title = f"{commits_text(culprit.commits)} {culprit.commits[-1].subject}: {culprit.delta:+,}"
    below = 20 if culprit.delta < 0 else -12
    return (
        f'<a href="#c{number}"><circle class="mark {way}" cx="{x}" cy="{y}"'
        f' r="6"><title>{escaped(title)}</title></circle><text class="{way}" x="{x}"'
        f' y="{y + below}" text-anchor="middle">{culprit.delta:+,}</text></a>\n'
    )
