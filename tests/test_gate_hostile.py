"""Names, messages and places that hold Markdown, HTML, escapes or workflow commands come out of every format as text that does nothing."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import cmarkgfm
from cmarkgfm.cmark import Options
from gate_samples import everything
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sizeguard.gate.result import GateResult
from sizeguard.report.gate import FORMATS, gate_text
from sizeguard.report.gate_json import result_of
from sizeguard.report.markdown import code, prose
from sizeguard.report.style import Style
from sizeguard.report.table import format_table

HOSTILE = [
    "a | b", "||", "\\|", "\\", "`", "``` ```", "`a`", "*b* _c_ ~d~", "[x](y)", "![i](http://h/i.png)", "<img src=x onerror=alert(1)>",
    "<!--", "-->", "</details>", "</code></summary><script>alert(1)</script>", "@everyone", "a@b.example", "#123", "GH-123", "owner/repo#1",
    "http://evil.example/x", "www.evil.example", "&lt;b&gt;", "&#64;x", ":tada:", "4f2a91cdeadbeef4f2a91cdeadbeef4f2a91cde", "---", "# h",
    "1. x", "+ x", "=====", "> q", "```sh", "~~~", "    code", "a\nb", "a\r\nb", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07",
    "\u202egnp.exe", "\x00", "\ufffe", "\u2028", "::set-output name=x::y", "\n::error::x", "%0A::error::x", "##[error]x",
    "##vso[task.setvariable]x", "::stop-commands::t", "]]>", "<![CDATA[", "&amp;", "<?xml?>", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)",
    "$(touch x)", "`touch x`", "'; rm -rf x", "${{ github.token }}", "..\\..\\x", "../../etc/passwd:1", "/etc/passwd:3", "file:1:2",
    "javascript:alert(1)", "C:\\x:1", "operator||(a, b)", "\t", " ", "",
]  # fmt: skip
NUMBER = re.compile(r"-?[\d,]+")
KEPT = frozenset({"verdict", "kind", "state", "expect"})

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4).map("".join),
    st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)


def poisoned(value: Any, draw: Any, kept: frozenset[str] = KEPT, name: str = "", names: dict[str, str] | None = None) -> Any:
    """The value with every text of it replaced, but those of fields in `kept`. Apps and targets stay one name each."""
    names = {} if names is None else names
    if isinstance(value, str):
        if name in ("app", "target") and value:
            if value not in names:
                names[value] = f"{draw()}{len(names)}"
            return names[value]
        return value if name in kept or not value else draw()
    if isinstance(value, tuple):
        return tuple(poisoned(each, draw, kept, name, names) for each in value)
    if is_dataclass(value):
        return replace(value, **{f.name: poisoned(getattr(value, f.name), draw, kept, f.name, names) for f in fields(value)})
    return value


def small() -> GateResult:
    """The sample in which everything is wrong, with few of the claims and causes."""
    result = everything()
    apps = []
    for app in result.apps:
        found = app.verification
        apps.append(replace(app, verification=replace(found, verdicts=found.verdicts[-3:]) if found else None, causes=app.causes[:6]))
    return replace(result, apps=tuple(apps))


@st.composite
def results(draw: st.DrawFn) -> GateResult:
    """It with hostile texts."""
    pool = draw(st.lists(texts, min_size=5, max_size=12))
    state = {"i": draw(st.integers(0, 1000))}

    def next_text() -> str:
        state["i"] += 7
        return pool[state["i"] % len(pool)]

    # What decides where things are shown is replaced in half of the results only.
    kept = draw(st.sampled_from([KEPT, KEPT - {"kind", "state"}]))
    poisoned_result: GateResult = poisoned(small(), next_text, kept)
    return poisoned_result


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.comments: list[str] = []
        self.free: list[str] = []  # texts outside of code
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.depth += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in ("code", "pre")

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.free.append(data)


OURS = {
    "h3", "h4", "p", "br", "table", "thead", "tbody", "tr", "th", "td", "code", "strong", "em", "ul", "li", "pre", "details", "summary",
}  # fmt: skip
# What GitHub makes something of after Markdown is HTML, outside of code: mentions, references, addresses, emoji, commits.
LIVE = re.compile(r"@\w|#\d|\bgh-\d|://|www\.|:\w+:|\b[0-9a-f]{7,40}\b", re.IGNORECASE)


def rendered(text: str) -> Tags:
    found = Tags()
    found.feed(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))
    return found


def check_markdown(text: str) -> None:
    found = rendered(text)
    assert {tag for tag, _ in found.tags} <= OURS
    assert {attribute for _, attributes in found.tags for attribute in attributes} <= {"align", "lang"}
    assert found.comments == [" sizeguard gate "]
    assert found.depth == 0
    live = [part for part in found.free if LIVE.search(part)]
    assert not live
    # Another renderer of the same language sees the same: no markup of theirs.
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or ()}
    assert not kinds & {"link_open", "image", "blockquote_open", "s_open", "code_block", "hr", "ordered_list_open"}
    inline = {child.content for token in tokens for child in token.children or () if child.type == "html_inline"}
    assert inline <= {"<br>"}


@settings(max_examples=80, deadline=None)
@given(results())
def test_markdown_is_inert(result: GateResult) -> None:
    text = gate_text(result, "markdown")
    assert len(text.encode()) <= 65_536
    check_markdown(text)
    # A table keeps its columns: cells end where ours end.
    html_text = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    for table in re.findall(r"<table>.*?</table>", html_text, re.DOTALL):
        counts = {len(re.findall(r"<t[dh][ >]", row)) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)}
        assert len(counts) == 1


@settings(max_examples=300, deadline=None)
@given(texts)
def test_a_name_as_code_shows_itself(text: str) -> None:
    """In a cell and alone; a space stands after a backslash before a bar, control characters are escapes."""
    for source in (code(text), f"| a | b |\n|---|---|\n| {code(text)} | x |"):
        page = cmarkgfm.github_flavored_markdown_to_html(source)
        shown = re.search(r"<code>(.*?)</code>", page, re.DOTALL)
        expected = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
        if shown is None:
            assert not expected.strip()
            continue
        inner = html.unescape(shown[1])
        if "|" not in expected:
            assert inner.split() == expected.split()
        elif source.startswith("| a"):
            assert inner.replace(" ", "") == expected.replace(" ", "")
            assert page.count("<td>") == 2


@settings(max_examples=300, deadline=None)
@given(st.lists(texts, max_size=5).map(" ".join))
def test_a_sentence_is_inert(text: str) -> None:
    for source in (f"- {prose(text)}", f"| a |\n|---|\n| {prose(text)} |", f"x {prose(text)}"):
        found = rendered(source)
        assert {tag for tag, _ in found.tags} <= {"p", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td"}
        assert not found.comments
        assert not [part for part in found.free if LIVE.search(part)]


@settings(max_examples=80, deadline=None)
@given(results(), st.booleans(), st.sampled_from([60, 100, 200]))
def test_the_terminal_is_not_steered(result: GateResult, colour: bool, width: int) -> None:
    text = gate_text(result, "terminal", Style(width=width, colour=colour))
    without = re.sub(r"\x1b\[(0|1|2|31|32|33)m", "", text) if colour else text
    assert all(c.isprintable() or c == "\n" for c in without)
    # Runners read the log of a job, too.
    for line in without.split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line and "##vso" not in line


@settings(max_examples=80, deadline=None)
@given(results())
def test_github_gets_our_commands_alone(result: GateResult) -> None:
    text = gate_text(result, "github")
    lines = text.split("\n")
    ours = re.compile(r"::(error|warning|notice) (file=[^,:\s][^,:]*,)?title=[^,:]*(,line=\d+)?(,col=\d+)?::(.*)")
    for line in lines:
        found = ours.fullmatch(line)
        assert found, line
        assert all(c.isprintable() for c in line)
        file = (found[2] or "file=x,")[5:-1]
        assert not file.startswith("/") and ".." not in file.split("/")
    for level in ("error", "warning", "notice"):
        assert sum(line.startswith(f"::{level} ") for line in lines) <= 10
    assert len(text.splitlines()) == len(lines)


@settings(max_examples=60, deadline=None)
@given(results())
def test_xml_gives_the_texts_back(result: GateResult) -> None:
    root = ElementTree.fromstring(gate_text(result, "junit"))
    assert {element.tag for element in root.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "error", "skipped"}

    def visible(text: str) -> str:
        return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)

    # Attributes are read with line ends as they were written: ElementTree writes them as references.
    names = {suite.get("name") for suite in root.iter("testsuite")}
    assert {visible(f"{app.app} {app.target}") for app in result.apps} <= names


@settings(max_examples=60, deadline=None)
@given(results())
def test_json_sarif_and_csv_hold_the_texts(result: GateResult) -> None:
    text = gate_text(result, "json")
    assert text.isascii()
    assert result_of(text.encode(), "x") == result
    sarif = json.loads(gate_text(result, "sarif"))
    for alert in sarif["runs"][0]["results"]:
        for location in alert["locations"] + alert.get("relatedLocations", []):
            uri = location.get("physicalLocation", {}).get("artifactLocation", {}).get("uri", "x")
            assert re.fullmatch(r"[\w/.~+%-]+", uri)
            assert not uri.startswith("/") and ".." not in uri.split("/")
    rows = list(csv.reader(io.StringIO(gate_text(result, "csv"))))
    assert len({len(row) for row in rows}) == 1
    for row in rows:
        assert not [cell for cell in row if cell[:1] in ("=", "+", "@", "-") and not NUMBER.fullmatch(cell)]
        assert all(cell.isprintable() for cell in row)


def test_each_hostile_text_in_each_format() -> None:
    """The list alone, everywhere at once: what hypothesis may not have drawn."""
    for text in HOSTILE:
        result = poisoned(small(), lambda text=text: text)
        for format_ in FORMATS:
            shown = gate_text(result, format_)
            assert "\x1b" not in shown and "\x00" not in shown
            if format_ == "markdown":
                check_markdown(shown)


@settings(max_examples=100, deadline=None)
@given(st.lists(texts, min_size=3, max_size=3))
def test_other_tables_are_inert_too(cells: list[str]) -> None:
    """Those of verify, lint and select."""
    found = rendered(format_table(("a", "b", "c"), [cells, ["x", "", "–"]], "markdown"))
    assert {tag for tag, _ in found.tags} <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert sum(tag == "td" for tag, _ in found.tags) == 6
    assert not [part for part in found.free if LIVE.search(part)]
