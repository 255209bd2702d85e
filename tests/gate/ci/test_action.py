"""The GitHub action, step by step, in another project, and the results of runs that end early."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sizeguard.gate.reference.ci_event import VARIABLES
from tests.support.places import ROOT
from tests.support.services.workflow_steps import ACTION, Runner
from tests.support.tricks.any_project import AnyProject, made_project

SOURCE = "const char t[{}] = {{1}};\nint main(int n, char** v) {{ return t[n] + (v == 0); }}\n"
# Modules of the checkout, which no step of the action may import.
SHADOWS = dict.fromkeys(("platform.py", "subprocess.py", "json.py"), "raise SystemExit(9)\n")
CONFIG = """\
limits: {load: {growth: 256 B}}
apps: {a: {build: cc -Os main.c -o a, image: a}}
"""


def acting(
    project: AnyProject, inputs: Mapping[str, str], env: Mapping[str, str]
) -> tuple[Runner, int]:
    """Run the action's steps in a project, with a separate home and temporary folder."""
    home = project.root.parent
    bin_ = home / "temp" / "sizeguard" / "bin"
    bin_.mkdir(parents=True, exist_ok=True)
    for name, command in (("python", ""), ("sizeguard", "-P -m sizeguard.cli.main")):
        # The installation step would write these; another test installs the wheel.
        (bin_ / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command} "$@"\n')
        (bin_ / name).chmod(0o755)
    given = {name: str(entry["default"]) for name, entry in ACTION["inputs"].items()} | inputs
    runner = Runner(home, {f"inputs.{name}": value for name, value in given.items()})
    plain = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    code = runner.run(
        ACTION["runs"]["steps"],
        {
            **plain,
            "PATH": f"{sys.base_prefix}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(home),
            "RUNNER_TEMP": str(home / "temp"),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_WORKSPACE": str(project.root),
            "CI": "true",
            **env,
        },
    )
    return runner, code


def project_of(folder: Path, config: str = CONFIG) -> AnyProject:
    return made_project(folder / "work", config, {"main.c": SOURCE.format(1000)})


@pytest.mark.native
def test_a_project_without_our_runtime_is_gated(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    project.write(SHADOWS)
    project.commit("Modules that have names of Python's library")
    project.git("checkout", "--quiet", "-b", "change")
    results = project.root / "sizeguard-results"
    for size, code in ((1100, 0), (9000, 1)):
        project.write({"main.c": SOURCE.format(size)})
        project.commit(f"A table of {size}")
        runner, found = acting(project, {}, {"GITHUB_BASE_REF": "main"})
        assert found == 3  # there is no origin/main in this clone
        assert "unknown base 'origin/main'" in runner.log[-1]
        kept = json.loads((results / "gate.json").read_text())
        head = project.git("rev-parse", "HEAD")
        assert (kept["head"], kept["verdict"]) == (head, "inconclusive")
        assert f"not measured at {head[:7]}: " in kept["problems"][0]["message"]
        project.git("update-ref", "refs/remotes/origin/main", "main")
        runner, found = acting(project, {}, {"GITHUB_BASE_REF": "main"})
        assert found == code, runner.log
        kept = json.loads((results / "gate.json").read_text())
        assert kept["exit_code"] == code
        assert runner.expressions["steps.gate.outputs.exit-code"] == str(code)
        assert (results / "gate.sarif").is_file()
        assert (results / "gate.xml").is_file()
        pages = project.root / runner.expressions["steps.gate.outputs.pages"]
        page = (pages / "a.x86_64-linux.html").read_text()
        assert ("</title>" in page, "change of load</title>" in page) == (True, code == 1)
        both = [pages / f"a.x86_64-linux{each}.snapshot" for each in (".base", "")]
        assert [each.exists() for each in both] == [code == 1, True]
        project.git("update-ref", "-d", "refs/remotes/origin/main")
    assert project.git("status", "--porcelain") == ""


@pytest.mark.native
def test_binaries_of_the_workflow_are_gated_without_a_file(tmp_path: Path) -> None:
    project = project_of(tmp_path, "")
    (project.root / "sizeguard.yaml").unlink()
    project.commit("No configuration")
    inputs = {"images": "tool=out/a\n", "fail-if": "load > +256B\nload > 100KiB\n"}

    def judged(size: int, **env: str) -> tuple[str, int]:
        source = project.root.parent / "main.c"
        source.write_text(SOURCE.format(size))
        (project.root / "out").mkdir(exist_ok=True)
        build = ["cc", "-Os", str(source), "-o", str(project.root / "out" / "a")]
        subprocess.run(build, check=True)
        runner, code = acting(project, inputs, env)
        return runner.log[-1], code

    project.write({**SHADOWS, ".gitignore": "out/\n"})
    project.commit("First")
    log, code = judged(1000)
    assert (code, "growth is not judged" in log) == (0, True), log
    project.git("checkout", "--quiet", "-b", "change")
    project.write({"README.md": "x\n"})
    project.commit("Change")
    log, code = judged(1100)
    assert code == 0, log
    log, code = judged(9000)
    assert (code, "tool: fail load: " in log, " since " in log) == (1, True, True), log
    log, code = judged(200_000)
    assert code == 1, log
    # Without a snapshot of the base, growth cannot be judged.
    project.git("branch", "-m", "main", "trunk")
    log, code = judged(1000)
    assert (code, ": no branch origin/HEAD" in log) == (3, True), log
    project.git("branch", "-m", "trunk", "main")
    for kept in (tmp_path / ".cache" / "sizeguard" / "store" / "images").iterdir():
        kept.unlink()
    log, code = judged(9000)
    assert (code, "not measured at " in log) == (3, True), log
    git = project.root / ".git"
    git.rename(tmp_path / "elsewhere")  # as with a checkout in a folder of the workspace
    log, code = judged(9000)
    assert (code, "work is not the root of a git repository" in log) == (3, True), log
    (tmp_path / "elsewhere").rename(git)
    inputs["images"] = "gone\n"
    assert judged(1000)[1] == 2
    inputs["fail-if"] = ""
    assert judged(1000)[1] == 2
    inputs |= {"images": "", "fail-if": "load > 1"}
    log, code = judged(1000)
    assert (code, "belong together" in log) == (2, True), log


@pytest.mark.parametrize(
    ("python", "message"), [("3.10.12", "here is Python 3.10.12"), ("", "here is no python3")]
)
def test_an_old_python_is_refused_before_anything_is_installed(
    tmp_path: Path, python: str, message: str
) -> None:
    """The tool cache has no Python either, and the user may not install one."""
    tools = tmp_path / "bin"
    tools.mkdir()
    scripts = {"id": "echo 1001", "python3": f"[ $1 = --version ] && echo Python {python}"}
    if not python:
        del scripts["python3"]
    for name, script in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    (tools / "uname").symlink_to("/bin/uname")
    done = subprocess.run(
        ["/bin/bash", ROOT / "ci" / "action" / "check.sh"],
        env={"PATH": str(tools), "GITHUB_OUTPUT": str(tmp_path / "out"), "RUNNER_TOOL_CACHE": "/x"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, message in done.stdout) == (2, True), done.stdout + done.stderr
    assert done.stdout.startswith("::error title=sizeguard::sizeguard needs Python 3.11 or later")
    assert not (tmp_path / "out").exists()


def checked(tmp_path: Path, **scripts: str) -> subprocess.CompletedProcess[str]:
    """Run the first step as root in a system that has only some tools."""
    tools = tmp_path / "bin"
    tools.mkdir()
    python = f'exec {sys.executable} "$@"'
    for name, script in {"id": "echo 0", "python3": python, **scripts}.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    for name in ("uname", "cat", "chmod"):
        (tools / name).symlink_to(f"/bin/{name}")
    (tmp_path / "work").mkdir()
    return subprocess.run(
        ["/bin/bash", ROOT / "ci" / "action" / "check.sh"],
        env={
            "PATH": str(tools), "GITHUB_OUTPUT": str(tmp_path / "out"), "HOME": str(tmp_path),
            "GITHUB_WORKSPACE": str(tmp_path / "work"), "RUNNER_TOOL_CACHE": "/x",
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_checkout_without_git_is_told(tmp_path: Path) -> None:
    """In a container without git, actions/checkout downloads files, and there is no history."""
    git = f"{tmp_path}/bin/git"
    install = f'printf "#!/bin/sh\\nexec /usr/bin/git \\$@\\n" >{git}; chmod 755 {git}'
    done = checked(tmp_path, **{"apt-get": install})
    assert done.returncode == 2, done.stdout + done.stderr
    assert "installing  git" in done.stdout
    assert "git was missing when actions/checkout ran" in done.stdout


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_container_without_a_compiler_gets_one_or_is_refused(
    tmp_path: Path, is_installed: bool
) -> None:
    """A part of sizeguard is compiled when it reads the first binary."""
    compiler = f"{tmp_path}/bin/cc"
    install = (
        f"printf '#!/bin/sh\\n' >{compiler}; chmod 755 {compiler}" if is_installed else "exit 0"
    )
    done = checked(tmp_path, **{"git": 'exec /usr/bin/git "$@"', "apt-get": install})
    assert done.stdout.splitlines()[0] == "installing  gcc libc6-dev"
    assert ("sizeguard needs a C compiler" in done.stdout) != is_installed
    assert done.returncode == (0 if is_installed else 2), done.stdout + done.stderr


def test_tools_that_cannot_be_installed_are_named(tmp_path: Path) -> None:
    """Such as clang-19 on Ubuntu 22.04."""
    own, bin_ = tmp_path / "own", tmp_path / "sizeguard" / "bin"
    bin_.mkdir(parents=True)
    scripts = {
        own / ".ci" / "setup": "echo 'E: Unable to locate package clang-19' >&2; exit 100",
        bin_ / "sizeguard": "exit 1",
        bin_ / "python": "echo arm64-macos",
    }
    (own / "ci" / "action").mkdir(parents=True)
    script = own / "ci" / "action" / "install.sh"
    script.write_text((ROOT / "ci" / "action" / "install.sh").read_text())
    for path, text in scripts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", script],
        env={"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert "::error title=sizeguard::the tools for arm64-macos cannot be installed" in done.stdout


ERRORS = {
    "bad limit": ("limits: {load: much}\napps: {a: {image: a}}\n", 2),
    "no yaml": ("{", 2),
    "bad waiver": (CONFIG, 2),
    "no such base": (CONFIG, 3),
}


@pytest.mark.parametrize("case", ERRORS)
def test_each_result_that_was_asked_for_is_there(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    config, code = ERRORS[case]
    project = project_of(tmp_path, config)
    if case == "bad waiver":
        project.write({"baselines/waivers.yaml": "- metric: load\n"})
    head = project.commit("Change") if case == "bad waiver" else project.git("rev-parse", "HEAD")
    formats = ("json", "markdown", "junit", "sarif", "csv", "github", "html")
    files = {name: tmp_path / f"result.{name}" for name in formats if name != "html"}
    for file in files.values():
        file.write_text("PASS, and green: of yesterday")
    options = [word for name, file in files.items() for word in ("--also", f"{name}={file}")]
    base = ["--base", "gone"] if case == "no such base" else []
    ended = project.run("gate", *base, *options)
    assert ended.code == code, ended.err
    assert ended.err.startswith("error: ")
    for name, file in files.items():
        assert f"not measured at {head[:7]}: " in file.read_text().replace("`", ""), name
    assert json.loads(files["json"].read_text())["exit_code"] == code


@pytest.mark.native
def test_a_killed_run_leaves_no_result_of_yesterday(tmp_path: Path) -> None:
    project = project_of(tmp_path, CONFIG.replace("cc -Os", "sleep 15; cc -Os"))
    outside, inside = tmp_path / "out.json", project.root / "in.json"
    for file in (outside, inside):
        file.write_text('{"verdict": "pass"}')
    command = [sys.executable, "-m", "sizeguard.cli.main", "gate"]
    command += ["--also", f"json={outside}", "--also", f"json={inside}"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=project.root, env=env, stderr=subprocess.PIPE) as process:
        assert process.stderr
        process.stderr.read(1)  # the build has started
        process.kill()
    kept = json.loads(outside.read_text())
    assert kept["verdict"] == "inconclusive"
    assert kept["problems"][0]["message"].endswith("it was cancelled, killed or timed out")
    assert not inside.exists()  # the gate would measure it as an input
