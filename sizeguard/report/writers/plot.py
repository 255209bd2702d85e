"""Parts of pages that plot sizes over commits: head, style and scale.

Such a page needs nothing else and runs nothing: it has no script, and its policy allows none.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.report.screen.glossary import WORDS
from sizeguard.report.writers.printable import printable

WIDTH, HEIGHT = 1000, 360
LEFT, RIGHT, TOP, BOTTOM = 90, 20, 20, 50

# A backslash joins a line with the next one.
STYLE = """
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
.day, code[title] { white-space: nowrap; }
svg { width: 100%; height: auto; display: block; margin: 1em 0; } \
svg text { fill: var(--dim); font-size: 12px; }
@media (max-width: 900px) { svg text { font-size: 15px; } }
@media (max-width: 560px) { svg text { font-size: 20px; } svg { overflow: visible; } }
table { border-collapse: collapse; width: 100%; } \
td, th { text-align: left; padding: .25em .6em; border-bottom: 1px solid var(--grid);
  vertical-align: top; overflow-wrap: anywhere; } \
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.legend { color: var(--dim); font-size: .92em; margin: 1.5em 0; display: flex; \
flex-wrap: wrap; gap: .2em 1.5em; }
.legend > * { display: flex; gap: .4em; } .legend dt { font-weight: 600; } .legend dd { margin: 0; }
.scroll { overflow-x: auto; } .grew { color: var(--grew); fill: var(--grew); } \
.shrank { color: var(--shrank); fill: var(--shrank); } code { font-size: .92em; }
.text { margin: 1em 0; } .text pre { user-select: all; white-space: pre-wrap; \
overflow-wrap: anywhere; font-size: .85em; }
.line { fill: none; stroke: var(--line); stroke-width: 2; } .grid { stroke: var(--grid); } \
.built { fill: var(--line); }
.guess { fill: var(--paper); stroke: var(--line); } \
.failed { stroke: var(--dim); stroke-width: 1.5; } .mark { stroke: var(--paper); }
"""

# Of tables of commits: on a narrow screen a subject is not cut into single letters.
COMMITS_STYLE = """.more > td { padding-top: 0; }
td:not(.n, :empty, [colspan]) { min-width: 9ch; }
@media (max-width: 560px) { td, th { padding: .25em .25em; font-size: .92em; }
  td:not(.n, :empty, [colspan]) { min-width: 7ch; } }
"""

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" \
content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""

_LEAST_ROWS = 20
_SEPARATORS = re.compile(r"(?:::|[/_,.])(?=\w)")
_MOST_LINES = 6  # of the grid

# A table in a box that scrolls on narrow screens, also by keyboard.
TABLE = '<div class="scroll" tabindex="0"><table>'
TABLE_END = "</table></div>"


def escaped(text: str) -> str:
    """Escape a text for HTML."""
    return html.escape(printable(text))


def breakable(text: str) -> str:
    """Escape a name for HTML; a line can end after its separators."""
    return with_breaks(escaped(text))


def with_breaks(escaped_text: str) -> str:
    """Let lines end after the separators of an escaped name: scopes, folders, words."""
    return _SEPARATORS.sub(r"\g<0><wbr>", escaped_text)


def legend(words: Iterable[str]) -> str:
    """Explain words of a page as the terminal and `sizeguard explain` do."""
    known = list(words)
    entries = "".join(
        f"<div><dt>{word}</dt><dd>{escaped(WORDS[word].short)}</dd></div>\n" for word in known
    )
    more = f"<div><dt>more</dt><dd><code>sizeguard explain {' '.join(known[:1])}</code></dd></div>"
    return f'<dl class="legend">\n{entries}{more}\n</dl>\n' if known else ""


def as_text(text: str) -> str:
    """Write the page's text, folded; one click selects all of it, so that it can be copied.

    A button that copies would need a script, which such a page does not have.
    """
    lines = text.replace("\xa0", " ").splitlines()
    said = "".join(f"{printable(line)}\n" for line in lines if not line.startswith("<!--"))
    return (
        '<details class="text"><summary>as text, to copy</summary>\n'
        f"<pre>{html.escape(said)}</pre></details>\n"
    )


def words_in(text: str, words: Iterable[str]) -> list[str]:
    """Return those words that a text has."""
    return [word for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)]


def direction(delta: int) -> str:
    """Return the class of a change."""
    return "grew" if delta > 0 else "shrank"


def rows_on_page(limit: int) -> int:
    """Return how many rows of a change a page has, at least 20; 0 for all."""
    return max(limit, _LEAST_ROWS) if limit else 0


@dataclass(frozen=True, slots=True)
class Scale:
    """Coordinates of the drawing, by commit and size.

    commits:   number of points
    low, high: bytes at the lower and the upper edge
    """

    commits: int
    low: int
    high: int

    def x(self, commit: int) -> float:
        """Return the horizontal position of a commit."""
        return round(LEFT + (WIDTH - LEFT - RIGHT) * commit / max(self.commits - 1, 1), 1)

    def y(self, size: int) -> float:
        """Return the vertical position of a size."""
        return round(
            HEIGHT
            - BOTTOM
            - (HEIGHT - TOP - BOTTOM) * (size - self.low) / max(self.high - self.low, 1),
            1,
        )

    @classmethod
    def around(cls, sizes: Sequence[int], commits: int) -> Scale:
        """Return a scale from below the smallest size to above the largest."""
        margin = max((max(sizes) - min(sizes)) // 10, 8)
        return cls(commits, max(min(sizes) - margin, 0), max(sizes) + margin)

    def label(self, commit: int, anchor: str, text: str) -> str:
        """Write a text below a commit. anchor: start or end, the side of the text at the commit."""
        place = f'x="{self.x(commit)}" y="{HEIGHT - 12}" text-anchor="{anchor}"'
        return f"<text {place}>{escaped(text)}</text>\n"

    def round_sizes(self) -> range:
        """Return two to six sizes in the drawing: multiples of 1, 2 or 5 times a power of ten."""
        steps = (factor * 10**power for power in itertools.count() for factor in (1, 2, 5))
        step = next(step for step in steps if (self.high - self.low) // step < _MOST_LINES)
        return range(-(-self.low // step) * step, self.high + 1, step)

    def grid(self) -> Iterator[str]:
        """Draw grid lines at round sizes."""
        for size in self.round_sizes():
            y = self.y(size)
            yield f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>'
            yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{size:,}</text>\n'
