"""A program with debug information that tests of DWARF share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.images.dwarf_image import make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dwarf")


@pytest.fixture(scope="module")
def image(folder: Path) -> Path:
    return make(folder, "plain")
