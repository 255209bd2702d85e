"""Cut .got and .plt into slots and stubs, each owned by its import."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.texts import Int
from sizeguard.formats.elf import SHT_PROGBITS, Elf, Section
from sizeguard.formats.elf.plt import stubs
from sizeguard.ledger.elf.owner_table import Book, Holders, Pieces
from sizeguard.ledger.elf.relocation_holders import Fixed
from sizeguard.ledger.kinds import ANALYZER, KIND, kind_of
from sizeguard.ledger.ledger import NONE


def add_slots(image: Elf, book: Book, holders: Holders, fixed: Fixed) -> None:
    """Add the words of .got, .got.plt and tables of initializers to the book.

    A slot without a name belongs to the owner of its target.
    """
    width = image.layout.word_size
    for section in image.sections:
        kind = kind_of(section)
        is_slots = kind == "initializer" or (kind == "import" and not section.is_executable)
        if (
            not is_slots
            or section.size < width
            or section.is_nobits
            or section.index in book.rows_of
        ):
            continue
        at = int(book.line.at[section.index])
        start = at + width * np.arange(section.size // width, dtype=np.int64)
        name, target = fixed.at(start - at + int(book.line.address[section.index]))
        held = holders.columns(holders.rows_at(target))
        pointed = (name < 0) & (held["symbol"] >= 0)
        symbol = np.where(pointed, held["symbol"], name).astype(np.int32)
        held["group"] = np.where(pointed, held["group"], NONE).astype(np.int32)
        held["symbol"] = symbol
        held["part"] = NONE
        said = np.where(symbol >= 0, ANALYZER["import"], ANALYZER["section"]).astype(np.int8)
        book.add(Pieces(start, section.index, KIND[kind], said, **held))


def add_stubs(image: Elf, book: Book, fixed: Fixed) -> None:
    """Add the stubs of .plt, .plt.sec and .plt.got to the book; each jumps through a slot."""
    for section in image.sections:
        is_stubs = (
            kind_of(section) == "import" and section.is_executable and section.type == SHT_PROGBITS
        )
        if is_stubs and section.size and section.index not in book.rows_of:
            offset, slot = stubs(image, section)
            if len(offset):
                book.add(_stubs(section, book, offset, fixed.at(slot)[0]))


def _stubs(section: Section, book: Book, offset: Int, symbol: Int) -> Pieces:
    """Make the pieces of a section of stubs; the bytes before the first stub have no symbol."""
    at = int(book.line.at[section.index])
    head = np.array([at] if offset[0] else [], np.int64)
    start = np.concatenate([head, at + offset])
    name = np.concatenate([np.full(len(head), NONE), symbol]).astype(np.int32)
    said = np.where(name >= 0, ANALYZER["import"], ANALYZER["section"]).astype(np.int8)
    return Pieces(start, section.index, KIND["import"], said, symbol=name)
