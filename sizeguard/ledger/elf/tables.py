"""Turns the tables of an image, one analyzer after the other, into pieces."""

from __future__ import annotations

from sizeguard.formats.elf import Elf
from sizeguard.ledger.elf.names import Names
from sizeguard.ledger.elf.rows import Book
from sizeguard.ledger.ledger import Int8


def add_all(image: Elf, names: Elf, known: Names, book: Book, kinds: Int8) -> None:
    """Sections that are tables of something else."""
