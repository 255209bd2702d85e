"""Test the references of objects to texts, of their own and of other objects."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.verify.evidence.object_evidence import read_objects
from sizeguard.verify.leaks.text_references import TextReferences

DATA, CODE = 1, 2


def symbol(name: str, section: int = 0, address: int = 0, binding: int = 1) -> SimpleNamespace:
    return SimpleNamespace(name=name, section=section, address=address, binding=binding)


def object_of(
    symbols: list[SimpleNamespace],
    *rows: tuple[int, int, int],
    machine: str = "x86_64",
    kind: int = 2,
    source: int = CODE,
) -> Any:
    """Make an object; rows: offset in its code, number of the symbol, what is added to it."""
    columns = np.array(rows, np.int64).reshape(-1, 3)
    table = SimpleNamespace(
        offset=columns[:, 0],
        symbol=columns[:, 1],
        addend=columns[:, 2],
        type=np.full(len(columns), kind),
    )
    sections = {place: SimpleNamespace(is_executable=place == CODE) for place in (DATA, CODE)}
    elf = SimpleNamespace(machine=machine, sections=sections)
    return SimpleNamespace(symbols=symbols, relocations={source: table} if rows else {}, elf=elf)


@pytest.mark.parametrize(
    ("defined", "users", "expected"),
    [
        # In the same object, by the section's symbol, or a few bytes before the text
        (object_of([symbol("", DATA, 0, 0)], (7, 0, 16)), [], [(0, CODE, 7)]),
        (object_of([symbol("", DATA, 0, 0)], (7, 0, 12)), [], [(0, CODE, 7)]),
        (object_of([symbol("", DATA, 0, 0)], (7, 0, 7), (9, 0, 17)), [], []),
        (object_of([symbol("", CODE, 0, 0)], (7, 0, 16)), [], []),
        # In another one, by a global symbol at the text or before it
        (
            object_of([symbol("t", DATA, 16)]),
            [object_of([symbol("u"), symbol("t")], (3, 1, -4), (5, 0, 0), (8, 1, 4))],
            [(1, CODE, 3)],
        ),
        (
            object_of([symbol("t", DATA, 4), symbol("u", CODE, 16)]),
            [object_of([symbol("t"), symbol("u")], (3, 0, 12), (4, 1, 0))],
            [(1, CODE, 3)],
        ),
        # Not by a local symbol of that name, nor by one that the other object defines
        (object_of([symbol("t", DATA, 16, 0)]), [object_of([symbol("t")], (3, 0, 0))], []),
        (object_of([symbol("t", DATA, 16)]), [object_of([symbol("t", DATA)], (3, 0, 0))], []),
    ],
)
def test_places_that_refer_to_a_text(
    defined: Any, users: list[Any], expected: list[tuple[int, int, int]]
) -> None:
    assert [*TextReferences([defined, *users]).to(0, DATA, 16)] == expected


@pytest.mark.parametrize(
    ("machine", "kind", "source", "places"),
    [
        ("x86_64", 2, CODE, [5]),  # R_X86_64_PC32: lea 16(section)
        ("x86_64", 11, CODE, [9]),  # R_X86_64_32S
        ("x86_64", 2, DATA, [9]),
        ("aarch64", 277, CODE, [9]),  # R_AARCH64_ADD_ABS_LO12_NC
        ("arm64", 2, CODE, [9]),
    ],
)
def test_an_exact_reference_is_to_no_byte_before_a_text(
    machine: str, kind: int, source: int, places: list[int]
) -> None:
    rows = ((3, 0, 11), (5, 0, 12), (7, 0, 15), (9, 0, 16))
    found = object_of([symbol("", DATA, 0, 0)], *rows, machine=machine, kind=kind, source=source)
    references = TextReferences([found]).to(0, DATA, 16, is_exact=True)
    assert [place for _, _, place in references] == places


@pytest.mark.native
def test_the_compilers_references_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text('const char before[8] = "before", text[] = "aten::mm";\n')
    (tmp_path / "b.c").write_text(
        "extern const char text[], before[];\n"
        "const char* one(void) { return text; }\nconst char* two(void) { return before; }\n"
    )
    subprocess.run(["gcc", "-c", "-O2", "-fPIC", "a.c", "b.c"], cwd=tmp_path, check=True)
    files = read_objects([tmp_path / "a.o", tmp_path / "b.o"]).files
    (section,) = (s for s in files[0].elf.sections if s.name == ".rodata")
    content = files[0].elf.content(section)
    places = [*TextReferences(files).to(0, section.index, content.index(b"aten::mm"))]
    assert len(places) == 1
    assert (places[0][0], files[1].elf.sections[places[0][1]].name) == (1, ".text")
