"""docs/tutorial.md, followed to the letter: its files are written, its commands are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.native

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def follow(home: Path, text: str) -> list[tuple[str, str]]:
    """Follow a page; return each output that it shows, and the one that its command had.

    A block `sh NAME` runs only where the variable NAME is set.
    """
    (home / "sizeguard").symlink_to(ROOT)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(home), "PATH": path}
    folder, said = home, ""
    outputs = []
    for kind, name, block in BLOCK.findall(text):
        if kind == "text":
            outputs.append((block, said))
        elif kind != "sh":
            (folder / name).write_text(block, encoding="utf-8")
        elif not name or os.environ.get(name):
            command = ["bash", "-ec", f"{block}\npwd >'{home}/folder'"]
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{block}{done.stdout[-3000:]}"
            folder = Path((home / "folder").read_text(encoding="utf-8").strip())
            said = done.stdout
    return outputs


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def outputs(home: Path) -> list[tuple[str, str]]:
    return follow(home, TUTORIAL)


def test_the_app_says_what_the_page_shows(outputs: list[tuple[str, str]]) -> None:
    assert len(outputs) == TUTORIAL.count("```text") > 1
    for shown, said in outputs:
        assert shown
        assert said.endswith(shown), said


def test_the_package_names_no_folder_of_this_machine(
    outputs: list[tuple[str, str]], home: Path
) -> None:
    files = [path for path in (home / "app" / "installed").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".a", ".o", ".h", ".cmake", ".yaml"}
    for file in files:
        content = file.read_bytes()
        for folder in (ROOT, home):
            assert f"{folder}/".encode() not in content, file


def test_the_app_has_no_other_operators(outputs: list[tuple[str, str]], home: Path) -> None:
    """Its schemas are those of the selection, and it needs no library of C++."""
    app = (home / "app" / "build" / "app").read_bytes()
    schemas = {schema.decode() for schema in re.findall(rb"aten::\w+(?:\.\w+)?(?=\()", app)}
    selected = (home / "app" / "installed/share/sizeguard/selected_operators.yaml").read_text()
    assert "aten::linear" in schemas
    assert all(f"{name}:" in selected for name in schemas)
    assert b"aten::convolution(" not in app
    assert b"libstdc++" not in app


def test_a_page_that_lies_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        follow(tmp_path, "```sh\nfalse\n```\n")
    (tmp_path / "sizeguard").unlink()
    page = "```c a.c\nint a;\n```\n```sh\ncat a.c\n```\n```text\nint b;\n```\n"
    assert follow(tmp_path, page) == [("int b;\n", "int a;\n")]
