"""Follow docs/tutorial.md exactly: write its files and run its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.services.documents import blocks_of, follow

pytestmark = pytest.mark.native

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def followed(home: Path) -> Path:
    """Follow the tutorial and return the folder of the app."""
    (home / "sizeguard").symlink_to(ROOT)
    follow(list(blocks_of(TUTORIAL)), home)
    return home / "app"


def test_the_package_names_no_folder_of_this_machine(followed: Path, home: Path) -> None:
    files = [path for path in (followed / "installed").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".a", ".o", ".h", ".cmake", ".yaml"}
    for file in files:
        content = file.read_bytes()
        for folder in (ROOT, home):
            # Only as an absolute path, unlike lib/cmake/sizeguard/
            path = rb"(?<![\w}.-])" + re.escape(f"{folder}/".encode())
            assert not re.search(path, content), file


def test_the_app_has_no_other_operators(followed: Path, home: Path) -> None:
    """The app has only schemas of the selection, and does not need the C++ library."""
    app = (followed / "build" / "app").read_bytes()
    schemas = {schema.decode() for schema in re.findall(rb"aten::\w+(?:\.\w+)?(?=\()", app)}
    selected = (followed / "installed/share/sizeguard/selected_operators.yaml").read_text()
    assert "aten::linear" in schemas
    assert all(f"{name}:" in selected for name in schemas)
    assert b"aten::convolution(" not in app
    assert b"libstdc++" not in app
