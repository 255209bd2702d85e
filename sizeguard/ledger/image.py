"""Turns an ELF image, and what is known of it, into spans that cover each byte of the file once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sizeguard.formats.elf import SHN_LORESERVE, STT_FUNC, STT_IFUNC, STT_OBJECT, STT_TLS, Elf, Section
from sizeguard.formats.linkmap.row import InputSection
from sizeguard.ledger.kinds import kind_of
from sizeguard.ledger.partition import UNATTRIBUTED, Claims, partition

SIZED_TYPES = frozenset({STT_FUNC, STT_OBJECT, STT_IFUNC, STT_TLS})

# Strength of evidence.
SECTION, INPUT, SYMBOL = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Owner:
    """What a span belongs to; empty where nothing is known.

    section: the output section; (headers) and (gaps) are what lies outside of all
    symbol:  as in the symbol table, mangled
    object:  the object as the linker map calls it
    input:   the input section
    """

    section: str
    kind: str
    symbol: str = ""
    object: str = ""
    input: str = ""
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


def image_spans(image: Elf, names: Elf, inputs: Sequence[InputSection]) -> tuple[Span, ...]:
    """The partition of the image's file. `names` is the same build with symbols, or the image itself.

    What lies in a section and belongs to nobody is the section's own row; what no section holds is the row (gaps).
    """
    owners: list[Owner] = []
    starts: list[int] = []
    ends: list[int] = []
    ranks: list[int] = []
    for owner, start, end, rank in _claims(image, names, inputs):
        owners.append(owner)
        starts.append(start)
        ends.append(end)
        ranks.append(rank)
    count = len(owners)
    claims = Claims(np.array(starts, np.int64), np.array(ends, np.int64), np.arange(count, dtype=np.int64), np.array(ranks, np.int8))
    parts = partition(claims, image.size)
    edges = [*parts.start.tolist(), image.size]
    gap = Owner("(gaps)", "padding")
    return tuple(
        Span(start, end, gap if index == UNATTRIBUTED else owners[index])
        for start, end, index in zip(edges, edges[1:], parts.owner.tolist(), strict=False)
    )


def _claims(image: Elf, names: Elf, inputs: Sequence[InputSection]) -> Iterator[tuple[Owner, int, int, int]]:
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
        holder = by_name.get(names.sections[symbol.section].name) if symbol.section < len(names.sections) else None
        if holder is None or not holder.is_allocated or not _inside(holder, symbol.address, symbol.size):
            continue
        place = places.at(symbol.address)
        object_, input_ = ("", "") if place is None or place.is_merged else (place.file, place.name)
        start = symbol.address - holder.address + holder.offset
        yield _owner(holder, symbol=symbol.name, object_=object_, input_=input_), start, start + symbol.size, SYMBOL


def _owner(section: Section, symbol: str = "", object_: str = "", input_: str = "") -> Owner:
    return Owner(section.name, kind_of(section), symbol, object_, input_, section.is_allocated)


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
