"""The guard of unit tests: only native tests may run a compiler; others fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.unit_guard import TOOLCHAIN

CONFTEST = """
import pytest
from tests.support.unit_guard import UnitGuard

def pytest_configure(config):
    config.addinivalue_line("markers", "native: x")
    config.pluginmanager.register(UnitGuard())

@pytest.fixture(scope="session")
def native_tools():
    pass

@pytest.fixture
def image(native_tools):
    return "image"
"""
TESTS = """
import os, shutil, subprocess, sys
import pytest

def test_git_is_there():
    subprocess.run(["git", "--version"], check=True)

def test_compiles_by_name():
    subprocess.run(["gcc", "--version"], check=True)

def test_links_by_path_and_hides_it():
    try:
        subprocess.run(["/usr/bin/x86_64-linux-gnu-ld.bfd", "--version"])
    except OSError:
        pass

def test_a_shell_finds_no_compiler():
    assert subprocess.run(["sh", "-c", "cc --version"], stderr=subprocess.DEVNULL).returncode == 127
    assert shutil.which("ld") is None

def test_zig_is_a_compiler():
    subprocess.run([sys.executable, "-m", "ziglang", "version"])

def test_a_made_up_compiler_is_none(tmp_path, monkeypatch):
    (tmp_path / "gcc").write_text("#!/bin/sh\\nexit 7\\n")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert subprocess.run(["gcc"]).returncode == 7

@pytest.mark.native
def test_marked():
    assert subprocess.run([sys.executable, "-c", ""]).returncode == 0
    assert "/usr/bin" in os.environ["PATH"]

def test_by_fixture(image):
    assert "/usr/bin" in os.environ["PATH"]
"""


def run(folder: Path, *arguments: str) -> list[str]:
    """Run the tests above; return PASSED or FAILED and the name of each."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_all.py").write_text(TESTS)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PATH": f"/usr/bin:/bin:{os.environ['PATH']}",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=short", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *arguments, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return [
        line.replace("test_all.py::test_", "").partition(" - ")[0]
        for line in done.stdout.splitlines()
        if line.startswith(("PASSED ", "FAILED "))
    ]


@pytest.mark.native  # takes seconds
def test_unit_tests_start_no_compiler_and_native_ones_may(tmp_path: Path) -> None:
    assert sorted(run(tmp_path)) == [
        "FAILED compiles_by_name",
        "FAILED links_by_path_and_hides_it",
        "FAILED zig_is_a_compiler",
        "PASSED a_made_up_compiler_is_none",
        "PASSED a_shell_finds_no_compiler",
        "PASSED by_fixture",
        "PASSED git_is_there",
        "PASSED marked",
    ]


@pytest.mark.native  # takes seconds
def test_native_tests_are_selected_by_their_marker(tmp_path: Path) -> None:
    assert sorted(run(tmp_path, "-m", "native")) == ["PASSED by_fixture", "PASSED marked"]


@pytest.mark.native
def test_all_tests_are_listed_without_a_compiler(tmp_path: Path) -> None:
    """Every test module is imported, which takes some seconds."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize(
    "name",
    [
        "gcc", "g++", "cc", "c++", "gcc-12", "clang++-19", "x86_64-linux-gnu-g++", "ld", "ld.bfd",
        "ld64.lld-19", "ld.lld-22", "mold", "gold", "aarch64-linux-gnu-strip", "llvm-readelf-19",
        "readelf", "cmake", "ninja", "flatc", "qemu-aarch64", "chromium-headless-shell",
    ],
)  # fmt: skip
def test_programs_of_a_toolchain(name: str) -> None:
    assert TOOLCHAIN.fullmatch(name)


@pytest.mark.parametrize("name", ["python3", "git", "sh", "sort", "env", "sizeguard", "bash"])
def test_other_programs(name: str) -> None:
    assert not TOOLCHAIN.fullmatch(name)
