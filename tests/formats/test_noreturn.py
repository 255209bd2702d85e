"""Units that declare a function noreturn, compared with the results of pyelftools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from sizeguard.base.errors import InputError
from sizeguard.formats.dwarf.debug_info import DwarfError, Info
from sizeguard.formats.dwarf.noreturn import noreturn_declarations
from sizeguard.formats.dwarf.sections import elf_sections
from sizeguard.formats.elf import read_elf
from sizeguard.verify.returns import declarations
from tests.support.links.map_links import run

pytestmark = pytest.mark.native

HEAD = """
namespace sg { struct Box { int size; struct Inner { int of(int); }; };
namespace { int hidden(int x) { return x + 1; } }
ATTRIBUTE void not_selected(int kind); }
"""
SOURCES = {
    "knows": "#define ATTRIBUTE [[noreturn]]" + HEAD + "int f(int x) { sg::not_selected(x); }",
    "does_not": "#define ATTRIBUTE" + HEAD + "int g(int x) { sg::not_selected(x); return x; }",
    "defines": "#define ATTRIBUTE [[noreturn]]"
    + HEAD
    + "void sg::not_selected(int) { __builtin_trap(); }",
    "has_others": """namespace sg { struct Box { void not_selected(int); };
      namespace inner { [[noreturn]] void not_selected(int); } }
      void sg::Box::not_selected(int x) { if (x) inner::not_selected(x); }""",
    "without": "int h(int x) { return x * 3; }",
}
WANTED = b"12not_selectedEi"


def made(folder: Path, compiler: str, *flags: str) -> Path:
    for name, text in SOURCES.items():
        (folder / f"{name}.cpp").write_text(text)
    files = [f"{name}.cpp" for name in SOURCES]
    run(compiler, "-O2", "-shared", "-fPIC", "-w", *flags, *files, "-o", "lib.so", cwd=folder)
    return folder / "lib.so"


def by_pyelftools(path: Path) -> list[tuple[str, bool]]:
    def within(scope: Any, unit: str) -> Iterator[tuple[str, bool]]:
        for entry in scope.iter_children():
            name = entry.attributes.get("DW_AT_linkage_name")
            if entry.tag == "DW_TAG_namespace":
                yield from within(entry, unit)
            elif entry.tag == "DW_TAG_subprogram" and name is not None and WANTED in name.value:
                yield unit, "DW_AT_noreturn" in entry.attributes

    found = []
    with path.open("rb") as stream:
        for unit in ELFFile(stream).get_dwarf_info().iter_CUs():
            top = unit.get_top_DIE()
            if top.tag == "DW_TAG_compile_unit":
                found += within(top, top.attributes["DW_AT_name"].value.decode())
    return found


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
@pytest.mark.parametrize("flags", ["-gdwarf-4", "-gdwarf-5", "-g -gz -fdebug-types-section"])
def test_declarations_are_those_that_pyelftools_finds(
    tmp_path: Path, compiler: str, flags: str
) -> None:
    image = made(tmp_path, compiler, *flags.split())
    found = noreturn_declarations(Info(elf_sections(read_elf(image)), "little"), WANTED)
    assert found == by_pyelftools(image)
    assert (("does_not.cpp", False) in found, ("knows.cpp", True) in found) == (True, True)
    assert declarations(read_elf(image), WANTED) == found


def test_damaged_debug_information_says_nothing(tmp_path: Path) -> None:
    """Declarations that precede the damage are not used."""
    image = made(tmp_path, "g++", "-g")
    content = bytearray(image.read_bytes())
    info = next(s for s in read_elf(image).sections if s.name == ".debug_info")
    last = info.offset + info.file_size - 40
    content[last : last + 40] = b"\xfe" * 40
    (tmp_path / "damaged.so").write_bytes(content)
    damaged = read_elf(tmp_path / "damaged.so")
    with pytest.raises((DwarfError, InputError)):
        noreturn_declarations(Info(elf_sections(damaged), "little"), WANTED)
    assert declarations(damaged, WANTED) == []
