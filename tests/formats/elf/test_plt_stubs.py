"""Stubs of procedure linkage tables in forms that few linkers write."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from sizeguard.formats.elf import parse_elf, read_elf
from sizeguard.formats.elf.plt import NOWHERE, stubs
from tests.support.images.made_elf import Form, MadeSection, make_elf
from tests.support.places import LLD
from tests.support.tools import tool


def slots_of(name: str, content: bytes, entry_size: int = 0) -> list[tuple[int, int]]:
    section = MadeSection(name, flags=6, address=0x1000, content=content, entry_size=entry_size)
    image = parse_elf(Path("x"), make_elf(Form(), [section]))
    offset, slot = stubs(image, image.sections[1])
    return list(zip(offset.tolist(), slot.tolist(), strict=True))


def test_stubs_of_mold_pass_the_index_in_r11() -> None:
    head = bytes.fromhex("f30f1efa4153ff355c240000ff255e240000") + b"\xcc" * 14
    stub = bytes.fromhex("f30f1efa41bb00000000ff2500200000")
    assert slots_of(".plt", head + stub) == [(0, NOWHERE), (16, NOWHERE), (32, 0x3030)]


def test_a_jump_that_a_stub_of_8_bytes_cuts_off_is_none() -> None:
    assert slots_of(".plt.got", bytes.fromhex("909090ff25000000"), 8) == [(0, NOWHERE)]


@pytest.mark.native
@pytest.mark.parametrize(
    "target",
    ["aarch64-linux-gnu", "armv7-linux-gnueabihf", "armv7-linux-gnueabihf -mthumb",
     "i386-linux-gnu", "riscv32-linux-gnu", "riscv64-linux-gnu", "s390x-linux-gnu",
     "x86_64-linux-gnu"],
)  # fmt: skip
def test_stubs_of_all_machines_jump_through_the_slots_of_the_relocations(
    tmp_path: Path, target: str
) -> None:
    """Linkers write stubs in the order of their relocations; pyelftools reads these."""
    calls = "".join(f"int f{i}(int); int g{i}(int x) {{ return f{i}(x) + 1; }}\n" for i in range(9))
    (tmp_path / "a.c").write_text(calls)
    flags = [f"--target={target.split()[0]}", *target.split()[1:], "-O2", "-nostdlib", *LLD]
    library = tmp_path / "library.so"
    tool("clang-19", *flags, "-fPIC", "-shared", tmp_path / "a.c", "-o", library)
    image = read_elf(library)
    section = image.section(".plt")
    assert section is not None
    _, slots = stubs(image, section)
    with library.open("rb") as file:
        found = ELFFile(file)
        table = found.get_section_by_name(".rela.plt") or found.get_section_by_name(".rel.plt")
        expected = [relocation["r_offset"] for relocation in table.iter_relocations()]
    assert len(expected) == 9
    assert slots[-9:].tolist() == expected
