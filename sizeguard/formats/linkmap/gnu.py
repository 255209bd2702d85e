"""Turns a map of GNU ld into input sections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sizeguard.formats.linkmap.row import InputSection

_OUTPUT = re.compile(r"(\.\S+|[A-Za-z_]\S*)(?:\s+0x([0-9a-f]+)\s+0x([0-9a-f]+).*)?")
_INPUT = re.compile(r" (\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (.+)")
_WRAPPED = re.compile(r" (\S+)")
_REST = re.compile(r"\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (.+)")
_MERGED = re.compile(r"\s+0x[0-9a-f]+ \(size before relaxing\)")


def parse_gnu(text: str) -> Iterator[InputSection]:
    """Rows with a size. A name of 16 characters or more stands alone on its line, the rest on the next."""
    lines = text[text.index("\nLinker script and memory map\n") :].split("\n")
    output = ""
    name = ""
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        found: tuple[str, str, str, str] | None = None
        if name:
            rest = _REST.fullmatch(line)
            if rest:
                found = (name, rest[1], rest[2], rest[3])
            name = ""
        if found is None:
            row = _INPUT.fullmatch(line)
            if row:
                found = (row[1], row[2], row[3], row[4])
            elif _WRAPPED.fullmatch(line) and not line.startswith(" *"):
                name = line[1:]
            elif line and not line[0].isspace() and _OUTPUT.fullmatch(line):
                output = line.split()[0]
        if found is not None and not found[0].startswith("*") and int(found[2], 16) > 0:
            yield InputSection(output, found[0], found[3], int(found[1], 16), int(found[2], 16), bool(_MERGED.fullmatch(after)))
