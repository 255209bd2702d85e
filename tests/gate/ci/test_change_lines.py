"""Lines that a change edits, and the place of a cause in each machine-readable format."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from sizeguard.gate.causes.edited_lines import edited_ranges, with_edited_lines
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import GateResult
from sizeguard.report.gate.render import gate_text
from sizeguard.report.writers.source_links import links_at, links_of_runner
from tests.support.histories.drawn_history import run_git
from tests.support.places import TESTS
from tests.support.results.gate_samples import SAMPLES, everything, failing

BEFORE = """\
int first(int x) {
  return x;
}

int second(int x) {
  char open = '{';  // {
  const char* text = "{{{";
  if (x) {
    return 1;
  }
  return text[0] + open;
}

int third(int x) { return x; }
int fourth(int x) {
  return 4;
}
"""

# The schema follows GitLab's documentation of code quality reports.
ISSUE = {
    "type": "object",
    "required": ["description", "check_name", "fingerprint", "severity", "location"],
    "properties": {
        "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
        "location": {
            "required": ["path", "lines"],
            "properties": {
                "path": {"type": "string", "pattern": "^[^/.][^\n]*$"},
                "lines": {"required": ["begin"], "properties": {"begin": {"minimum": 1}}},
            },
        },
    },
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run_git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cpp").write_text(BEFORE)
    (tmp_path / "src" / "größe [1].cpp").write_text("int a;\nint b;\n")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "-q", "-m", "before")
    return tmp_path


def edited(root: Path, *places: str) -> list[str]:
    (app,) = failing().apps
    causes = tuple(Cause("", "", "f", 1, 2, place=place) for place in places)
    found = with_edited_lines(replace(app, causes=causes), root, "HEAD")
    return [cause.edited for cause in found.causes]


FUNCTIONS = ("src/a.cpp:1", "src/a.cpp:5", "src/a.cpp:14", "src/a.cpp:15")


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("return 1;", "return 2;", ("", "9", "", "")),
        ("  return text", "  x += 1;\n  x += 2;\n  return text", ("", "11", "", "")),
        ("  return x;\n", "", ("1", "", "", "")),
        ("{ return x; }", "{ return x + 1; }", ("", "", "14", "")),
        ("\nint third", "\n// third\nint third", ("", "", "14", "")),
        ("return 4;", "return 4;  // }", ("", "", "", "16")),
        ("int fourth(int x) {\n  return 4;\n}\n", "", ("", "", "", "")),
        ("int fourth(int x) {\n", "int fourth(int x) {\n  x = 3;\n", ("", "", "", "16")),
    ],
)
def test_the_first_edited_line_of_each_function(
    repository: Path, old: str, new: str, lines: tuple[str, ...]
) -> None:
    assert BEFORE.count(old) == 1 or old == "  return x;\n"
    (repository / "src/a.cpp").write_text(BEFORE.replace(old, new, 1))
    assert edited(repository, *FUNCTIONS) == [f"src/a.cpp:{line}" if line else "" for line in lines]


def test_other_files_and_odd_names(repository: Path) -> None:
    odd = "src/größe [1].cpp"
    (repository / odd).write_text("int a;\nint c;\n")
    (repository / "src/new.cpp").write_text("int n;\n")
    assert edited(repository, f"{odd}:2", odd, "src/a.cpp:1", "src/gone.cpp:3", "") == [
        f"{odd}:2", f"{odd}:2", "", "", "",
    ]  # fmt: skip
    run_git(repository, "add", "src/new.cpp")
    places = ("src/new.cpp:1", "/etc/passwd:1", "../x:1")
    assert edited(repository, *places) == ["src/new.cpp:1", "", ""]
    assert edited_ranges(repository, "HEAD", ["src/new.cpp"]) == {"src/new.cpp": [(1, 1)]}
    assert edited_ranges(repository, "no-such-commit", ["src/a.cpp"]) == {}


def test_all_files_of_a_change_are_compared(repository: Path) -> None:
    names = [f"src/{number}.cpp" for number in range(150)]
    for name in names:
        (repository / name).write_text("int a;\n")
    run_git(repository, "add", ".")
    found = edited_ranges(repository, "HEAD", sorted(names))
    assert found == {name: [(1, 1)] for name in names}


def test_lines_removed_at_the_beginning_of_a_file_are_an_edit_of_it(repository: Path) -> None:
    (repository / "src/a.cpp").write_text(BEFORE.partition("\n\n")[2])
    assert edited(repository, "src/a.cpp", "src/a.cpp:1") == ["src/a.cpp:1", ""]


def test_lines_that_look_like_a_diff(repository: Path) -> None:
    (repository / "src/a.cpp").write_text(
        BEFORE.replace("  return x;\n", "  ++ b/src/x.cpp;\n@@ -1 +999 @@\n  return x;\n")
        + "-- a/x\n"
    )
    assert edited_ranges(repository, "HEAD", ["src/a.cpp"]) == {"src/a.cpp": [(2, 3), (20, 20)]}


def placed(edited_line: str) -> GateResult:
    (app,) = failing().apps
    first, *more = app.causes
    return replace(
        failing(), apps=(replace(app, causes=(replace(first, edited=edited_line), *more)),)
    )


def test_an_annotation_is_at_the_edited_line_or_at_the_policy() -> None:
    first = gate_text(placed("native/conv.cpp:91"), "github").splitlines()[0]
    assert first.startswith("::error file=native/conv.cpp,title=vision x86_64-linux%3A load growth")
    assert ",line=91::" in first
    assert "native/conv.cpp:91" in first.partition(",line=91::")[2]
    elsewhere = gate_text(placed(""), "github").splitlines()[0]
    assert elsewhere.startswith("::error file=sizeguard.yaml,")


def test_sarif_names_the_cause_and_the_limit() -> None:
    content = json.loads(gate_text(placed("native/conv.cpp:91"), "sarif"))
    schema = json.loads((TESTS / "data/schemas/sarif-2.1.0.json").read_text())
    jsonschema.Draft4Validator(schema).validate(content)
    (alert,) = [each for each in content["runs"][0]["results"] if each["level"] == "error"]
    where = alert["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "native/conv.cpp"
    assert where["region"]["startLine"] == 91
    limit = alert["relatedLocations"][0]
    assert limit["physicalLocation"]["artifactLocation"]["uri"] == "sizeguard.yaml"
    assert limit["message"]["text"] == "the limit"


def test_junit_names_the_line() -> None:
    root = ElementTree.fromstring(gate_text(placed("native/conv.cpp:91"), "junit"))
    (failure,) = root.iter("failure")
    assert "native/conv.cpp:91" in (failure.text or "")
    assert "+716 (+1.8%) from 40,488" in failure.get("message", "")


@pytest.mark.parametrize("sample", SAMPLES)
def test_code_quality_has_file_and_line_of_each_issue(sample: str) -> None:
    issues = json.loads(gate_text(SAMPLES[sample](), "codequality"))
    for issue in issues:
        jsonschema.Draft202012Validator(ISSUE).validate(issue)
    prints = [issue["fingerprint"] for issue in issues]
    assert len({*prints}) == len(prints)
    sarif = json.loads(gate_text(SAMPLES[sample](), "sarif"))["runs"][0]["results"]
    assert [issue["description"] for issue in issues] == [each["message"]["text"] for each in sarif]


def test_code_quality_is_at_the_edited_line() -> None:
    issues = json.loads(gate_text(placed("native/conv.cpp:91"), "codequality"))
    assert issues[0]["location"] == {"path": "native/conv.cpp", "lines": {"begin": 91}}


def test_links_need_an_address_and_a_commit() -> None:
    commit = "4f2a91cd" * 5
    links = links_at("https://github.com/org/runtime", commit)
    assert links
    base = f"https://github.com/org/runtime/blob/{commit}"
    assert links.address("src/a.cpp:12:3") == f"{base}/src/a.cpp#L12"
    assert links.address("src/a b)[c].cpp") == f"{base}/src/a%20b%29%5Bc%5D.cpp"
    for place in ("/etc/passwd:1", "../a:1", "commit 4f2a91c", "https://x/y:1", ""):
        assert links.address(place) == ""
    for repository, at in (
        ("https://github.com/o/r", "HEAD"), ("https://github.com/o/r", ""), ("/o/r", commit),
        ("https://x y", commit), ("javascript:alert", commit), ("https://h/o/r)", commit),
    ):  # fmt: skip
        assert links_at(repository, at) is None
    github = {
        "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "org/runtime",
        "GITHUB_SHA": commit,
    }  # fmt: skip
    assert links_of_runner(github) == links
    gitlab = {
        "GITLAB_CI": "true", "CI_PROJECT_URL": "https://gitlab.com/o/r", "CI_COMMIT_SHA": commit,
    }  # fmt: skip
    found = links_of_runner(gitlab)
    assert found and found.address("a.c:3") == f"https://gitlab.com/o/r/-/blob/{commit}/a.c#L3"
    assert links_of_runner({}) is None


def test_the_same_cause_stands_once_for_all_builds() -> None:
    (app,) = failing().apps
    apps = tuple(
        replace(app, app=f"app{i}", causes=(*app.causes[:1], replace(app.causes[1], new=420 + i)))
        for i in range(4)
    )
    text = gate_text(replace(failing(), apps=apps), "markdown").partition("<details>")[0]
    assert text.count("conv_body<float>") == 2, "the cause, and the command that explains it"
    assert "| +1,140 (2,104\u00a0→\u00a03,244) |" in text
    assert "| +120 … +123 |" in text
    assert text.count("in all 4 builds that changed") == 2
    # A problem of two targets is one item
    result = everything()
    problem = replace(result.problems[0], target="aarch64-linux")
    both = replace(result, problems=(*result.problems, problem))
    (line,) = [
        line for line in gate_text(both, "markdown").splitlines() if "3 errors in" in line
        and line.startswith("- ")
    ]  # fmt: skip
    assert line.startswith("- ❌ `language aarch64-linux`, `language arm64-macos`: ") or (
        line.startswith("- ❌ `language arm64-macos`, `language aarch64-linux`: ")
    )


def test_only_commands_of_ours_are_to_be_copied() -> None:
    text = gate_text(failing(), "markdown")
    block = re.search(r"```sh\n(.*?)\n```", text, re.DOTALL)
    assert block
    assert all(line.startswith("sizeguard ") for line in block[1].splitlines())
