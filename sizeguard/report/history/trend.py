"""Write a history as a badge or as a trend: small files that a README shows.

The badge is the JSON of a shields.io endpoint. The trend is an SVG without scripts or fonts, with a
line for each app and target.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sizeguard.base.errors import InputError
from sizeguard.history.history_result import HistoryLine, SizeHistory
from sizeguard.report.writers.plot import escaped
from sizeguard.report.writers.printable import middle
from sizeguard.report.writers.style import change_text

_GREW, _NOT_GREW, _UNKNOWN = "orange", "blue", "lightgrey"
# Pixels: the width, the height of a row, the width of its curve, and the start of its text
_WIDTH, _ROW, _PLOT, _TEXT = 480, 40, 160, 172
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1b1f24}path{fill:none;stroke:#2f5d9e;stroke-width:2}"
    "circle{fill:#2f5d9e}@media(prefers-color-scheme:dark){text{fill:#e6edf3}"
    "path{stroke:#7fb0ff}circle{fill:#7fb0ff}}"
)


def badge_json(history: SizeHistory) -> str:
    """Write the newest known load of the only line, with its last change.

    Raises InputError for several lines: a badge has room for one.
    """
    if len(history.lines) != 1:
        raise InputError("a badge shows one app for one target; choose with --app and --target")
    (line,) = history.lines
    loads = _loads(line)
    message = _message(loads)
    color = _UNKNOWN if not loads else _GREW if loads[-1] > loads[-2:][0] else _NOT_GREW
    label = middle(f"{line.app} {line.target}", 60)
    content = {"schemaVersion": 1, "label": label, "message": message, "color": color}
    return json.dumps(content)


def trend_svg(history: SizeHistory) -> Iterator[str]:
    """Write the loads of all lines as an image."""
    height = _ROW * max(len(history.lines), 1)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"'
        f' viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Sizes over {history.kind}">\n'
        f"<title>Sizes over {history.kind}</title>\n<style>{_STYLE}</style>\n"
    )
    for number, line in enumerate(history.lines):
        loads = _loads(line)
        top = _ROW * number
        if loads:
            yield f"{_curve(loads, top)}\n"
        name = escaped(middle(f"{line.app} {line.target}", 44))
        yield f'<text x="{_TEXT}" y="{top + 16}">{name}</text>\n'
        yield f'<text x="{_TEXT}" y="{top + 32}">{escaped(_message(loads))}</text>\n'
    yield "</svg>\n"


def _loads(line: HistoryLine) -> list[int]:
    return [point.sizes.load for point in line.known if point.sizes is not None]


def _message(loads: Sequence[int]) -> str:
    if not loads:
        return "not known"
    change = f" {change_text(loads[-2], loads[-1])}" if len(loads) > 1 else ""
    return f"{loads[-1]:,} bytes{change}"


def _curve(loads: Sequence[int], top: int) -> str:
    """Draw the loads over the whole height of a row; equal ones in the middle."""
    least, most = min(loads), max(loads)
    high = _ROW - 12
    points = []
    for at, load in enumerate(loads):
        x = 6 + (_PLOT - 12) * at / max(len(loads) - 1, 1)
        part = (load - least) / (most - least) if most > least else 0.5
        points.append((round(x, 1), round(top + 6 + high * (1 - part), 1)))
    path = " L".join(f"{x} {y}" for x, y in points)
    x, y = points[-1]
    return f'<path d="M{path}"/><circle cx="{x}" cy="{y}" r="3"/>'
