"""The comment of a gate as a page that looks like a pull request."""

from __future__ import annotations

import cmarkgfm
from cmarkgfm.cmark import Options

from sizeguard.gate.gate_result import GateResult
from sizeguard.report.gate.render import gate_text

# The page has GitHub's widths and paddings; `main` is the body of a comment. DejaVu Sans has digits
# of the same width at 12.3 px as GitHub's fonts at 14 px. Scroll bars of phones take no room.
_PAGE = """<!doctype html><meta charset="utf-8"><style>
::-webkit-scrollbar { display: none; }
body { margin: 0; font: 12.3px/1.5 DejaVu Sans, Verdana, sans-serif; }
main { padding: 16px; margin: 16px; border: 1px solid; overflow-wrap: break-word; }
table { display: block; width: max-content; max-width: 100%; overflow: auto; border-spacing: 0;
        border-collapse: collapse; }
td, th { padding: 6px 13px; border: 1px solid; }
code { font: 85% monospace; padding: .2em .4em; white-space: break-spaces; }
pre { overflow: auto; padding: 16px; }
pre code { white-space: pre; padding: 0; }
</style><main>"""


def comment_page(result: GateResult) -> str:
    """Render the Markdown in the way of GitHub."""
    text = gate_text(result, "markdown")
    html = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    return f"{_PAGE}{html}</main>"
