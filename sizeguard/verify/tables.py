"""Turns an image, stripped or not, into the names that it registers: pairs of a pointer to a text and one to code.

No symbol is read: an operator's entry is its schema and its kernel, a custom class's its name and its constructor, wherever
they lie and whatever they are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import ET_EXEC, RELOCATION_TYPES, SHT_RELR, Elf, Section
from sizeguard.verify.binary import Binary
from sizeguard.verify.macho import MachoImage
from sizeguard.verify.objects import ObjectFile, Objects, Piece

SCHEMA = re.compile(rb"([A-Za-z_][\w.]*::[\w.]+)\(")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_LONGEST = 512  # bytes of a schema that are looked at

# Relocations that make a word an address: RELATIVE, then those with a symbol (64, GLOB_DAT).
_RELATIVE = {"x86_64": 8, "aarch64": 1027}
_SYMBOLIC = {"x86_64": (1, 6), "aarch64": (257, 1025)}


@dataclass(frozen=True, slots=True)
class Entry:
    """A registration: an entry of two words at `address` (in an object: the offset in its section), and the code it points at."""

    name: str
    address: int
    target: int


@dataclass(frozen=True, slots=True)
class Registered:
    """operators: by schema name. classes: by name."""

    operators: Mapping[str, tuple[Entry, ...]]
    classes: Mapping[str, tuple[Entry, ...]]


def registered_in(image: Binary, classes: Iterable[str]) -> Registered:
    """Every entry in the image's data. classes: names that count as those of classes."""
    wanted = {name.encode(): name for name in classes}
    operators: dict[str, list[Entry]] = {}
    found_classes: dict[str, list[Entry]] = {}
    code = _ranges(s for s in image.sections if s.is_allocated and s.is_executable)
    texts = [s for s in image.sections if s.is_allocated and not s.is_executable and s.file_size]
    loaded = _loaded_pointers(image) if isinstance(image, Elf) else image.pointers if isinstance(image, MachoImage) else {}
    for section in image.sections:
        if not section.is_allocated or section.is_executable or section.file_size < 16:
            continue
        words, places = _words(image, section, loaded)
        first, second = words[:-1], words[1:]
        candidates = np.flatnonzero(_inside(second, code) & _inside(first, _ranges(texts)) & (np.diff(places) == 8))
        for i in candidates.tolist():
            text = _text(image, texts, int(first[i]))
            entry_address, target = int(places[i]), int(second[i])
            schema = SCHEMA.match(text)
            if schema:
                name = schema[1].decode()
                operators.setdefault(name, []).append(Entry(name, entry_address, target))
            name = wanted.get(text.partition(b"\0")[0], "")
            if name:
                found_classes.setdefault(name, []).append(Entry(name, entry_address, target))
    return Registered(_frozen(operators), _frozen(found_classes))


def _frozen(found: Mapping[str, list[Entry]]) -> dict[str, tuple[Entry, ...]]:
    return {name: tuple(found[name]) for name in sorted(found)}


Ranges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _ranges(sections: Iterable[Section]) -> Ranges:
    pairs = sorted((s.address, s.address + s.size) for s in sections)
    return np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.int64)


def _inside(values: npt.NDArray[np.int64], ranges: Ranges) -> npt.NDArray[np.bool_]:
    starts, ends = ranges
    if not len(starts):
        return np.zeros(len(values), bool)
    i = np.searchsorted(starts, values, "right") - 1
    return (i >= 0) & (values < ends[np.maximum(i, 0)]) & (values > 0)


def _loaded_pointers(image: Elf) -> dict[int, int]:
    """Place → the address that the loader puts there."""
    pointers: dict[int, int] = {}
    relative, symbolic = _RELATIVE.get(image.machine, -1), _SYMBOLIC.get(image.machine, ())
    for section in image.sections:
        if section.type not in RELOCATION_TYPES or not section.is_allocated:
            continue
        table = image.relocation_table(section)
        if section.type == SHT_RELR:
            for place in table.offset.tolist():
                pointers[place] = _word_at(image, place)
            continue
        symbols = image.table_of(section)
        for place, type_, symbol, addend in zip(
            table.offset.tolist(), table.type.tolist(), table.symbol.tolist(), table.addend.tolist(), strict=True
        ):
            if type_ == relative:
                pointers[place] = addend
            elif type_ in symbolic and symbols is not None and 0 < symbol < len(symbols):
                value = int(symbols.address[symbol])
                pointers[place] = value + addend if value else 0
    return pointers


def _word_at(image: Elf, address: int) -> int:
    for section in image.sections:
        if section.is_allocated and section.address <= address and address + 8 <= section.address + section.file_size:
            offset = section.offset + address - section.address
            return int.from_bytes(bytes(image.data[offset : offset + 8]), "little")
    return 0


def _words(image: Binary, section: Section, loaded: Mapping[int, int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The section's aligned words as the program sees them, and where they lie."""
    start = (section.address + 7) // 8 * 8
    skip = start - section.address
    content = image.content(section)[skip:]
    count = len(content) // 8
    words = np.frombuffer(content[: count * 8], "<i8").astype(np.int64)
    if image.type != ET_EXEC:
        words = np.zeros(count, np.int64)  # nothing but relocated words are addresses
    for place, value in loaded.items():
        if start <= place < start + count * 8 and (place - start) % 8 == 0:
            words[(place - start) // 8] = value
    return words, start + 8 * np.arange(count, dtype=np.int64)


def _text(image: Binary, sections: Iterable[Section], address: int) -> bytes:
    for section in sections:
        if section.address <= address < section.address + section.file_size:
            offset = section.offset + address - section.address
            text = bytes(image.data[offset : min(offset + _LONGEST, section.offset + section.file_size)])
            return text.partition(b"\0")[0] + b"\0"
    return b""


def registered_by(objects: Objects, classes: Iterable[str]) -> tuple[dict[str, list[Piece]], dict[str, list[Piece]]]:
    """The same entries in the objects, before linking: operators and classes by name, as pieces of 16 bytes."""
    wanted = {name.encode() for name in classes}
    operators: dict[str, list[Piece]] = {}
    found_classes: dict[str, list[Piece]] = {}
    for number, file in enumerate(objects.files):
        for index, table in file.relocations.items():
            section = file.elf.sections[index]
            if not section.is_allocated or section.is_executable or len(table) < 2:
                continue
            at = dict(zip(table.offset.tolist(), zip(table.symbol.tolist(), table.addend.tolist(), strict=True), strict=True))
            for offset, (symbol, addend) in at.items():
                if offset + 8 not in at:
                    continue
                text = _pointed_text(file, symbol, addend)
                schema = SCHEMA.match(text)
                if schema and _is_code(file, at[offset + 8][0]):
                    operators.setdefault(schema[1].decode(), []).append(Piece(number, index, offset, 16, schema[1].decode()))
                name = text.partition(b"\0")[0]
                if name in wanted and _is_code(file, at[offset + 8][0]):
                    found_classes.setdefault(name.decode(), []).append(Piece(number, index, offset, 16, name.decode()))
    return operators, found_classes


def written_classes(objects: Objects) -> set[str]:
    """Names of the classes that objects register, however: a word beside a function, in an object that calls register_class."""
    found: set[str] = set()
    for file in objects.files:
        if not any(symbol.section == 0 and "register_class" in symbol.name for symbol in file.symbols):
            continue
        for index, table in file.relocations.items():
            section = file.elf.sections[index]
            if not section.is_allocated or section.is_executable or not section.is_writable:
                continue
            at = dict(zip(table.offset.tolist(), zip(table.symbol.tolist(), table.addend.tolist(), strict=True), strict=True))
            for offset, (symbol, addend) in at.items():
                name = _pointed_text(file, symbol, addend).partition(b"\0")[0]
                if offset + 8 in at and _WORD.fullmatch(name) and _is_code(file, at[offset + 8][0]):
                    found.add(name.decode())
    return found


def _pointed_text(file: ObjectFile, symbol: int, addend: int) -> bytes:
    if symbol >= len(file.symbols):
        return b""
    target = file.symbols[symbol]
    if not 0 < target.section < len(file.elf.sections):
        return b""
    section = file.elf.sections[target.section]
    start = target.address + addend
    if section.is_executable or section.is_nobits or not 0 <= start < section.file_size:
        return b""
    content = bytes(file.elf.data[section.offset + start : section.offset + min(start + _LONGEST, section.file_size)])
    return content.partition(b"\0")[0] + b"\0"


def _is_code(file: ObjectFile, symbol: int) -> bool:
    if symbol >= len(file.symbols):
        return False
    target = file.symbols[symbol]
    if 0 < target.section < len(file.elf.sections):
        return file.elf.sections[target.section].is_executable
    return target.section == 0  # another object's: what else would stand beside a schema
