"""Places of code in an image, on made-up sections, and bytes outside of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.elf import SHF_MERGE, SHT_NOTE
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.verify.evidence import code_search
from sizeguard.verify.evidence.code_search import ImageBytes, Pattern
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.evidence.placement import (
    Placement,
    _by_map,
    by_symbols,
    check_bytes,
)

CODE = bytes(range(1, 17))
OTHER = b"\xee\xee" + CODE[2:]
BASE = 0x1000


def pattern(data: bytes, *masked: int) -> Pattern:
    fixed = [at not in masked for at in range(len(data))]
    return Pattern(np.frombuffer(data, np.uint8), np.array(fixed))


class File(SimpleNamespace):
    """An object whose sections have given patterns."""

    def pattern(self, section: Any) -> Pattern:
        found: Pattern = self.own[section.index]
        return found

    def patterns(self, sections: Sequence[Any]) -> list[Pattern]:
        return [self.pattern(section) for section in sections]


def objects_of(*patterns: Pattern, **flags: object) -> Any:
    """Return one object with a section of code for each pattern."""
    rows = [
        SimpleNamespace(
            **(
                {
                    "index": number,
                    "name": f".text.f{number}",
                    "size": len(each.data),
                    "is_nobits": False,
                    "is_executable": True,
                    "is_allocated": True,
                    "flags": 0,
                    "type": 1,
                }
                | flags
            )
        )
        for number, each in enumerate(patterns)
    ]
    pieces = [(f"f{number}", number, 0, row.size) for number, row in enumerate(rows)]
    file = File(
        elf=SimpleNamespace(sections=rows),
        own=patterns,
        definitions=pieces,
        label="a.o",
        member="",
    )
    return SimpleNamespace(files=[file], lto=())


def image_of(content: bytes, machine: str = "x86_64") -> Any:
    row = SimpleNamespace(is_allocated=True, file_size=len(content), address=BASE, name=".text")
    read = {"sections": [row], "content": lambda _: content, "machine": machine, "path": "app"}
    return ImageBytes(SimpleNamespace(**read))


def placed(content: bytes, objects: Any, address: Mapping[tuple[int, int], int]) -> Placement:
    return Placement(objects, image_of(content), address, (), True)


def check_rows(
    objects: Any,
    rows: Sequence[InputSection],
    image: Any,
    expected: Mapping[tuple[int, int], int],
    message: str,
    own: int = 1,
) -> None:
    """Place the rows of a map; a message, if any, is expected in place of the addresses."""
    if not message:
        assert _by_map(objects, rows, image, own) == expected
        return
    with pytest.raises(InconclusiveError, match=message):
        _by_map(objects, rows, image, own)


PIECE = NamedPiece(0, 0, 0, 16, "f0")


@pytest.mark.parametrize(
    ("sections", "content", "expected"),
    [
        ([CODE, OTHER], CODE + OTHER, {(0, 0): BASE, (0, 1): BASE + 16}),
        ([CODE, OTHER], OTHER + CODE, {(0, 1): BASE, (0, 0): BASE + 16}),
        ([CODE, OTHER], OTHER, {(0, 1): BASE}),  # the linker discarded the first
        ([CODE, CODE], CODE, {(0, 0): BASE}),
        ([CODE, CODE], OTHER, {(0, 0): BASE}),  # of another build
        ([CODE[:4], OTHER], OTHER, {(0, 1): BASE}),
    ],
)
def test_sections_of_one_name_and_size_are_known_by_their_bytes(
    sections: list[bytes], content: bytes, expected: dict[tuple[int, int], int]
) -> None:
    """clang's option -fno-unique-section-names names all sections .text."""
    objects = objects_of(*map(pattern, sections), name=".text")
    rows = [
        InputSection(".text", ".text", "a.o", BASE + at, 16, False)
        for at in range(0, len(content), 16)
    ]
    assert _by_map(objects, rows, image_of(content), len(sections)) == expected


@pytest.mark.parametrize("name", [".text", "kernels"])
@pytest.mark.parametrize(
    ("machine", "own", "message"),
    [
        ("riscv64", 1, "a.o is of another build, or the linker shortened its code .riscv64: link"),
        ("riscv64", 0, ""),  # a start-up file
        ("x86_64", 1, "a.o is of another build: it has no (.text|kernels) of 14 bytes"),
        ("x86_64", 0, "a.o is of another build: it has no (.text|kernels) of 14 bytes"),
    ],
)
def test_code_that_linkers_shorten_is_told_from_other_code(
    machine: str, own: int, message: str, name: str
) -> None:
    """A function in a section of its own passed as absent when the linker had shortened it."""
    objects = objects_of(pattern(CODE), name=name)
    image = image_of(CODE[:14], machine)
    rows = [InputSection(".text", name, "a.o", BASE, 14, False)]
    check_rows(objects, rows, image, {}, message, own)


@pytest.mark.parametrize(
    ("name", "is_code", "is_told"),
    [
        ("kernels", True, True),
        (".data.kernels", False, True),
        (".bss", False, True),
        ("kernels", False, False),
        (".plt", True, False),
        (".data.rel.ro", False, False),  # GNU ld copies constants of shared libraries there
    ],
)
def test_a_section_that_no_object_has_is_of_another_build(
    name: str, is_code: bool, is_told: bool
) -> None:
    """A function passed as absent if its object was older: the map placed a section it lacks."""
    objects, image = objects_of(pattern(CODE), name=".text"), image_of(CODE + OTHER)
    (section,) = image.elf.sections
    section.is_executable, section.size = is_code, 32
    rows = [
        InputSection(".text", ".text", "a.o", BASE, 16, False),
        InputSection(".text", name, "a.o", BASE + 16, 16, False),
    ]
    message = f"it has no {name} of 16 bytes" if is_told else ""
    check_rows(objects, rows, image, {(0, 0): BASE}, message)


@pytest.mark.parametrize(
    "own, other, content, expected",
    [
        # The code is in the image, outside of placed sections.
        (pattern(CODE), None, CODE, [BASE]),
        (pattern(CODE), None, b"\xcc" * 4 + CODE + b"\xcc", [BASE + 4]),
        (pattern(CODE), None, CODE + CODE, [BASE, BASE + 16]),
        (pattern(CODE), None, CODE[:-1], []),
        # Another placed section accounts for it.
        (pattern(CODE), pattern(CODE), CODE, []),
        (pattern(CODE), pattern(CODE + b"\xee"), CODE + b"\xee", []),
        # The section is shorter: the rest may change, or it counts.
        (pattern(CODE, 14, 15), pattern(CODE[:14]), CODE, []),
        (pattern(CODE, 15), pattern(CODE[:14]), CODE, [BASE]),
        # All that counts in the other section is there.
        (pattern(CODE), pattern(CODE, *range(4, 16)), CODE, []),
        # Relocations change two bytes; a section with fewer that count accounts for no more.
        (pattern(CODE, 0, 1), pattern(OTHER), OTHER, []),
        (pattern(CODE, 0, 1), pattern(OTHER, 14, 15), OTHER, []),
        (pattern(CODE, 0, 1), pattern(OTHER, 13, 14, 15), OTHER, [BASE]),
    ],
)
def test_copies_are_bytes_that_no_placed_section_explains(
    own: Pattern, other: Pattern | None, content: bytes, expected: list[int]
) -> None:
    objects = objects_of(own, *([other] if other else []))
    places = {(0, 1): BASE} if other else {}
    assert placed(content, objects, places).copies(PIECE) == expected


@pytest.mark.parametrize(
    "own, flags, is_known",
    [
        (pattern(CODE), {}, True),
        (pattern(CODE, 0, 1, 2, 3), {}, True),
        (pattern(CODE, 0, 1, 2, 3, 4), {}, False),  # 11 bytes may occur anywhere
        (pattern(CODE), {"is_nobits": True}, False),
        (pattern(CODE), {"is_executable": False}, False),
    ],
)
def test_small_code_and_data_cannot_be_recognised(
    own: Pattern, flags: dict[str, object], is_known: bool
) -> None:
    assert (placed(CODE, objects_of(own, **flags), {}).copies(PIECE) is not None) == is_known


@pytest.mark.parametrize(
    "content, checked, flags, is_other",
    [
        (CODE, 1, {}, False),
        (CODE[:-1] + b"\0", 1, {}, True),
        (CODE[:-1], 1, {}, True),
        (CODE[:-1] + b"\0", 0, {}, False),  # a file of the toolchain
        (CODE[:-1] + b"\0", 1, {"is_nobits": True}, False),
        (CODE[:-1] + b"\0", 1, {"flags": SHF_MERGE}, False),
        (CODE[:-1] + b"\0", 1, {"type": SHT_NOTE}, False),
        (CODE[:-1] + b"\0", 1, {"name": ".eh_frame"}, False),
        (CODE[:-1] + b"\0", 1, {"name": ".data"}, True),
    ],
)
def test_objects_of_another_build_are_refused(
    content: bytes, checked: int, flags: dict[str, object], is_other: bool
) -> None:
    placement = placed(content, objects_of(pattern(CODE), **flags), {(0, 0): BASE})
    if not is_other:
        check_bytes(placement, checked)
        return
    with pytest.raises(InconclusiveError, match=r"a.o is of another build"):
        check_bytes(placement, checked)


SAME = b"\xcc" * 2 + CODE + CODE


@pytest.mark.parametrize(
    "content, symbols, patterns, expected",
    [
        (CODE, {"f0": BASE}, [pattern(CODE)], {(0, 0): BASE}),
        (CODE, {}, [pattern(CODE)], {(0, 0): BASE}),  # by its bytes alone
        (CODE, {"f0": BASE + 1}, [pattern(CODE)], {(0, 0): BASE}),
        (CODE[:-1] + b"\0", {"f0": BASE}, [pattern(CODE)], {}),
        (CODE, {}, [pattern(CODE, *range(4))], {(0, 0): BASE}),
        (CODE, {}, [pattern(CODE, *range(5))], {}),
        (CODE, {"f0": BASE}, [pattern(CODE, *range(5))], {(0, 0): BASE}),
        # Two functions with the same code have two places.
        (SAME, {}, [pattern(CODE)] * 2, {(0, 0): BASE + 2, (0, 1): BASE + 18}),
        (SAME, {"f0": BASE + 18}, [pattern(CODE)] * 2, {(0, 0): BASE + 18, (0, 1): BASE + 2}),
        (CODE, {"f0": BASE, "f1": BASE}, [pattern(CODE)] * 2, {(0, 0): BASE}),
    ],
)
@pytest.mark.parametrize("is_stripped", [True, False])
def test_without_a_map_symbols_and_bytes_place_code(
    content: bytes,
    symbols: dict[str, int],
    patterns: list[Pattern],
    expected: dict[tuple[int, int], int],
    is_stripped: bool,
) -> None:
    rows = [SimpleNamespace(name=n, address=at, section=1, type=2) for n, at in symbols.items()]
    image: Any = SimpleNamespace(symbols=rows, is_stripped=is_stripped, machine="x86_64")
    found = by_symbols(objects_of(*patterns), image, image_of(content))
    if is_stripped and symbols:
        nameless = SimpleNamespace(symbols=[], is_stripped=False, machine="x86_64")
        again: Any = nameless
        expected = by_symbols(objects_of(*patterns), again, image_of(content))
    assert found == expected


@pytest.mark.parametrize(
    ("flags", "is_placed"),
    [
        ({}, True),
        ({"is_allocated": False}, False),
        ({"flags": SHF_MERGE}, False),
        ({"type": SHT_NOTE}, False),
    ],
)
def test_without_a_map_data_with_bytes_of_its_own_is_placed(
    flags: dict[str, object], is_placed: bool
) -> None:
    symbol = SimpleNamespace(name="f0", address=BASE, section=1, type=1)
    image: Any = SimpleNamespace(symbols=[symbol], is_stripped=False, machine="x86_64")
    objects = objects_of(pattern(CODE), is_executable=False, **flags)
    found = by_symbols(objects, image, image_of(CODE))
    assert found == ({(0, 0): BASE} if is_placed else {})


@pytest.mark.parametrize(
    ("row", "is_told"),
    [
        (InputSection(".text", ".text.g", "a.o", BASE + 16, 8, False), True),
        (InputSection(".text", ".text.g", "a.o", BASE + 16, 8, True), False),  # merged
        (InputSection(".text", ".text.g", "b.o", BASE + 16, 8, False), False),  # not given
    ],
)
def test_merged_rows_and_those_of_other_files_place_nothing(
    row: InputSection, is_told: bool
) -> None:
    objects, image = objects_of(pattern(CODE), name=".text"), image_of(CODE + OTHER)
    rows = [InputSection(".text", ".text", "a.o", BASE, 16, False), row]
    message = "a.o is of another build" if is_told else ""
    check_rows(objects, rows, image, {(0, 0): BASE}, message)


@pytest.mark.parametrize(
    ("name", "flags", "is_told"),
    [
        (".data", (0,), True),
        (".rodata", (SHF_MERGE,), False),  # linkers drop equal strings
        (".rodata", (SHF_MERGE, 0), True),
        ("notes", (0,), False),
    ],
)
def test_data_of_another_size_is_of_another_build(
    name: str, flags: tuple[int, ...], is_told: bool
) -> None:
    objects = objects_of(*[pattern(CODE)] * len(flags), name=name, is_executable=False)
    for section, each in zip(objects.files[0].elf.sections, flags, strict=True):
        section.flags = each
    rows = [InputSection(name, name, "a.o", BASE, 8, False)]
    message = f"it has no {name} of 8 bytes" if is_told else ""
    check_rows(objects, rows, image_of(CODE), {}, message)


@pytest.mark.parametrize(("at", "is_told"), [(-1, False), (0, True), (31, True), (32, False)])
def test_a_row_in_code_is_of_another_build_if_its_object_lacks_it(at: int, is_told: bool) -> None:
    objects, image = objects_of(pattern(CODE), name=".text"), image_of(CODE + OTHER)
    (code,) = image.elf.sections
    code.is_executable, code.size = True, 32
    data = SimpleNamespace(address=BASE + 32, size=8, is_executable=False)
    image.elf.sections.append(data)
    rows = [InputSection(".text", "kernels", "a.o", BASE + at, 4, False)]
    check_rows(objects, rows, image, {}, "it has no kernels of 4 bytes" if is_told else "")


def test_sections_of_an_overlay_share_addresses() -> None:
    """The second one was of another build."""
    content = {"first": CODE, "second": OTHER}
    rows = [
        SimpleNamespace(is_allocated=True, file_size=16, address=BASE, name=name)
        for name in content
    ]
    read: Any = SimpleNamespace(sections=rows, content=lambda row: content[row.name])
    image = ImageBytes(read)
    assert [image.has_at(pattern(each), BASE) for each in (CODE, OTHER, CODE[::-1])] == [
        True,
        True,
        False,
    ]
    assert not image.has_at(pattern(CODE), BASE + 16)


def test_no_bytes_are_outside_of_the_sections_at_an_address() -> None:
    image = image_of(CODE)
    assert [image.at(BASE + at, 8).tobytes() for at in (-16, -1, 0, 12, 15, 16)] == [
        b"", b"", CODE[:8], CODE[12:], CODE[15:], b"",
    ]  # fmt: skip
    assert not any(image.has_at(pattern(CODE[:8]), BASE + at) for at in (-16, -8, -1, 1, 12, 16))


def test_bytes_outside_of_loaded_sections_are_those_that_stripping_keeps() -> None:
    """Debug information is outside, too; it counts only in a stripped file."""
    word = b"word"
    data = bytearray(64)
    for at in (0, 12, 26, 34, 41, 60):
        data[at : at + 4] = word
    rows = [
        SimpleNamespace(name=name, offset=at, file_size=size, is_allocated=is_allocated, address=at)
        for name, at, size, is_allocated in (
            (".text", 8, 16, True),
            (".rodata", 8, 4, True),  # inside of .text
            (".bss", 28, 0, True),
            (".debug", 32, 8, False),
            (".last", 44, 4, True),
        )
    ]
    content = {row.name: bytes(data[row.offset : row.offset + row.file_size]) for row in rows}
    read: Any = SimpleNamespace(
        sections=rows, data=np.frombuffer(data, np.uint8), content=lambda row: content[row.name]
    )
    image = ImageBytes(read)
    assert image.find_outside(pattern(word), is_stripped=False) == [0, 26, 60]
    assert image.find_outside(pattern(word), is_stripped=True) == [0, 26, 34, 60]
    assert image.find(pattern(word)) == [12]
    assert [part.section for part in image.parts] == [".text", ".rodata", ".last"]
    data[8:24], data[44:48] = bytes(16), bytes(4)
    assert image.outside_bytes == bytes(data)


def test_code_is_found_after_thousands_of_functions_that_begin_alike() -> None:
    """The last of 4,097 was not searched for, so a copy of it under another name was absent."""
    begin, wanted = bytes.fromhex("fd7bbfa9fd030091"), CODE[:4]
    call = np.repeat([True, False, True], [8, 4, 4])
    others = b"".join(begin + number.to_bytes(8, "little") for number in range(5000))
    image = image_of(others + begin + bytes(4) + wanted)
    assert image.find(Pattern(np.frombuffer(begin + bytes(4) + wanted, np.uint8), call)) == [
        BASE + len(others)
    ]


@given(st.data())
def test_frequent_code_is_found_everywhere(data: st.DataObject) -> None:
    content = bytes(data.draw(st.lists(st.sampled_from(b".a"), max_size=40)))
    wanted = bytes(data.draw(st.lists(st.sampled_from(b".a"), min_size=1, max_size=6)))
    fixed = data.draw(st.lists(st.booleans(), min_size=len(wanted), max_size=len(wanted)))
    sought = Pattern(np.frombuffer(wanted, np.uint8), np.array(fixed))
    found = np.frombuffer(content, np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_search, "_MAX_CANDIDATES", 1)
        patch.setattr(code_search, "_AROUND", data.draw(st.integers(1, 6)))
        assert image_of(content).find(sought) == [
            BASE + at
            for at in range(len(content))
            if any(fixed) and sought.matches(found[at : at + len(wanted)])
        ]
