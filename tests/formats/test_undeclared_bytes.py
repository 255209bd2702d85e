"""Bytes that nothing in an image declares ship: strip drops them, and they are appended again."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from sizeguard.base.errors import BuildError
from sizeguard.formats.undeclared_bytes import undeclared_bytes
from sizeguard.toolchains.stripped import strip
from tests.support.builds.recorded_builds import recorded_images
from tests.support.images.made_elf import Form, MadeSection, make_elf

ARCHIVE = bytes(range(256)) * 20
PLACE_OF_TABLE = 40  # of the address of section headers in a 64-bit ELF header


@pytest.mark.parametrize(
    ("content", "tail", "found"),
    [
        (b"code", b"", b""),
        (b"code" + ARCHIVE, b"", ARCHIVE),
        (b"code", ARCHIVE, ARCHIVE),
        (b"code", b"\0" * 9, b"\0" * 9),
        (b"code" + ARCHIVE, b"more", ARCHIVE + b"more"),
        # Linkers fill gaps
        (b"code" + bytes(9000), b"", b""),
        (b"code" + b"\xcc" * 9001 + bytes(3), b"", b""),
        (b"code" + b"\x00\x00\x20\xd4" * 999, b"", b""),
        (b"code" + b"\xcc" * 99 + b"1" + b"\xcc" * 99, b"", b"\xcc" * 99 + b"1" + b"\xcc" * 99),
    ],
)
def test_elf(tmp_path: Path, content: bytes, tail: bytes, found: bytes) -> None:
    """Between two sections, and behind all."""
    path = tmp_path / "app"
    sections = [MadeSection(".text", content=content, size=4), MadeSection(".data", content=b"1")]
    path.write_bytes(make_elf(Form(), sections, tail=tail))
    assert undeclared_bytes(path) == found


@pytest.mark.parametrize("name", ["app-arm64", "lib-x86_64", "main-i386.o", "x86_64.dll"])
def test_other_formats(tmp_path: Path, name: str) -> None:
    """strip keeps what is appended to a PE file."""
    path = recorded_images(tmp_path) / name
    assert undeclared_bytes(path) == b""
    path.write_bytes(path.read_bytes() + ARCHIVE)
    assert undeclared_bytes(path) == (b"" if name.endswith(".dll") else ARCHIVE)


def test_a_universal_binary(tmp_path: Path) -> None:
    """Behind an image in it, and behind all images."""
    image = (recorded_images(tmp_path) / "app-arm64").read_bytes()
    start, size = 1 << 14, len(image) + len(ARCHIVE)
    head = struct.pack(">7I", 0xCAFEBABE, 1, 0x0100000C, 0, start, size, 14)
    path = tmp_path / "both"
    path.write_bytes(head.ljust(start, b"\0") + image + ARCHIVE + b"end")
    assert undeclared_bytes(path) == ARCHIVE + b"end"


@pytest.mark.native
def test_strip_loses_no_archive_before_the_section_headers(tmp_path: Path) -> None:
    """A packer may move the table of sections behind its archive."""
    path, stripped = tmp_path / "app", tmp_path / "app.stripped"
    data = bytearray(Path(shutil.which("true") or "").read_bytes())
    (table,) = struct.unpack_from("<Q", data, PLACE_OF_TABLE)
    headers = data[table:]
    struct.pack_into("<Q", data, PLACE_OF_TABLE, table + len(ARCHIVE))
    path.write_bytes(data[:table] + ARCHIVE + headers)
    strip("strip", path, stripped)
    assert ARCHIVE in stripped.read_bytes()


@pytest.mark.native
@pytest.mark.parametrize(
    ("command", "says"),
    [('echo more >> "$3"\ncp "$3" "$2"\n', "changes the image"), ("", "makes no stripped copy")],
)
def test_a_tool_that_does_not_strip_is_refused(tmp_path: Path, command: str, says: str) -> None:
    """A changed image, or the copy of an earlier build, would hide what the copy lacks."""
    image, tool, stripped = tmp_path / "app", tmp_path / "tool", tmp_path / "app.stripped"
    image.write_bytes(make_elf(Form(), [MadeSection(".data", content=b"1")]))
    stripped.write_bytes(image.read_bytes())
    tool.write_text(f"#!/bin/sh\n{command}")
    tool.chmod(0o755)
    with pytest.raises(BuildError, match=says):
        strip(str(tool), image, stripped)
