"""Test ELF of other machines, widths and byte orders.

The ledger is exact, and symbols have the addresses that nm lists.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.formats.elf import read_elf
from tests.support.images.foreign_samples import BIG_ENDIAN, BITS_32, FORMS, MACHINES, build_foreign
from tests.support.images.image_laws import check_laws

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    return build_foreign(tmp_path_factory.mktemp("foreign"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("machine", MACHINES)
def test_the_ledger_is_exact(foreign: dict[tuple[str, str], Path], machine: str, form: str) -> None:
    image = foreign[machine, form]
    header = image.read_bytes()[:6]
    assert (header[4] == 1, header[5] == 2) == (machine in BITS_32, machine in BIG_ENDIAN)
    ledger = check_laws(image)
    assert ledger.image.format == "elf"


@pytest.mark.parametrize("machine", MACHINES)
def test_symbols_are_those_of_nm(foreign: dict[tuple[str, str], Path], machine: str) -> None:
    image = foreign[machine, "shared"]
    listed = subprocess.run(
        ["llvm-nm-19", "-S", "--defined-only", image], check=True, capture_output=True, text=True
    ).stdout
    expected = {
        (words[3], int(words[0], 16), int(words[1], 16))
        for words in map(str.split, listed.splitlines())
        if len(words) == 4
    }
    # The lowest bit of a function's value marks Thumb code; nm clears it.
    odd = 1 if machine == "thumb" else 0
    given = {
        (symbol.name, symbol.address & ~odd, symbol.size) for symbol in read_elf(image).symbols
    }
    assert len(expected) > 8
    assert {row for row in expected if row[2]} <= given


@pytest.mark.parametrize("machine", MACHINES)
def test_stripping_keeps_what_is_loaded(foreign: dict[tuple[str, str], Path], machine: str) -> None:
    whole, stripped = read_elf(foreign[machine, "shared"]), read_elf(foreign[machine, "stripped"])
    assert (whole.load, whole.ram, whole.build_id) == (
        stripped.load,
        stripped.ram,
        stripped.build_id,
    )
    assert stripped.is_stripped
