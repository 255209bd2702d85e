"""The comment on narrow screens: tables of sizes fit without horizontal scrolling."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from sizeguard.builds.sizes import Sizes
from sizeguard.gate.gate_result import GateResult
from sizeguard.report.gate.render import gate_text
from tests.support.browser import Browser
from tests.support.gate_samples import SAMPLES, failing

pytestmark = pytest.mark.native

# The page has GitHub's widths and paddings; `main` is the body of a comment. DejaVu Sans has digits
# of the same width at 12.3 px as GitHub's fonts at 14 px. Scroll bars of phones take no room.
PAGE = """<!doctype html><meta charset="utf-8"><style>
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def large() -> GateResult:
    """Return a result with sizes of seven digits, and a target with a long name."""
    (app,) = failing().apps
    new, old = Sizes(1_204_816, 131_200, 1_298_432, 860), Sizes(1_184_208, 131_200, 1_282_048, 860)
    checks = tuple(
        replace(each, actual=1_204_816, limit=1_196_050, headroom=-8_766)
        if each.metric == "load" else each
        for each in app.checks
    )  # fmt: skip
    grown = replace(app, target="aarch64-linux-android", sizes=new, old_sizes=old, checks=checks)
    return replace(failing(), apps=(grown,))


@pytest.mark.parametrize("width", [480, 500, 780])
@pytest.mark.parametrize("sample", [*SAMPLES, "large"])
def test_tables_of_sizes_fit(browser: Browser, tmp_path: Path, sample: str, width: int) -> None:
    result = large() if sample == "large" else SAMPLES[sample]()
    text = gate_text(result, "markdown")
    html = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    page = tmp_path / "comment.html"
    page.write_text(f"{PAGE}{html}</main>")
    browser.open(page, width=width, ready="document.querySelector('main') !== null")
    assert browser.run("document.documentElement.scrollWidth") <= width
    found = browser.run(
        "JSON.stringify([...document.querySelectorAll('table')]"
        ".filter(t => !t.closest('details'))"
        ".map(t => [t.querySelector('tr').innerText, t.scrollWidth, t.clientWidth]))"
    )
    wide = [(name, has, room) for name, has, room in json.loads(found) if has > room]
    sizes = [each for each in wide if "limit" in each[0] or "cause" in each[0]]
    assert not sizes
    if sample != "everything":
        assert not wide
