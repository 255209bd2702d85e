"""Debug information that is absent, split, damaged or made to exhaust is read or refused."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import InconclusiveError, InputError, SizeguardError
from sizeguard.formats.dwarf import inline_frames
from tests.support.images.dwarf_image import SOURCE, code_of, make
from tests.support.images.made_dwarf import abbreviation, hostile, unit_of
from tests.support.links.map_links import run

pytestmark = pytest.mark.native


def test_what_has_no_debug_information_is_told(folder: Path, tmp_path: Path) -> None:
    run("g++", "-O2", SOURCE, "-o", tmp_path / "bare", cwd=tmp_path)
    with pytest.raises(
        InconclusiveError,
        match=r"bare: no debug information: build with -g, or name the debug file",
    ):
        inline_frames(tmp_path / "bare")
    run("g++", "-g", "-c", SOURCE, "-o", tmp_path / "x.o", cwd=tmp_path)
    with pytest.raises(InputError, match=r"x\.o: an object: its code has no addresses yet"):
        inline_frames(tmp_path / "x.o")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InputError, match="not an ELF file"):
        inline_frames(tmp_path / "text")


def test_a_section_that_claims_to_be_endless_is_refused(folder: Path, image: Path) -> None:
    run("objcopy", "--compress-debug-sections=zlib", image, "bomb", cwd=folder)
    listed = run("readelf", "-SW", "bomb", cwd=folder)
    match = re.search(r"\] \.debug_info +\S+ +[0-9a-f]+ ([0-9a-f]+)", listed)
    assert match is not None
    data = bytearray((folder / "bomb").read_bytes())
    place = int(match[1], 16) + 8  # ch_size
    data[place : place + 8] = (1 << 40).to_bytes(8, "little")
    (folder / "bomb").write_bytes(data)
    with pytest.raises(InputError, match=r"\.debug_info states 1099511627776 bytes"):
        inline_frames(folder / "bomb")


def test_split_debug_information_is_told(folder: Path) -> None:
    image = make(folder, "split", "g++", "-gsplit-dwarf")
    with pytest.raises(InconclusiveError, match=r"in \.dwo files; build without -gsplit-dwarf"):
        inline_frames(image)


def test_mutated_debug_information_is_read_or_refused(folder: Path, image: Path) -> None:
    original = image.read_bytes()
    places = [
        (int(offset, 16), int(size, 16))
        for offset, size in re.findall(
            r"\] \.debug_\w+ +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)",
            run("readelf", "-SW", image, cwd=folder),
        )
    ]
    random_ = random.Random(0)
    for _ in range(300):
        data = bytearray(original)
        for _ in range(random_.choice([1, 2, 4, 16])):
            offset, size = random_.choice(places)
            data[offset + random_.randrange(size)] = random_.choice(
                [0, 1, 127, 128, 255, random_.randrange(256)]
            )
        (folder / "mutated").write_bytes(data)
        try:
            frames = inline_frames(folder / "mutated")
        except SizeguardError as error:
            assert "\n" not in str(error)
        else:
            assert bool(np.all(frames.end[:-1] <= frames.start[1:]))


def test_information_that_is_made_to_exhaust_is_refused(folder: Path, image: Path) -> None:
    """Read small files with overlapping units, names or ranges, or too deeply nested functions."""
    start = code_of(image)[0]
    low = start.to_bytes(8, "little")
    top = abbreviation(1, 0x11, children=True)
    shared = abbreviation(2, 0x34, (3, 8), (0x3A, 0x0B)) * 20_000 + b"\0"
    cases = [
        (
            b"".join(unit_of(b"\1\0", offset) for offset in range(len(top), 9 * 15_000, 9)),
            top + shared,
            {},
            "abbreviations that",
        ),
        (
            unit_of(
                b"\1"
                + b"".join(
                    b"\2" + (start + i).to_bytes(8, "little") + b"\1\0\0\0" + bytes((i, 0, 0, 0))
                    for i in range(200)
                )
                + b"\0"
            ),
            top + abbreviation(2, 0x2E, (0x11, 1), (0x12, 6), (3, 0x0E)) + b"\0",
            {"str": b"x" * 1_000_000 + b"\0"},
            "names that overlap",
        ),
        (
            unit_of(b"\1" + b"\2\0\0\0\0" * 20_000 + b"\0"),
            top + abbreviation(2, 0x2E, (0x55, 0x17)) + b"\0",
            {"ranges": (low + (start + 1).to_bytes(8, "little")) * 10_000 + bytes(16)},
            "range lists without end",
        ),
        (
            unit_of(
                b"\1\2" + low + b"\1\0\0\0" + (b"\3" + low + b"\1\0\0\0") * 20_000 + b"\0" * 20_002
            ),
            top
            + abbreviation(2, 0x2E, (0x11, 1), (0x12, 6), children=True)
            + abbreviation(3, 0x1D, (0x11, 1), (0x12, 6), children=True)
            + b"\0",
            {},
            "functions are nested",
        ),
        (
            unit_of(b"\1\2text"),
            top + abbreviation(2, 0x34, (3, 8)) + b"\0",
            {},
            "an unterminated string",
        ),
        (unit_of(b"\1\5"), top + b"\0", {}, "is cut"),
    ]
    for info, abbreviations, sections, message in cases:
        began = time.process_time()
        with pytest.raises(InputError, match=message):
            inline_frames(hostile(folder, image, info, abbreviations, **sections))
        assert time.process_time() - began < 10
