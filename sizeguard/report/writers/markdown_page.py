"""Write a result's Markdown as one HTML file that needs nothing else and runs nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt

from sizeguard.report.writers.plot import (
    HEAD,
    STYLE,
    TABLE,
    TABLE_END,
    as_text,
    escaped,
    legend,
    with_breaks,
    words_in,
)

_STYLE = """
h1 { margin-bottom: .6em; } h2, h3 { margin: 1.4em 0 .4em; }
h2 { font-size: 1.17em; } h3 { font-size: 1em; }
pre { overflow-x: auto; padding: .8em; border: 1px solid var(--grid); border-radius: 6px; }
table { width: auto; min-width: 50%; } td, th { overflow-wrap: normal; }
details { margin: .8em 0; } summary { cursor: pointer; } li, p { overflow-wrap: anywhere; }
a { color: var(--line); } h1 { overflow-wrap: anywhere; }
.mark { font-weight: normal; text-decoration: none; }
td > code { overflow-wrap: anywhere; }
@media (max-width: 600px) { td, th { padding: .25em .3em; } }
"""

_LONGEST = 80  # characters of a heading's name in an address
_HEADING = re.compile(r"<(h[2-4])>(.*?)</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>|&\w+;|&#\d+;")
_NAME = re.compile(r"(?<!<pre>)<code>[^<]+")


def markdown_page(title: str, text: str, words: Sequence[str]) -> Iterator[str]:
    """Write the page in pieces. The Markdown must have escaped names.

    words: explained below it if it has them
    """
    # HTML is allowed for <details> and <br> in results; the page's policy allows no script.
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    body = reader.render(text)
    for level in (3, 4, 5):  # the page's title is the first heading, and a comment's the third
        for tag in ("<h", "</h"):
            body = body.replace(f"{tag}{level}>", f"{tag}{level - 1}>")
    yield f"{HEAD}<title>{escaped(title)}</title>\n<style>{STYLE}{_STYLE}</style>\n</head>\n"
    yield f"<body>\n<main>\n<h1>{escaped(title)}</h1>\n"
    body = _linked(body)
    body = _NAME.sub(lambda found: with_breaks(found[0]), body)
    yield body.replace("<table>", TABLE).replace("</table>", TABLE_END)
    yield legend(words_in(text, words))
    yield as_text(text)
    yield "</main>\n</body>\n</html>\n"


def _linked(body: str) -> str:
    """Give each heading a name that an address can end with, and a link to it."""
    count: Counter[str] = Counter()

    def linked(found: re.Match[str]) -> str:
        level, inner = found.groups()
        words = re.findall(r"[a-z0-9]+", _TAG.sub(" ", inner).lower())
        name = "-".join(words)[:_LONGEST] or "part"
        count[name] += 1
        anchor = name if count[name] == 1 else f"{name}-{count[name]}"
        mark = f'<a class="mark" href="#{anchor}" aria-label="link to this part">#</a>'
        return f'<{level} id="{anchor}">{inner} {mark}</{level}>'

    return _HEADING.sub(linked, body)
