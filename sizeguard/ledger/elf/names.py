"""Turns the symbol tables of an image into distinct names, and for each symbol which of them it has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sizeguard.formats.elf import Elf, SymbolTable
from sizeguard.formats.text_hash import hash_texts
from sizeguard.formats.texts import Texts
from sizeguard.ledger.ledger import Int32


@dataclass(frozen=True, slots=True)
class Names:
    """Each name once, whatever table and string it stands in. ids: for each table (file, section) the names of its symbols; NONE if empty.

    hashes: of the names, for an order that does not depend on the order of symbols.
    """

    texts: Texts
    hashes: np.ndarray[tuple[int], np.dtype[np.uint64]]
    ids: dict[tuple[int, int], Int32]

    def of(self, elf: Elf, table: SymbolTable) -> Int32:
        return self.ids[id(elf.data), table.section_index]


def distinct_names(image: Elf, names: Elf) -> Names:
    """Of all tables of both. Names are the same if their 64-bit hashes are: string tables may hold a text twice.

    libtensorflow_cc.so.2 does 242,196 times.
    """
    tables = [
        (elf, table) for elf in ([image] if names is image else [image, names]) for table in (*elf.static_symbols, *elf.dynamic_symbols)
    ]
    texts = _joined([(elf, table.names) for elf, table in tables])
    hashes = hash_texts(texts)
    hashes[texts.end == texts.start] = 0
    order = np.argsort(hashes)
    ordered = hashes[order]
    new = np.ones(len(ordered), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    number = np.cumsum(new, dtype=np.int32) - np.int32(1)
    if len(ordered) and ordered[0] == 0:
        number -= np.int32(1)
        new[0] = False
    ids = np.empty(len(order), np.int32)
    ids[order] = number
    kept: dict[tuple[int, int], Int32] = {}
    at = 0
    for elf, table in tables:
        kept[id(elf.data), table.section_index] = ids[at : at + len(table)]
        at += len(table)
    return Names(texts.take(order[new]), ordered[new], kept)


def _joined(tables: list[tuple[Elf, Texts]]) -> Texts:
    """One column of texts: of one file over its bytes, of two over a copy of what they use."""
    if not tables:
        return Texts.of(())
    if len({id(elf.data) for elf, _ in tables}) == 1:
        starts, ends = [texts.start for _, texts in tables], [texts.end for _, texts in tables]
        return Texts(tables[0][0].data, np.concatenate(starts), np.concatenate(ends))
    buffers, starts, ends = [], [], []
    at = 0
    for _, texts in tables:
        low, high = (int(texts.start.min()), int(texts.end.max())) if len(texts) else (0, 0)
        buffers.append(texts.buffer[low:high])
        starts.append(texts.start + (at - low))
        ends.append(texts.end + (at - low))
        at += high - low
    return Texts(np.concatenate(buffers), np.concatenate(starts), np.concatenate(ends))
