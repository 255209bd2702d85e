"""Dtype cases that were compiled, found in the debug information of an object.

`run_case<(sg::ScalarType)6, float, lambda>` is always inlined and leaves no symbol, but its name
stays in .debug_str.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import SHF_COMPRESSED, Elf
from sizeguard.operators.dtypes import NAMES
from sizeguard.verify.evidence.object_evidence import ObjectFile

_CASE = re.compile(rb"run_case<\(sg::ScalarType\)(\d+), ([^\0]*)")
_LAMBDA_PLACE = re.compile(r"\(lambda at ([^:]*):(\d+):\d+\)")
_MAX_INFLATED = 1 << 28


@dataclass(frozen=True, slots=True)
class Cases:
    """Compiled cases of an object.

    has_names: whether there is debug information to read
    compiled:  pairs of a dtype and a text that says where its lambda is
    """

    has_names: bool
    compiled: tuple[tuple[str, str], ...]

    def of(self, function: str, file: str, line: int) -> set[str]:
        """Find the dtypes that were compiled for the switch in a function, or at a line.

        gcc names the function, clang the line.
        """
        found = set()
        for dtype, text in self.compiled:
            place = _LAMBDA_PLACE.search(text)
            if place:
                if place[1].rpartition("/")[2] == file and line <= int(place[2]) <= line + 2:
                    found.add(dtype)
            elif function and re.search(rf"\b{re.escape(function)}(?:<.*>)?\(", text):
                found.add(dtype)
        return found


def compiled_cases(file: ObjectFile) -> Cases:
    """Find the cases of one object."""
    contents = list(_strings(file.elf))
    return Cases(
        bool(contents),
        tuple(dict.fromkeys(case for content in contents for case in cases_in(content))),
    )


def cases_in(text: bytes) -> Iterator[tuple[str, str]]:
    """Find the cases that a string names."""
    for match in _CASE.finditer(text):
        yield NAMES.get(int(match[1]), f"code {int(match[1])}"), match[2].decode("utf-8", "replace")


def _strings(elf: Binary) -> Iterator[bytes]:
    for section in elf.sections:
        if (
            section.name not in (".debug_str", ".debug_info", ".debug_str.dwo")
            or not section.file_size
        ):
            continue
        content = elf.content(section)
        if section.flags & SHF_COMPRESSED:
            header = 24 if not isinstance(elf, Elf) or elf.layout.is_64 else 12
            inflated = zlib.decompressobj()
            try:
                content = inflated.decompress(content[header:], _MAX_INFLATED)
            except zlib.error:
                continue  # compressed with zstd, or damaged: treated as absent
        yield content
