"""Pointers from rebase and bind opcodes, compared with a loop over the opcodes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from sizeguard.base.errors import InputError
from sizeguard.formats.macho.fixups import fixups
from sizeguard.formats.macho.image import MachO
from sizeguard.formats.macho.uleb import UlebReader
from tests.support.images.macho_samples import fixup_rows
from tests.support.images.made_macho import SEGMENTS, image_of

POINTER = 8
Row = tuple[int, str, int]
BACK = (1 << 64) - 12  # bytes to skip after a pointer, which move back by four


@dataclass
class Interpreter:
    """Interpret opcodes like dyld."""

    image: MachO
    segment: int = 0
    offset: int = 0
    name: str = ""
    addend: int = 0

    def runs(self, count: int, skip: int) -> Iterator[int]:
        """Yield offsets in the segment, and move past them."""
        for _ in range(count):
            if not self.offset + POINTER <= SEGMENTS[self.segment][2]:
                raise ValueError("outside")
            yield self.offset
            self.offset = (self.offset + POINTER + skip) % (1 << 64)

    def rebases(self) -> Iterator[Row]:
        """Yield the pointers into the image."""
        for at in self.written("rebase opcodes", self.rebase):
            address, offset, _ = SEGMENTS[self.segment]
            value = int.from_bytes(
                self.image.data[offset + at : offset + at + 8].tobytes(), "little"
            )
            yield address + at, "", value & ((1 << 62) - 1)

    def binds(self, part: str) -> Iterator[Row]:
        """Yield the bound pointers."""
        self.lazy = part.startswith("lazy")
        for at in self.written(part, self.bind):
            yield SEGMENTS[self.segment][0] + at, self.name, self.addend

    def written(
        self, part: str, step: Callable[[int, int, UlebReader], Iterator[int]]
    ) -> Iterator[int]:
        """Take one opcode after the other."""
        reader = UlebReader(self.image.part(part).tobytes())
        while reader.position < len(reader.data):
            byte = reader.byte()
            if byte & 0xF0 == 0 and not part.startswith("lazy"):
                return
            yield from step(byte & 0xF0, byte & 0x0F, reader)

    def rebase(self, opcode: int, immediate: int, reader: UlebReader) -> Iterator[int]:
        """Interpret a rebase opcode."""
        if opcode == 0x20:
            self.segment, self.offset = immediate, reader.uleb()
        elif opcode == 0x30:
            self.offset = (self.offset + reader.uleb()) % (1 << 64)
        elif opcode == 0x40:
            self.offset += immediate * POINTER
        elif opcode == 0x50:
            yield from self.runs(immediate, 0)
        elif opcode == 0x60:
            yield from self.runs(reader.uleb(), 0)
        elif opcode == 0x70:
            yield from self.runs(1, reader.uleb())
        elif opcode == 0x80:
            count = reader.uleb()
            yield from self.runs(count, reader.uleb())

    def bind(self, opcode: int, immediate: int, reader: UlebReader) -> Iterator[int]:
        """Interpret a bind opcode."""
        if opcode == 0x20:
            reader.uleb()
        elif opcode == 0x40:
            self.name = reader.text().decode()
        elif opcode == 0x60:
            self.addend = reader.sleb()
        elif opcode == 0x70:
            self.segment, self.offset = immediate, reader.uleb()
        elif opcode == 0x80:
            self.offset = (self.offset + reader.uleb()) % (1 << 64)
        elif opcode == 0x90:
            yield from self.runs(1, 0)
        elif opcode == 0xA0:
            yield from self.runs(1, reader.uleb())
        elif opcode == 0xB0:
            yield from self.runs(1, immediate * POINTER)
        elif opcode == 0xC0:
            count = reader.uleb()
            yield from self.runs(count, reader.uleb())


def uleb(value: int) -> bytes:
    """Encode a number."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + uleb(rest) if rest else bytes([low])


def sleb(value: int) -> bytes:
    """Encode a signed number in ten bytes or fewer."""
    if -64 <= value < 64:
        return bytes([value & 0x7F])
    return bytes([value & 0x7F | 0x80]) + sleb(value >> 7)


def some_rebases(draw: random.Random) -> bytes:
    """Return opcodes that stay inside the segments."""
    found = b""
    for _ in range(draw.randrange(12)):
        found += bytes([0x11, 0x20 | draw.randrange(2)]) + uleb(draw.choice((0, 48, 200, 0x3C0)))
        for _ in range(draw.randrange(6)):
            found += draw.choice((
                bytes([0x30]) + uleb(draw.choice((8, 300, (1 << 64) - 4))),
                bytes([0x40 | draw.randrange(4)]),
                bytes([0x50 | draw.randrange(4)]),
                bytes([0x60]) + uleb(draw.randrange(5)),
                bytes([0x70]) + uleb(draw.randrange(30)),
                bytes([0x80]) + uleb(draw.randrange(4)) + uleb(draw.choice((0, 3, BACK))),
            ))  # fmt: skip
    return found + draw.choice((b"", b"\0", b"\0\0\x51"))


def some_binds(draw: random.Random, lazy: bool) -> bytes:
    """Return opcodes that stay inside the segments."""
    found = b""
    for _ in range(draw.randrange(12)):
        name = draw.choice((b"_malloc", b"_free", b"__ZN1aC1Ev", "_ünïcode".encode()))
        found += bytes([0x10, 0x51, 0x40]) + name + b"\0"
        found += bytes([0x70 | draw.randrange(2)]) + uleb(draw.choice((0, 48, 200, 0x3C0)))
        for _ in range(draw.randrange(6)):
            found += draw.choice((
                bytes([0x20]) + uleb(draw.randrange(300)),
                bytes([0x60]) + sleb(draw.choice((0, 5, -8, 1 << 40, -(1 << 63)))),
                bytes([0x80]) + uleb(draw.choice((8, 300, (1 << 64) - 4))),
                bytes([0x90]),
                bytes([0xA0]) + uleb(draw.randrange(30)),
                bytes([0xB0 | draw.randrange(4)]),
                bytes([0xC0]) + uleb(draw.randrange(4)) + uleb(draw.choice((0, 3, 24))),
            ))  # fmt: skip
        found += b"\0" * lazy
    return found + draw.choice((b"", b"\0", b"\0\0\x90"[: 2 if lazy else 3]))


def interpreted(image: MachO) -> list[Row] | None:
    """Return the rows of the loop; None if one is outside its segment."""
    try:
        rows = [*Interpreter(image).rebases()]
        for part in ("bind opcodes", "weak bind opcodes", "lazy bind opcodes"):
            rows += Interpreter(image).binds(part)
    except ValueError:
        return None
    return rows


def test_pointers_are_those_of_a_loop() -> None:
    draw = random.Random(7)
    compared = refused = 0
    for _ in range(600):
        image = image_of({
            "rebase opcodes": some_rebases(draw),
            "bind opcodes": some_binds(draw, lazy=False),
            "weak bind opcodes": some_binds(draw, lazy=False),
            "lazy bind opcodes": some_binds(draw, lazy=True),
        })  # fmt: skip
        rows = interpreted(image)
        if rows is None:
            refused += 1
            with pytest.raises(InputError, match=r"damaged fix-ups: a pointer at 0x"):
                fixups(image)
        else:
            compared += len(rows)
            assert fixup_rows(image) == rows
    assert compared > 5000 and refused > 50


SET = bytes([0x20]) + uleb(0)


@pytest.mark.parametrize(
    ("part", "table", "what"),
    [
        ("rebase", b"\x51", "a pointer at 0x0 of segment "),
        ("rebase", b"\x22\x00", "segment 2 of 2"),
        ("rebase", b"\x20", ""),
        ("rebase", b"\x90", "rebase opcode 0x90"),
        ("rebase", SET + b"\x60" + uleb(1 << 63), "more pointers than fit into the image"),
        ("rebase", SET + b"\x80\x02" + uleb(1 << 62), "a pointer at 0x4000000000000008 of"),
        ("rebase", SET + b"\x80\x03" + uleb((1 << 63) - 9), "a pointer at 0xfffffffffffffffe of"),
        ("rebase", SET + b"\x30" + uleb((1 << 64) - 8) + b"\x51", "0xfffffffffffffff8 of"),
        ("rebase", SET + b"\x30" + b"\xff" * 9 + b"\x02\x51", "a number of more than 64 bits"),
        ("bind", b"\xd0", "bind opcode 0xd0"),
        ("bind", b"\x40name", ""),
        ("bind", b"\x60" + sleb(1 << 63) + b"\x70\x00\x90", "addend 0x8000000000000000"),
        ("bind", b"\x70" + uleb(0x3F9) + b"\x90", "a pointer at 0x3f9 of segment __S0"),
        ("lazy bind", b"\0\0\x90", "a pointer at 0x0 of segment "),
    ],
)  # fmt: skip
def test_damaged_opcodes_are_refused(part: str, table: bytes, what: str) -> None:
    with pytest.raises(InputError, match=f"damaged fix-ups: .*{what}"):
        fixups(image_of({f"{part} opcodes": table}))
