"""Test the comment in headless Chromium, as wide as on GitHub.

Nothing overflows, details are folded, and hostile strings have no effect.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from sizeguard.gate.gate_result import GateResult
from sizeguard.report.gate.render import gate_text
from tests.support.pages.browser import Browser
from tests.support.results.gate_samples import SAMPLES, everything
from tests.support.results.hostile_results import HOSTILE, poisoned, small

pytestmark = pytest.mark.native

# The rules of GitHub's style sheet that affect sizes.
STYLE = """body{font:14px/1.5 sans-serif;width:860px;margin:16px}
table{display:block;width:max-content;max-width:100%;overflow:auto;border-collapse:collapse}
th,td{border:1px solid;padding:6px 13px}
code{padding:.2em .4em;font:85% monospace;white-space:break-spaces}
pre{padding:16px;overflow:auto} pre code{white-space:pre}"""


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Callable[[GateResult], None]:
    def opened(result: GateResult) -> None:
        html = cmarkgfm.github_flavored_markdown_to_html(
            gate_text(result, "markdown"), Options.CMARK_OPT_UNSAFE
        )
        page = tmp_path / "comment.html"
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style><body'
            f' data-ready="yes">{html}',
            encoding="utf-8",
        )
        browser.open(page, 900, 1200)

    return opened


OVERFLOWS = (
    "[...document.querySelectorAll('table, ul, h3, h4')].filter((e) => e.scrollWidth >"
    " e.clientWidth + 1).map((e) => e.innerText)"
)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_comment_fits_its_page(
    browser: Browser, show: Callable[[GateResult], None], sample: str
) -> None:
    show(SAMPLES[sample]())
    assert browser.run("document.documentElement.scrollWidth") <= 900
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert browser.run(OVERFLOWS) == []
    assert browser.problems() == []


def test_details_are_folded_and_the_rest_is_not(
    browser: Browser, show: Callable[[GateResult], None]
) -> None:
    show(everything())
    assert browser.run("document.querySelectorAll('details').length") == 6
    assert browser.run("document.querySelectorAll('details[open]').length") == 0
    seen: str = browser.run("document.body.innerText")
    order = [
        seen.index(text)
        for text in ("Size gate: fail", "41,204", "conv_body<float>", "Do one of", "Waivers")
    ]
    assert order == sorted(order)
    assert "page slack" not in seen


def test_hostile_texts_do_nothing(browser: Browser, show: Callable[[GateResult], None]) -> None:
    texts = [
        *HOSTILE,
        "<img src=x onerror='document.body.dataset.owned = 1'>",
        "</code><script>document.body.dataset.owned = 1</script>",
    ]
    pool = iter(texts * 100)
    show(poisoned(small(), lambda: next(pool)))
    assert browser.run("document.body.dataset.owned") is None
    assert (
        browser.run("document.images.length + document.scripts.length + document.links.length") == 0
    )
    assert browser.problems() == []
