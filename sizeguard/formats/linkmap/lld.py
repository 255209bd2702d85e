"""Read maps of lld."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sizeguard.formats.linkmap.gnu import GnuMapRows
from sizeguard.formats.linkmap.link_map import LinkMap, damaged

HEADER = re.compile(r" *VMA +LMA +Size Align Out +In +Symbol")

_ROW = re.compile(r" *([0-9a-f]{1,16}) +[0-9a-f]{1,16} +([0-9a-f]{1,16}) +\d+ ( *)(.*)")
_ASSIGNMENT = re.compile(r"\S+ [-+*/&|<>]*= |PROVIDE|ASSERT|HIDDEN")
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
INPUT_INDENT, SYMBOL_INDENT = 8, 16


def parse_lld(path: Path, lines: Sequence[str]) -> LinkMap:
    """Read a map.

    The indentation of a name tells its kind: 0 output section, 8 input section, 16 symbol. A symbol
    of --defsym has no name.
    """
    rows = GnuMapRows(path)
    for number, line in enumerate(lines[1:], 2):
        if line == "Cross Reference Table":
            break
        found = _ROW.fullmatch(line)
        if found is None:
            if line:
                raise damaged(path, number, f"not a row of a map of lld: {line.strip()[:60]}")
            continue
        address, size, indent, name = (
            rows.number(found[1], number),
            rows.number(found[2], number),
            len(found[3]),
            found[4],
        )
        if indent >= SYMBOL_INDENT:
            rows.symbol(address, size, name)
        elif indent == 0:
            if name and not _ASSIGNMENT.match(name):
                rows.begin(name, address, size)
        elif indent == INPUT_INDENT:
            place_input(rows, name, address, size)
        else:
            raise damaged(path, number, f"a name {indent} columns in")
    return rows.finish("lld")


def place_input(rows: GnuMapRows, text: str, address: int, size: int) -> None:
    """Add an input section of the form `file:(section)`.

    Other texts are data or an assignment of the linker script. lld cuts .eh_frame into records:
    `file:(.eh_frame+0x18)`.
    """
    file, separator, name = text.rpartition(":(")
    if not separator or text[-1] != ")":
        if not _ASSIGNMENT.match(text):
            rows.place(text, "", address, size, True)
        return
    is_own = file == "<internal>"
    name = name[:-1]
    if "+0x" in name:
        name = _OFFSET.sub("", name)
    rows.place(name, file, address, size, is_own)
