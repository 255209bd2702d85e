"""Turns an ELF section into the kind of its bytes."""

from __future__ import annotations

from sizeguard.formats.elf import SHT_NOTE, Section

# What bytes are; Owners.kind is an index. New ones go to the end.
KINDS = (
    "code",
    "rodata",
    "data",
    "zero",
    "string",
    "vtable",
    "unwind",
    "exception table",
    "initializer",
    "import",
    "relocation",
    "symbol table",
    "string table",
    "dynamic",
    "debug",
    "header",
    "load commands",
    "exports",
    "function starts",
    "code signature",
    "note",
    "comment",
    "padding",
    "page slack",
    "other",
    "unattributed",
    "typeinfo",
    "section gap",  # padding between two sections; "padding" is inside of one, "page slack" between two segments
)

# Who said whose bytes are; Owners.analyzer is an index. New ones go to the end.
ANALYZERS = (
    "unattributed",
    "header",
    "section",
    "linker map",
    "symbol table",
    "stabs",
    "function starts",
    "unwind table",
    "exception table",
    "strings",
    "relocation",
    "import",
    "padding",
    "label",  # a symbol without a size, up to the next one
    "part",  # what the objects of the link tell
    "unwind index",  # .eh_frame_hdr
    "exception tail",  # between an exception table and the next: tables of functions that are gone
    "string table",
    "hash table",
    "version table",
    "section gap",
    "page slack",
)

KIND = {name: code for code, name in enumerate(KINDS)}
ANALYZER = {name: code for code, name in enumerate(ANALYZERS)}

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
