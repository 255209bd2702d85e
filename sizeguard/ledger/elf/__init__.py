"""Ledgers of ELF images."""

from sizeguard.ledger.elf.elf_ledger import elf_ledger as elf_ledger
