"""Two apps over shared kernels: each holds its effective selection, and a leak is of one alone."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.builds.build_record import Build
from sizeguard.cli.main import cli

APPS = ("vision", "language")
# Glue that holds on to a kernel of no selection: an app's own code, not its registrations.
LEAK = """\
void erf_kernel() __asm__("SYMBOL");
void (*volatile leaked_glue)();
__attribute__((constructor)) static void leak() { leaked_glue = erf_kernel; }
"""
ERF = "_ZN2sg7kernels3erfERNS_7ContextENS_6TensorE"


@pytest.fixture(scope="module")
def tree(root: Path, native_tools: None) -> Path:
    """The build tree of native/apps, as test_build makes it."""
    folder = root / "build" / "tests" / "apps-shared"
    sizeguard = Path(sys.executable).with_name("sizeguard")
    configured = [
        "cmake", "-S", str(root / "native" / "apps"), "-B", str(folder), "-G", "Ninja",
        f"-DSIZEGUARD={sizeguard}", "-DDTYPE_SELECTIVE_BUILD=OFF",
    ]  # fmt: skip
    subprocess.run(configured, check=True, capture_output=True)
    subprocess.run(["ninja", "-C", str(folder)], check=True, capture_output=True)
    return folder


def link_of(tree: Path, app: str) -> str:
    listed = subprocess.run(
        ["ninja", "-C", str(tree), "-t", "commands", app],
        check=True,
        capture_output=True,
        text=True,
    )
    return listed.stdout.strip().splitlines()[-1]


def objects_of(tree: Path, app: str, *more: Path) -> list[str]:
    words = shlex.split(link_of(tree, app))
    files = [tree / word for word in words if word.endswith((".o", ".a"))]
    return [part for file in (*files, *more) for part in ("--objects", str(file))]


def verified(
    root: Path, full: Build, app: str, image: Path, objects: list[str], *, shared: bool = True
) -> tuple[int, dict[str, str]]:
    """Verify an app against its own selection; return exit code and what does not hold."""
    selections = {
        each: root / "native" / "apps" / each / "selected_operators.yaml" for each in APPS
    }
    others = [str(path) for each, path in selections.items() if each != app and shared]
    arguments = [
        "verify", str(image), "--map", f"{image}.map", "--gc-log", f"{image}.gc.txt",
        "--selection", str(selections[app]), "--full", str(full.image.parent),
        *(part for path in others for part in ("--shared-with", path)), *objects,
        "--format", "json",
    ]  # fmt: skip
    result = CliRunner().invoke(cli, arguments)
    claims = json.loads(result.stdout)["claims"]
    return result.exit_code, {
        f"{each['kind']} {each['name']}": each["verdict"]
        for each in claims
        if each["verdict"] in ("fail", "inconclusive")
    }


@pytest.mark.parametrize("app", APPS)
def test_each_app_holds_its_effective_selection(
    app: str, root: Path, tree: Path, full_build: Build
) -> None:
    objects = objects_of(tree, app)
    assert verified(root, full_build, app, tree / app, objects) == (0, {})


def test_alone_an_app_has_the_others_dtypes_too_many(
    root: Path, tree: Path, full_build: Build
) -> None:
    found = verified(
        root, full_build, "vision", tree / "vision", objects_of(tree, "vision"), shared=False
    )
    assert found == (1, {"dtype copy:Bool": "fail"})


def test_a_leak_in_the_glue_of_one_app_fails_that_app_alone(
    root: Path, tree: Path, full_build: Build, tmp_path: Path
) -> None:
    """The other app is linked of the same kernels after the leak, and holds."""
    source, leak = tmp_path / "leak.cpp", tmp_path / "leak.o"
    source.write_text(LEAK.replace("SYMBOL", ERF))
    compiler = shlex.split(link_of(tree, "vision"))[4]
    subprocess.run([compiler, "-Os", "-g", "-c", str(source), "-o", str(leak)], check=True)
    image = tmp_path / "vision"
    command = link_of(tree, "vision").replace(f"-Map={tree}/vision.map", f"-Map={image}.map")
    command = re.sub(r"-Wl,--dependency-file=\S+", "", command)
    command = command.replace(" -o vision ", f" {leak} -o {image} ")
    subprocess.run(["sh", "-c", command], cwd=tree, check=True, capture_output=True)
    code, wrong = verified(root, full_build, "vision", image, objects_of(tree, "vision", leak))
    assert code == 1
    assert wrong["kernel erf"] == "fail"
    other = objects_of(tree, "language")
    assert verified(root, full_build, "language", tree / "language", other) == (0, {})
