"""Test the HTML pages in headless Chromium.

They open, zoom, search, go back, sum to the file, escape names, and can have 500,000 rows.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest

from sizeguard.attribution.analysis import Aliases, Analysis
from sizeguard.attribution.group import group
from sizeguard.columns.label import Label
from sizeguard.columns.sums import WHAT, ColumnSums
from sizeguard.columns.texts import Int, Texts
from sizeguard.diff.compare import diff
from sizeguard.ledger.ledger import ImageInfo
from sizeguard.report.diff.render import diff_chunks
from sizeguard.report.sizes.render import report_chunks
from tests.support.images.made_up import MadeUp, Part
from tests.support.pages.browser import Browser

pytestmark = pytest.mark.native

HOSTILE = [
    "</script><script>document.body.dataset.owned = 1</script>",
    "<img src=x onerror='document.body.dataset.owned = 1'>",
    "a\"b'c`d${document.body.dataset.owned = 1}",
    "\u202egnp.exe",
    "\u05d0\u05d1\u05d2 \u0627\u0628",
    "line\nbreak\r\u2028\x00\x1b[31m",
    "<!--", "]]>", "$title", "\\u003c", "\udcff",
]  # fmt: skip


def sample() -> MadeUp:
    parts = [
        Part({"operator": "aten::add", "symbol": f"add_{i}"}, 100 + i, 110 + i, 1)
        for i in range(20)
    ]
    parts += [
        Part({"operator": "aten::mul", "symbol": f"mul_{i}"}, 50 + i, 60 + i) for i in range(10)
    ]
    return MadeUp([*parts, Part({"operator": "(core)", "symbol": "main"}, 900, 950, 8)])


def page(folder: Path, analysis: Analysis, *by: str, where: tuple[str, ...] = ()) -> Path:
    path = folder / "page.html"
    path.write_text("".join(report_chunks(group(analysis, by, where), "html", 0)), encoding="utf-8")
    return path


def text(browser: Browser, id_: str) -> str:
    found: str = browser.run(f"document.getElementById('{id_}').textContent")
    return found


def table(browser: Browser) -> int:
    rows: str = browser.run("document.getElementById('table').getAttribute('aria-rowcount')")
    return int(rows)


def test_open_zoom_back_search(browser: Browser, tmp_path: Path) -> None:
    analysis = sample()
    path = page(tmp_path, analysis, "operator", "symbol")
    browser.open(path)
    image = analysis.image
    assert (
        text(browser, "totals")
        == f"load {image.load:,} · file {image.file:,} · ram {image.ram:,} · 31 rows"
    )
    assert browser.run("Number(document.body.dataset.sumfile)") == image.file
    assert table(browser) == 31

    # The largest operator is at the top left; its name takes the first 16 pixels.
    left, top = browser.run(
        "(() => { const r = document.getElementById('map').getBoundingClientRect(); return [r.left,"
        " r.top]; })()"
    )
    browser.click(left + 5, top + 5)
    assert text(browser, "path") == "all › aten::add"
    assert table(browser) == 20
    assert "aten::add" in text(browser, "box")
    browser.run("document.querySelector('#path button').click()")
    assert text(browser, "path") == "all"
    assert table(browser) == 31

    browser.run("document.getElementById('search').focus()")
    browser.type("MUL_")
    browser.wait("document.body.dataset.searched === 'mul_'")
    assert table(browser) == 10
    assert text(browser, "found") == "10 rows, 545 bytes"
    browser.run(
        "(() => { const m = document.getElementById('metric'); m.value = [...m.options].find((each)"
        " => each.text === 'file').value; m.dispatchEvent(new Event('change')); })()"
    )
    assert text(browser, "found") == "10 rows, 645 bytes"
    assert browser.problems() == []


def test_a_search_finds_capitals_beside_letters_that_grow(browser: Browser, tmp_path: Path) -> None:
    """Lowered, the letter İ is two: then only ASCII is lowered, and not nothing."""
    rows = [Part({"symbol": name}, 10, 10) for name in ("İ", "Upper", "other")]
    browser.open(page(tmp_path, MadeUp(rows), "symbol"))
    browser.run("document.getElementById('search').focus()")
    browser.type("upp")
    browser.wait("document.body.dataset.searched === 'upp'")
    assert table(browser) == 1


def test_the_keyboard_alone_does(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, sample(), "operator", "symbol"))
    browser.run("document.getElementById('map').focus()")
    browser.press("ArrowRight")
    assert "aten::add" in text(browser, "box")
    browser.press("Enter")
    assert text(browser, "path") == "all › aten::add"
    browser.press("ArrowDown")
    browser.press("Escape")
    assert text(browser, "path") == "all"
    browser.press("ArrowRight")
    before = text(browser, "box")
    browser.press("ArrowRight")
    assert text(browser, "box") != before
    browser.press("/")
    assert browser.run("document.activeElement.id") == "search"
    browser.run("document.getElementById('rows').focus()")
    browser.press("ArrowDown")
    assert text(browser, "box") == "(core)  ›  main"
    headings = browser.run(
        "[...document.querySelectorAll('#head [role=columnheader]')].map((c) => [c.textContent,"
        " c.getAttribute('aria-sort')])"
    )
    assert headings[:2] == [["load", "descending"], ["file", "none"]]
    browser.run("document.querySelectorAll('#head button')[5].click()")
    assert browser.run("document.querySelector('.row .cell:last-child').textContent") == "add_0"


def test_other_bytes_can_be_looked_at(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, sample(), "operator", "symbol", where=("operator=aten",)))
    image = sample().image
    assert text(browser, "totals").startswith(f"load {image.load:,} · file {image.file:,}")
    assert text(browser, "totals").endswith("30 rows and what the filter left out")
    browser.run(
        "(() => { const s = document.getElementById('metric'); s.value = '1'; s.dispatchEvent(new"
        " Event('change')); })()"
    )
    browser.run("document.getElementById('search').focus()")
    browser.type("mul_0")
    browser.wait("document.body.dataset.searched === 'mul_0'")
    assert text(browser, "found") == "1 row, 60 bytes"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_schemes(browser: Browser, tmp_path: Path, scheme: str) -> None:
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
    )
    browser.open(page(tmp_path, sample(), "operator", "symbol"))
    back = browser.run("getComputedStyle(document.body).backgroundColor")
    assert back == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    light = browser.run(
        "document.getElementById('map').getContext('2d').getImageData(10, 40, 1, 1).data[1] > 128"
    )
    assert light == (scheme == "light")
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_names_are_never_markup(browser: Browser, tmp_path: Path) -> None:
    names = [
        name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        for name in HOSTILE
    ]
    analysis = MadeUp(
        [Part({"symbol": name, "operator": name}, 10 + i, 10 + i) for i, name in enumerate(names)],
        title=HOSTILE[0],
    )
    path = page(tmp_path, analysis, "operator", "symbol")
    content = path.read_text(encoding="utf-8")
    assert content.count("</script>") == 2
    assert "<img" not in content and "&lt;img src=x onerror" in content  # in the plain table
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(path, ready="document.readyState === 'complete'")
        assert browser.run("document.querySelectorAll('tr').length") == len(HOSTILE) + 2
        assert browser.run("document.querySelectorAll('table img, table script').length") == 0
        plain = browser.run("document.querySelector('table').textContent")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert HOSTILE[0] in plain and HOSTILE[1] in plain and "\u202e" not in plain
    browser.open(path)
    assert browser.run("document.body.dataset.owned") is None
    assert browser.run("document.images.length") == 0
    assert table(browser) == len(HOSTILE)
    shown = set(
        browser.run(
            "[...document.querySelectorAll('.row .cell:last-child')].map((c) => c.textContent)"
        )
    )
    assert HOSTILE[0] in shown
    assert "\\u202egnp.exe" in shown
    assert not any("\n" in name or "\x1b" in name or "\u202e" in name for name in shown)
    assert HOSTILE[0] in text(browser, "title")
    assert browser.problems() == []


def test_a_diff(browser: Browser, tmp_path: Path) -> None:
    old = sample()
    new = MadeUp(
        [
            Part({"operator": "aten::add", "symbol": f"add_{i}"}, 130 + i, 110 + i, 1)
            for i in range(20)
        ]
    )
    path = tmp_path / "diff.html"
    path.write_text(
        "".join(diff_chunks(diff(old, new, ["operator", "symbol"]), "html", 0)), encoding="utf-8"
    )
    browser.open(path)
    assert browser.run("Number(document.body.dataset.sumchange)") == new.image.load - old.image.load
    before, after = old.image.load, new.image.load
    assert text(browser, "totals").startswith(
        f"load {before:,} → {after:,} · change {after - before:,} · 31 rows"
    )
    assert table(browser) == 31
    browser.run("document.getElementById('search').focus()")
    browser.type("removed")
    browser.wait("document.body.dataset.searched === 'removed'")
    assert table(browser) == 11
    assert browser.problems() == []


def test_an_empty_report(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, MadeUp([]), "symbol"))
    assert table(browser) == 0
    assert browser.problems() == []


class Half:
    """A generated analysis of half a million symbols with long names."""

    rules = None
    has_pieces = False

    def __init__(self, rows: int = 500_000) -> None:
        chance = np.random.default_rng(0)
        self.load = np.sort(chance.pareto(1.2, rows) * 60).astype(np.int64) + 1
        self.file, self.ram, self.count = (
            self.load + 24,
            np.zeros(rows, np.int64),
            np.ones(rows, np.int64),
        )
        middle = "_4implINS_6vectorIfLm16EEENS_12default_tileELb1EEEvRKNS_6TensorES8_NS_5SliceE"
        names = (
            f"_ZN2at6native{len(w)}{w}{middle}_{i}"
            for i, w in enumerate(f"kernel_number_{i * 7919 % rows}" for i in range(rows))
        )
        self.symbols = Label(np.arange(rows, dtype=np.int32), Texts.of(names))
        self.kinds = Label(
            (np.arange(rows) % 7).astype(np.int32),
            Texts.of(["code", "rodata", "data", "unwind", "string", "vtable", "other"]),
        )
        self.image = ImageInfo(
            "big", "big", "elf", "x86_64", "00", int(self.file.sum()), int(self.load.sum()), 0
        )

    def sums_by(self, ids: Int, count: int) -> tuple[Int, Int, Int, Int]:
        return ColumnSums({what: getattr(self, what) for what in WHAT}).by(ids, count)

    def label(self, level: str) -> Label:
        return self.symbols if level == "symbol" else self.kinds

    def aliases(self) -> Aliases | None:
        return None


def test_half_a_million_symbols(
    browser: Browser, tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    """Measured on two loaded cores.

    The page has 7 MB; writing it takes 3.1 s, opening 0.7 s, searching 0.1 s, zooming 0.04 s.
    """
    analysis = Half()
    began = time.monotonic()
    path = page(tmp_path, analysis, "kind", "symbol")
    made = time.monotonic() - began
    began = time.monotonic()
    browser.open(path)
    opened = time.monotonic() - began
    assert browser.run("Number(document.body.dataset.sumfile)") == analysis.image.file
    assert browser.run("document.querySelectorAll('.row').length") < 100
    browser.run("document.getElementById('search').focus()")
    searches = []
    for words, rows in [("number_123456", 1), ("kernel_number_77", 0)]:
        browser.run("document.getElementById('search').value = ''")
        browser.type(words)
        browser.wait(f"document.body.dataset.searched === '{words}'")
        searches.append(int(browser.run("document.body.dataset.searchMs")))
        expected = rows or sum(f"kernel_number_{i}".startswith(words) for i in range(500_000))
        assert table(browser) == expected
    browser.run("document.getElementById('search').value = ''")
    began = time.monotonic()
    left, top = browser.run(
        "(() => { const r = document.getElementById('map').getBoundingClientRect(); return [r.left,"
        " r.top]; })()"
    )
    browser.click(left + 5, top + 5)
    browser.wait("document.getElementById('path').textContent.includes('›')")
    zoomed = time.monotonic() - began
    browser.run("document.getElementById('rows').scrollTop = 1e6")
    figures = {
        "mb": path.stat().st_size / 1e6,
        "made": made,
        "opened": opened,
        "searches_ms": searches,
        "zoomed": zoomed,
    }
    record_property("figures", str(figures))
    print(figures)
    assert path.stat().st_size < 40e6
    assert opened < 15
    assert max(searches) < 3000
    assert zoomed < 5
    assert browser.problems() == []


def operators_of_two_namespaces() -> MadeUp:
    names = [f"aten::op_{i}" for i in range(4)]
    parts = [
        Part({"component": "kernels", "operator": name, "symbol": f"{name}::run_{i}"}, 900, 900, 1)
        for name in names
        for i in range(3)
    ]
    parts.append(Part({"component": "core", "operator": "", "symbol": "main"}, 500, 500, 1))
    return MadeUp(parts)


def drawn(browser: Browser) -> list[str]:
    """Draw the treemap again, and return its texts."""
    browser.run(
        "(() => { const draw = CanvasRenderingContext2D.prototype.fillText; window.texts = [];"
        " CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {"
        " window.texts.push(text); return draw.call(this, text, ...more); }; })()"
    )
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=1100, height=800, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    browser.wait("window.texts.length > 0")
    texts: list[str] = browser.run("window.texts")
    return texts


def test_labels_leave_out_what_all_neighbours_begin_with(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, operators_of_two_namespaces(), "component", "operator", "symbol"))
    texts = drawn(browser)
    shown = " ".join(texts)
    assert "aten::" not in shown
    assert any(text.startswith("kernels  ") for text in texts)
    assert any(text.startswith("op_1  ") for text in texts)
    assert "run_2" in texts
    assert any(text.endswith(" B  95.6%") for text in texts)  # 10,800 of 11,300


def alike(number: int) -> MadeUp:
    """An operator of functions whose names begin and end with the same words."""
    name = "bool sg::fb::Program::verify_the_table_of_constants_{}_and_its_offsets(sg::Context&)"
    parts = [
        Part(
            {"operator": f"quantized_decomposed::of_{i}_channel", "symbol": name.format(k)}, 97, 97
        )
        for i in range(4)
        for k in range(number)
    ]
    return MadeUp(parts)


@pytest.mark.parametrize("number", [2, 5, 12, 40])
def test_boxes_have_different_names_and_whole_numbers(
    number: int, browser: Browser, tmp_path: Path
) -> None:
    browser.open(page(tmp_path, alike(number), "symbol"))
    texts = drawn(browser)
    numbers = re.compile(r"(?:^|  )[\d,]+ B(?:  \d+\.\d%)?$")
    assert all(numbers.search(text) for text in texts if re.search(r"\d+ B|%", text))
    names = [text for text in (numbers.sub("", text) for text in texts) if "…" in text]
    assert len(set(names)) == len(names)
    assert "…" not in [name.strip("_") for name in names]


def test_names_in_the_table_are_different_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    path = page(tmp_path, alike(2), "operator", "symbol")
    browser.open(path, 480, 900)
    cells = "[...document.querySelectorAll('.row')].map((row) => [...row.children].slice(-2).map("
    shown = browser.run(f"{cells}(cell) => cell.textContent))")
    names = browser.run(f"{cells}(cell) => cell.title))")
    cut = "[...document.querySelectorAll('.cell')].filter((c) => c.scrollWidth > c.clientWidth)"
    assert browser.run(f"{cut}.length") == 0
    for column in range(2):
        pairs = {(row[column], name[column]) for row, name in zip(shown, names, strict=True)}
        assert len({text for text, _ in pairs}) == len({name for _, name in pairs}) == len(pairs)
        assert len(pairs) == (4, 2)[column]


def test_a_link_shows_what_was_looked_at(browser: Browser, tmp_path: Path) -> None:
    path = page(tmp_path, operators_of_two_namespaces(), "component", "operator", "symbol")
    browser.open(path)
    assert browser.run("location.hash") == ""
    browser.run("document.getElementById('map').focus()")
    for key in ("ArrowRight", "Enter"):
        browser.press(key)
    browser.run("document.getElementById('search').focus()")
    browser.type("run_2")
    browser.wait("document.body.dataset.searched === 'run_2'")
    browser.run(
        "(() => { const m = document.getElementById('metric'); m.value = 1;"
        " m.dispatchEvent(new Event('change')); })()"
    )
    link = browser.run("location.href")
    seen = [text(browser, name) for name in ("path", "found", "box")]
    assert seen[0] == "all › kernels" and "file" in seen[2]
    browser.open(path)
    browser.run(f"location.href = {link!r}")
    browser.wait("document.getElementById('path').textContent !== 'all'")
    assert [text(browser, name) for name in ("path", "found", "box")] == seen
    assert table(browser) == 4
    browser.run("location.hash = '#in=nothing&metric=nothing&search='")
    browser.wait("document.getElementById('path').textContent === 'all'")
    assert browser.problems() == []


def test_what_is_shown_can_be_copied_as_text(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, sample(), "operator", "symbol"))
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    place = browser.run(
        "(() => { const r = document.getElementById('copy').getBoundingClientRect();"
        " return [r.left + 5, r.top + 5]; })()"
    )
    browser.click(*place)
    browser.wait("document.getElementById('found').textContent === 'copied'")
    copied = browser.run("navigator.clipboard.readText()")
    title, head, *rows = copied.splitlines()
    assert title.endswith("  load 3,635")
    assert head == "bytes\tshare\toperator"
    assert rows == [
        "2,190\t60.2%\taten::add",
        "900\t24.8%\t(core)",
        "545\t15.0%\taten::mul",
    ]
    assert browser.problems() == []


def test_boxes_are_labelled_without_the_usual_namespace(browser: Browser, tmp_path: Path) -> None:
    names = ("(core)", "aten::add", "aten::mul.Tensor", "aten::relu", "prim::max")
    parts = [Part({"operator": name, "symbol": "f"}, 900, 950) for name in names]
    browser.open(page(tmp_path, MadeUp(parts), "operator"))
    browser.run(
        "window.drawn = []; const pen = CanvasRenderingContext2D.prototype, draw = pen.fillText;"
        " pen.fillText = function (text, ...place) { window.drawn.push(text);"
        " return draw.call(this, text, ...place); };"
        " document.getElementById('metric').dispatchEvent(new Event('change'))"
    )
    drawn = set(browser.run("window.drawn"))
    assert {"(core)", "add", "mul.Tensor", "relu", "prim::max"} <= drawn


def test_the_legend_has_the_colours_of_the_boxes(browser: Browser, tmp_path: Path) -> None:
    names = ["(core)", *(f"aten::op_{i}" for i in range(11))]
    parts = [
        Part({"operator": name, "dtype": dtype, "symbol": "f"}, 900 - 40 * i, 990)
        for i, name in enumerate(names)
        for dtype in ("Float", "Int")
    ]
    browser.open(page(tmp_path, MadeUp(parts), "dtype", "operator", "symbol"))
    swatches = "[...document.querySelectorAll('#colours span')].map((entry) =>"
    meanings = dict(browser.run(f"{swatches} [entry.innerText,"
        " getComputedStyle(entry.firstChild).backgroundColor])"))  # fmt: skip
    assert list(meanings) == [*names[:8], "all others"]
    assert len(set(meanings.values())) == 9
    browser.run("document.getElementById('map').focus()")
    for key in ("ArrowRight", "Enter"):
        browser.press(key)
    assert browser.run("document.getElementById('path').innerText").startswith("all › ")
    # The largest box is at the top left; its name takes the first 16 pixels.
    pixel = browser.run(
        "[...document.getElementById('map').getContext('2d').getImageData(8, 60, 1, 1).data]"
    )
    named = [int(number) for number in re.findall(r"\d+", meanings["(core)"])]
    assert max(abs(a - b) for a, b in zip(pixel, named, strict=False)) <= 20
    browser.run(
        "(() => { const h = document.getElementById('hue'); h.value = '0'; h.dispatchEvent(new"
        " Event('change')); })()"
    )
    assert browser.run(f"{swatches} entry.innerText)") == ["Float", "Int", "all others"]
    assert browser.run("location.hash").startswith("#colours=dtype")
    assert browser.problems() == []


def test_a_diff_explains_its_two_colours(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "diff.html"
    compared = diff(sample(), operators_of_two_namespaces(), ["operator", "symbol"])
    path.write_text("".join(diff_chunks(compared, "html", 0)), encoding="utf-8")
    browser.open(path)
    assert browser.run("document.getElementById('colours').innerText").split() == ["grew", "shrank"]
    assert browser.run("document.getElementById('byhue').getBoundingClientRect().height") == 0
