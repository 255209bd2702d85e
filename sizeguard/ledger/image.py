"""Turns an ELF image, and what is known of it, into spans that cover each byte of the file once."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sizeguard.formats.elf import SHN_LORESERVE, SHT_RELA, STT_FUNC, STT_IFUNC, STT_OBJECT, STT_TLS, Elf, Section
from sizeguard.formats.linkmap.row import InputSection
from sizeguard.ledger.kinds import kind_of
from sizeguard.ledger.part import Part as Part
from sizeguard.ledger.partition import UNATTRIBUTED, Claims, partition

SIZED_TYPES = frozenset({STT_FUNC, STT_OBJECT, STT_IFUNC, STT_TLS})

# Strength of evidence.
SECTION, INPUT, SYMBOL, PART = 0, 1, 2, 3

RELOCATION_SIZE = 24  # bytes, RELA of 64-bit images


@dataclass(frozen=True, slots=True)
class Owner:
    """What a span belongs to; empty where nothing is known.

    section: the output section; (headers) and (gaps) are what lies outside of all
    symbol:  as in the symbol table, mangled
    object:  the object as the linker map calls it
    input:   the input section
    part:    what a finer claim than a symbol says: whose entry of a table it is
    """

    section: str
    kind: str
    symbol: str = ""
    object: str = ""
    input: str = ""
    part: str = ""
    loaded: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of the file, [start, end), and whose they are."""

    start: int
    end: int
    owner: Owner

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def load(self) -> int:
        return self.size if self.owner.loaded else 0


def image_spans(image: Elf, names: Elf, inputs: Sequence[InputSection], parts: Sequence[Part] = ()) -> tuple[Span, ...]:
    """The partition of the image's file. `names` is the same build with symbols, or the image itself.

    What lies in a section and belongs to nobody is the section's own row; what no section holds is the row (gaps).
    """
    claims = list(_claims(image, names, inputs))
    claims += _part_claims(image, inputs, parts)
    spans = _cut(image, claims)
    # A relocation belongs to what it relocates, which is known now.
    relocations = list(_relocation_claims(image, spans))
    return _cut(image, [*claims, *relocations]) if relocations else spans


_Claim = tuple[Owner, int, int, int]


def _cut(image: Elf, claims: Sequence[_Claim]) -> tuple[Span, ...]:
    owners, starts, ends, ranks = zip(*claims, strict=True)
    columns = Claims(np.array(starts, np.int64), np.array(ends, np.int64), np.arange(len(owners), dtype=np.int64), np.array(ranks, np.int8))
    result = partition(columns, image.size)
    edges = [*result.start.tolist(), image.size]
    gap = Owner("(gaps)", "padding")
    return tuple(
        Span(start, end, gap if index == UNATTRIBUTED else owners[index])
        for start, end, index in zip(edges, edges[1:], result.owner.tolist(), strict=False)
    )


def _claims(image: Elf, names: Elf, inputs: Sequence[InputSection]) -> Iterator[_Claim]:
    header = Owner("(headers)", "header")
    for offset, size in (image.header, image.program_headers, image.section_headers):
        yield header, offset, offset + size, SECTION
    by_name: dict[str, Section] = {}
    for section in image.sections:
        if section.file_size:
            by_name.setdefault(section.name, section)
            yield _owner(section), section.offset, section.offset + section.size, SECTION
    for row in inputs:
        # Rows of sections that are not loaded have addresses that mean nothing.
        holder = by_name.get(row.output)
        if holder is None or not holder.is_allocated or not _inside(holder, row.address, row.size):
            continue
        owner = _owner(holder, input_=row.name, object_="" if row.is_merged else row.file)
        start = row.address - holder.address + holder.offset
        yield owner, start, start + row.size, INPUT
    places = _Places(inputs)
    for symbol in names.symbols:
        if symbol.type not in SIZED_TYPES or not symbol.size or not 0 < symbol.section < SHN_LORESERVE:
            continue
        holder = names.sections[symbol.section] if symbol.section < len(names.sections) else None
        if holder is not None and names is not image:
            holder = by_name.get(holder.name)  # stripping renumbers sections
        if holder is None or not holder.is_allocated or not _inside(holder, symbol.address, symbol.size):
            continue
        place = places.at(symbol.address)
        object_, input_ = ("", "") if place is None or place.is_merged else (place.file, place.name)
        start = symbol.address - holder.address + holder.offset
        yield _owner(holder, symbol=symbol.name, object_=object_, input_=input_), start, start + symbol.size, SYMBOL


def _part_claims(image: Elf, inputs: Sequence[InputSection], parts: Sequence[Part]) -> Iterator[_Claim]:
    rows = {(row.file, row.name): row for row in inputs}
    by_name = {section.name: section for section in image.sections}
    for part in parts:
        row = rows.get((part.object, part.input))
        holder = by_name.get(row.output) if row is not None else None
        if row is None or holder is None or not _inside(holder, row.address + part.offset, part.size):
            continue
        start = row.address + part.offset - holder.address + holder.offset
        owner = replace(_owner(holder, object_=row.file, input_=row.name), part=part.owner)
        yield owner, start, start + part.size, PART


def _relocation_claims(image: Elf, spans: Sequence[Span]) -> Iterator[_Claim]:
    starts = [span.start for span in spans]
    loaded = [section for section in image.sections if section.load_size]
    for table in loaded:
        if table.type != SHT_RELA or table.entry_size != RELOCATION_SIZE:
            continue
        for i, (address, _, _) in enumerate(image.relocations(table)):
            holder = next((s for s in loaded if _inside(s, address, 1)), None)
            if holder is None:
                continue
            target = spans[bisect.bisect_right(starts, address - holder.address + holder.offset) - 1].owner
            start = table.offset + i * RELOCATION_SIZE
            yield replace(target, section=table.name, kind=kind_of(table)), start, start + RELOCATION_SIZE, PART


def _owner(section: Section, symbol: str = "", object_: str = "", input_: str = "") -> Owner:
    return Owner(section.name, kind_of(section), symbol, object_, input_, "", section.is_allocated)


def _inside(section: Section, address: int, size: int) -> bool:
    return section.address <= address and address + size <= section.address + section.file_size


class _Places:
    """Finds the input section at an address."""

    def __init__(self, inputs: Sequence[InputSection]) -> None:
        self.rows = sorted((row for row in inputs if row.address), key=lambda row: row.address)
        self.starts = np.array([row.address for row in self.rows], np.int64)

    def at(self, address: int) -> InputSection | None:
        i = int(np.searchsorted(self.starts, address, side="right")) - 1
        if i >= 0 and address < self.rows[i].address + self.rows[i].size:
            return self.rows[i]
        return None
