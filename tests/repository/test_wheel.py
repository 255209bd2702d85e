"""The package in a clean environment, outside any source tree, for each installed Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sizeguard import __version__
from sizeguard.builds.build_record import Build
from sizeguard.cli.main import COMMANDS
from sizeguard.cli.select.sub_commands import COMMANDS as SELECT
from tests.support.own_python import VERSIONS
from tests.support.places import DATA, ROOT

pytestmark = pytest.mark.native

RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


def interpreter(version: str) -> Path | None:
    """Return the Python of a version: the running one, one of pyenv, or one in PATH."""
    name = f"python{version}"
    if version == RUNNING:
        return Path(sys.executable)
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/{name}"))
    in_path = shutil.which(name)
    for path in (*pyenv, *([Path(in_path)] if in_path else [])):
        done = subprocess.run([path, "-c", "import ensurepip"], capture_output=True, check=False)
        if done.returncode == 0:  # pyenv has shims for inactive versions, too
            return path
    return None


PRESENT = [version for version in VERSIONS if interpreter(version) is not None]


def clean_environment() -> dict[str, str]:
    """Return the environment without variables that can point Python to a source tree."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and not name.startswith("SIZEGUARD")
    }


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = run("git", *identity, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Commit the current content of all tracked files to a new repository."""
    folder = tmp_path_factory.mktemp("clone")
    for name in git(ROOT, "ls-files", "-z").split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    git(folder, "init", "-q")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "All")
    return folder


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    python = made_venv(Path(sys.executable), folder / "venv")
    done = run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, tree, cwd=folder)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


def made_venv(interpreter: Path, folder: Path) -> Path:
    """Make a virtual environment and return its Python."""
    if interpreter == Path(sys.executable):
        venv.create(folder, with_pip=True, symlinks=True)
    else:
        done = run(interpreter, "-m", "venv", folder, cwd=folder.parent)
        assert done.returncode == 0, done.stderr
    return folder / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Installed:
    """The package in an environment. here: a folder outside any source tree."""

    bin: Path
    here: Path

    def run(
        self, *arguments: str | Path, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return run(self.bin / "sizeguard", *arguments, cwd=cwd or self.here)

    def out(self, *arguments: str | Path) -> str:
        """Return the output of a command, which must exit with 0."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module", params=PRESENT)
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    found = interpreter(request.param)
    assert found is not None
    folder = tmp_path_factory.mktemp(f"python{request.param}")
    python = made_venv(found, folder / "venv")
    done = run(python, "-m", "pip", "install", "-q", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "here").mkdir()
    return Installed(python.parent, folder / "here")


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """Make an unrelated repository: three commits of a program that grows."""
    git(tmp_path, "init", "-q")
    for size in (1, 200, 900):
        (tmp_path / "main.c").write_text(
            f"const char filler[{size}] = {{1}};\nint main() {{ return filler[0]; }}\n"
        )
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "-q", "-m", f"Filler of {size}")
    return tmp_path


def test_the_running_python_is_among_them() -> None:
    assert RUNNING in PRESENT


def test_installing_writes_nothing_into_the_tree(tree: Path, tmp_path: Path) -> None:
    python = made_venv(Path(sys.executable), tmp_path / "venv")
    done = run(python, "-m", "pip", "install", "-q", "--no-deps", ".", cwd=tree)
    assert done.returncode == 0, done.stderr
    assert git(tree, "status", "--porcelain", "--ignored") == ""
    done = run(python, "-m", "pip", "install", "-q", "--no-deps", "--editable", ".", cwd=tree)
    assert done.returncode == 0, done.stderr
    assert git(tree, "status", "--porcelain", "--ignored") == ""


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path, tree: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if "dist-info" not in name}
    expected = {name: name for name in git(tree, "ls-files", "sizeguard").splitlines()} | {
        f"sizeguard/runtimes/sizeguard/libraries/{library}.yaml": f"native/{library}/operators.yaml"
        for library in ("operators", "prepacked")
    }
    for name in ("names.json", "op_deps.yaml", "pytorch_names.yaml"):
        expected[f"sizeguard/runtimes/sizeguard/libraries/{name}"] = f"native/operators/{name}"
    assert held == {name: (tree / source).read_bytes() for name, source in expected.items()}
    assert "sizeguard/py.typed" in held


def test_an_archive_of_the_sources_makes_the_same_wheel(
    wheel: Path, tree: Path, tmp_path: Path
) -> None:
    """The archive must contain native/, which has the lists of operators."""
    python = made_venv(Path(sys.executable), tmp_path / "venv")
    assert run(python, "-m", "pip", "install", "-q", "hatchling", cwd=tmp_path).returncode == 0
    make = "import sys; from hatchling.build import build_sdist; print(build_sdist(sys.argv[1]))"
    done = run(python, "-c", make, tmp_path, cwd=tree)
    assert done.returncode == 0, done.stderr
    archive = tmp_path / done.stdout.strip()
    command = ("pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, archive)
    done = run(python, "-m", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_package_is_the_installed_one(installed: Installed) -> None:
    done = run(
        installed.bin / "python", "-c", "import sizeguard; print(sizeguard.__file__)",
        cwd=installed.here,
    )  # fmt: skip
    assert Path(done.stdout.strip()).is_relative_to(installed.bin.parent)
    assert installed.out("--version") == f"sizeguard, version {__version__}\n"
    done = run(installed.bin / "python", "-m", "sizeguard", "--help", cwd=installed.here)
    assert (done.returncode, done.stdout) == (0, installed.out("--help"))


GROUPS = {"select": tuple(SELECT), "baseline": ("show", "log", "update")}
HELP = [
    *([name] for name in COMMANDS),
    *([group, name] for group, names in GROUPS.items() for name in names),
]


def test_every_command_has_help(installed: Installed) -> None:
    for command in HELP:
        assert installed.out(*command, "--help").startswith(f"Usage: sizeguard {command[0]}")


def test_report_diff_and_why_of_a_build(installed: Installed, full_build: Build) -> None:
    build = full_build.image.parent
    text = installed.out("report", build, "--by", "operator,dtype", "--format", "json")
    assert json.loads(text)["totals"]["load"] == full_build.sizes.load
    # With all rules and lists of names in the wheel, reports equal those of the source tree.
    here = run(sys.executable, "-m", "sizeguard", "report", build, "--by", "operator,dtype",
               "--format", "json", cwd=ROOT)  # fmt: skip
    assert here.stdout == text
    snapshot = installed.here / "full.snapshot"
    installed.out("report", build, "--by", "section", "--save", snapshot)
    diff = json.loads(installed.out("diff", snapshot, build, "--format", "json"))
    assert (diff["totals"], diff["rows"]) == ({"file": 0, "load": 0, "ram": 0}, [])
    assert json.loads(installed.out("why", build, "aten::convolution", "--format", "json"))["live"]
    page = installed.here / "report.html"
    installed.out("report", build, "--format", "html", "--output", page)
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_verify_of_given_symbols(installed: Installed, full_build: Build) -> None:
    objects = [word for path in full_build.objects for word in ("--objects", path)]
    files = (full_build.image, *objects, "--map", full_build.map)
    claims = ("--present", "main", "--absent", "kernels::nothing", "--unknown", "ok")
    found = json.loads(installed.out("verify", *files, *claims, "--format", "json"))
    summary = {"pass": 2, "fail": 0, "inconclusive": 0, "not_applicable": 0}
    assert found["summary"] == summary
    done = installed.run("verify", *files, "--absent", "main")
    assert done.returncode == 1


def test_predict_of_a_build(installed: Installed, full_build: Build) -> None:
    selection = ROOT / "native" / "apps" / "vision" / "selected_operators.yaml"
    full = full_build.image.parent
    command = ("predict", "--full", full, "--selection", selection, "--format", "json")
    assert 0 < json.loads(installed.out(*command))["load"] < full_build.sizes.load


MODELS = (
    ROOT / "native" / "models" / "mlp" / "model.pt2",
    next((DATA / "models_executorch").glob("*.pte")),
    next((DATA / "models_torchscript").glob("*.ptl")),
)


def test_select(installed: Installed) -> None:
    names = [installed.here / f"{model.suffix[1:]}.yaml" for model in MODELS]
    for model, selection in zip(MODELS, names, strict=True):
        assert "aten::" in installed.out("select", "ops", model, "-o", selection)
    merged = installed.here / "merged.yaml"
    installed.out("select", "merge", *names[:2], "-o", merged)
    lists = (
        word
        for library in ("operators", "prepacked")
        for word in (
            "--operators-yaml", ROOT / "native" / library / "operators.yaml",
            "--kernel-sources", ROOT / "native" / library,
        )
    )  # fmt: skip
    installed.out("select", "lint", names[0], *lists)
    traced = ROOT / "native" / "apps" / "vision" / "selected_operators.yaml"
    assert "not looked up: " not in installed.out("select", "lint", "--strict", traced)
    wrong = installed.here / "wrong.yaml"
    wrong.write_text(names[0].read_text().replace("aten::", "aten::misspelled_", 1))
    done = installed.run("select", "lint", wrong)
    assert (done.returncode, "unknown operator aten::misspelled_" in done.stdout) == (1, True)
    assert "aten::relu" in installed.out("select", "ops", "--list")


def test_import(installed: Installed) -> None:
    program = installed.here / "mlp.sgp"
    cases = sorted(MODELS[0].parent.glob("case*_input0.npy"))
    installed.out("import", MODELS[0], "-o", program, "--case", cases[0])
    assert "aten::linear" in installed.out("select", "ops", program)


def test_bisect_of_a_strangers_repository(installed: Installed, stranger: Path) -> None:
    command = ("--build-command", "gcc -O1 main.c -o app", "--image", "app", "--format", "json")
    done = installed.run(
        "bisect", "HEAD~2", "HEAD", *command, "--metric", "section/.rodata", cwd=stranger
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["culprits"]) == 2
    assert sum(each["delta"] for each in found["culprits"]) == found["delta"] > 800


@pytest.mark.parametrize("command", [["baseline", "show"], ["baseline", "update"], ["gate"]])
def test_a_strangers_repository_is_no_project(
    installed: Installed, stranger: Path, command: Sequence[str]
) -> None:
    done = installed.run(*command, cwd=stranger)
    assert (done.returncode, done.stdout) == (2, "")
    missing = f"there is no sizeguard.yaml in {stranger}; sizeguard init writes one"
    assert done.stderr == f"error: not in a project: {missing}\n"
    assert git(stranger, "status", "--porcelain", "--ignored") == ""


def test_completion(installed: Installed) -> None:
    assert "_SIZEGUARD_COMPLETE=bash_complete" in installed.out("completion", "bash")
    done = subprocess.run(
        [installed.bin / "sizeguard"],
        cwd=installed.here,
        env=clean_environment()
        | {"_SIZEGUARD_COMPLETE": "bash_complete", "COMP_LINE": "sizeguard why b aten::relu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "plain,relu\nplain,relu_\n")
