"""Verdicts, names and numbers say the same in every format, and no format hides a part of them."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import cmarkgfm
import pytest
from click.testing import CliRunner

from sizeguard.bisect.bisect_result import Branch, Smaller
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.claim import Claim, RegisteredName
from sizeguard.claims.verdict import (
    ABSENT,
    BROKEN,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    OK,
    PASS,
    Verdict,
    Verification,
)
from sizeguard.cli.main import cli
from sizeguard.doctor.diagnosis import Diagnosis, EvidencePart, SizeFinding
from sizeguard.gate.causes.growth_result import Cause, Share, SizeGrowth
from sizeguard.gate.gate_result import ABSOLUTE, CREEP, ELIMINATION, AppResult, Check, GateResult
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.git.commits import Commit
from sizeguard.history.history_result import (
    COMMITS,
    MEASURED,
    REVIEWED,
    HistoryLine,
    HistoryPoint,
    Release,
    SizeChange,
    SizeHistory,
)
from sizeguard.linkgraph.why_result import Chain, Why, WhyStep
from sizeguard.predict.prediction import Change, ModelCost
from sizeguard.predict.reach_result import Adequacy
from sizeguard.report.bisect.render import bisect_chunks
from sizeguard.report.diff.render import _change, _rounded
from sizeguard.report.doctor.render import doctor_chunks
from sizeguard.report.gate.earlier_results import is_earlier_result
from sizeguard.report.gate.findings.gate_findings import findings
from sizeguard.report.gate.markdown_sizes import title_text
from sizeguard.report.gate.render import gate_text
from sizeguard.report.gate.waiver_list import waiver_list
from sizeguard.report.history.render import history_chunks
from sizeguard.report.predict.render import prediction_chunks
from sizeguard.report.screen.grid import Column, GridRow, RowName, grid_lines
from sizeguard.report.selection.reach_tables import adequacy_text
from sizeguard.report.verify.render import claims_text, verification_text
from sizeguard.report.verify.verify_words import claim_message
from sizeguard.report.why.render import why_chunks
from sizeguard.report.writers.printable import inert
from sizeguard.report.writers.style import Style, size_text
from tests.support.histories.bisect_samples import three_culprits
from tests.support.results.gate_samples import SAMPLES, app_result, check
from tests.support.results.prediction_samples import vision_prediction

ABSENT_ADD = Verdict("operator", "add", ABSENT, PASS, "not_generated", 0, ())
SIZES = Sizes(100, 10, 200, 0)


def markup(text: str) -> str:
    return cmarkgfm.github_flavored_markdown_to_html(text)


def test_nothing_passes_a_broken_verifier() -> None:
    found = Verification("app", "app.yaml", (ABSENT_ADD,), (), BROKEN, ("planted",))
    assert (found.verdict, replace(found, canary=OK).verdict) == (INCONCLUSIVE, PASS)
    assert json.loads(verification_text(found, "json"))["verdict"] == INCONCLUSIVE
    assert "\x1b[1;32m" not in verification_text(found, "terminal", Style(colour=True))


def eliminated(verification: Verification, actual: int, verdict: str) -> AppResult:
    check = Check(
        "app/elimination", "app", "here", ELIMINATION, 0, actual, -actual, verdict, "", "see why",
        kind=ELIMINATION,
    )  # fmt: skip
    return AppResult("app", "here", "gcc", verdict, SIZES, None, (check,), (), (), (), verification)


def test_a_claim_that_does_not_apply_is_no_failure() -> None:
    feature = Verdict("feature", "profiling", ABSENT, NOT_APPLICABLE, "unknown", 0, ("no need",))
    left = replace(ABSENT_ADD, verdict=FAIL, bytes=10)
    both = Verification("app", "app.yaml", (feature, left), (), OK, ())
    (found,) = findings(GateResult(FAIL, (eliminated(both, 1, FAIL),)))
    assert found.message == "operator add is still present (10 bytes)"


def test_an_elimination_without_a_broken_claim_counts_none() -> None:
    """Libraries beside the image are not verified: the claims themselves all hold."""
    whole = Verification("app", "app.yaml", (ABSENT_ADD,), (), OK, ())
    (found,) = findings(GateResult(INCONCLUSIVE, (eliminated(whole, 0, INCONCLUSIVE),)))
    assert (found.message, found.advice) == ("not all is verified", "see why")


def test_a_title_counts_the_builds_without_a_base() -> None:
    new = AppResult("a", "here", "gcc", PASS, SIZES, None, (), (), (), (), None)
    old = replace(new, app="b", old_sizes=SIZES)
    assert title_text(GateResult(PASS, (old, new))) == (
        "pass: load +0 of 1 build, load has no base of 1 build"
    )
    assert title_text(GateResult(PASS, (old,))) == "pass: load +0 of 1 build"
    assert title_text(GateResult(PASS, (new,))) == "pass: load has no base of 1 build"


def test_a_small_change_is_not_rounded_to_none() -> None:
    assert "(<0.01%)" in _change("load", 1_000_000, 1_000_012)
    assert "(<0.01%)" in _change("load", 1_000_000, 999_999)
    assert "(-0.12%)" in _change("load", 1_000_000, 998_800)
    assert (_rounded(-12), _rounded(-2048)) == ("", " (-2.0 KiB)")


def test_templates_stay_whole_in_markdown() -> None:
    step = WhyStep(0, ".text.f", "_Z1fv", "a.o", "", 8)
    why = Why("ns::f<int>", True, 8, 8, 1, (Chain("entry", (step,)),))
    predicted = replace(vision_prediction(), selection="f<int>")
    texts = [
        "".join(why_chunks(why, "markdown", Style())),
        "".join(prediction_chunks(predicted, "markdown", 0, Style())),
    ]
    for text in texts:
        assert "f&lt;int&gt;</code>" in markup(text).split("<table>")[0]
    result = three_culprits()
    first = result.culprits[0]
    rows = tuple(replace(row, keys=("aten::add", "complex<float>", "f")) for row in first.rows)
    result = replace(result, culprits=(replace(first, rows=rows),))
    assert (
        "complex&lt;float&gt;"
        in markup("".join(bisect_chunks(result, "markdown", 1))).split("<details>")[0]
    )


def test_markdown_has_what_the_terminal_shows() -> None:
    predicted = replace(
        vision_prediction(),
        changes=(Change("+ aten::gelu", 420, ("aten::erf",)),),
        per_model=(ModelCost("encoder", 900, ("aten::erf",)),),
        margin=60,
        is_calibrated=False,
    )
    text = "".join(prediction_chunks(predicted, "markdown", 1, Style()))
    assert "| `+ aten::gelu` | +420 | `aten::erf` |" in text
    assert "| `encoder` | 900 | 1 |" in text
    assert "| 2 more operators | 2,617 | | | |" in text
    assert "not calibrated" in text or "a margin wider" in text
    assert text.count("<") == 0
    assert markup(text).count("<table>") == 4

    step = WhyStep(0, ".text.f", "f", "a.o", "", 8)
    why = Why("f", True, 8, 8, 3, (Chain("entry", (step,)),), ("a.o",))
    text = "".join(why_chunks(why, "markdown", Style()))
    assert "2 more roots reach it" in text
    assert "without" in text.splitlines()[-1]

    found = Verification("app", "s", (ABSENT_ADD,), ("no map",), BROKEN, ("planted",))
    text = verification_text(found, "markdown")
    assert "- missing evidence: no map" in text
    assert "- canary BROKEN: planted" in text

    result = three_culprits()
    first = result.culprits[0]
    merged = replace(first, branch=Branch(7, (first,), Smaller(2, 30), -4))
    text = "".join(bisect_chunks(replace(result, culprits=(merged,)), "markdown", 1))
    assert "The branch: 7 commits" in text
    assert "| +30 | | 2 smaller |" in text
    assert "| -4 | | the merge itself" in text


def test_notes_are_no_rows_of_the_table_above_them() -> None:
    found = Adequacy("m.pt2", 2, 1, ("aten::add",), (), {"aten::add": "aten::mm"}, (), ())
    page = markup(adequacy_text(found, "markdown"))
    assert page.count("<tr>") == 2
    assert "1 operator was not seen" in page.partition("</table>")[2]


def test_only_the_beginning_of_a_file_makes_it_a_result(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes\n\nThe gate says:\n\nPASS  app loads 3 bytes\n")
    assert not is_earlier_result(notes)
    notes.write_text("policy: /p/sizeguard.yaml\n\x1b[32m\x1b[1mPASS\x1b[0m  app loads 3 bytes\n")
    assert is_earlier_result(notes)
    issues = gate_text(SAMPLES["everything"](), "codequality")
    notes.write_text(issues)
    assert is_earlier_result(notes)
    first = json.loads(issues)[0]["check_name"]
    notes.write_text(issues.replace(first, "no-unused-vars"))  # of another tool
    assert not is_earlier_result(notes)


def test_wide_characters_are_not_cut() -> None:
    name = "源代码/张量运算内核实现文件.cpp"
    rows = [GridRow(["1"], RowName(name)), GridRow(["2"], RowName("src/a.cpp"))]
    lines = [*grid_lines([Column("load")], "source", rows, Style(width=100))]
    assert lines[1].endswith(name)


def test_an_undecided_limit_of_builds_is_not_exceeded() -> None:
    checks = [
        Check(
            f"{app}/here/symbol/f", app, "here", "symbol/f", 0, 0, 0, INCONCLUSIVE, "0 B",
            "unknown name: nothing is called f", kind=ABSOLUTE,
        )
        for app in ("a", "b")
    ]  # fmt: skip
    apps = tuple(
        AppResult(each.app, "here", "gcc", INCONCLUSIVE, SIZES, None, (each,), (), (), (), None)
        for each in checks
    )
    result = GateResult(INCONCLUSIVE, apps)
    for format_ in ("terminal", "markdown"):
        text = gate_text(result, format_)
        assert ("exceed" in text, "undecided for 2 builds:" in text) == (False, True)


def test_builds_are_told_apart_on_the_terminal() -> None:
    apps = tuple(
        AppResult(
            f"camera_application_release_{app}", f"x86_64-linux-with-a-long-name-{target}", "gcc",
            PASS, SIZES, None, (), (), (), (), None, old_sizes=SIZES,
            growth_since_base=SizeGrowth(1, 2, 3),
        )
        for app in ("front", "back_")
        for target in ("one", "two")
    )  # fmt: skip
    text = gate_text(GateResult(PASS, apps), "terminal", Style(width=100))
    head, *rows = text.splitlines()[2:5]
    assert len({row.split()[0] for row in rows}) == 2
    assert len(set(head.split())) == 3
    grown = [line.split("  load")[0] for line in text.splitlines() if "  load +1" in line]
    assert len(set(grown)) == 4
    assert max(map(len, text.splitlines())) <= 100
    piped = gate_text(GateResult(PASS, apps), "terminal", Style(full=True))
    assert "…" not in piped


def test_builds_are_told_apart_in_a_comment() -> None:
    apps = tuple(
        AppResult(
            f"camera_app_{app}_with_all_models_of_the_year_release",
            f"x86_64-linux-{target}-with-a-long-name-and-even-more", "gcc",
            PASS, SIZES, None, (), (), (), (), None, old_sizes=SIZES,
            growth_since_base=SizeGrowth(1, 2, 3),
        )
        for app in ("front", "backs")
        for target in ("one", "two")
    )  # fmt: skip
    lines = gate_text(GateResult(PASS, apps), "markdown").splitlines()
    head = next(line for line in lines if line.startswith("| load |"))
    cells = [line.split("|")[1] for line in lines if line.startswith("| `camera")]
    assert len(set(head.split("|")[2:-1])) == 2
    assert len(set(cells)) == 2 + 4


def test_waivers_and_claims_command_nothing() -> None:
    waiver = Waiver("load", "", "", 8, "##[error]x", "ann", "2027-01-01", "w.yaml:1")
    claim = Claim("operator", "##[error]x", ABSENT, RegisteredName("operator", "x"))
    for text in (
        waiver_list([waiver], datetime.date(2026, 1, 1), "terminal"),
        claims_text([claim], "terminal"),
    ):
        assert "# #[error]" in text


@pytest.mark.parametrize("text", ["##[error]x", "###[error]x", "####[error]x", "x ###vso[task]"])
def test_no_number_of_hashes_makes_a_command(text: str) -> None:
    assert "##" not in inert(text)
    assert inert(text).replace(" ", "") == text.replace(" ", "")


def test_a_size_rounded_up_to_the_next_unit_is_written_in_it() -> None:
    sizes = ((1 << 30) - 1, 1 - (1 << 30), (1 << 30) - (1 << 20), 1 << 30)
    assert [size_text(size) for size in sizes] == ["1.0 GiB", "-1.0 GiB", "1,023.0 MiB", "1.0 GiB"]


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_metrics_count_what_the_other_formats_count(sample: str) -> None:
    result = SAMPLES[sample]()
    lines = [line.split(" ") for line in gate_text(result, "openmetrics").splitlines()]
    for verdict, name in ((FAIL, "failed"), (INCONCLUSIVE, "undecided")):
        rows = [line for line in lines if line[0].startswith(f"sizeguard_{name}_checks{{")]
        count = sum(finding.verdict == verdict for finding in findings(result))
        assert sum(int(row[-1]) for row in rows) == count


def _commit(number: int) -> Release:
    return Release(Commit(f"{number:x}" * 40, (), "Ann", f"2026-01-0{number}", "s"))


def test_the_page_of_a_history_shows_what_it_has() -> None:
    parts = {"others": 500, **{f"p{number}": 100 - number for number in range(12)}}
    sizes = Sizes(sum(parts.values()), 0, 0, 0)
    none = SizeChange(_commit(1), 0, 0, 0, ("operator",), ())
    points = (
        HistoryPoint(_commit(1), REVIEWED, sizes, parts=parts),
        HistoryPoint(_commit(2), MEASURED, sizes, parts=parts, change=none),
        HistoryPoint(_commit(3), MEASURED, sizes, parts=parts, change=none),
    )
    lines = tuple(HistoryLine("vision", target, "operator", points) for target in ("a", "b"))
    history = SizeHistory(COMMITS, "", lines, 0, older=False)
    page, as_text, _ = "".join(history_chunks(history, "html", 0)).partition(
        '<details class="text">'
    )
    assert as_text
    assert "Sizes of 1 app<" in page
    assert "commits left out" not in page
    assert all(page.count(f">{_commit(number).name}</code>") == 2 for number in (1, 2, 3))
    tops = re.findall(r'<path class="layer"[^>]* d="M[\d.]+ ([\d.]+)L', page)[:10]
    assert sorted(map(float, tops), reverse=True) == [float(top) for top in tops]
    table = "".join(history_chunks(history, "markdown", 0))
    assert "commits left out" in table
    assert table.count("(baseline)") == 2


@pytest.mark.parametrize("format_", ["terminal", "markdown"])
def test_findings_that_are_not_shown_are_counted(format_: str) -> None:
    part = EvidencePart("f", 8)
    finding = SizeFinding("unwind-tables", "tables", 8, 9, "load", (part,), 1, "-fno-unwind-tables")
    diagnosis = Diagnosis("app", 100, 200, (finding, finding, finding), ())
    for most, text in ((1, "2 more findings"), (2, "1 more finding ("), (0, "3 findings")):
        assert text in "".join(doctor_chunks(diagnosis, most, format_, Style()))
    assert "more" not in "".join(doctor_chunks(diagnosis, 0, format_, Style()))
    assert len(json.loads("".join(doctor_chunks(diagnosis, 1, "json", Style())))["findings"]) == 3
    assert len("".join(doctor_chunks(diagnosis, 1, "csv", Style())).splitlines()) == 1 + 3


def test_a_claim_that_does_not_apply_is_not_called_wrong() -> None:
    verdict = Verdict("operator", "f", ABSENT, NOT_APPLICABLE, "", 0, ("no kernels",))
    text = verification_text(Verification("a", "b", (verdict,), (), OK, ()), "junit")
    assert 'skipped message="operator f (absent) does not apply: no kernels"' in text
    bare = replace(verdict, verdict=INCONCLUSIVE, evidence=())
    assert claim_message(bare) == "operator f (absent) is undecided"


def test_two_limits_of_one_metric_have_two_titles() -> None:
    share = Share("4f2a91c", "Add tiles", 900, "2026-01-01")
    cause = Cause("aten::add", "", "loop", 900, 500)
    apps = []
    for app in ("vision", "language"):
        grown = check(app, "x", "load", 9_000, 8_500)
        crept = check(app, "x", "load", 9_000, 8_000, CREEP, shares=(share,))
        made = app_result(app, "x", 9_000, 9_400, grown, crept, verdict=FAIL, causes=(cause,))
        apps.append(made)
    result = GateResult(FAIL, tuple(apps))
    text = gate_text(result, "terminal", Style(width=100))
    assert "2 builds exceed the limit of `load`, `load` since a release" in text
    assert "creep of `load` since v1.2" in text
    assert "Add tiles" in text
    assert "what changed, in 2 builds" in text
    comment = gate_text(result, "markdown")
    assert "**Creep of `load` of `vision x` since `v1.2`**" in comment
    assert "**Creep of `load` of `language x` since `v1.2`**" in comment
    titles = [line for line in comment.splitlines() if "exceed" in line]
    assert [title.rpartition("exceed ")[2] for title in titles[-2:]] == [
        "`load`",
        "`load` since a release",
    ]


@pytest.mark.native
def test_long_names_stay_different_in_markdown(tmp_path: Path) -> None:
    names = [
        f"a_function_{'of_the_scanner_' * 6}that_reads_the_{kind}" for kind in ("head", "tail")
    ]
    for image, factor in (("old", 3), ("new", 12345)):
        code = "".join(f"int {name}(int x) {{ return x * {factor}; }}\n" for name in names)
        (tmp_path / "a.c").write_text(f"{code}int main(void) {{ return 0; }}\n")
        subprocess.run(["gcc", "-O1", "-o", image, "a.c"], cwd=tmp_path, check=True)
    images = [str(tmp_path / "old"), str(tmp_path / "new")]
    for words in (["report", images[1]], ["diff", *images]):
        done = CliRunner().invoke(
            cli, [*words, "--by", "symbol", "--format", "markdown", "-n", "0"]
        )
        cells = re.findall("`(a_function_[^`]*)`", done.output)
        assert len(cells) == len(set(cells)) == 2
        assert all(len(cell) <= 80 for cell in cells)
