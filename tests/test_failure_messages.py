"""Messages of builds and of git that failed: the first error, with all that it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.git.git import git
from sizeguard.toolchains.logged import first_error
from tests.support.drawn_history import run_git

LOGS = {
    "a package that is missing": (
        "-- Detecting C compile features - done\n"
        "CMake Error at CMakeLists.txt:3 (find_package):\n"
        '  By not providing "FindZ.cmake" in CMAKE_MODULE_PATH this project has\n'
        '  asked CMake to find a package configuration file provided by "Z".\n'
        "\n"
        "  Could not find it with any of the following names:\n"
        "\n"
        "    z-config.cmake\n"
        "\n\n"
        "-- Configuring incomplete, errors occurred!\n",
        'CMakeLists.txt:3 (find_package): By not providing "FindZ.cmake" in CMAKE_MODULE_PATH this'
        ' project has asked CMake to find a package configuration file provided by "Z". Could not'
        " find it with any of the following names: z-config.cmake",
    ),
    "a call stack": (
        "CMake Error at a.cmake:4 (message):\n  No thing.\n"
        "Call Stack (most recent call first):\n  CMakeLists.txt:6 (f)\n",
        "a.cmake:4 (message): No thing.",
    ),
    "a message on its line": (
        "CMake Error: CMAKE_C_COMPILER not set, after EnableLanguage\n-- Configuring incomplete\n",
        "CMAKE_C_COMPILER not set, after EnableLanguage",
    ),
    "two errors": (
        "CMake Error at a:1 (f):\n  One.\n\n\nCMake Error at a:2 (f):\n  Two.\n",
        "a:1 (f): One.",
    ),
    "no message": ("CMake Error:\n", "CMake Error:"),
    "a compiler": ("[1/2] cc a.c\na.c:1: error: no\nninja: build stopped\n", "a.c:1: error: no"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("log", LOGS)
def test_the_first_error_says_all_of_it(log: str) -> None:
    output, expected = LOGS[log]
    assert first_error(output) == expected


def test_a_long_error_ends() -> None:
    lines = "".join(f"  line {i}\n" for i in range(1000))
    found = first_error(f"CMake Error at a:1 (f):\n{lines}")
    assert found.startswith("a:1 (f): line 0 line 1 ")
    assert found.endswith("line 19")


@pytest.mark.parametrize("settings", [(), ("-c", "a.b=c"), ("-c", "a.b=c", "--git-dir=.git")])
def test_a_failure_of_git_names_its_command(tmp_path: Path, settings: tuple[str, ...]) -> None:
    run_git(tmp_path, "init", "-q")
    with pytest.raises(InputError, match=r": git checkout: pathspec 'nothing'"):
        git(tmp_path, *settings, "checkout", "nothing")
