"""Turns an ELF image, and what else is known of it, into its ledger."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sizeguard.errors import InconclusiveError
from sizeguard.formats.elf import SHT_NULL, Elf
from sizeguard.formats.linkmap.row import InputSection
from sizeguard.formats.texts import Int
from sizeguard.ledger.elf.content import Evidence, content_pieces, input_ranges, part_ranges
from sizeguard.ledger.elf.imports import add_slots, add_stubs
from sizeguard.ledger.elf.names import distinct_names
from sizeguard.ledger.elf.regions import Extra, Segments, file_partition, memory_partition
from sizeguard.ledger.elf.relocations import add_relocations, fixed_places, relocation_tables
from sizeguard.ledger.elf.rows import Book, Holders, Line, pieces_of
from sizeguard.ledger.elf.symbols import symbol_ranges
from sizeguard.ledger.elf.tables import add_tables
from sizeguard.ledger.elf.unwind import add_unwind
from sizeguard.ledger.kinds import ANALYZER, KIND, kind_of
from sizeguard.ledger.ledger import NONE, ImageInfo, Ledger, MemoryPartition, Owners
from sizeguard.ledger.part import Part
from sizeguard.ledger.partition import Partition

# What symbols, maps and registration entries explain. All other sections explain themselves, or have an analyzer.
CONTENT = frozenset({"code", "rodata", "data", "zero"})

# For each of regions.HEADERS …: section, kind and analyzer.
_EXTRA = (
    ("(headers)", "header", "header"),
    ("(gaps)", "section gap", "section gap"),
    ("(gaps)", "page slack", "page slack"),
    ("(no section)", "unattributed", "unattributed"),
    ("(gaps)", "section gap", "section gap"),
)


def elf_ledger(image: Elf, names: Elf | None = None, inputs: Sequence[InputSection] = (), parts: Sequence[Part] = ()) -> Ledger:
    """Who owns each byte of the image.

    names: the same build with symbols; inputs: rows of its linker map; parts: what its objects tell. The order of both does not matter.
    Raises InconclusiveError if `names` is another build.
    """
    names = _checked(image, names)
    inputs = sorted(inputs, key=lambda row: (row.output, row.address, row.size, row.file, row.name, row.is_merged))
    line = Line.of(image)
    book = Book(line)
    known = distinct_names(image, names)
    kinds = np.array([KIND[kind_of(section)] for section in image.sections], np.int8)
    content = [s.index for s in image.sections if s.is_allocated and kind_of(s) in CONTENT]

    input_table = input_ranges(image, line, inputs)
    part_table, part_texts = part_ranges(image, line, inputs, parts)
    symbols, groups = symbol_ranges(image, names, known, line, input_table.start)
    if content:
        book.add(content_pieces(image, line, content, kinds, known.texts, Evidence(symbols, input_table, part_table)))
    relocations = relocation_tables(image, line)
    fixed = fixed_places(image, known, line, relocations)
    add_slots(image, book, Holders.of(book, image), fixed)
    add_stubs(image, book, fixed)
    holders = Holders.of(book, image)
    add_relocations(book, holders, relocations)
    add_unwind(image, book, holders, fixed)
    add_tables(image, known, book)
    for section in image.sections:
        if section.index not in book.rows_of:
            analyzer = "section" if section.type != SHT_NULL else "unattributed"
            book.add(pieces_of(section, line, int(kinds[section.index]), ANALYZER[analyzer]))

    segments = Segments.of(image)
    extra = Extra(book.count)
    file = file_partition(image, book, segments, extra)
    memory = memory_partition(image, book, segments, extra, file)
    owners, sections = _owners(image, book, segments, extra)
    file_bytes, load, ram, count = _bytes(image, book, file, memory, len(owners))
    info = ImageInfo(str(image.path), image.path.name, "elf", image.machine, image.build_id, image.size, image.load, image.ram)
    return Ledger(
        info, sections, segments.names, known.texts, tuple(inputs), part_texts, owners, groups, file, memory, file_bytes, load, ram, count
    )


def _checked(image: Elf, names: Elf | None) -> Elf:
    """`names`, if there is any and it is of the same build."""
    if names is None:
        return image
    if image.build_id and names.build_id and image.build_id != names.build_id:
        raise InconclusiveError(f"{names.path} is of another build than {image.path}: build id {names.build_id}, not {image.build_id}")
    return names


def _owners(image: Elf, book: Book, segments: Segments, extra: Extra) -> tuple[Owners, tuple[str, ...]]:
    """The rows of sections, then the extra ones."""
    labels: dict[str, int] = {}
    label_of = np.array([labels.setdefault(section.name, len(labels)) for section in image.sections], np.int32)
    segment_of = segments.of_sections(image).astype(np.int32)
    section = book.column("section", np.int32)
    what = [_EXTRA[row] for row in extra.what]
    more = {
        "section": np.array([labels.setdefault(name, len(labels)) for name, _, _ in what], np.int32),
        "segment": np.array(extra.segment, np.int32),
        "kind": np.array([KIND[kind] for _, kind, _ in what], np.int8),
        "analyzer": np.array([ANALYZER[analyzer] for _, _, analyzer in what], np.int8),
        "confidence": np.full(len(what), 100, np.int8),
    }
    rows = {"section": label_of[section] if len(section) else section, "segment": segment_of[section] if len(section) else section}
    small = {name: np.concatenate([book.column(name, np.int8), more[name]]) for name in ("kind", "analyzer", "confidence")}
    large = {
        name: np.concatenate([book.column(name, np.int32), np.full(len(what), NONE, np.int32)])
        for name in ("symbol", "group", "input", "part")
    }
    places = {name: np.concatenate([rows[name], more[name]]) for name in ("section", "segment")}
    return Owners(**places, **small, **large), tuple(labels)


def _bytes(image: Elf, book: Book, file: Partition, memory: MemoryPartition, rows: int) -> tuple[Int, Int, Int, Int]:
    """Of each owner its bytes of the file, of load and of ram, and how many spans it has."""
    file_bytes = np.zeros(rows, np.int64)
    np.add.at(file_bytes, file.owner, np.diff(file.start, append=file.size))
    section, size = book.column("section", np.int32), book.column("size", np.int64)
    load, ram = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    if len(section):
        load[: len(size)] = np.where(np.array([s.load_size > 0 for s in image.sections])[section], size, 0)
        ram[: len(size)] = np.where(np.array([s.ram_size > 0 for s in image.sections])[section], size, 0)
    count = np.bincount(file.owner, minlength=rows)
    only_memory = memory.owner[count[memory.owner] == 0]
    count += np.bincount(only_memory, minlength=rows)
    # NOBITS sections of objects and .tbss have no place in memory of their own.
    count[: len(size)] = np.maximum(count[: len(size)], 1)
    return file_bytes, load, ram, count
