"""Libraries of C code are compiled once, and only kept where nobody else can put one."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import InputError
from sizeguard.base.kept.compiled_library import FLAGS, compiled_library
from sizeguard.columns import compiled_code
from sizeguard.columns.compiled_code import CompiledCode, addresses

pytestmark = pytest.mark.native

HEADER = "#include <stdint.h>\n#define MORE 0\n"
SOURCE = """
#include "total.h"
__attribute__((visibility("default"))) int64_t total(const int64_t* value, int64_t count) {
  int64_t found = MORE;
  for (int64_t i = 0; i < count; i++) found += value[i];
  return found;
}
"""
OTHER_USER = 54321


@dataclass(frozen=True)
class Place:
    """A home, a folder for temporary files, and C code.

    code: a folder with total.c and total.h
    log:  a line for each run of the compiler
    """

    code: Path
    home: Path
    temporary: Path
    log: Path

    @property
    def of_user(self) -> Path:
        return self.home / "sizeguard" / "tools"

    @property
    def of_machine(self) -> Path:
        return self.temporary / f"sizeguard-{os.getuid()}"

    def sources(self) -> list[Path]:
        return sorted(self.code.glob("*.[ch]"))

    def library(self, *flags: str) -> Path | None:
        return compiled_library(self.sources(), (*FLAGS, *flags))

    def made(self) -> Path:
        library = self.library()
        assert library is not None
        return library

    def runs(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def files(self) -> list[Path]:
        """Return the files outside of the code."""
        return [path for top in (self.home, self.temporary) for path in all_files(top)]


def all_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(*(tmp_path / name for name in ("compiled", "home", "temporary", "log")))
    for folder in (found.code, found.home, found.temporary, tmp_path / "bin"):
        folder.mkdir()
    (found.code / "total.c").write_text(SOURCE)
    (found.code / "total.h").write_text(HEADER)
    compiler = tmp_path / "bin" / "cc"
    compiler.write_text(f'#!/bin/sh\necho run >> {found.log}\nexec {shutil.which("cc")} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{compiler.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(found.home))
    monkeypatch.setattr(tempfile, "tempdir", str(found.temporary))
    return found


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setenv("PATH", "/nonexistent")


def test_a_library_is_compiled_once_and_then_used_without_a_compiler(
    place: Place, no_compiler: Callable[[], None]
) -> None:
    library = place.made()
    assert library.parent == place.of_user
    assert place.files() == [library]
    assert (place.made(), place.runs()) == (library, 1)
    no_compiler()
    assert place.made() == library
    assert CompiledCode(place.code)  # nothing is loaded before the first call


def test_another_source_header_or_flag_gives_another_library(place: Place) -> None:
    found = [place.made()]
    (place.code / "total.h").write_text(HEADER.replace("MORE 0", "MORE 1"))
    found.append(place.made())
    (place.code / "total.c").write_text(f"{SOURCE}\n")
    found.append(place.made())
    found.append(place.library("-g") or found[0])
    (place.code / "total.h").write_text(HEADER)
    (place.code / "total.c").write_text(SOURCE)
    assert len(set(found)) == place.runs() == len(found)
    assert place.made() == found[0]


def by_another_user(folder: Path, aside: Path) -> None:
    folder.mkdir(parents=True)
    os.chown(folder, OTHER_USER, -1)


def writable_by_group(folder: Path, aside: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o770)


def writable_by_all(folder: Path, aside: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o1777)


def symbolic_link(folder: Path, aside: Path) -> None:
    aside.mkdir(mode=0o700)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(aside)


def no_folder(folder: Path, aside: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")


UNSAFE = [
    pytest.param(
        by_another_user,
        marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away"),
    ),
    writable_by_group,
    writable_by_all,
    symbolic_link,
    no_folder,
]


@pytest.mark.parametrize("make", UNSAFE)
def test_a_library_is_not_used_where_others_may_have_put_it(
    place: Place, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    name = place.made().name
    shutil.rmtree(place.home)
    make(place.of_user, tmp_path / "aside")
    if place.of_user.is_dir():
        (place.of_user / name).write_text("a library of another user")
    assert place.made() == place.of_machine / name
    assert place.of_machine.stat().st_mode & 0o077 == 0
    shutil.rmtree(place.of_machine)
    make(place.of_machine, tmp_path / "aside, too")
    if place.of_machine.is_dir():
        (place.of_machine / name).write_text("a library of another user")
    assert place.library() is None
    assert {path.name for path in place.files()} <= {name, "tools", place.of_machine.name}


def test_a_folder_that_is_given_comes_first(place: Place, tmp_path: Path) -> None:
    given = tmp_path / "given"
    found = compiled_library(place.sources(), folders=[given])
    assert found is not None
    assert found.parent == given
    assert compiled_library(place.sources(), folders=[given], unusable=":") == found
    spaced = tmp_path / "with space"
    found = compiled_library(place.sources(), folders=[spaced], unusable=" ")
    assert found is not None
    assert found.parent == place.of_user
    assert not spaced.exists()


def test_the_environment_of_a_build_does_not_change_a_library(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stdint.h").write_text("#error of the build\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    monkeypatch.setenv("LIBRARY_PATH", str(tmp_path))
    assert place.made().is_file()


def test_without_a_compiler_the_message_says_what_to_do(
    place: Place, no_compiler: Callable[[], None]
) -> None:
    no_compiler()
    assert place.library() is None
    assert place.files() == []
    code = CompiledCode(place.code)
    said = rf"{re.escape(str(place.code))}: .*a C compiler.*install gcc or clang.*\.cache"
    for _ in range(2):  # a failure is not kept
        with pytest.raises(InputError, match=said):
            code.call("total", np.zeros(1, np.int64), 1)


@pytest.mark.parametrize(
    "damage", ["broken", "int64_t missing(void);\n#error", "#include <none.h>"]
)
def test_broken_code_gives_no_library_and_leaves_nothing(place: Place, damage: str) -> None:
    (place.code / "broken.c").write_text(damage)
    assert place.library() is None
    assert place.files() == []
    assert place.runs() == 2  # for the home and for the machine's folder


def test_a_compiler_that_makes_nothing_gives_no_library(place: Place, tmp_path: Path) -> None:
    (tmp_path / "bin" / "cc").write_text("#!/bin/sh\nexit 0\n")
    assert place.library() is None
    assert place.files() == []


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"no library\n"])
def test_a_damaged_library_is_named(place: Place, content: bytes) -> None:
    library = compiled_library(sorted(place.code.glob("*.[ch]")), compiled_code.FLAGS)
    assert library is not None
    library.write_bytes(content)
    said = rf"{re.escape(str(library))}: cannot be loaded: .*; remove it"
    with pytest.raises(InputError, match=said):
        CompiledCode(place.code).call("total", np.zeros(1, np.int64), 1)
    library.unlink()
    assert CompiledCode(place.code).call("total", np.ones(1, np.int64), 1) == 1


def test_a_function_takes_arrays_and_numbers(place: Place) -> None:
    code = CompiledCode(place.code)
    values = np.array([1 << 40, 2, -(1 << 41)], np.int64)
    assert code.call("total", values, 3) == values.sum()
    assert code.call("total", values[1:], 1) == 2
    assert code.call("total", values[:0], 0) == 0
    with pytest.raises(AttributeError):
        code.call("none")


def test_an_array_with_gaps_is_not_passed(place: Place) -> None:
    code = CompiledCode(place.code)
    square = np.arange(16, dtype=np.int64).reshape(4, 4)
    for gaps in (square.ravel()[::2], square[:, 1], square.T, square.ravel()[::-1]):
        with pytest.raises(ValueError, match="contiguous"):
            code.call("total", gaps, 1)
        with pytest.raises(ValueError, match="contiguous"):
            addresses(square, gaps)
    assert addresses(square, square[1:]).tolist() == [square.ctypes.data, square.ctypes.data + 32]
