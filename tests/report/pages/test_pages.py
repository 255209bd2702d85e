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
from sizeguard.bisect.bisect_result import BisectResult
from sizeguard.diff.compare import diff
from sizeguard.diff.diff_result import DiffRow
from sizeguard.history.history_result import HistoryLine, SizeHistory
from sizeguard.linkgraph.why_result import Chain, Why, WhyStep
from sizeguard.predict.prediction import DtypeCost, OperatorCost, PredictedSaving, Prediction
from sizeguard.report.bisect.render import bisect_chunks
from sizeguard.report.diff.render import diff_chunks
from sizeguard.report.gate.comment_blocks import MARKER
from sizeguard.report.gate.render import gate_text
from sizeguard.report.history.render import history_chunks
from sizeguard.report.predict.render import prediction_chunks
from sizeguard.report.screen.glossary import WORDS
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
    parts.append(Part({"operator": "(shared by operators)", "symbol": "f"}, 9 + more, 9))
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


def documents(format_: str) -> dict[str, Callable[[], Iterable[str]]]:
    """Return what writes each result without a treemap."""
    return {
        "gate": lambda: [gate_text(everything(), format_)],
        "why": lambda: why_chunks(why(), format_, Style()),
        "predict": lambda: prediction_chunks(prediction(), format_, 0, Style()),
        "bisect": lambda: bisect_chunks(several_culprits(), format_, 0),
        "history": lambda: history_chunks(made_up_history(), format_, 0),
    }


PAGES: dict[str, Callable[[], Iterable[str]]] = {
    "report": lambda: report_chunks(group(image(), ("operator", "symbol"), ()), "html", 0),
    "diff": lambda: diff_chunks(diff(image(), image(7), ("operator", "symbol")), "html", 0),
    **documents("html"),
}

MEASURES = "quantized_decomposed::dequantize_per_channel.group_"
FOLDERS = "/home/builder/checkouts/application/build/vision/CMakeFiles/vision_kernels.dir/"


def long_history() -> SizeHistory:
    """A history of several apps with nine parts; all names are long and begin alike."""

    def renamed(line: HistoryLine, number: int) -> HistoryLine:
        parts = {f"{MEASURES}{i}_of_the_input": 900 + i for i in range(9)}
        rows = tuple(DiffRow((name, LONG), 0, size, "added") for name, size in parts.items())
        points = (
            replace(
                each,
                parts=parts,
                change=each.change and replace(each.change, rows=rows),
                release=replace(
                    each.release, commit=replace(each.release.commit, subject="Use " + "tile_" * 20)
                ),
            )
            for each in line.points
        )
        named = f"application_of_the_team_that_measures_{line.app}{number}"
        return replace(line, app=named, target=f"{line.target}-release", points=tuple(points))

    history = made_up_history()
    lines = [renamed(line, i) for i in range(3) for line in history.lines]
    return replace(history, lines=tuple(lines))


def long_bisect() -> BisectResult:
    result = several_culprits()
    rows = tuple(DiffRow((f"{MEASURES}{i}", "Float", LONG), 0, 90 + i, "added") for i in range(3))
    return replace(result, culprits=tuple(replace(each, rows=rows) for each in result.culprits))


def long_why() -> Why:
    steps = [
        WhyStep(i, f".text.{MEASURES}{i}", LONG, f"{FOLDERS}libkernels_{i}.a(unary.cpp.o)", "", 1)
        for i in range(3)
    ]
    return Why(LONG, True, 1, 1, 1, (Chain("entry", tuple(steps)),))


def long_image(more: int = 0) -> MadeUp:
    names = ((f"{MEASURES}{i}", f"{LONG}_{i}") for i in range(9))
    return MadeUp([Part({"operator": a, "symbol": b}, 90 + more, 99) for a, b in names])


BY = ("operator", "symbol")
LONG_PAGES: dict[str, Callable[[], Iterable[str]]] = {
    "report of long names": lambda: report_chunks(group(long_image(), BY, ()), "html", 0),
    "diff of long names": lambda: diff_chunks(diff(long_image(), long_image(7), BY), "html", 0),
    "why of long names": lambda: why_chunks(long_why(), "html", Style()),
    "bisect of long names": lambda: bisect_chunks(long_bisect(), "html", 0),
    "history of long names": lambda: history_chunks(long_history(), "html", 0),
}

# Boxes that scroll and are narrower than 200 px, or much narrower than their content although it
# is text that can wrap. The rows of a report scroll: they have more columns than a phone.
POOR_BOXES = """[...document.querySelectorAll('.scroll, #table, pre')].filter((box) =>
  box.clientWidth && (box.clientWidth < 200
    || box.className == 'scroll' && box.scrollWidth > box.clientWidth * 1.25)
).map((box) => [box.clientWidth, box.scrollWidth, box.textContent.slice(0, 60)]).slice(0, 5)"""
UNFOLD = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"

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
@pytest.mark.parametrize("name", [*PAGES, *LONG_PAGES])
def test_a_page_fits_and_can_be_read(
    name: str, scheme: str, browser: Browser, tmp_path: Path
) -> None:
    page = tmp_path / f"{name}.html"
    page.write_text("".join({**PAGES, **LONG_PAGES}[name]()), encoding="utf-8")
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    waits = "document.body.dataset.ready || !document.querySelector('script')"
    here = f"location.href == {json.dumps(page.as_uri())} && document.readyState == 'complete'"
    for width in (480, 780, 1280):
        browser.open(page, width, 900, ready=f"{here} && ({waits})")
        for state in ("folded", "unfolded"):
            assert browser.run(WIDER) == [], (width, state)
            assert browser.run(POOR_BOXES) == [], (width, state)
            assert browser.run("document.documentElement.scrollWidth") <= width
            browser.run(UNFOLD)
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


def test_objects_are_named_without_the_folders_that_all_have() -> None:
    page = "".join(LONG_PAGES["why of long names"]()).replace("<wbr>", "")
    assert "<code>libkernels_0.a(unary.cpp.o)</code>" in page
    assert FOLDERS not in page


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("report", {"load", "ram", "file", "n", "core"}),
        ("diff", {"load", "n", "shared by operators"}),
        ("gate", {"load", "ram", "core"}),
        ("why", {"–"}),
        ("predict", {"load", "ram", "exclusive", "shared", "saving"}),
        ("bisect", {"load"}),
        ("history", {"load", "ram", "file", "core"}),
    ],
)
def test_words_of_a_page_are_explained_without_scripts(
    name: str, words: set[str], browser: Browser, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("".join(PAGES[name]()), encoding="utf-8")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page, 480, 900, ready="document.readyState === 'complete'")
        browser.run(UNFOLD)
        entries = browser.wait("[...document.querySelectorAll('.legend div')].map((entry) =>"
            " entry.getBoundingClientRect().height && [...entry.children].map("
            " (part) => part.innerText))")  # fmt: skip
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    *found, (more, command) = entries
    assert words <= {word for word, _ in found}
    assert all(WORDS[word].short == meaning for word, meaning in found)
    assert (more, command) == ("more", f"sizeguard explain {found[0][0]}")


MARKDOWN = documents("markdown")
LOADED = "location.pathname.endsWith('/{}.html') && document.readyState === 'complete'"


@pytest.mark.parametrize("name", MARKDOWN)
def test_a_page_without_scripts_has_its_text_and_links_to_its_parts(
    name: str, browser: Browser, tmp_path: Path
) -> None:
    page = tmp_path / f"{name}.html"
    page.write_text("".join(PAGES[name]()), encoding="utf-8")
    browser.open(page, 480, 900, ready=LOADED.format(name))
    browser.run(UNFOLD)
    text = "".join(MARKDOWN[name]()).replace(f"{MARKER}\n", "")
    # A click on it selects all of it.
    browser.click(
        *browser.wait(
            "(() => { const pre = document.querySelector('.text pre'); pre.scrollIntoView();"
            " const box = pre.getBoundingClientRect(); return [box.x + 9, box.y + 9]; })()"
        )
    )
    chosen = browser.wait("getSelection().toString()")
    assert chosen.split() == text.split()
    places, names = browser.wait(
        "[[...document.querySelectorAll('a[href^=\"#\"]')]"
        ".map((link) => link.getAttribute('href').slice(1)),"
        " [...document.querySelectorAll('[id]')].map((part) => part.id)]"
    )
    assert len(set(names)) == len(names)
    assert set(places) <= set(names)
    assert places or name not in ("gate", "bisect")
