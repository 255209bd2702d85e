"""Read the header of a Mach-O image, and its load commands."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Bytes
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import LoadCommand
from sizeguard.formats.magics import MACHO_MAGICS


class CommandReader:
    """Reads the load commands of one image."""

    def __init__(self, path: Path, data: Bytes, offset: int) -> None:
        """Check that the bytes begin like an image; offset: their place in the file."""
        self.path = path
        self.data = data
        self.offset = offset
        magic = MACHO_MAGICS.get(data[:4].tobytes())
        if magic is None:
            raise InputError(f"{path}: not a Mach-O file" + (f" at {offset}" if offset else ""))
        self.order, self.is_64 = magic
        self.header_size = 32 if self.is_64 else 28
        if len(data) < self.header_size:
            self.damaged("its header is truncated")

    def damaged(self, what: str) -> NoReturn:
        """Raise the error for a damaged file."""
        raise InputError(f"{self.path}: a damaged Mach-O file: {what}")

    def unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        """Unpack numbers at an offset."""
        form = struct.Struct(self.order + layout)
        return form.unpack(self.data[offset : offset + form.size].tobytes())

    def check(self, what: str, offset: int, size: int) -> None:
        """Raise InputError if an extent exceeds the image."""
        if offset + size > len(self.data):
            self.damaged(
                f"{what} at [{offset}, {offset + size}) of an image of {len(self.data)} bytes"
            )

    def commands(self, count: int, size: int) -> Iterator[LoadCommand]:
        """Yield the load commands."""
        position, end = self.header_size, self.header_size + size
        if count * 8 > size:
            self.damaged(f"{count} load commands in {size} bytes")
        for i in range(count):
            if position + 8 > end:
                self.damaged(f"load command {i} is cut")
            number, length = self.unpack("II", position)
            if length < 8 or position + length > end:
                self.damaged(f"load command {i} of {length} bytes")
            yield LoadCommand(c.COMMANDS.get(number, f"LC_{number:#x}"), number, position, length)
            position += length

    def fields(self, command: LoadCommand, layout: str) -> tuple[int, ...]:
        """Unpack the numbers after a command's number and size."""
        if 8 + struct.calcsize(self.order + layout) > command.size:
            self.damaged(f"{command.name} of {command.size} bytes")
        return self.unpack(layout, command.offset + 8)

    def text(self, offset: int) -> str:
        """Read a name of at most 16 bytes."""
        return (
            self.data[offset : offset + 16]
            .tobytes()
            .split(b"\0")[0]
            .decode("utf-8", "backslashreplace")
        )

    def string_of(self, command: LoadCommand) -> str:
        """Return the string of a command, whose first field is the string's place in it."""
        (start,) = self.fields(command, "I")
        if start >= command.size:
            self.damaged(f"{command.name} has its name at {start} of {command.size} bytes")
        raw = self.data[command.offset + start : command.offset + command.size].tobytes()
        return raw.split(b"\0")[0].decode("utf-8", "backslashreplace")

    def uuid(self, command: LoadCommand) -> str:
        """Return the UUID in hex."""
        self.fields(command, "16x")
        return self.data[command.offset + 8 : command.offset + 24].tobytes().hex()
