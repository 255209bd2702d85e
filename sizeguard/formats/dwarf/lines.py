"""Find the source line of an address in the line tables of DWARF 2 to 5."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.dwarf.debug_info import DwarfError, Info
from sizeguard.formats.dwarf.dwarf_constants import (
    FORM_BLOCK,
    FORM_DATA1,
    FORM_DATA2,
    FORM_DATA4,
    FORM_DATA8,
    FORM_DATA16,
    FORM_LINE_STRP,
    FORM_STRING,
    FORM_STRP,
    FORM_UDATA,
)
from sizeguard.formats.dwarf.sources import (
    DW_AT_COMPILATION_FOLDER,
    first_entry,
    text_of,
    unit_ranges,
)

SECTION = "line"
_LINES = 0x10  # DW_AT_stmt_list
_PATH, _FOLDER = 1, 2  # DW_LNCT_path, DW_LNCT_directory_index
_COPY, _ADVANCE, _ADVANCE_LINE, _SET_FILE, _ADD_MOST, _ADVANCE_FIXED = 1, 2, 3, 4, 8, 9
_END, _SET_ADDRESS = 1, 2  # extended operations
_DATA = {FORM_DATA1: 1, FORM_DATA2: 2, FORM_DATA4: 4, FORM_DATA8: 8, FORM_DATA16: 16}
_MOST = 4_000_000  # operations of one table
_LONGEST = 70  # bits of a number


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a source. path: as the compiler wrote it, with the folder of the compilation."""

    path: str
    line: int


def lines_of(
    sections: dict[str, bytes], addresses: Iterable[int], *, is_big: bool
) -> Mapping[int, CodeLine]:
    """Return the line of each address that begins one; a damaged table counts up to the damage."""
    left = set(addresses)
    found: dict[int, CodeLine] = {}
    try:
        info = Info(sections, "big" if is_big else "little")
        for unit in info.code_units().tolist():
            if not left:
                break
            entry = first_entry(info, unit)
            covered = unit_ranges(info, np.array([unit]))[:, 1:].tolist()
            mine = {each for each in left if any(low <= each < high for low, high in covered)}
            if not mine or _LINES not in entry:
                continue
            folder = text_of(info, unit, entry, DW_AT_COMPILATION_FOLDER)
            found |= _LineTable(info, unit, folder, entry[_LINES][1]).find(mine)
            left -= mine
    except (DwarfError, IndexError, KeyError):
        pass  # keep the units before it
    return found


class _LineTable:
    """The line table of a unit."""

    def __init__(self, info: Info, unit: int, folder: str, start: int) -> None:
        """Read the header at `start` of .debug_line. folder: of the compilation."""
        self.info, self.unit = info, unit
        self.data = info.sections.get(SECTION, b"")
        self.at = start
        self.offset_size = 4
        length = self._number(4)
        if length == 0xFFFFFFFF:
            self.offset_size = 8
            length = self._number(8)
        self.end = self.at + length
        self.version = self._number(2)
        if not 2 <= self.version <= 5 or self.end > len(self.data):
            raise DwarfError(f"the line table at {start}")
        self.at += 2 if self.version == 5 else 0  # sizes of addresses and segments
        header = self._number(self.offset_size)
        self.program = self.at + header
        self.step = self._number(1)
        self.at += 1 if self.version >= 4 else 0  # operations of an instruction
        self.at += 1  # is_stmt
        self.line_base = (self._number(1) ^ 0x80) - 0x80
        self.line_range = self._number(1) or 1
        self.first_special = self._number(1)
        self.counts = [self._number(1) for _ in range(self.first_special - 1)]
        self.files = self._new_files(folder) if self.version == 5 else self._old_files(folder)

    def find(self, addresses: set[int]) -> dict[int, CodeLine]:
        """Return the lines of addresses at which a row begins."""
        found: dict[int, CodeLine] = {}
        for address, file, line in self._rows():
            if address in addresses and address not in found and line and file in self.files:
                found[address] = CodeLine(self.files[file], line)
                if len(found) == len(addresses):
                    break
        return found

    def _rows(self) -> Iterator[tuple[int, int, int]]:
        """Run the program; yield address, file and line of each row."""
        self.at = self.program
        address, file, line = 0, 1, 1
        for _ in range(_MOST):
            if self.at >= self.end:
                return
            code = self._number(1)
            if code >= self.first_special:
                steps, lines = divmod(code - self.first_special, self.line_range)
                address, line = address + steps * self.step, line + self.line_base + lines
                yield address, file, line
            elif code == 0:
                address, ended = self._extended(address)
                if ended:
                    address, file, line = 0, 1, 1
            elif code == _COPY:
                yield address, file, line
            elif code == _ADVANCE:
                address += self._leb() * self.step
            elif code == _ADVANCE_LINE:
                line += self._signed_leb()
            elif code == _SET_FILE:
                file = self._leb()
            elif code == _ADD_MOST:
                address += (255 - self.first_special) // self.line_range * self.step
            elif code == _ADVANCE_FIXED:
                address += self._number(2)
            else:
                for _ in range(self.counts[code - 1]):
                    self._leb()

    def _extended(self, address: int) -> tuple[int, bool]:
        """Run an extended operation; return the address, and whether the sequence ends."""
        end = self._leb()
        end += self.at
        code = self._number(1)
        if code == _SET_ADDRESS:
            address = self._number(end - self.at)
        self.at = end
        return address, code == _END

    def _number(self, size: int) -> int:
        value = self.info.number(self.data, self.at, size)
        self.at += size
        return value

    def _leb(self) -> int:
        """Read an unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > _LONGEST:
                raise DwarfError(f"a number without end at {self.at}")

    def _signed_leb(self) -> int:
        start = self.at
        value = self._leb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def _text(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise DwarfError(f"an unterminated string at {self.at}")
        text = self.data[self.at : end]
        self.at = end + 1
        return text.decode("utf-8", "backslashreplace")

    def _old_files(self, folder: str) -> dict[int, str]:
        """Read the files of DWARF 2 to 4, numbered from 1."""
        folders = [folder]
        while text := self._text():
            folders.append(posixpath.join(folder, text))
        files: dict[int, str] = {}
        while text := self._text():
            place = self._leb()
            self._leb()
            self._leb()
            files[len(files) + 1] = _joined(folders, place, text)
        return files

    def _new_files(self, folder: str) -> dict[int, str]:
        """Read the files of DWARF 5, numbered from 0."""
        folders = [posixpath.join(folder, path) for path, _ in self._entries()]
        entries = enumerate(self._entries())
        return {number: _joined(folders, place, path) for number, (path, place) in entries}

    def _entries(self) -> list[tuple[str, int]]:
        """Read a table of DWARF 5: paths, and indices of their folders."""
        shape = [(self._leb(), self._leb()) for _ in range(self._number(1))]
        found: list[tuple[str, int]] = []
        for _ in range(self._leb()):
            if self.at > self.end or not shape:
                raise DwarfError(f"unterminated list of files at {self.at}")
            values = {content: self._value(form) for content, form in shape}
            folder = values.get(_FOLDER, 0)
            found.append((str(values.get(_PATH, "")), folder if isinstance(folder, int) else 0))
        return found

    def _value(self, form: int) -> int | str:
        if form == FORM_STRING:
            return self._text()
        if form in (FORM_STRP, FORM_LINE_STRP):
            return self.info.text_of(self.unit, form, self._number(self.offset_size))
        if form == FORM_UDATA:
            return self._leb()
        if form == FORM_BLOCK:
            size = self._leb()
            self.at += size
            return 0
        if form in _DATA:
            return self._number(_DATA[form])
        raise DwarfError(f"an unknown form {form:#x} in a line table")


def _joined(folders: list[str], place: int, name: str) -> str:
    folder = folders[place] if place < len(folders) else ""
    return posixpath.normpath(posixpath.join(folder, name))
