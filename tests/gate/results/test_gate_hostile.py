"""Test that every format escapes Markdown, HTML, terminal escapes and workflow commands."""

from __future__ import annotations

import ast
import csv
import html
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import cmarkgfm
import pytest
from click.testing import CliRunner
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st

from sizeguard import report
from sizeguard.base.errors import GateError
from sizeguard.cli.main import cli
from sizeguard.gate.gate_result import GateResult
from sizeguard.gate.review_result import Baseline, BaselineEntry, Update
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.predict.reach_result import Adequacy, Unknown
from sizeguard.report.baseline.render import baselines_text, log_text, update_text
from sizeguard.report.gate.gate_json import result_of
from sizeguard.report.gate.render import gate_text
from sizeguard.report.result_formats import JUDGED_FORMATS
from sizeguard.report.selection.operator_lists import library_text, model_operators_text
from sizeguard.report.selection.reach_tables import adequacy_text
from sizeguard.report.verify.render import verification_text
from sizeguard.report.writers.markdown import code, prose
from sizeguard.report.writers.printable import printable
from sizeguard.report.writers.style import Style
from sizeguard.report.writers.table import format_table
from sizeguard.runtimes.known import library as library_of
from tests.support.drawn import at_least
from tests.support.results.gate_samples import everything, passing, skipped, undecided
from tests.support.results.hostile_results import (
    HOSTILE,
    KEPT,
    LIVE,
    check_markdown,
    poisoned,
    rendered,
    small,
)

pytestmark = pytest.mark.native

NUMBER = re.compile(r"-?[\d,]+")

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4).map("".join),
    st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=4).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)


@st.composite
def results(draw: st.DrawFn) -> GateResult:
    """Draw a result with hostile strings."""
    pool = draw(st.lists(texts, min_size=5, max_size=12))
    state = {"i": draw(st.integers(0, 1000))}

    def next_text() -> str:
        state["i"] += 7
        return pool[state["i"] % len(pool)]

    # Kind and state, which decide where a value is shown, are replaced in half of the results.
    kept = draw(st.sampled_from([KEPT, KEPT - {"kind", "state"}]))
    poisoned_result: GateResult = poisoned(small(), next_text, kept)
    return poisoned_result


@at_least(60)
@given(results())
def test_markdown_is_inert(result: GateResult) -> None:
    text = gate_text(result, "markdown")
    assert len(text.encode()) <= 65_536
    check_markdown(text)
    # All rows of a table have the same number of cells.
    html_text = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    for table in re.findall(r"<table>.*?</table>", html_text, re.DOTALL):
        counts = {
            len(re.findall(r"<t[dh][ >]", row))
            for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        }
        assert len(counts) == 1


@at_least(100)
@given(texts)
def test_a_name_as_code_shows_itself(text: str) -> None:
    """Render a name in a cell and outside of one; control characters are escaped.

    A backslash before a bar is followed by a space.
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


@at_least(100)
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


@at_least(60)
@given(results(), st.booleans(), st.sampled_from([60, 100, 200]))
def test_the_terminal_is_not_steered(result: GateResult, colour: bool, width: int) -> None:
    text = gate_text(result, "terminal", Style(width=width, colour=colour))
    without = re.sub(r"\x1b\[(0|1|2|31|32|33)m", "", text) if colour else text
    assert all(c.isprintable() or c == "\n" for c in without)
    # Runners also read the log of a job.
    for line in without.split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line and "##vso" not in line


@at_least(60)
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


@at_least(60)
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

    # Line ends in attributes are read unchanged, since ElementTree writes them as references.
    names = {suite.get("name") for suite in root.iter("testsuite")}
    assert {visible(f"{app.app} {app.target}") for app in result.apps} <= names


@at_least(60)
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


def test_each_hostile_text_in_each_format() -> None:
    """Put each hostile string everywhere at once, in case hypothesis did not draw it."""
    for text in HOSTILE:
        result = poisoned(small(), lambda text=text: text)
        for format_ in JUDGED_FORMATS:
            shown = gate_text(result, format_)
            assert "\x1b" not in shown and "\x00" not in shown
            if format_ == "markdown":
                check_markdown(shown)


@at_least(60)
@given(st.lists(texts, min_size=3, max_size=3))
def test_other_tables_are_inert_too(cells: list[str]) -> None:
    """Test the tables of verify, lint and select."""
    found = rendered(format_table(("a", "b", "c"), [cells, ["x", "", "–"]], "markdown"))
    assert {tag for tag, _ in found.tags} <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert sum(tag == "td" for tag, _ in found.tags) == 6
    assert not [part for part in found.free if LIVE.search(part)]


def is_inert(text: str) -> bool:
    """Return whether a terminal, or a runner that reads a job's log, takes no line as a command."""
    lines = text.removesuffix("\n").split("\n")
    return all(
        line.isprintable() and not line.lstrip().startswith("::") and "##[" not in line
        for line in lines
    )


def selection_with(names: list[str]) -> str:
    """Make a selection file in which all names are from this list."""
    quoted = [json.dumps(name) for name in names]
    operators = "".join(f"  {name}: {{is_root_operator: true}}\n" for name in quoted)
    return (
        f"operators:\n{operators}"
        f"kernel_metadata:\n  {quoted[0]}: [{', '.join(quoted)}]\n"
        f"custom_classes: [{', '.join(quoted)}]\n"
        f"build_features: [{', '.join(quoted)}]\n"
    )


NAMES = [
    "\n::error::x",
    "::error::y",
    "  ::warning file=a::z",
    "##[error]x",
    "###[error]z",
    "##vso[task.x]y",
    "aten::a\r\n::stop-commands::t",
    "\x1b[31mred\x1b]0;title\x07",
    "\u202egnp",
    "\u2028::error::u",
    "\x85::error::v",
]


@pytest.mark.parametrize("format_", ["terminal", "csv"])
@pytest.mark.parametrize(
    "command",
    [
        ["select", "lint", "--operators-yaml", "operators.yaml"],
        ["select", "merge"],
    ],
    ids=lambda words: words[1],
)
def test_names_of_selections_command_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], format_: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "operators.yaml").write_text(
        "- {func: 'my::op(Tensor self) -> Tensor', kernel: op, kind: core}\n"
    )
    # Names of files can be hostile, too.
    files = ["a.yaml", "::error::b.yaml", "c\n::error::d.yaml"]
    for number, file in enumerate(files):
        (tmp_path / file).write_text(selection_with(NAMES[number:]))
    more = ["--format", format_] if command[1] == "lint" else []
    done = CliRunner().invoke(cli, [*command, *files, *more])
    if command[1] == "merge":
        assert done.exit_code == 0, done.output
    else:
        assert isinstance(done.exception, GateError)
        assert "unknown operator" in done.stdout
    # The merged selection is YAML, which contains the names.
    assert is_inert(done.stdout.replace("##", "")), done.stdout
    assert command[1] == "merge" or "##[" not in done.stdout
    assert is_inert(done.stderr), done.stderr


@pytest.mark.parametrize("format_", ["terminal", "csv"])
def test_operators_of_models_command_nothing(format_: str) -> None:
    models = [
        OperatorInfo(name, {each: frozenset(NAMES) for each in NAMES}, frozenset(NAMES))
        for name in NAMES
    ]
    text = model_operators_text(models, format_)
    assert is_inert(text), text
    library = [
        replace(next(iter(library_of(None).values())), kind=name, library=name) for name in NAMES
    ]
    assert is_inert(library_text(library, format_))


@pytest.mark.parametrize("format_", ["terminal", "csv"])
@pytest.mark.parametrize("is_wrong", [False, True])
def test_adequacy_commands_nothing(format_: str, is_wrong: bool) -> None:
    found = Adequacy(
        model=NAMES[0],
        reachable=3,
        observed=1,
        reachable_not_observed=tuple(NAMES),
        observed_not_reachable=tuple(NAMES) if is_wrong else (),
        callers={name: name if is_wrong else "" for name in NAMES},
        dtypes_observed_not_reachable=tuple(NAMES) if is_wrong else (),
        unknown=tuple((name, Unknown(name, name)) for name in NAMES),
    )
    text = adequacy_text(found, format_)
    assert is_inert(text), text


@at_least(60)
@given(results(), st.booleans(), st.sampled_from(["terminal", "csv"]))
def test_a_verification_commands_nothing(result: GateResult, is_ascii: bool, format_: str) -> None:
    for app in result.apps:
        if app.verification is None:
            continue
        text = verification_text(app.verification, format_, Style(ascii=is_ascii))
        assert is_inert(text), text
        if is_ascii and format_ == "terminal":
            assert text.isascii()


def test_baselines_command_nothing(tmp_path: Path) -> None:
    for name in NAMES:
        baseline = Baseline(name, name, name, 1, 2, 3, {name: 1})
        entry = BaselineEntry(name, "1234", "2026-01-01", name, name, 1, 1)
        updates = [Update(tmp_path / "x", None, baseline)]
        for text in (
            baselines_text([baseline], "terminal"),
            log_text([entry], "terminal"),
            update_text(updates),
        ):
            assert is_inert(text), text


@pytest.mark.parametrize("name", NAMES)
def test_other_terminals_lines_command_nothing(name: str) -> None:
    """Test the function that finishes the lines of report, diff, why, predict and bisect."""
    for is_ascii in (False, True):
        style = Style(colour=True, ascii=is_ascii)
        line = style.finish(style.bold(printable(name)))
        assert is_inert(re.sub(r"\x1b\[[01]m", "", line)), line


def test_ascii_has_a_sign_for_each_of_ours() -> None:
    """Our own signs are never escaped with --ascii; escapes in names stay."""
    style = Style(ascii=True)
    for result in (everything(), passing(), undecided(), skipped()):
        text = gate_text(result, "terminal", style)
        assert text.isascii()
        assert "\\u" not in text and "\\x" not in text
    texts = [
        part.value
        for file in Path(report.__path__[0]).rglob("*.py")
        if "markdown" not in file.name and "page" not in file.name
        for part in ast.walk(ast.parse(file.read_text()))
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    ours = {c for text in texts for c in text if not c.isascii()} - {"\u00a0", "\ufffd"}
    assert {"\u2717", "\u2713", "\u2026", "\u00b1"} <= ours
    assert "\\" not in style.finish("".join(sorted(ours)))
    assert style.finish("\u00e9") == "\\xe9"
