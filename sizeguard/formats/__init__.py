"""Readers of binaries: archives, ELF, Mach-O, DWARF, linker maps and linker logs."""
