"""Test that the sources still take the defects that tests/soak/runtime/fuzz.py must find."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.runtimes.sizeguard.importing.importer import default_library
from tests.soak.runtime.fuzz import DEFECTS, write_calls


@pytest.mark.parametrize("defect", sorted(DEFECTS.glob("*.patch")), ids=lambda path: path.stem)
def test_a_defect_fits_the_sources(root: Path, defect: Path) -> None:
    command = ["patch", "-p1", "--dry-run", "-i", str(defect)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, "fuzz" in done.stdout) == (0, False), done.stdout


def test_the_calls_to_start_from_name_every_operator(tmp_path: Path) -> None:
    assert write_calls(tmp_path / "calls") == 6 * len(default_library())
    heads = {path.read_bytes()[:3] for path in (tmp_path / "calls").iterdir()}
    assert heads == {bytes([0, i % 256, i // 256]) for i in range(len(default_library()))}
