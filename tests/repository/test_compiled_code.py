"""The package's C code compiles without warnings, and reads and writes only what it may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sizeguard.columns.compiled_code import FLAGS
from tests.support.compiled_code import SANITIZE, c_folders
from tests.support.places import ROOT
from tests.support.tools import tool

pytestmark = pytest.mark.native

WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror")

# Tests whose drawn inputs, damaged ones too, reach C code
PROPERTIES = (
    "tests/attribution/test_group.py::test_rows_are_the_sums_of_their_parts",
    "tests/attribution/test_owner_rows.py",
    "tests/base/test_columns.py",
    "tests/base/test_hash_ranks.py",
    "tests/diff/test_diff.py::test_a_name_outside_of_its_buffer_is_not_read",
    "tests/diff/test_diff.py::test_first_letters_sort_like_names_of_the_same_length",
    "tests/diff/test_diff.py::test_rows_sum_to_the_difference",
    "tests/diff/test_row_sums.py",
    "tests/formats/dwarf/test_abbreviations.py",
    "tests/formats/dwarf/test_drawn_entries.py",
    "tests/formats/elf/test_elf_laws.py::test_mutated_files_end_in_exact_sums_or_in_one_line",
    "tests/formats/elf/test_elf_steps.py",
    "tests/formats/elf/test_unwind_columns.py",
    "tests/ledger/test_disjoint.py",
    "tests/ledger/test_gaps.py",
    "tests/ledger/test_holders.py",
    "tests/ledger/test_ledger_steps.py",
    "tests/ledger/test_unwind_cuts.py",
    "tests/names/test_identifiers.py",
    "tests/names/test_name_families.py",
    "tests/names/test_name_labels.py",
    "tests/names/test_name_scan.py",
)

# What the sanitizers must find: the library of a folder is called in a process of its own.
_CALL = """
import os
import sys
from pathlib import Path
import numpy as np
from sizeguard.columns.compiled_code import CompiledCode
from tests.support.compiled_code import compile_all
compile_all()
os.environ["XDG_CACHE_HOME"] = f"{sys.argv[1]}/kept"
print(CompiledCode(Path(sys.argv[1])).call("wrong", np.full(int(sys.argv[2]), 9, np.uint8), 5))
"""
_WRONG = """
#include <stdint.h>
__attribute__((visibility("default"))) int64_t wrong(const uint8_t* bytes, int64_t count) {
  return (int32_t)%s;
}
"""


def sanitized(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python with the sanitizers in all C code of the package."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "COV_", "SIZEGUARD_"))
    }
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=ROOT,
        env={
            **kept,
            SANITIZE: "1",
            "LD_PRELOAD": tool("gcc", "-print-file-name=libasan.so").strip(),
            "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONMALLOC": "malloc",
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("folder", c_folders(), ids=lambda path: str(path.relative_to(ROOT)))
def test_c_code_compiles_without_warnings(tmp_path: Path, compiler: str, folder: Path) -> None:
    sources = sorted(folder.glob("*.c"))
    assert sources
    tool(compiler, *FLAGS, *WARNINGS, *sources, "-o", tmp_path / "made.so")


def test_drawn_inputs_lead_to_no_read_or_write_out_of_bounds() -> None:
    # Without -s, what a sanitizer says would end with the process.
    done = sanitized("-m", "pytest", "-s", "-n", "0", "-p", "no:cacheprovider", *PROPERTIES)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("bytes[count]", "heap-buffer-overflow"),
        ("bytes[-1]", "heap-buffer-overflow"),
        ("((uint8_t*)bytes)[count]++", "heap-buffer-overflow"),
        ("(INT32_MAX - 4 + (int32_t)count)", "signed integer overflow"),
        ("(1 << (count * 8))", "shift exponent 40 is too large"),
    ],
)
def test_wrong_c_code_is_found(tmp_path: Path, value: str, error: str) -> None:
    """The control of the test above. Of a larger array, the same code is right."""
    (tmp_path / "wrong.c").write_text(_WRONG % value)
    done = sanitized("-c", _CALL, tmp_path, "5")
    assert (done.returncode != 0, error in done.stderr) == (True, True), done.stderr


def test_right_c_code_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "right.c").write_text(_WRONG % "bytes[count - 1]")
    done = sanitized("-c", _CALL, tmp_path, "5")
    assert (done.returncode, done.stdout) == (0, "9\n"), done.stderr
