"""Hostile Mach-O files are read or refused in bounded time and memory."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import InputError
from sizeguard.formats.macho import FatFile, parse_macho_file, read_macho_file
from sizeguard.formats.macho.linkedit import exports
from sizeguard.ledger.macho.macho_ledger import macho_ledger
from tests.support.images.macho_samples import MachoSamples

BASE = 0x100000000


def read(data: bytes) -> None:
    """Read everything that a report reads, and the exports."""
    whole = parse_macho_file(Path("hostile"), np.frombuffer(data, np.uint8))
    for image in whole.images if isinstance(whole, FatFile) else (whole,):
        ledger = macho_ledger(image)
        assert ledger.file_bytes.sum() == image.size
        assert sum(1 for _ in exports(image)) >= 0


def image(sections: list[bytes], commands: list[bytes], tail: bytes) -> bytes:
    """Return an arm64 executable with one segment; `tail` follows the commands."""
    size = 72 + 80 * len(sections)
    sizes = size + sum(len(command) for command in commands)
    total = 32 + sizes + len(tail)
    header = struct.pack("<8I", 0xFEEDFACF, 0x0100000C, 0, 2, 1 + len(commands), sizes, 0, 0)
    segment = struct.pack(
        "<II16sQQQQIIII",
        0x19,
        size,
        b"__TEXT",
        BASE,
        total + 0x4000,
        0,
        total,
        7,
        7,
        len(sections),
        0,
    )
    return header + segment + b"".join(sections) + b"".join(commands) + tail


def section(name: bytes, offset: int, size: int, flags: int = 0, *rest: int) -> bytes:
    reloff, relocations, first, second = (*rest, 0, 0, 0, 0)[:4]
    return struct.pack(
        "<16s16sQQ8I",
        name,
        b"__TEXT",
        BASE + offset,
        size,
        offset,
        0,
        reloff,
        relocations,
        flags,
        first,
        second,
        0,
    )


def start_of_tail(sections: int, *commands: int) -> int:
    return 32 + 72 + 80 * sections + sum(commands)


def many_unwind_sections() -> bytes:
    """Return an image with many unwind sections; each of them needs the exception tables."""
    count = 10_000
    start = start_of_tail(count)
    return image(
        [section(b"__unwind_info", start + 28 * i, 28) for i in range(count)],
        [],
        struct.pack("<7I", *[0] * 7) * count,
    )


def names_that_all_reach_to_the_end() -> bytes:
    count = 50_000
    start = start_of_tail(0, 24)
    entries = b"".join(struct.pack("<IBBHQ", 1 + i, 0x0F, 1, 0, BASE) for i in range(count))
    strings = b"\0" + b"a" * count
    return image(
        [],
        [struct.pack("<6I", 2, 24, start, count, start + len(entries), len(strings))],
        entries + strings,
    )


def relocations_that_are_the_same() -> bytes:
    count = 2_000
    start = start_of_tail(count)
    return image(
        [section(b"__text", start, 0, 0, start, 10_000) for _ in range(count)], [], bytes(80_000)
    )


def _opcodes(rebase: bytes) -> bytes:
    start = start_of_tail(0, 48)
    return image(
        [],
        [struct.pack("<12I", 0x80000022, 48, start, len(rebase), *[0] * 8)],
        rebase + bytes(1 << 16),
    )


def rebases_without_end() -> bytes:
    """Return opcodes that rebase the first pointer of segment 0 about 2^62 times."""
    return _opcodes(b"\x20\x00" + b"\x80" + b"\xff" * 8 + b"\x3f" + b"\xf8" + b"\xff" * 8 + b"\x01")


def a_trie_of_one_long_chain() -> bytes:
    """Return a trie whose names grow by a letter per node; their total length is quadratic."""
    count = 30_000
    nodes = bytearray()
    for i in range(count):
        after = (i + 1) * 9
        address = bytes([after & 0x7F | 0x80, after >> 7 & 0x7F | 0x80, after >> 14])
        nodes += b"\x02\x00\x00\x01a\0" + address
    nodes += b"\x00\x00"
    start = start_of_tail(0, 16)
    return image([], [struct.pack("<4I", 0x80000033, 16, start, len(nodes))], bytes(nodes))


def imports_that_share_a_name() -> bytes:
    count = 20_000
    name = b"a" * 100_000
    blob = (
        struct.pack("<7I", 0, 28, 32, 32 + 4 * count, count, 1, 0)
        + struct.pack("<I", 0)
        + bytes(4 * count)
        + name
        + b"\0"
    )
    start = start_of_tail(0, 16)
    return image([], [struct.pack("<4I", 0x80000034, 16, start, len(blob))], blob)


def zero_fill_of_exabytes() -> bytes:
    data = bytearray(image([section(b"__bss", 0x4000, 0, 1)], [], bytes(100)))
    struct.pack_into("<Q", data, 32 + 32, 1 << 61)
    struct.pack_into("<Q", data, 32 + 72 + 40, 1 << 60)
    return bytes(data)


HOSTILE = {
    many_unwind_sections: "",
    names_that_all_reach_to_the_end: "names of more than 64 times",
    relocations_that_are_the_same: "relocations of several sections are the same",
    rebases_without_end: "damaged fix-ups",
    a_trie_of_one_long_chain: "names of more than 256 times",
    imports_that_share_a_name: "names of imports take more than 64 times",
    zero_fill_of_exabytes: "",
}


@pytest.mark.native
@pytest.mark.parametrize(
    ("make", "message"), HOSTILE.items(), ids=lambda part: getattr(part, "__name__", "")
)
def test_lies_take_neither_time_nor_memory(make: Callable[[], bytes], message: str) -> None:
    data = make()
    began = time.process_time()
    tracemalloc.start()
    try:
        if message:
            with pytest.raises(InputError, match=f"^hostile: .*{message}"):
                read(data)
        else:
            read(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 40  # 5 s on a fast machine; an attack takes minutes
    assert peak < 200 << 20


def cuts(size: int) -> Iterator[int]:
    yield from range(64)
    yield from range(64, size, max(size // 150, 1))
    yield size - 1


@pytest.mark.parametrize(
    "name", ["app-x86_64", "opcodes-stripped-x86_64", "shapes-x86_64.o", "fat", "main-big_endian.o"]
)
def test_cut_files(macho: MachoSamples, name: str) -> None:
    data = macho.path(name).read_bytes()
    read(data)
    refused = 0
    for end in cuts(len(data)):
        try:
            read(data[:end])
        except InputError as error:
            assert str(error).startswith("hostile: ") and "\n" not in str(error)
            refused += 1
    assert refused > 60


def test_messages_name_the_file_and_what_is_wrong(tmp_path: Path, macho: MachoSamples) -> None:
    file = tmp_path / "x"
    for content, message in (
        (b"", "not a Mach-O file: it is empty"),
        (b"\x7fELF", "not a Mach-O file"),
        (b"\xcf\xfa\xed\xfe", "its header is truncated"),
    ):
        file.write_bytes(content)
        with pytest.raises(InputError, match=f"{file}: .*{message}"):
            read_macho_file(file)
    with pytest.raises(InputError, match=f"{tmp_path}/none: cannot read: No such file"):
        read_macho_file(tmp_path / "none")
    with pytest.raises(InputError, match=f"{tmp_path}: is a folder, not a file"):
        read_macho_file(tmp_path)
    data = bytearray(macho.path("app-arm64").read_bytes())
    struct.pack_into("<Q", data, 32 + 72 + 24, 0)  # __TEXT overlaps __PAGEZERO
    with pytest.raises(
        InputError,
        match=(
            r"segments __PAGEZERO and __TEXT overlap|section __TEXT,__text is outside its"
            r" segment"
        ),
    ):
        parse_macho_file(Path("x"), np.frombuffer(bytes(data), np.uint8))
