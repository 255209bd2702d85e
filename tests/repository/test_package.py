"""Files in the package, and versions that it must not depend on."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

import sizeguard
from sizeguard.base import fingerprint
from sizeguard.runtimes.sizeguard.native_tree import OPERATOR_FILES, operator_files
from tests.support.own_python import VERSIONS

PACKAGE = Path(sizeguard.__file__).parent


def test_a_checkout_reads_the_operators_of_its_sources(root: Path) -> None:
    """A checkout uses the operator files in its sources; test_wheel checks those of a wheel."""
    assert operator_files(root) == OPERATOR_FILES


def test_the_tree_has_no_links(root: Path) -> None:
    """Archives and checkouts without symlink support turn links into files that contain a path."""
    listed = subprocess.run(
        ["git", "ls-files", "--stage"], cwd=root, capture_output=True, text=True, check=True
    )
    assert {line.split(" ")[0] for line in listed.stdout.splitlines()} <= {"100644", "100755"}


def test_operators_are_no_code() -> None:
    """A change to operators.yaml must not invalidate all earlier measurements."""
    hashed = {PACKAGE / path for path, _ in fingerprint._code_files("runtimes")}
    assert PACKAGE / "runtimes" / "sizeguard" / "names.yaml" in hashed
    assert not hashed & set(OPERATOR_FILES)


def test_results_depend_on_versions_of_libraries_that_are_imported() -> None:
    """A library that no module imports cannot change a result."""
    modules = {name: name for name in ("numpy", "pycxxfilt", "lief")}
    modules |= {"PyYAML": "yaml", "pyelftools": "elftools"}
    code = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert set(fingerprint._LIBRARIES) <= modules.keys()
    for library in fingerprint._LIBRARIES:
        assert re.search(rf"^ *(import|from) {modules[library]}\b", code, re.MULTILINE)


def test_the_module_runs_as_the_command_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sizeguard", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"sizeguard, version {sizeguard.__version__}\n"


def test_the_version_is_written_once(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "sizeguard/__init__.py"


def test_the_version_is_that_of_the_changelog(root: Path) -> None:
    """Only a release has a number alone; what is built before it is a development version."""
    text = (root / "CHANGELOG.md").read_text()
    [heading, *_] = re.findall(r"^## (.*)", text, re.M)
    number, dot, development = sizeguard.__version__.partition(".dev")
    assert heading.split(" ")[0] == ("Unreleased" if dot else number)
    assert bool(dot) == development.isdigit()
    before = re.findall(r"all changes since ([\d.]+\d),", text)[0]
    assert [*map(int, before.split("."))] < [*map(int, number.split("."))]


def test_each_python_that_is_named_is_tested(root: Path) -> None:
    """Compare the classifiers with the workflow's matrix and the type checks of `make lint`."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if "Python :: 3." in each]
    workflow = yaml.safe_load((root / ".github" / "workflows" / "package.yml").read_text())
    assert workflow["jobs"]["wheel"]["strategy"]["matrix"]["python"] == named == [*VERSIONS]
    assert workflow["permissions"] == {"contents": "read"}
    lint = (root / "Makefile").read_text()
    assert "mypy --strict sizeguard" in lint
    assert f"mypy --strict --python-version {named[-1]} sizeguard" in lint
    assert project["requires-python"] == f">={named[0]}"
    assert ("license" in project) == bool(list(root.glob("LICENSE*")))


def test_links_of_the_project_are_public(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert {link.partition("sizeguard/sizeguard")[0] for link in project["urls"].values()} == {
        "https://github.com/"
    }
