"""Messages of builds and of git that failed: the first error, with all that it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.git.git import git
from sizeguard.toolchains.logged import first_error
from tests.support.histories.drawn_history import run_git

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
    "a linker": (
        "/usr/bin/ld: warning: a.o: missing .note.GNU-stack section implies executable stack\n"
        "/usr/bin/ld: NOTE: This behaviour is deprecated\n"
        "/usr/bin/ld: b.o: in function `f':\n"
        "b.c:(.text+0x0): multiple definition of `f'; a.o:a.c:(.text+0x0): first defined here\n"
        "/usr/bin/ld: b.o:(.data+0x0): multiple definition of `g'; a.o:(.data+0x0): first defined\n"
        "collect2: error: ld returned 1 exit status\n"
        "make[1]: *** [Makefile:2: all] Error 1\nmake: *** [Makefile:9: all] Error 2\n",
        "b.c:(.text+0x0): multiple definition of `f'; a.o:a.c:(.text+0x0): first defined here",
    ),
    "memory that is full": (
        "/opt/bin/arm-none-eabi-ld: fw.elf section `.text' will not fit in region `FLASH'\n"
        "/opt/bin/arm-none-eabi-ld: region `FLASH' overflowed by 12 bytes\n"
        "clang-19: error: linker command failed with exit code 1 (use -v to see invocation)\n",
        "/opt/bin/arm-none-eabi-ld: fw.elf section `.text' will not fit in region `FLASH'",
    ),
    "a linker's script": (
        "/usr/bin/ld:v.map:0: syntax error in VERSION script\n"
        "collect2: error: ld returned 1 exit status\n",
        "/usr/bin/ld:v.map:0: syntax error in VERSION script",
    ),
    "a tool that is missing": (
        "[1/1] tool a\nFAILED: x\ntool a\n/bin/sh: 1: tool: not found\n"
        "ninja: build stopped: subcommand failed.\n",
        "/bin/sh: 1: tool: not found",
    ),
    "a tool of make that is missing": (
        "make[1]: Entering directory '/d'\ntool a\nmake[1]: tool: No such file or directory\n"
        "make[1]: *** [Makefile:2: all] Error 127\nmake[1]: Leaving directory '/d'\n"
        "make: *** [Makefile:2: all] Error 2\n",
        "make[1]: tool: No such file or directory; make[1]: *** [Makefile:2: all] Error 127",
    ),
    "a target that is missing": (
        "-- Build files have been written to: /b\nninja: Entering directory `/b'\n"
        "ninja: error: unknown target 'z'\n",
        "ninja: error: unknown target 'z'",
    ),
    "a rule that is missing": (
        "make: *** No rule to make target 'z', needed by 'all'.  Stop.\n",
        "make: *** No rule to make target 'z', needed by 'all'.  Stop.",
    ),
    "nothing but make": (
        "make: *** [Makefile:2: l] Error 3\n",
        "make: *** [Makefile:2: l] Error 3",
    ),
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
