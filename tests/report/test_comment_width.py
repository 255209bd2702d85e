"""The comment on narrow screens: tables of sizes fit without horizontal scrolling."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.builds.sizes import Sizes
from sizeguard.gate.gate_result import GateResult
from tests.support.pages.browser import Browser
from tests.support.results.comment_page import comment_page
from tests.support.results.gate_samples import SAMPLES, failing

pytestmark = pytest.mark.native


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
    page = tmp_path / "comment.html"
    page.write_text(comment_page(result), encoding="utf-8")
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
