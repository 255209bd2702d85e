"""Markdown, HTML, escapes and workflow commands in a result do nothing in any format."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from xml.etree import ElementTree

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st

from sizeguard.gate.gate_result import GateResult
from sizeguard.report.gate.gate_json import result_of
from sizeguard.report.gate.render import gate_text
from sizeguard.report.result_formats import JUDGED_FORMATS
from sizeguard.report.writers.markdown import code, prose
from sizeguard.report.writers.style import Style
from sizeguard.report.writers.table import format_table
from tests.support.hostile_results import (
    HOSTILE,
    KEPT,
    LIVE,
    check_markdown,
    poisoned,
    rendered,
    small,
)

NUMBER = re.compile(r"-?[\d,]+")

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4).map("".join),
    st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)


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


@pytest.mark.native
@settings(max_examples=80, deadline=None)
@given(results())
def test_markdown_is_inert(result: GateResult) -> None:
    text = gate_text(result, "markdown")
    assert len(text.encode()) <= 65_536
    check_markdown(text)
    # A table keeps its columns: cells end where ours end.
    html_text = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    for table in re.findall(r"<table>.*?</table>", html_text, re.DOTALL):
        counts = {
            len(re.findall(r"<t[dh][ >]", row))
            for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        }
        assert len(counts) == 1


@settings(max_examples=300, deadline=None)
@given(texts)
def test_a_name_as_code_shows_itself(text: str) -> None:
    """In a cell and alone; control characters are escaped.

    A space stands after a backslash before a bar.
    """
    for source in (code(text), f"| a | b |\n|---|---|\n| {code(text)} | x |"):
        page = cmarkgfm.github_flavored_markdown_to_html(source)
        shown = re.search(r"<code>(.*?)</code>", page, re.DOTALL)
        expected = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
        )
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
        assert {tag for tag, _ in found.tags} <= {
            "p",
            "ul",
            "li",
            "code",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        }
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
    ours = re.compile(
        r"::(error|warning|notice) (file=[^,:\s][^,:]*,)?title=[^,:]*(,line=\d+)?(,col=\d+)?::(.*)"
    )
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
    assert {element.tag for element in root.iter()} <= {
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
        "error",
        "skipped",
        "system-out",
    }

    def visible(text: str) -> str:
        return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)

    # Attributes are read with line ends as they were written: ElementTree writes them as
    # references.
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
        assert not [
            cell for cell in row if cell[:1] in ("=", "+", "@", "-") and not NUMBER.fullmatch(cell)
        ]
        assert all(cell.isprintable() for cell in row)


@pytest.mark.native
def test_each_hostile_text_in_each_format() -> None:
    """The list alone, everywhere at once: what hypothesis may not have drawn."""
    for text in HOSTILE:
        result = poisoned(small(), lambda text=text: text)
        for format_ in JUDGED_FORMATS:
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
