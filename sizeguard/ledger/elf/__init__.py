"""Turns ELF images into ledgers."""

from sizeguard.ledger.elf.ledger import elf_ledger as elf_ledger
