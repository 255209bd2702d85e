"""The gate with a compiler other than that of the baselines and limits."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.tricks.any_project import AnyProject, made_project
from tests.support.tricks.c_project import result_of

pytestmark = pytest.mark.native
OTHER = "clang-19"
GROWN = "int g(int x) {\n  volatile int y = x;\n" + "  y = y * 3 + 1;\n" * 80 + "  return y;\n}\n"
LIB = (  # larger with clang than with gcc
    "#ifdef __clang__\n__attribute__((used)) static const char more[800] = {1};\n#endif\n"
    "int f(int x) {\n  return x * 3;\n}\n"
)
CONFIG = """\
limits:
  load: {{growth: "max(1%, 64B)"{most}}}
apps:
  a:
    env: {{CC: }}
    build: $CC -Os -g main.c lib.c -o a
    image: a
    ignore: "*.md"
"""


def project_of(folder: Path, monkeypatch: pytest.MonkeyPatch, most: str = "") -> AnyProject:
    """Make a project whose reviewed sizes are gcc's, then change the compiler to clang."""
    monkeypatch.setenv("CC", "gcc")
    main = "int f(int);\nint main(int c, char** v) {\n  return f(c) + (v == 0);\n}\n"
    sources = {"main.c": main, "lib.c": LIB, "README.md": "A.\n"}
    project = made_project(folder, CONFIG.format(most=most), sources)
    assert project.run("baseline", "update").code == 0
    project.commit("Review the sizes")
    assert project.run("gate").code == 0
    monkeypatch.setenv("CC", OTHER)
    project.git("checkout", "--quiet", "-b", "work")
    return project


def gated(project: AnyProject) -> Any:
    return result_of(project.run("gate", "--again", "--format", "json"))


def test_growth_counts_from_the_merge_base_and_the_advice_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of(tmp_path, monkeypatch)
    project.write({"README.md": "A, and B.\n"})
    project.commit("Words")
    same = gated(project)
    assert same["verdict"] == "pass"
    (check,) = [c for c in same["checks"] if c["metric"] == "load"]
    assert (check["actual"], check["verdict"]) == (check["base"], "pass")
    assert re.fullmatch(r"merge base \w{7} \(no baseline for \S*clang-19\.\S+\)", check["since"])

    project.write({"lib.c": LIB + GROWN})
    project.commit("Add g")
    grown = gated(project)
    assert grown["verdict"] == "fail"
    assert grown["apps"][0]["causes"][0]["symbol"] == "g"
    commands = {c["label"]: c["text"] for c in grown["apps"][0]["commands"]}
    # Each printed command runs, and the gate passes after either command that accepts the growth.
    for label in ("see why", "compare"):
        assert project.run(*shlex.split(commands[label])[1:]).code in (0, 3)
    assert project.run(*shlex.split(commands["reproduce"])[1:]).code == 1
    waive = shlex.split(commands["accept it"].replace("YOU", "me").replace("'…'", "wanted"))
    assert project.run(*waive[1:]).code == 0
    assert gated(project)["verdict"] == "pass"
    (tmp_path / "baselines" / "waivers.yaml").unlink()
    assert gated(project)["verdict"] == "fail"
    assert project.run(*shlex.split(commands["make it normal"])[1:]).code == 0
    assert gated(project)["verdict"] == "pass"


def test_a_limit_that_other_tools_exceed_is_not_the_change_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = project_of(tmp_path / "trial", monkeypatch)
    clang = gated(trial)["apps"][0]["sizes"]["load"]
    gcc = baseline_load(trial.root)
    assert gcc < clang
    project = project_of(tmp_path / "limited", monkeypatch, f", max: {gcc + (clang - gcc) // 2} B")
    project.write({"README.md": "More.\n"})
    project.commit("Words")
    result = gated(project)
    (absolute,) = [c for c in result["checks"] if c["kind"] == "absolute"]
    assert (result["verdict"], absolute["verdict"]) == ("pass", "not_run")
    assert absolute["set_for"].startswith("gcc-")
    assert "run the gate with the tools of the limit" in absolute["advice"]
    # Growth by the change itself is judged, and so is a change that requests the other tools.
    project.write({"lib.c": LIB + GROWN})
    project.commit("Grow")
    (absolute,) = [c for c in gated(project)["checks"] if c["kind"] == "absolute"]
    assert (absolute["verdict"], bool(absolute["set_for"])) == ("fail", True)
    project.git("checkout", "--quiet", "main", "--", "lib.c")
    config = (project.root / "sizeguard.yaml").read_text()
    project.write({"sizeguard.yaml": config.replace("$CC -Os", "$CC -g -Os")})
    (absolute,) = [c for c in gated(project)["checks"] if c["kind"] == "absolute"]
    assert absolute["verdict"] == "fail"


def baseline_load(root: Path) -> int:
    (path,) = (root / "baselines").glob("*.yaml")
    return int(re.search(r"^load: (\d+)", path.read_text(), re.M)[1])  # type: ignore[index]


def test_the_other_compiler_is_another_one() -> None:
    done = subprocess.run([OTHER, "--version"], capture_output=True, text=True, check=True)
    assert "clang version 19" in done.stdout
