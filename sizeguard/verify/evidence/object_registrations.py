"""Read the entries of registration tables in objects, before linking."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from sizeguard.linkgraph.elf.table_entries import POINTER, TextPair, text_pairs
from sizeguard.names.registered import SCHEMAS, exact_names
from sizeguard.verify.evidence.object_evidence import NamedPiece, ObjectFile, Objects

_WORD = re.compile(rb"[A-Za-z_]\w*")


def registered_by(
    objects: Objects, classes: Iterable[str]
) -> tuple[dict[str, list[NamedPiece]], dict[str, list[NamedPiece]]]:
    """Find the entries in the objects.

    Returns operators and classes by name, as pieces of two pointers.
    """
    shapes = (SCHEMAS, exact_names(tuple(classes)))
    operators: dict[str, list[NamedPiece]] = {}
    found_classes: dict[str, list[NamedPiece]] = {}
    for number, file in enumerate(objects.files):
        for index, pair in _entries(file):
            for shape, found in zip(shapes, (operators, found_classes), strict=True):
                match = shape.text.match(pair.text + b"\0")
                if match:
                    name = match[1].decode()
                    piece = NamedPiece(number, index, pair.offset, 2 * POINTER, name)
                    found.setdefault(name, []).append(piece)
    return operators, found_classes


def written_classes(objects: Objects) -> set[str]:
    """Return the names of the classes that objects register in any way.

    A name is a word next to a function, in an object that calls register_class.
    """
    found: set[str] = set()
    for file in objects.files:
        if any(symbol.section == 0 and "register_class" in symbol.name for symbol in file.symbols):
            found |= {
                pair.text.decode()
                for index, pair in _entries(file)
                if file.elf.sections[index].is_writable and _WORD.fullmatch(pair.text)
            }
    return found


def class_makers(objects: Objects, classes: Collection[str]) -> frozenset[str]:
    """Return the functions that objects register for classes, and for nothing else."""
    own: set[str] = set()
    others: set[str] = set()
    for file in objects.files:
        for _, pair in _entries(file):
            symbol = file.symbols[pair.symbol].name
            (own if pair.text.decode("latin-1") in classes else others).add(symbol)
    return frozenset(own - others - {""})


def _entries(file: ObjectFile) -> Iterator[tuple[int, TextPair]]:
    """Yield each pair of a pointer to a text and one to code, with its section."""
    for index, table in file.relocations.items():
        section = file.elf.sections[index]
        if section.is_allocated and not section.is_executable:
            for pair in text_pairs(file.elf, file.symbols, table):
                if _is_code(file, pair.symbol):
                    yield index, pair


def _is_code(file: ObjectFile, symbol: int) -> bool:
    target = file.symbols[symbol]
    if 0 < target.section < len(file.elf.sections):
        return file.elf.sections[target.section].is_executable
    return target.section == 0  # in another object: nothing else would be next to a schema
