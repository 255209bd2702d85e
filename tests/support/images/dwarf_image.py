"""A program with debug information, built with some compiler and flags."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.links.map_links import run
from tests.support.places import DATA

SOURCE = DATA / "dwarf" / "dtypes.cpp"
FLAGS = ("-std=c++20", "-g", "-O2", "-ffunction-sections")


def make(folder: Path, name: str, compiler: str = "g++", *flags: str) -> Path:
    run(compiler, *FLAGS, SOURCE, "-Wl,--gc-sections", *flags, "-o", name, cwd=folder)
    return folder / name


def code_of(image: Path) -> tuple[int, int]:
    listed = run("readelf", "-SW", image, cwd=image.parent)
    match = re.search(r"\] \.text +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", listed)
    assert match is not None
    return int(match[1], 16), int(match[2], 16)
