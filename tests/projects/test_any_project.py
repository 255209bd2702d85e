"""The gate on another project with a CMake build and three lines of sizeguard.yaml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sizeguard.gate.causes.source_lines import SourceLines
from tests.support.tricks.any_project import CONFIG, SOURCES, AnyProject, made_project

native = pytest.mark.native
GROWN = "  volatile int x = n;\n" + "  x = x * 3 + 1;\n" * 80 + "  return x;\n"


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> AnyProject:
    """Make a project with a committed baseline; no test changes its checkout permanently."""
    project = made_project(tmp_path_factory.mktemp("words"))
    done = project.run("baseline", "update")
    assert done.code == 0, done.err
    project.commit("Review the sizes")
    built = next((project.root / ".sizeguard" / "builds").glob("count.*/count"))
    (project.root / ".sizeguard" / "count").write_bytes(built.read_bytes())
    return project


@native
def test_a_change_that_grows_a_function_fails_with_its_name_and_line(reviewed: AnyProject) -> None:
    assert reviewed.run("gate").code == 0
    source = "src/main.cpp"
    reviewed.write({source: SOURCES[source].replace("  return 2 * n;\n", GROWN)})
    try:
        done = reviewed.run("gate", "--format", "json")
    finally:
        reviewed.git("checkout", "--", ".")
    found = json.loads(done.out)
    cause = found["apps"][0]["causes"][0]
    assert done.code == 1
    assert (cause["symbol"], cause["place"]) == ("twice", "src/main.cpp:4")
    assert cause["new"] - cause["old"] > 800
    assert found["apps"][0]["base"] == "merge base"


@native
def test_a_change_cannot_ignore_what_it_grows(reviewed: AnyProject) -> None:
    source = "src/main.cpp"
    ignoring = CONFIG.replace('ignore: "*.md"', f'ignore: ["*.md", {source}]')
    assert ignoring != CONFIG
    grown = SOURCES[source].replace("  return 2 * n;\n", GROWN)
    reviewed.write({source: grown, "sizeguard.yaml": ignoring})
    try:
        done = reviewed.run("gate", "--format", "json")
    finally:
        reviewed.git("checkout", "--", ".")
    found = json.loads(done.out)
    assert done.code == 1
    assert found["apps"][0]["growth_since_base"]["load"] > 800
    assert "ignore" in json.dumps(found["policy_changes"])


@native
def test_nothing_is_left_in_the_user_s_checkout(reviewed: AnyProject) -> None:
    assert reviewed.git("status", "--porcelain") == ""
    assert reviewed.git("branch", "--list").split() == ["*", "main"]


@native
def test_a_change_of_an_ignored_file_builds_nothing(reviewed: AnyProject) -> None:
    reviewed.run("gate")
    reviewed.write({"README.md": "Words, counted.\n"})
    try:
        done = reviewed.run("gate")
    finally:
        reviewed.git("checkout", "--", ".")
    assert done.code == 0
    assert "building" not in done.err


@native
@pytest.mark.parametrize(
    ("limit", "code"),
    [("symbol/twice*: 0", 1), ("symbol/*: 3 KiB", 0), ("symbol/nothing_like_this: 0", 3)],
)
def test_an_image_without_a_build_is_measured_as_found(
    reviewed: AnyProject, tmp_path: Path, limit: str, code: int
) -> None:
    kept = reviewed.root / ".sizeguard" / "count"
    (tmp_path / "image").write_bytes(kept.read_bytes())
    config = f"apps:\n  found:\n    image: image\n    limits: {{load: 3 KiB, {limit}}}\n"
    project = made_project(tmp_path, config, {})
    done = project.run("gate", "--format", "json")
    assert done.code == code, done.out
    assert {check["verdict"] for check in json.loads(done.out)["checks"]} <= {
        "pass", "fail", "inconclusive", "not_run"
    }  # fmt: skip


@native
def test_a_failing_build_is_one_line(tmp_path: Path) -> None:
    broken = {**SOURCES, "src/words.cpp": "#error no words\n"}
    done = made_project(tmp_path, CONFIG, broken).run("gate")
    assert done.code == 4
    assert "#error no words" in " ".join(done.out.split())  # the gate wraps lines
    assert "Traceback" not in done.out + done.err


def test_a_function_is_found_in_the_only_source_that_defines_it(tmp_path: Path) -> None:
    sources = {
        "src/lib.rs": "pub(crate) unsafe fn grow<T>(x: T) {}\nfn other() { grow(1); }\n",
        "a.c": "static int twice(int x);\nstatic int twice(int x) {\n  return x;\n}\n",
        "b.c": "int thrice(int x) {\n}\n",
        "c.c": "int thrice(int x) {\n}\n",
    }
    project = made_project(tmp_path, "", sources)
    lines = SourceLines(tmp_path, commit=project.git("rev-parse", "HEAD"))
    assert lines.place("", "hi::grow") == "src/lib.rs:1"
    assert lines.place("", "twice") == "a.c:2"
    assert lines.place("", "thrice") == ""
    assert lines.place("", "nothing") == ""


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("void\ngrow (\n  /* in; */ int a,\n  int b\n)\n{\n}\n", "grow", 2),
        ("int ZEXPORT grow(a, b)\n    char *a;\n    int b;\n{\n}\n", "grow", 1),
        ("A::A(int n) : x(n), y{n} {\n}\nvoid A::grow() const noexcept\n{\n}\n", "A::grow", 3),
        ("__attribute__((noinline)) static int grow(int n) {\n}\n", "grow", 1),
        ("struct S {\n  int grow(int n) { return n; }\n};\n", "S::grow", 2),
        ("auto grow(int n) -> decltype(n)\n{\n}\n", "grow", 1),
        ("int grow(\n  int a\n);\nint f() {\n  if (grow(1)) {\n  }\n}\n", "grow", 0),
        ("// int grow(int n) {\nint f() {\n  return grow(2);\n}\n", "grow", 0),
    ],
)
def test_a_definition_is_told_from_declarations_and_calls(
    tmp_path: Path, text: str, name: str, line: int
) -> None:
    (tmp_path / "a.cpp").write_text(text)
    lines = SourceLines(tmp_path, commit="")
    assert [each.line for each in lines._lines("a.cpp", name)] == ([line] if line else [])
