"""Every HTML page in headless Chromium: narrow and wide, light and dark, checked by axe.

axe reports contrast below WCAG AA, elements without a name, tables without headers and so on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from sizeguard.attribution.group import group
from sizeguard.diff.compare import diff
from sizeguard.history.history_result import HistoryLine
from sizeguard.linkgraph.why_result import Chain, Why, WhyStep
from sizeguard.predict.prediction import DtypeCost, OperatorCost, PredictedSaving, Prediction
from sizeguard.report.bisect.bisect_page import bisect_html
from sizeguard.report.diff.render import diff_chunks
from sizeguard.report.gate.render import gate_text
from sizeguard.report.history.history_page import history_html
from sizeguard.report.predict.render import prediction_chunks
from sizeguard.report.sizes.render import report_chunks
from sizeguard.report.why.render import why_chunks
from sizeguard.report.writers.style import Style
from tests.support.histories.bisect_samples import several_culprits
from tests.support.histories.made_up_history import made_up_history
from tests.support.images.made_up import MadeUp, Part
from tests.support.pages.browser import Browser
from tests.support.results.gate_samples import everything
from tests.support.results.hostile_results import HOSTILE

pytestmark = pytest.mark.native

LONG = "at::native::" + "conv_body<float, std::vector<std::pair<int, long>>>" * 3 + "(int)"
AXE = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")


def image(more: int = 0) -> MadeUp:
    names = [*HOSTILE, LONG, "add", "mul"]
    parts = [Part({"operator": f"aten::op{i}", "symbol": name}, 90 + i + more, 99 + i + more)
             for i, name in enumerate(names)]  # fmt: skip
    return MadeUp([*parts, Part({"operator": "(core)", "symbol": "main"}, 900, 950, 8)])


def why() -> Why:
    steps = [WhyStep(i, f".text.f{i}", name, "libkernels.a(conv.o)", "calls it", 90 * i)
             for i, name in enumerate(["main", *HOSTILE, LONG])]  # fmt: skip
    return Why(LONG, True, 120, 775, 3, (Chain("entry", tuple(steps)),), ("a.o",), ("_Z1fv",))


def prediction() -> Prediction:
    saving = PredictedSaving(1200, 1100, 1300)
    operators = [OperatorCost(name, 1200, 3400, saving) for name in ("aten::add", *HOSTILE, LONG)]
    dtypes = [DtypeCost("add", "Float", saving), DtypeCost("mul", "Double", None)]
    return Prediction(
        selection="selected_operators.yaml", before=0, load=46000, ram=1200, margin=300, changes=(),
        per_operator=tuple(operators), per_model=(), per_dtype=tuple(dtypes),
    )  # fmt: skip


PAGES: dict[str, Callable[[], Iterable[str]]] = {
    "report": lambda: report_chunks(group(image(), ("operator", "symbol"), ()), "html", 0),
    "diff": lambda: diff_chunks(diff(image(), image(7), ("operator", "symbol")), "html", 0),
    "gate": lambda: [gate_text(everything(), "html")],
    "why": lambda: why_chunks(why(), "html", Style()),
    "predict": lambda: prediction_chunks(prediction(), "html", 0, Style()),
    "bisect": lambda: bisect_html(several_culprits(), 0),
    "history": lambda: history_html(made_up_history(), 0),
}

# Elements that extend beyond the screen and are not in a scrolling box.
WIDER = """[...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (!box.width || box.right <= document.documentElement.clientWidth + 1) return false;
  for (let p = e; p; p = p.parentElement) {
    if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(p).overflowX)) return false;
  }
  return true;
}).map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 60)).slice(0, 5)"""

VIOLATIONS = """axe.run(document, {resultTypes: ['violations']}).then(found =>
  found.violations.map(v => v.id + ': '
    + v.nodes.map(n => n.html.slice(0, 90)).slice(0, 3).join(' | ')))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_and_can_be_read(
    name: str, scheme: str, browser: Browser, tmp_path: Path
) -> None:
    page = tmp_path / f"{name}.html"
    page.write_text("".join(PAGES[name]()), encoding="utf-8")
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    waits = "document.body.dataset.ready || !document.querySelector('script')"
    here = f"location.href == {json.dumps(page.as_uri())} && document.readyState == 'complete'"
    for width in (480, 780, 1280):
        browser.open(page, width, 900, ready=f"{here} && ({waits})")
        assert browser.run(WIDER) == [], width
        assert browser.run("document.documentElement.scrollWidth") <= width
    browser.run(f"{AXE}\n;0")
    assert browser.run(VIOLATIONS) == []
    assert browser.run("document.body.dataset.owned") is None


@pytest.mark.parametrize("name", ["report", "diff"])
def test_rows_scroll_with_their_heading(name: str, browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("".join(PAGES[name]()), encoding="utf-8")
    browser.open(page, 480, 900)
    # The numbers come first, so that they can be seen beside the names.
    first = "document.querySelector('.row .cell').getBoundingClientRect()"
    assert browser.run(f"{first}.left >= 0 && {first}.right < 200")
    browser.run("document.getElementById('rows').scrollLeft = 999")
    browser.run("document.getElementById('table').scrollLeft = 50")
    lefts = """['#head', '.row'].map((part) => [...document.querySelector(part).children]
        .map((cell) => Math.round(cell.getBoundingClientRect().left)))"""
    head, row = browser.run(lefts)
    assert head == row


def test_pages_without_bytes_say_so(browser: Browser, tmp_path: Path) -> None:
    drawn = "CanvasRenderingContext2D.prototype.fillText = function (text) { window.said = text; }"
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=drawn)
    same = diff(image(), image(), ("operator", "symbol"))
    none = group(MadeUp([Part({"symbol": "a"}, 0, 9)]), ("symbol",))
    page = tmp_path / "page.html"
    for text, says, rows in (
        (diff_chunks(same, "html", 0), "nothing changed", "0 rows"),
        (report_chunks(none, "html", 0), "no row has bytes of load", "1 row"),
    ):
        page.write_text("".join(text), encoding="utf-8")
        browser.open(page)
        assert browser.run("window.said") == says
        assert browser.run("document.getElementById('totals').textContent").endswith(f" {rows}")


@pytest.mark.parametrize("name", ["why", "predict"])
def test_no_column_is_off_a_phone(name: str, browser: Browser, tmp_path: Path) -> None:
    long = "a_namespace::" + "_".join(["word"] * 9)
    step = WhyStep(0, f".text.{long}", long, f"build/{long}.cpp.o", "used by the function", 1)
    pages = {
        "why": lambda: why_chunks(Why(long, True, 1, 1, 1, (Chain("", (step,)),)), "html", Style()),
        "predict": lambda: prediction_chunks(prediction(), "html", 0, Style()),
    }
    path = tmp_path / "page.html"
    path.write_text("".join(pages[name]()), encoding="utf-8")
    browser.open(path, 480, 900, ready="document.readyState === 'complete'")
    widths = browser.run(
        "[...document.querySelectorAll('.scroll')].map((box) => [box.scrollWidth, box.clientWidth])"
    )
    assert widths and all(content <= box for content, box in widths), widths


@pytest.mark.parametrize(("name", "largest"), [("report", "(core)"), ("diff", "aten::op1")])
def test_a_treemap_can_be_read_without_scripts(
    name: str, largest: str, browser: Browser, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("".join(PAGES[name]()), encoding="utf-8")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page, 480, 900, ready="document.readyState === 'complete'")
        rows = browser.wait("[...document.querySelectorAll('tr')].map((row) => row.innerText)")
        assert browser.run(WIDER) == []
        assert browser.run("document.documentElement.scrollWidth") <= 480
        assert browser.run("document.querySelector('#map').getBoundingClientRect().height") == 0
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert any(largest in row for row in rows)
    assert ("whole image" in browser.run("document.body.innerText")) == (name == "diff")
    assert rows[-1].endswith("= sum of rows")
    columns = [row.split("\t")[0].replace(",", "") for row in rows[1:]]
    *parts, total = [int(column) for column in columns]
    assert sum(parts) == total


def test_a_history_of_long_names_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    history = made_up_history()
    long = "quantized_decomposed::dequantize_per_channel.group_"

    def renamed(line: HistoryLine) -> HistoryLine:
        points = (
            replace(each, parts={f"{long}{name}": size for name, size in each.parts.items()})
            for each in line.points
        )
        named = f"application_of_the_team_that_measures_{line.app}"
        return replace(line, app=named, target=f"{line.target}-release", points=tuple(points))

    path = tmp_path / "page.html"
    lines = tuple(map(renamed, history.lines))
    path.write_text("".join(history_html(replace(history, lines=lines), 0)), encoding="utf-8")
    browser.open(path, 480, 900, ready="document.readyState === 'complete'")
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.run(WIDER) == []
    assert browser.run("document.documentElement.scrollWidth") <= 480
    boxes = "[...document.querySelectorAll('.scroll')].map((box) => box.clientWidth)"
    assert min(browser.run(boxes)) >= 400
