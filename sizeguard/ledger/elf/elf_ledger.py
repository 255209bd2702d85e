"""Make the ledger of an ELF image."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError
from sizeguard.base.parallel import beside
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.formats.elf import SHT_NULL, Elf
from sizeguard.formats.elf.common_symbols import with_common
from sizeguard.formats.elf.elf_kind import elf_kind
from sizeguard.formats.elf.needed import needed_libraries
from sizeguard.ledger.elf.content import ContentSources, content_pieces, input_ranges, part_ranges
from sizeguard.ledger.elf.disjoint_symbols import defined_symbols, symbol_ranges
from sizeguard.ledger.elf.distinct_names import DistinctNames, distinct_names, strings_of
from sizeguard.ledger.elf.imports import add_slots, add_stubs
from sizeguard.ledger.elf.nameless_functions import nameless_functions
from sizeguard.ledger.elf.owner_sums import RowSums
from sizeguard.ledger.elf.owner_table import Book, Holders, Line, pieces_of
from sizeguard.ledger.elf.regions import (
    Extra,
    Segments,
    file_partition,
    file_regions,
    memory_partition,
    memory_regions,
)
from sizeguard.ledger.elf.relocation_holders import (
    RelocationTable,
    fixed_places,
    relocation_pieces,
    relocation_tables,
)
from sizeguard.ledger.elf.symbol_tables import table_pieces
from sizeguard.ledger.elf.unwind_owners import (
    Unwinding,
    described_code,
    read_unwinding,
    unwind_pieces,
)
from sizeguard.ledger.entry_bytes import Part
from sizeguard.ledger.kinds import ANALYZER, CONTENT, KIND, kind_of
from sizeguard.ledger.ledger import NONE, AliasGroups, ImageInfo, Ledger, Owners

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.link_map import InputSection

# Section, kind and analyzer of bytes outside sections; regions.HEADERS and the numbers after it
# are places in this table.
_EXTRA = (
    ("(headers)", "header", "header"),
    ("(gaps)", "section gap", "section gap"),
    ("(gaps)", "page slack", "page slack"),
    ("(no section)", "unattributed", "unattributed"),
    ("(gaps)", "section gap", "section gap"),
)


# More than 40 lines: a line for each field of the ledger.
def elf_ledger(
    image: Elf,
    names: Elf | None = None,
    inputs: Sequence[InputSection] = (),
    parts: Sequence[Part] = (),
    *,
    loaded_only: bool = False,
) -> Ledger:
    """Find the owner of each byte of the image.

    names: the same build with symbols.
    inputs: rows of its linker map, in any order.
    parts: entries that only its objects show, in any order.
    loaded_only: whether a section that is not loaded has one owner.

    Raises InconclusiveError if `names` is another build.
    """
    inputs = sorted(inputs, key=_map_order)
    names, image = _checked(image, names), with_common(image)
    named = _cut_image(image, names, inputs, parts, book := Book(Line.of(image), loaded_only))
    segments = Segments.of(image)
    extra = Extra(book.count)
    in_file = file_regions(image, segments, extra)
    in_memory = memory_regions(image, segments, extra)
    owners, sections = _owners(image, book, segments, extra)
    places = book.places()
    file = cache(lambda: file_partition(in_file, image, places))
    return Ledger(
        image=_image_info(image),
        sections=sections,
        segments=segments.names,
        symbols=named.names.texts,
        inputs=tuple(inputs),
        parts=named.parts,
        owners=owners,
        groups=named.groups,
        make_file=file,
        make_memory=lambda: memory_partition(in_memory, image, places, file()),
        sums=RowSums(image, places, in_file, len(owners)),
        hashes=named.names.hashes,
        make_hash_order=lambda: named.names.order,
    )


def _map_order(row: InputSection) -> tuple[str, int, int, str, str, bool]:
    """Return the sort key of a map's row, since the ledger must not depend on their order."""
    return row.output, row.address, row.size, row.file, row.name, row.is_merged


def _image_info(image: Elf) -> ImageInfo:
    """Describe the image."""
    return ImageInfo(
        str(image.path),
        image.path.name,
        "elf",
        image.machine,
        image.build_id,
        image.size,
        image.load,
        image.ram,
        needed_libraries(image),
        kind=elf_kind(image),
    )


@dataclass(frozen=True, slots=True)
class _Named:
    """The texts that owners refer to, and the groups of aliases."""

    names: DistinctNames
    groups: AliasGroups
    parts: Texts


def _cut_image(
    image: Elf,
    names: Elf,
    inputs: Sequence[InputSection],
    parts: Sequence[Part],
    book: Book,
) -> _Named:
    """Cut all sections into pieces, and add these to the book."""
    line = book.line
    hashed = beside(partial(distinct_names, strings_of(image, names)))
    # Meanwhile do the work that does not need names: 0.1 s for libtorch_cpu.so.
    defined = defined_symbols(image, names, line)
    unwinding = read_unwinding(image, line)
    relocations = relocation_tables(image, line)
    known = hashed()
    del hashed  # later steps use the memory of the strings again; fresh memory takes longer
    input_table = input_ranges(image, line, inputs)
    part_table, part_texts = part_ranges(image, line, inputs, parts)
    described = cache(lambda: described_code(image, line, unwinding))
    symbols, groups = symbol_ranges(image, names, known, defined, input_table.start, described)
    del defined
    sources = ContentSources(symbols, input_table, part_table)
    has_inputs = len(input_table.start) or len(part_table.start)
    if names is image and not has_inputs and not image.is_relocatable:
        found = nameless_functions(image, line, symbols, described())
        part_texts = found.names
        sources = ContentSources(symbols, input_table, found.rows, found.analyzers)
    del described
    _cut(image, known, book, sources, unwinding, relocations)
    return _Named(known, groups, part_texts)


def _cut(
    image: Elf,
    known: DistinctNames,
    book: Book,
    evidence: ContentSources,
    unwinding: Unwinding,
    relocations: list[RelocationTable],
) -> None:
    """Add the pieces of all sections to the book; a section without an analyzer is one piece.

    Independent analyzers run on two threads.
    """
    line = book.line
    kinds = np.array([KIND[kind_of(section)] for section in image.sections], np.int8)
    code, data = _content_sections(image, line)
    of_data = beside(lambda: content_pieces(image, line, data, kinds, known.texts, evidence))
    of_code = content_pieces(image, line, code, kinds, known.texts, evidence)
    fixed = fixed_places(image, known, line, relocations)
    tables = list(table_pieces(image, known, line, loaded_only=book.loaded_only))
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


def _content_sections(image: Elf, line: Line) -> tuple[list[int], list[int]]:
    """Return the indices of the sections of code, and of those of data.

    Code is separate because it has most rows, and none of them is cut into strings.
    """
    content = [
        s.index
        for s in image.sections
        if s.is_allocated and kind_of(s) in CONTENT and line.size[s.index] > 0
    ]
    code = [i for i in content if image.sections[i].is_executable]
    data = [i for i in content if not image.sections[i].is_executable]
    return code, data


def _checked(image: Elf, names: Elf | None) -> Elf:
    """Return `names` if it is of the same build; the image if `names` is None.

    Without build ids, sections of code with equal names need equal places. Stripping keeps these,
    and tools that edit an image for packages move other sections only.
    """
    if names is None or names is image:
        return image
    other = f"{names.path} is of another build than {image.path}"
    if image.build_id and names.build_id:
        if image.build_id != names.build_id:
            raise InconclusiveError(f"{other}: build id {names.build_id}, not {image.build_id}")
        return names
    places = {(s.name, s.address, s.size) for s in names.sections}
    by_name = {s.name: s for s in names.sections}
    for section in image.sections:
        place = section.name, section.address, section.size
        there = by_name.get(section.name)
        if section.is_executable and there is not None and place not in places:
            raise InconclusiveError(
                f"{other}: {section.name} is at {there.address:#x} with {there.size} bytes there,"
                f" at {section.address:#x} with {section.size} in the latter"
            )
    return names


def _owners(
    image: Elf, book: Book, segments: Segments, extra: Extra
) -> tuple[Owners, tuple[str, ...]]:
    """Make the owner table, rows of sections before extra rows; also return the section names."""
    labels: dict[str, int] = {}
    of_sections = {
        "section": np.array(
            [labels.setdefault(section.name, len(labels)) for section in image.sections], np.int32
        )
    }
    of_sections["segment"] = segments.of_sections(image).astype(np.int32)
    what = [_EXTRA[row] for row in extra.what]
    nobody = np.full(len(what), NONE, np.int32)
    more: dict[str, npt.NDArray[Any]] = {
        "section": np.array(
            [labels.setdefault(name, len(labels)) for name, _, _ in what], np.int32
        ),
        "segment": np.array(extra.segment, np.int32),
        "kind": np.array([KIND[kind] for _, kind, _ in what], np.int8),
        "analyzer": np.array([ANALYZER[analyzer] for _, _, analyzer in what], np.int8),
        **dict.fromkeys(("symbol", "group", "input", "part"), nobody),
    }

    def make(name: str) -> npt.NDArray[Any]:
        return (
            _by_section(book, of_sections[name], more[name])
            if name in of_sections
            else book.column(name, more[name])
        )

    def make_some(name: str, rows: Int) -> npt.NDArray[Any]:
        low, high = np.split(rows, [np.searchsorted(rows, book.count)])
        column = of_sections.get(name)
        found = book.values(name, low) if column is None else column[book.sections_of(low)]
        return np.append(found, more[name][high - book.count])

    return Owners(book.count + len(what), make, make_some), tuple(labels)


def _by_section(book: Book, of_section: Int32, more: Int32) -> Int32:
    """Make a column whose value depends only on a row's section, followed by `more`."""
    column = np.empty(book.count + len(more), np.int32)
    for index, (low, high) in book.rows_of.items():
        column[low:high] = of_section[index]
    column[book.count :] = more
    return column
