"""Test that functions of big-endian PowerPC are their code, not their descriptors."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.verify.evidence.object_evidence import read_objects

SOURCE = """
static __attribute__((noinline, section("kernels"))) int local(int x) { return x * x; }
int first(int x) { return local(x) + 1; }
int second(int x) { return local(x) * 3; }
"""


@pytest.mark.native
@pytest.mark.parametrize("sections", ["-ffunction-sections", "-fno-function-sections"])
def test_a_function_is_its_code(tmp_path: Path, sections: str) -> None:
    """A function that was there passed as absent, since maps do not list its descriptor."""
    (tmp_path / "a.c").write_text(SOURCE)
    command = ["clang-19", "--target=powerpc64-linux-gnu", "-O1", sections, "-c", "a.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    objects = read_objects([tmp_path / "a.o"])
    (file,) = objects.files
    names = {"local": "kernels", "first": ".text", "second": ".text"}
    for symbol, section in names.items():
        (piece,) = objects.find(symbol)
        is_own = sections == "-ffunction-sections" and symbol != "local"
        assert objects.section(piece).name == (f".text.{symbol}" if is_own else section)
        assert piece.size > 0
        assert (piece.offset > 0) == (symbol == "second" and not is_own)
    assert not file.nameless
