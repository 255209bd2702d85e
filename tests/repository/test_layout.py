"""Test the layout check: the package passes, and each rule can fail."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.places import ROOT


@pytest.fixture(scope="module")
def layout() -> Iterator[ModuleType]:
    """Import ci/layout.py, which `make lint` runs."""
    sys.path.insert(0, str(ROOT / "ci"))
    try:
        yield importlib.import_module("layout")
    finally:
        sys.path.remove(str(ROOT / "ci"))


def package(folder: Path, files: Mapping[str, str]) -> Path:
    """Make a package of these files, with an __init__ in each folder."""
    root = folder / "sizeguard"
    for name, text in {"__init__": "", **files}.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.native  # takes seconds
def test_the_package_keeps_its_layout(layout: ModuleType) -> None:
    assert layout.problems(ROOT / "sizeguard") == []


BROKEN = {
    "an arrow back": (
        {"base/a": "from sizeguard.git.b import B\n", "git/b": "B = 1\n"},
        "base may not use git",
    ),
    "an arrow that no rule allows": (
        {"formats/a": "from sizeguard.git.b import B\n", "git/b": "B = 1\n"},
        "formats may not use git",
    ),
    "an import inside a function": (
        {"base/a": "def f():\n    from sizeguard.git import b\n", "git/b": "B = 1\n"},
        "base may not use git",
    ),
    "an import for type checkers": (
        {
            "base/a": (
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sizeguard.git.b\n"
            ),
            "git/b": "B = 1\n",
        },
        "base may not use git",
    ),
    "a runtime that is entered": (
        {
            "gate/a": "from sizeguard.runtimes.aten.ptl import read\n",
            "runtimes/aten/ptl": "read = 1\n",
        },
        "nobody outside enters aten",
    ),
    "a runtime that another enters": (
        {
            "runtimes/executorch/a": "from sizeguard.runtimes.aten.ptl import read\n",
            "runtimes/aten/ptl": "read = 1\n",
        },
        "nobody outside enters aten",
    ),
    "a circle of files": (
        {
            "base/a": "from sizeguard.base import b\n",
            "base/b": "def f():\n    from sizeguard.base.a import x\n",
        },
        "circle of files",
    ),
    "report that computes": (
        {"report/a": "from sizeguard.diff.compare import d\n", "diff/compare": "d = 1\n"},
        "report takes results alone",
    ),
    "a file name that is there twice": (
        {"base/words": "", "git/words": ""},
        "file name words is there 2 times",
    ),
    "a runtime's words": (
        {"attribution/a": 'KERNEL = b"_ZN2sg7kernels3addE"\n'},
        "a runtime's words outside runtimes/",
    ),
    "a room that nobody listed": (
        {"cellar/a": "from sizeguard.base.b import c\n", "base/b": "c = 1\n"},
        "cellar is no room",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_breaks_the_layout_is_named(layout: ModuleType, tmp_path: Path, case: str) -> None:
    files, message = BROKEN[case]
    found = layout.problems(package(tmp_path, files))
    assert any(message in line for line in found), found


def test_a_folder_with_too_many_files_is_named(layout: ModuleType, tmp_path: Path) -> None:
    most = {f"base/file{i}": "" for i in range(layout.LARGEST_FOLDER)}
    within = layout.problems(package(tmp_path / "within", most))
    beyond = layout.problems(package(tmp_path / "beyond", {**most, "base/one_more": ""}))
    assert not any("at one level" in line for line in within)
    assert any("16 files at one level" in line for line in beyond)


def test_folders_of_tests_are_limited_too(layout: ModuleType, tmp_path: Path) -> None:
    assert layout.problems_of_tests(ROOT / "tests") == []
    for folder, name in (("tests/gate", "test_part"), ("tests/support/links", "part")):
        (tmp_path / folder).mkdir(parents=True)
        for i in range(layout.LARGEST_FOLDER + 1):
            (tmp_path / folder / f"{name}{i}.py").touch()
        found = layout.problems_of_tests(tmp_path / "tests")
        assert f"{folder}: 16 files at one level" in found


def test_what_is_allowed_is_no_problem(layout: ModuleType, tmp_path: Path) -> None:
    files = {
        "base/words": "A = 1\n",
        "verify/code": '"""Prose may name sg::kernels."""\nfrom sizeguard.base.words import A\n',
        "runtimes/aten/runtime": "from sizeguard.runtimes.aten.ptl import B\n",
        "runtimes/aten/ptl": 'B = "at::native"\n',
        "report/gate/render": "from sizeguard.gate.gate_result import C\n",
        "gate/gate_result": "C = 1\n",
    }
    assert layout.problems(package(tmp_path, files)) == []


LONG = "def f():\n" + "    x = 1\n" * 40
WIDE = "def f(a, b, c, *, d, e, f, g): ...\n"
COMMAND = '@click.command()\n@click.argument("a")\ndef f(a, b, c, d, e, f, g):\n    """Help."""\n'
UNEXPLAINED = {
    "41 lines": (LONG, "f has 41 lines"),
    "41 lines in a class": (
        "class C:\n" + "".join(f"    {line}\n" for line in LONG.splitlines()),
        "f has 41 lines",
    ),
    "a comment that explains something else": (f"# This is a function.\n{LONG}", "f has 41 lines"),
    "a comment without a reason": (f"# More than 40 lines: \n{LONG}", "f has 41 lines"),
    "a comment further up": (f"# More than 40 lines: a table.\nx = 1\n{LONG}", "f has 41 lines"),
    "a command's own lines": (COMMAND + "    x = 1\n" * 41, "f has 41 lines"),
    "7 parameters": (WIDE, "f has 7 parameters"),
    "7 parameters and a reason for the length": (
        f"# More than 40 lines: a table.\n{WIDE}",
        "f has 7 parameters",
    ),
}
EXPLAINED = {
    "40 lines": LONG.removesuffix("    x = 1\n"),
    "a reason for the length": f"# More than 40 lines: a table.\n{LONG}",
    "a reason of two lines above a decorator": f"# More than 40 lines: a\n# table.\n@cache\n{LONG}",
    "both reasons": f"# More than 6 parameters: a row.\n# More than 40 lines: a table.\n{WIDE}",
    "6 parameters and self": "class C:\n    def f(self, a, b, c, d, e, f): ...\n",
    "a command's options and help": COMMAND + "    x = 1\n" * 40,
}


@pytest.mark.parametrize("case", UNEXPLAINED)
def test_a_large_function_without_a_reason_is_named(
    layout: ModuleType, tmp_path: Path, case: str
) -> None:
    text, message = UNEXPLAINED[case]
    found = layout.problems(package(tmp_path, {"base/a": text}))
    assert [line for line in found if message in line], found


@pytest.mark.parametrize("case", EXPLAINED)
def test_a_function_that_is_small_or_explained_is_not_named(
    layout: ModuleType, tmp_path: Path, case: str
) -> None:
    found = layout.problems(package(tmp_path, {"base/a": EXPLAINED[case]}))
    assert not [line for line in found if " has " in line], found


LATE = "def f():\n    import sizeguard.base.c\n"
LOADED_ANYWAY = {
    "by the same file": {"base/a": f"import sizeguard.base.c\n{LATE}", "base/c": ""},
    "by a file that it imports": {
        "base/a": f"from sizeguard.base.b import x\n{LATE}",
        "base/b": "if x:\n    from sizeguard.base.c import y\n",
        "base/c": "",
    },
    "by the command line": {"cli/a": LATE, "cli/main": "import sizeguard.base.c\n", "base/c": ""},
}
SAVES_TIME = {
    "only for types": {
        "base/a": f"if TYPE_CHECKING:\n    import sizeguard.base.c\n{LATE}",
        "base/c": "",
    },
    "only on another call": {
        "base/a": f"import sizeguard.base.b\n{LATE}",
        "base/b": LATE,
        "base/c": "",
    },
}


@pytest.mark.parametrize("case", LOADED_ANYWAY)
def test_an_import_inside_a_function_that_saves_nothing_is_named(
    layout: ModuleType, tmp_path: Path, case: str
) -> None:
    found = layout.problems(package(tmp_path, LOADED_ANYWAY[case]))
    assert [line for line in found if "imports base.c inside a function" in line], found


@pytest.mark.parametrize("case", SAVES_TIME)
def test_an_import_inside_a_function_that_saves_time_is_not_named(
    layout: ModuleType, tmp_path: Path, case: str
) -> None:
    found = layout.problems(package(tmp_path, SAVES_TIME[case]))
    assert not [line for line in found if "inside a function" in line], found
