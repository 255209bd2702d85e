"""Turns an ELF section into the kind of its bytes."""

from __future__ import annotations

from sizeguard.formats.elf import SHT_NOTE, Section

# Prefixes of section names, the first that fits decides.
_KINDS = (
    (".text", "code"),
    (".init_array", "initializer"),
    (".fini_array", "initializer"),
    (".init", "code"),
    (".fini", "code"),
    (".plt", "import"),
    (".got", "import"),
    (".rela", "relocation"),
    (".rel.", "relocation"),
    (".relr", "relocation"),
    (".dynsym", "symbol table"),
    (".symtab", "symbol table"),
    (".gnu.hash", "symbol table"),
    (".hash", "symbol table"),
    (".gnu.version", "symbol table"),
    (".dynstr", "string table"),
    (".strtab", "string table"),
    (".shstrtab", "string table"),
    (".dynamic", "dynamic"),
    (".interp", "dynamic"),
    (".eh_frame", "unwind"),
    (".gcc_except_table", "exception table"),
    (".rodata", "rodata"),
    (".data.rel.ro", "rodata"),
    (".data", "data"),
    (".tdata", "data"),
    (".debug", "debug"),
    (".zdebug", "debug"),
    (".comment", "comment"),
    (".note", "note"),
)


def kind_of(section: Section) -> str:
    for prefix, kind in _KINDS:
        if section.name.startswith(prefix):
            return kind
    if section.type == SHT_NOTE:
        return "note"
    if section.is_executable:
        return "code"
    return "data" if section.is_allocated else "other"
