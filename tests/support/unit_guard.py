"""Separate unit tests from native ones: a unit test starts no compiler, linker or emulator.

A test is native if it has the mark, or if one of its fixtures uses the fixture `native_tools`. All
others are unit tests. While one runs, PATH only has the programs of ALLOWED, and starting a
toolchain's program in another way fails the test.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ALLOWED = (
    "basename", "bash", "cat", "chmod", "cp", "cut", "date", "dirname", "echo", "env", "false",
    "find", "git", "grep", "head", "id", "ln", "ls", "mkdir", "mktemp", "mv", "patch", "printf",
    "pwd", "rm", "sed", "setpriv", "sh", "sleep", "sort", "tail", "tar", "test", "touch", "tr",
    "true", "uname", "wc", "xargs",
)  # fmt: skip

TOOLCHAIN = re.compile(
    r"(.*-)?(gcc|g\+\+|cc|c\+\+|cpp|clang|clang\+\+|clang-format|as|ar|ld|ld64|gold|lld|mold|nm"
    r"|objcopy|objdump|ranlib|readelf|size|strings|strip|cmake|ninja|make|flatc|dsymutil|ccache"
    r"|ld\.[a-z]+|ld64\.[a-z]+|llvm-[a-z]+|qemu-.*|chromium.*|zig)(-[0-9.]+)?"
)


class UnitGuard:
    """Marks native tests, and hides toolchain programs from all others."""

    def __init__(self) -> None:
        self.is_active = False
        self.refused: list[str] = []
        self.folder = Path(tempfile.mkdtemp(prefix="unit-path-"))
        for name in ALLOWED:
            if found := shutil.which(name):
                (self.folder / name).symlink_to(found)
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_active or event not in ("subprocess.Popen", "os.exec", "os.posix_spawn"):
            return
        program = os.fsdecode(arguments[0])
        words = arguments[1] if isinstance(arguments[1], list | tuple) else ()
        if "ziglang" in words or (
            TOOLCHAIN.fullmatch(Path(program).name) and not _is_made_up(program)
        ):
            self.refused.append(program)
            raise FileNotFoundError(2, "a unit test must not start a toolchain's program", program)

    @contextmanager
    def _guarding(self) -> Iterator[None]:
        path = os.environ.get("PATH", "")
        os.environ["PATH"] = str(self.folder)
        self.refused.clear()
        self.is_active = True
        try:
            yield
        finally:
            self.is_active = False
            os.environ["PATH"] = path

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if "native_tools" in getattr(item, "fixturenames", ()):
                item.add_marker("native")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if item.get_closest_marker("native"):
            return (yield)
        with self._guarding():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        if self.refused and not item.get_closest_marker("native"):
            pytest.fail(f"started {', '.join(self.refused)}: mark it native", pytrace=False)

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_made_up(program: str) -> bool:
    """Return whether a test wrote it."""
    found = shutil.which(program)
    return found is not None and Path(found).is_relative_to(tempfile.gettempdir())
