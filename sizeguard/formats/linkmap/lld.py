"""Turns a map of lld into input sections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sizeguard.formats.linkmap.row import InputSection

_ROW = re.compile(r"\s*([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ ( *)(.+)")
_INPUT_INDENT = 8


def parse_lld(text: str) -> Iterator[InputSection]:
    """Rows with a size. The depth of the name says what it is: none an output section, 8 an input section, 16 a symbol."""
    output = ""
    for line in text.split("\n")[1:]:
        row = _ROW.fullmatch(line)
        if row is None:
            continue
        if not row[3]:
            output = row[4]
        elif len(row[3]) == _INPUT_INDENT and row[4].endswith(")"):
            file, _, name = row[4].rpartition(":(")
            if int(row[2], 16) > 0:
                yield InputSection(output, name[:-1], file, int(row[1], 16), int(row[2], 16), file == "<internal>")
