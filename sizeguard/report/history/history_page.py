"""Write a history as one HTML file: a line for each app, and the parts of each app.

The page has no script, and its policy allows none. Names are escaped text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sizeguard.history.history_result import (
    NO_NAME,
    REVIEWED,
    HistoryLine,
    HistoryPoint,
    SizeHistory,
)
from sizeguard.report.history.history_words import (
    line_title,
    notes_of,
    part_text,
    size_texts,
    without_size,
)
from sizeguard.report.writers.plot import (
    BOTTOM,
    COMMITS_STYLE,
    HEAD,
    HEIGHT,
    LEFT,
    RIGHT,
    STYLE,
    TABLE,
    TABLE_END,
    TOP,
    WIDTH,
    Scale,
    as_text,
    breakable,
    direction,
    escaped,
    legend,
    rows_on_page,
)
from sizeguard.report.writers.printable import NOTHING, counted

_LAYERS = 9  # separate layers in a stack; smaller names share one layer
_OTHERS = "others"
# Colours that colour-blind people can distinguish (Okabe and Ito), then shades of grey.
_COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
    "#d55e00", "#b8a900", "#7a5195", "#5b8c5a", "#9aa0a6",
)  # fmt: skip
_MORE_STYLE = """
.layer { stroke: var(--paper); stroke-width: .5; } .app { fill: none; stroke-width: 2; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
ul.keys { list-style: none; padding: 0; columns: 14em 3; } h2 { font-size: 1.1em; margin-top: 2em; }
h1, h2, li { overflow-wrap: anywhere; } li { break-inside: avoid; }
"""


def history_html(history: SizeHistory, limit: int, text: str) -> Iterator[str]:
    """Write the page in pieces.

    text:  the history as Markdown, to copy
    limit: rows of each change, 0 for all; at least 20 otherwise
    """
    title = f"Sizes of {counted(len({line.app for line in history.lines}), 'app')}"
    since = f" since {history.since}" if history.since else ""
    yield f"{HEAD}<title>{escaped(title + since)}</title>\n"
    yield f"<style>{STYLE}{COMMITS_STYLE}{_MORE_STYLE}</style>\n"
    yield f"</head>\n<body>\n<main>\n<h1>{escaped(title + since)}</h1>\n"
    yield f'<p class="dim">loaded bytes by {history.kind}</p>\n'
    lines = [line for line in history.lines if line.known]
    if lines:
        yield from _overview(lines)
    for number, line in enumerate(history.lines):
        yield from _line_section(line, number, limit)
    for note in notes_of(history, shows_all=True):
        yield f'<p class="dim">{escaped(note)}</p>\n'
    names = {name for line in lines for point in line.points for name in point.parts}
    core = ("core",) if "(core)" in names else ()
    nothing = (NOTHING,) if NO_NAME in names else ()
    yield legend(("load", "ram", "file", *core, *nothing))
    yield as_text(text)
    yield "</main>\n</body>\n</html>\n"


def _overview(lines: Sequence[HistoryLine]) -> Iterator[str]:
    """Draw a line for each app, and name their colours."""
    sizes = [size for line in lines for size in _loads(line.points) if size is not None]
    scale = Scale.around(sizes, max(len(line.points) for line in lines))
    yield f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="load of each app">\n'
    yield from scale.grid()
    yield from _ends(lines[0].points, scale)
    for number, line in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        yield f'<path class="app" stroke="{colour}" d="{_path(line.points, scale)}"/>\n'
        for i, point in enumerate(line.points):
            yield from _dot(i, point, line, scale, colour)
    yield "</svg>\n"
    yield from _keys([f"{line.app} {line.target}" for line in lines])


def _keys(names: Sequence[str]) -> Iterator[str]:
    yield '<ul class="keys">\n'
    for number, name in enumerate(names):
        colour = _COLOURS[number % len(_COLOURS)]
        yield f'<li><span class="key" style="background: {colour}"></span>{breakable(name)}</li>\n'
    yield "</ul>\n"


def _loads(points: Sequence[HistoryPoint]) -> list[int | None]:
    return [None if point.sizes is None else point.sizes.load for point in points]


def _path(points: Sequence[HistoryPoint], scale: Scale) -> str:
    """Draw the line from known point to known point."""
    words = [
        f"{scale.x(i)} {scale.y(load)}" for i, load in enumerate(_loads(points)) if load is not None
    ]
    return "M" + "L".join(words)


def _dot(
    i: int, point: HistoryPoint, line: HistoryLine, scale: Scale, colour: str
) -> Iterator[str]:
    if point.sizes is None:
        return
    fill = "var(--paper)" if point.source == REVIEWED else colour
    text = f"{line.app} {line.target} {point.release.name}: {point.sizes.load:,}"
    if point.change is not None:
        text += f" ({point.change.load:+,})"
    yield (
        f'<circle cx="{scale.x(i)}" cy="{scale.y(point.sizes.load)}" r="4" stroke="{colour}"'
        f' fill="{fill}"><title>{escaped(text)}</title></circle>\n'
    )


def _ends(points: Sequence[HistoryPoint], scale: Scale) -> Iterator[str]:
    """Name the first and the last point below the drawing."""
    for i, anchor in ((0, "start"), (len(points) - 1, "end")):
        if i == 0 and anchor == "end":
            return
        release = points[i].release
        yield scale.label(i, anchor, f"{release.name} {release.commit.date[:10]}")


def _line_section(line: HistoryLine, number: int, limit: int) -> Iterator[str]:
    yield f"<h2>{escaped(line_title(line))}</h2>\n"
    stacked = [point for point in line.points if point.parts]
    if stacked:
        yield from _stack(line, stacked, number)
    yield f'{TABLE}\n<thead><tr><th>date</th><th>point</th><th class="n">load</th>'
    yield '<th class="n">change</th><th class="n">ram</th><th class="n">file</th>'
    yield "<th>what changed</th></tr></thead>\n<tbody>\n"
    for i, point in enumerate(line.points):
        yield _row(point, f"p{number}-{i}", limit)
    yield f"</tbody>\n{TABLE_END}\n"


def _stack(line: HistoryLine, points: Sequence[HistoryPoint], number: int) -> Iterator[str]:
    """Draw the parts of each point stacked; each column links to its row."""
    names = _layers(points)
    height = max(sum(point.parts.values()) for point in points)
    scale = Scale(len(points), 0, height + max(height // 20, 1))
    sums = [_stacked(point.parts, names) for point in points]
    yield (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="'
        f'{escaped(line.app)} by {line.by}">\n'
    )
    yield from scale.grid()
    yield from _ends(points, scale)
    for layer, name in enumerate(names):
        yield _layer(layer, name, sums, scale)
    place = {id(point): i for i, point in enumerate(line.points)}
    for i, point in enumerate(points):
        left, width = _column(i, scale)
        yield (
            f'<a href="#p{number}-{place[id(point)]}"><rect x="{left}" y="{TOP}" width="{width}"'
            f' height="{HEIGHT - TOP - BOTTOM}" fill="transparent"><title>'
            f"{escaped(_tooltip(point, names))}</title></rect></a>\n"
        )
    yield "</svg>\n"
    yield f'<p class="dim">loaded bytes by {line.by}</p>\n'
    yield from _keys(names)


def _layers(points: Sequence[HistoryPoint]) -> list[str]:
    """Choose the names with most bytes at any point; the others share the last layer."""
    most: dict[str, int] = {}
    for point in points:
        for name, size in point.parts.items():
            most[name] = max(most.get(name, 0), size)
    named = sorted((name for name in most if name != NO_NAME), key=lambda each: (-most[each], each))
    names = named[:_LAYERS]
    return [*names, _OTHERS] if len(most) > len(names) else names


def _stacked(parts: Mapping[str, int], names: Sequence[str]) -> list[int]:
    """Return the running sums of the layers, from 0 to the load.

    The last layer has the rest: a part can have the name of the others.
    """
    edges = [0]
    for name in names[:-1]:
        edges.append(edges[-1] + parts.get(name, 0))
    return [*edges, sum(parts.values())]


def _layer(layer: int, name: str, sums: Sequence[Sequence[int]], scale: Scale) -> str:
    """Draw one layer; a single point is as wide as the drawing."""
    places = [scale.x(i) for i in range(len(sums))]
    if len(sums) == 1:
        places, sums = [LEFT, WIDTH - RIGHT], [sums[0], sums[0]]
    top = [f"{x} {scale.y(edges[layer + 1])}" for x, edges in zip(places, sums, strict=True)]
    foot = [f"{x} {scale.y(edges[layer])}" for x, edges in zip(places, sums, strict=True)]
    colour = _COLOURS[layer % len(_COLOURS)]
    return (
        f'<path class="layer" fill="{colour}" d="M{"L".join([*top, *reversed(foot)])}Z">'
        f"<title>{escaped(name)}</title></path>\n"
    )


def _column(i: int, scale: Scale) -> tuple[float, float]:
    """Return the left edge and the width of the area nearest to a point."""
    step = (WIDTH - LEFT - RIGHT) / max(scale.commits - 1, 1)
    left = max(scale.x(i) - step / 2, LEFT)
    right = min(scale.x(i) + step / 2, WIDTH - RIGHT)
    return round(left, 1), round(max(right - left, 1), 1)


def _tooltip(point: HistoryPoint, names: Sequence[str]) -> str:
    largest = [f"{name} {point.parts[name]:,}" for name in names if name in point.parts]
    return "; ".join([f"{point.release.name}: {size_texts(point).load}", *largest])


def _row(point: HistoryPoint, anchor: str, limit: int) -> str:
    release = point.release
    head = (
        f'<tr id="{anchor}"><td class="day">{escaped(release.commit.date[:10])}</td>'
        f'<td><code title="{escaped(release.commit.id)}">{escaped(release.name)}</code></td>'
    )
    if point.sizes is None:
        return f'{head}<td colspan="5" class="dim">{escaped(without_size(point))}</td></tr>\n'
    change = point.change
    delta = (
        f'<td class="n {direction(change.load)}">{change.load:+,}</td>'
        if change is not None and change.load
        else f'<td class="n">{"" if change is None else "+0"}</td>'
    )
    sizes = size_texts(point)
    note = '<span class="dim">baseline</span> ' if point.source == REVIEWED else ""
    subject = f'{note}<span class="dim">{escaped(release.commit.subject)}</span>'
    return (
        f'{head}<td class="n">{sizes.load}</td>{delta}'
        f'<td class="n">{sizes.ram}</td><td class="n">{sizes.file}</td>'
        f"<td>{subject}</td></tr>\n{_details(point, limit)}"
    )


def _details(point: HistoryPoint, limit: int) -> str:
    """Write the rows of a change, folded, in a row of the page's whole width."""
    change = point.change
    if change is None or not change.rows:
        return ""
    most = rows_on_page(limit) or len(change.rows)
    rows = "".join(
        f'<tr><td class="n {direction(row.delta)}">{row.delta:+,}</td>'
        f'<td class="n">{row.old:,} → {row.new:,}</td>'
        f"<td><code>{breakable(part_text(row, 120))}</code></td>"
        f"<td>{row.cause.replace('_', ' ')}</td></tr>\n"
        for row in change.rows[:most]
    )
    rest = change.rows[most:]
    if rest:
        rows += (
            f'<tr><td class="n">{sum(row.delta for row in rest):+,}</td>'
            f'<td colspan="3">{len(rest):,} smaller</td></tr>\n'
        )
    since = escaped(change.since.name)
    folded = f"<details><summary>since {since}</summary>{TABLE}\n{rows}{TABLE_END}</details>"
    return f'<tr class="more"><td colspan="7">{folded}</td></tr>\n'
