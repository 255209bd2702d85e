"""Turns an ELF image, and what else is known of it, into its ledger."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sizeguard.errors import InconclusiveError
from sizeguard.formats.elf import SHT_NULL, Elf, release
from sizeguard.formats.text_hash import hash_order
from sizeguard.ledger.elf.content import Evidence, content_pieces, input_ranges, part_ranges
from sizeguard.ledger.elf.imports import add_slots, add_stubs
from sizeguard.ledger.elf.names import Names, distinct_names, strings_of
from sizeguard.ledger.elf.regions import (
    Extra,
    Segments,
    file_partition,
    file_regions,
    memory_partition,
    memory_regions,
)
from sizeguard.ledger.elf.relocations import Table, fixed_places, relocation_pieces, relocation_tables
from sizeguard.ledger.elf.rows import Book, Holders, Line, pieces_of
from sizeguard.ledger.elf.sums import RowSums
from sizeguard.ledger.elf.symbols import defined_symbols, symbol_ranges
from sizeguard.ledger.elf.tables import table_pieces
from sizeguard.ledger.elf.unwind import Unwinding, read_unwinding, unwind_pieces
from sizeguard.ledger.kinds import ANALYZER, KIND, kind_of
from sizeguard.ledger.ledger import NONE, ImageInfo, Int32, Ledger, Owners
from sizeguard.ledger.part import Part
from sizeguard.parallel import beside

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.row import InputSection

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
    strings = strings_of(image, names)
    hashed = beside(lambda: distinct_names(strings))
    # Meanwhile, of libtorch_cpu.so for 0.1 s, what can be read without names.
    defined = defined_symbols(image, names, line)
    unwinding = read_unwinding(image, line)
    relocations = relocation_tables(image, line)
    known = hashed()
    order = beside(lambda: hash_order(known.hashes))
    book = Book(line)
    input_table = input_ranges(image, line, inputs)
    part_table, part_texts = part_ranges(image, line, inputs, parts)
    symbols, groups = symbol_ranges(image, names, known, defined, input_table.start)
    _cut(image, known, book, Evidence(symbols, input_table, part_table), unwinding, relocations)
    segments = Segments.of(image)
    extra = Extra(book.count)
    in_file = file_regions(image, segments, extra)
    in_memory = memory_regions(image, segments, extra)
    owners, sections = _owners(image, book, segments, extra)
    places = book.places()
    release(image.data)
    file = cache(lambda: file_partition(in_file, image, places))
    return Ledger(
        image=ImageInfo(str(image.path), image.path.name, "elf", image.machine, image.build_id, image.size, image.load, image.ram),
        sections=sections,
        segments=segments.names,
        symbols=known.texts,
        inputs=tuple(inputs),
        parts=part_texts,
        owners=owners,
        groups=groups,
        make_file=file,
        make_memory=lambda: memory_partition(in_memory, image, places, file()),
        sums=RowSums(image, places, in_file, len(owners)),
        hashes=known.hashes,
        make_hash_order=order,
    )


def _cut(image: Elf, known: Names, book: Book, evidence: Evidence, unwinding: Unwinding, relocations: list[Table]) -> None:
    """All sections; what no analyzer knows is a piece. Where two analyzers do not need each other they work on two threads."""
    line = book.line
    kinds = np.array([KIND[kind_of(section)] for section in image.sections], np.int8)
    content = [s.index for s in image.sections if s.is_allocated and kind_of(s) in CONTENT and line.size[s.index] > 0]
    # Code apart: it has most rows, and none of them is cut.
    code, data = ([i for i in content if image.sections[i].is_executable == is_code] for is_code in (True, False))
    of_data = beside(lambda: content_pieces(image, line, data, kinds, known.texts, evidence))
    of_code = content_pieces(image, line, code, kinds, known.texts, evidence)
    fixed = fixed_places(image, known, line, relocations)
    tables = list(table_pieces(image, known, line))
    book.add(of_code)
    book.add(of_data())
    add_slots(image, book, Holders.of(book, image), fixed)
    add_stubs(image, book, fixed)
    holders = Holders.of(book, image)
    entries = beside(lambda: list(relocation_pieces(line, holders, relocations)))
    records = list(unwind_pieces(image, line, unwinding, holders, fixed))
    book.add_new(entries())
    book.add_new(records)
    book.add_new(tables)
    for section in image.sections:
        if section.index not in book.rows_of:
            analyzer = "section" if section.type != SHT_NULL else "unattributed"
            book.add(pieces_of(section, line, KIND[kind_of(section)], ANALYZER[analyzer]))


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
    of_sections = {"section": np.array([labels.setdefault(section.name, len(labels)) for section in image.sections], np.int32)}
    of_sections["segment"] = segments.of_sections(image).astype(np.int32)
    what = [_EXTRA[row] for row in extra.what]
    nobody = np.full(len(what), NONE, np.int32)
    more: dict[str, npt.NDArray[Any]] = {
        "section": np.array([labels.setdefault(name, len(labels)) for name, _, _ in what], np.int32),
        "segment": np.array(extra.segment, np.int32),
        "kind": np.array([KIND[kind] for _, kind, _ in what], np.int8),
        "analyzer": np.array([ANALYZER[analyzer] for _, _, analyzer in what], np.int8),
        "confidence": np.full(len(what), 100, np.int8),
        **dict.fromkeys(("symbol", "group", "input", "part"), nobody),
    }

    def make(name: str) -> npt.NDArray[Any]:
        return _by_section(book, of_sections[name], more[name]) if name in of_sections else book.column(name, more[name])

    return Owners(book.count + len(what), make), tuple(labels)


def _by_section(book: Book, of_section: Int32, more: Int32) -> Int32:
    column = np.empty(book.count + len(more), np.int32)
    for index, (low, high) in book.rows_of.items():
        column[low:high] = of_section[index]
    column[book.count :] = more
    return column
