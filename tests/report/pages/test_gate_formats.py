"""Test the formats of a gate's result: golden files, public schemas, and shortened output."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import cmarkgfm
import jsonschema
import pytest
import xmlschema

from sizeguard.base.errors import InputError
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.causes.growth_result import MOVED, Cause
from sizeguard.gate.gate_result import GROWTH, NEEDED, NOT_RUN, AppResult, Check, GateResult
from sizeguard.report.gate.findings.gate_findings import findings
from sizeguard.report.gate.gate_words import operator_of, slack_text
from sizeguard.report.gate.render import gate_text, write_step_summary
from sizeguard.report.result_formats import JUDGED_FORMATS
from sizeguard.report.writers.style import Style
from tests.generators.gate_schema import schema
from tests.support.places import DATA
from tests.support.results.gate_samples import SAMPLES, everything, failing, passing

ENDINGS = {
    "terminal": "txt",
    "markdown": "md",
    "csv": "csv",
    "junit": "xml",
    "sarif": "sarif",
    "github": "github",
    "json": "json",
}

# Findings of each sample by verdict, counted by hand: pass, fail, inconclusive, not run.
COUNTS = {
    "passing": (27, 0, 0, 0),
    "failing": (7, 1, 0, 0),
    "undecided": (4, 0, 1, 0),
    "skipped": (27, 0, 0, 0),
    "empty": (0, 1, 0, 0),
    "everything": (16, 10, 3, 2),
    "terms": (15, 3, 0, 1),
    "shared": (16, 9, 2, 0),
}


@pytest.mark.parametrize("format_", JUDGED_FORMATS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_golden(sample: str, format_: str) -> None:
    """SIZEGUARD_GOLDEN=write writes the files again; review the diff before you commit them."""
    golden = DATA / "gate" / f"{sample}.{ENDINGS[format_]}"
    text = gate_text(SAMPLES[sample](), format_) + "\n"
    if format_ == "json":  # a verification has 250 claims of one form
        content = json.loads(text)
        for app in content["apps"]:
            if app["verification"]:
                app["verification"]["verdicts"] = app["verification"]["verdicts"][-2:]
        text = json.dumps(content, indent=1) + "\n"
    if os.environ.get("SIZEGUARD_GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("sample", SAMPLES)
def test_json_keeps_to_its_schema_and_has_the_promised_keys(sample: str) -> None:
    content = json.loads(gate_text(SAMPLES[sample](), "json"))
    published = json.loads(
        resources.files("sizeguard.report").joinpath("schemas/gate.schema.json").read_text()
    )
    assert published == schema(), (
        "python -m tests.generators.gate_schema > sizeguard/report/schemas/gate.schema.json"
    )
    jsonschema.Draft202012Validator(published).validate(content)
    for check in content["checks"]:
        assert {
            "id",
            "app",
            "target",
            "metric",
            "limit",
            "actual",
            "headroom",
            "verdict",
            "advice",
        } <= check.keys()
    for model in content["models"]:
        assert {"model", "app", "verdict", "missing"} <= model.keys()


@pytest.mark.parametrize("sample", SAMPLES)
def test_sarif_keeps_to_the_standard(sample: str) -> None:
    result = SAMPLES[sample]()
    content = json.loads(gate_text(result, "sarif"))
    jsonschema.Draft4Validator(
        json.loads((DATA / "schemas" / "sarif-2.1.0.json").read_text())
    ).validate(content)
    (run,) = content["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for alert in run["results"]:
        assert rules[alert["ruleIndex"]] == alert["ruleId"]
    _, failed, inconclusive, _ = COUNTS[sample]
    assert sum(alert["level"] != "note" for alert in run["results"]) == failed + inconclusive
    prints = [alert["partialFingerprints"]["sizeguard/v1"] for alert in run["results"]]
    assert len(set(prints)) == len(prints)


def test_fingerprints_stay_while_numbers_change() -> None:
    def prints(result: GateResult) -> list[str]:
        alerts = json.loads(gate_text(result, "sarif"))["runs"][0]["results"]
        return [alert["partialFingerprints"]["sizeguard/v1"] for alert in alerts]

    def larger(check: Check) -> Check:
        return replace(
            check, actual=check.actual + 5000, headroom=(check.headroom or 0) - 5000, verdict=FAIL
        )

    result = failing()
    app = result.apps[0]
    grown = replace(result, apps=(replace(app, checks=(larger(app.checks[0]), *app.checks[1:])),))
    assert prints(result) == prints(grown)
    assert gate_text(result, "sarif") != gate_text(grown, "sarif")


@pytest.mark.parametrize("sample", SAMPLES)
def test_junit_keeps_to_the_schema_and_counts(sample: str) -> None:
    result = SAMPLES[sample]()
    text = gate_text(result, "junit")
    xmlschema.XMLSchema(DATA / "schemas" / "junit-10.xsd").validate(text)
    root = ElementTree.fromstring(text)
    _, failed, inconclusive, not_run = COUNTS[sample]
    for tag, count in (("failure", failed), ("error", inconclusive), ("skipped", not_run)):
        assert len(root.findall(f".//{tag}")) == count
    assert int(root.get("tests", "")) == len(root.findall(".//testcase")) == sum(COUNTS[sample])
    assert int(root.get("failures", "")) == failed


@pytest.mark.parametrize("sample", SAMPLES)
def test_csv_and_the_findings_have_every_verdict(sample: str) -> None:
    result = SAMPLES[sample]()
    rows = csv.DictReader(io.StringIO(gate_text(result, "csv")))
    for verdicts in (
        [row["verdict"] for row in rows],
        [finding.verdict for finding in findings(result)],
    ):
        counted = tuple(map(verdicts.count, (PASS, FAIL, INCONCLUSIVE, NOT_RUN)))
        assert counted == COUNTS[sample]


def test_a_row_of_csv_has_the_numbers_of_its_check() -> None:
    rows = list(csv.DictReader(io.StringIO(gate_text(everything(), "csv"))))
    load = next(row for row in rows if row["check"] == "load growth")
    assert (load["actual"], load["limit"], load["headroom"], load["waived"]) == (
        "41204",
        "41000",
        "-204",
        "100",
    )


def many(apps: int, targets: int, checks: int) -> GateResult:
    """Make a result where everything fails, with long names."""
    one = failing().apps[0]
    long = "::".join(["namespace_that_is_long"] * 6)
    built = []
    for a in range(apps):
        for t in range(targets):
            check = one.checks[0]
            made = [
                replace(
                    check,
                    app=f"app{a}",
                    target=f"t{t}",
                    metric=f"operator/{long}_{i}",
                    id=f"{a}/{t}/{i}",
                )
                for i in range(checks)
            ]
            causes = tuple(
                Cause(f"{long}{i}", "Float", f"{long}::body_{i}<float>", 1, 900 - i)
                for i in range(50)
            )
            built.append(
                replace(one, app=f"app{a}", target=f"t{t}", checks=tuple(made), causes=causes)
            )
    return GateResult(FAIL, tuple(built))


@pytest.mark.native
@pytest.mark.parametrize(
    ("apps", "targets", "checks"), [(2, 3, 1), (6, 4, 40), (40, 5, 10), (300, 3, 4), (2, 3, 4000)]
)
def test_a_comment_fits_and_says_what_it_leaves_out(apps: int, targets: int, checks: int) -> None:
    result = many(apps, targets, checks)
    text = gate_text(result, "markdown")
    assert len(text.encode()) <= 65_536
    assert text.splitlines()[1].startswith("### ❌ Size gate: fail")
    note = re.search(
        r"_([\d,]+) rows?, ([\d,]+) bytes omitted: GitHub allows 65,536 per comment", text
    )
    assert bool(note) == (apps * targets * checks > 6)
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") % 2 == 0
    # The matrix is cut last: it has every build if it fits by itself.
    if apps <= 40:
        assert all(f"| `app{i}` |" in text for i in range(apps))
    if note:
        size = int(note[2].replace(",", ""))
        assert size > 0
        from sizeguard.report.gate.gate_markdown import markdown_text

        whole = len(markdown_text(result, 1 << 30).encode())
        assert whole - size <= len(text.encode()) <= whole - size + 200


def test_long_names_of_moved_code_are_shortened_and_stay_different() -> None:
    long = "std::vector<std::basic_string<char, std::char_traits<char>>>::_M_realloc_insert"
    causes = tuple(
        Cause("(core)", "", long + end, size, size, MOVED, MOVED, origin="aten::add")
        for end, size in (("<int>", 9), ("<long>", 8))
    )
    result = replace(failing(), apps=(replace(failing().apps[0], causes=causes),))
    lines = gate_text(result, "terminal", Style(width=100)).splitlines()
    (moved,) = [line for line in lines if "aten::add → (core): " in line]
    names = moved.partition("(core): ")[2].split(", ")
    assert len(set(names)) == 2 and max(map(len, names)) <= 36
    assert long + "<int>" in gate_text(result, "terminal", Style(width=100, full=True))


def test_a_missing_base_has_one_reason_and_a_command_of_its_own_line() -> None:
    why = f"the merge base does not build: {'no such type ' * 9}; review"
    advice = f"{why}: sizeguard baseline update --app vision"
    app = replace(failing().apps[0], commands=(), causes=())
    load = next(each for each in app.checks if each.kind == GROWTH)
    unknown = replace(load, verdict=INCONCLUSIVE, headroom=None, limit=None, advice=advice)
    needed = replace(unknown, id="needed", metric="needed", kind=NEEDED)
    app = replace(app, verdict=INCONCLUSIVE, checks=(unknown, needed), verification=None)
    result = replace(failing(), apps=(app,), verdict=INCONCLUSIVE)
    text = gate_text(result, "terminal", Style(width=80))
    assert text.count("does not build") == 1
    assert "needed libraries: there is no base, as for the sizes" in " ".join(text.split())
    assert "\n    sizeguard baseline update --app vision\n" in f"{text}\n"
    assert f"\n  {advice}\n" in f"{gate_text(result, 'terminal', Style(width=80, full=True))}\n"


def test_the_five_largest_causes() -> None:
    text = gate_text(many(1, 1, 1), "markdown")
    assert text.count("body_") == 5
    assert "| 45 more changes |" in text


def test_github_shows_ten_of_a_level_and_says_how_many_more() -> None:
    lines = gate_text(many(2, 3, 40), "github").splitlines()
    errors = [line for line in lines if line.startswith("::error ")]
    assert len(errors) == 10
    assert f"{6 * 40 - 9} more like this" in errors[-1]
    assert max(map(len, lines)) < 20_000
    placed = [
        line
        for line in gate_text(everything(), "github").splitlines()
        if "file=sizeguard.yaml" in line
    ]
    assert (
        "::error file=sizeguard.yaml,title=vision x86_64-linux%3A load growth,line=5,col=9::"
        in placed[0]
    )


@pytest.mark.native
def test_the_step_summary_is_appended_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for _ in range(5):
        write_step_summary(many(40, 5, 40))
    text = summary.read_text()
    assert text.startswith("before\n<!-- sizeguard gate -->")
    assert 400_000 < len(text.encode()) <= 1 << 20
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    with pytest.raises(InputError, match="cannot write"):
        write_step_summary(passing())


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_terminal_lines_keep_to_the_width(width: int) -> None:
    """Commands, which are copied, and tables of numbers are exceptions."""
    for sample in (everything, failing, passing):
        text = gate_text(sample(), "terminal", Style(width=width))
        long = [
            line
            for line in text.splitlines()
            if len(line) > max(width, 100) and "sizeguard " not in line
        ]
        assert not long


def test_colour_only_adds() -> None:
    for sample in SAMPLES.values():
        plain = gate_text(sample(), "terminal")
        assert "\x1b" not in plain
        coloured = gate_text(sample(), "terminal", Style(colour=True))
        assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
    assert gate_text(everything(), "terminal", Style(ascii=True)).isascii()


def test_numbers_are_aligned() -> None:
    lines = gate_text(failing(), "terminal").splitlines()
    table = [line for line in lines if re.match(r"  (load|ram|operator/)", line)]
    assert len({line.index("  ✓" if "✓" in line else "  ✗") for line in table}) == 1
    marks = [line.index("✓") for line in lines if line.endswith("✓")]
    assert marks == [table[0].index("✗")] * len(marks)


def test_order_verdict_numbers_cause_what_to_do() -> None:
    for format_ in ("terminal", "markdown"):
        text = gate_text(failing(), format_).lower()
        order = [
            text.index(part)
            for part in ("fail", "41,000", "what grew", "do one of", "sizeguard waive load")
        ]
        assert order == sorted(order)


def test_every_failure_is_in_every_format() -> None:
    """Each format names each failure. GitHub shows ten, so the tenth says that there are more."""
    result = everything()
    needles = {
        "load": "204 more", "creep": "516", "model": "aten::hardtanh", "closure": "now calls",
        "build": "3 errors in convolution.cpp", "waiver": "expired on 2026-01-31",
        "trace": "is older than the code",
    }  # fmt: skip
    for format_ in JUDGED_FORMATS:
        text = gate_text(result, format_).replace("**", "").replace("`", "")
        missing = [
            name
            for name, needle in needles.items()
            if needle not in re.sub(r"\s+", " ", text) and format_ != "json"
        ]
        assert not missing, format_


def test_what_is_of_no_build_is_shown() -> None:
    """A failure of an app that was not built is shown, and so is a failure of only a waiver."""
    for sample, needle in (("empty", "names no app"),):
        for format_ in JUDGED_FORMATS:
            assert needle in gate_text(SAMPLES[sample](), format_)
    whole = everything()
    only_waiver = GateResult(FAIL, passing().apps, waivers=whole.waivers[1:2])
    for format_ in JUDGED_FORMATS:
        assert "expired" in gate_text(only_waiver, format_)
    assert gate_text(only_waiver, "terminal").startswith("FAIL  1 waiver invalid")


def test_nothing_but_passes_reads_as_pass() -> None:
    empty_fail = GateResult(FAIL, ())
    root = ElementTree.fromstring(gate_text(empty_fail, "junit"))
    assert root.get("failures") == "1"
    assert gate_text(empty_fail, "terminal").startswith("FAIL")
    assert "PASS" not in gate_text(SAMPLES["undecided"](), "terminal")


def test_the_markdown_is_githubs() -> None:
    """GitHub's own renderer turns it into tables, a code block and folded parts."""
    from cmarkgfm.cmark import Options

    html = cmarkgfm.github_flavored_markdown_to_html(
        gate_text(everything(), "markdown"), Options.CMARK_OPT_UNSAFE
    )
    assert html.count("<table>") == 13
    assert html.count("<details>") == 6
    assert '<pre lang="sh"><code>sizeguard why build/vision' in html
    assert "<a " not in html


def test_types_in_use() -> None:
    """The samples use the gate's own AppResult.

    A new field must have a default or be in the samples.
    """
    assert all(isinstance(app, AppResult) for sample in SAMPLES.values() for app in sample().apps)
    assert {app.verdict for app in everything().apps} == {PASS, FAIL, INCONCLUSIVE}


def test_a_new_app_has_one_reason_however_many_limits_it_has() -> None:
    result = SAMPLES["undecided"]()
    app = result.apps[0]
    check = next(check for check in app.checks if check.limit is None)
    metrics = [f"operator/aten::op{i}" for i in range(30)]
    more = tuple(
        replace(check, id=f"{check.id}{i}", metric=metric) for i, metric in enumerate(metrics)
    )
    grown = replace(app, checks=(*app.checks, *more))
    first = gate_text(replace(result, apps=(grown,)), "terminal").splitlines()[0]
    assert first.startswith("INCONCLUSIVE  language loads 44,000 bytes: 31 sizes have no baseline")
    assert "more finding" not in first


def test_page_slack_of_nothing_is_no_page() -> None:
    texts = [slack_text(Sizes(10, 0, 4096, slack)) for slack in (0, 1, 860)]
    assert texts == [
        "none: any growth adds to the file on disk (4,096 now)",
        "at most 1 byte until the file on disk grows a page (4,096 now)",
        "at most 860 bytes until the file on disk grows a page (4,096 now)",
    ]


def test_a_symbol_of_the_core_needs_no_operator() -> None:
    """Projects without operators have nothing else."""
    symbol = Cause("(core)", "", "json_object", 121, 4628, place="src/value.c:64")
    rest = Cause("(core)", "", "", 10, 20, kind="other")
    assert (operator_of(symbol), operator_of(rest)) == ("", "(core)")
