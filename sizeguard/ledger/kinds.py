"""Kinds of bytes, names of analyzers, and the kind of an ELF section."""

from __future__ import annotations

from sizeguard.formats.elf import (
    RELOCATION_TYPES,
    SHT_DYNAMIC,
    SHT_DYNSYM,
    SHT_FINI_ARRAY,
    SHT_GNU_HASH,
    SHT_GNU_VERDEF,
    SHT_GNU_VERNEED,
    SHT_GNU_VERSYM,
    SHT_HASH,
    SHT_INIT_ARRAY,
    SHT_NOTE,
    SHT_PREINIT_ARRAY,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    Section,
)

# Kinds of bytes; Owners.kind is an index into them. Add new ones at the end.
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
    # Padding between two sections; "padding" is inside a section, "page slack" between two
    # segments.
    "section gap",
)

# Kinds of content that symbols, maps and registration entries name.
CONTENT = frozenset({"code", "rodata", "data", "zero"})

# Analyzers that find owners; Owners.analyzer is an index into them. Add new ones at the end.
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
    "part",  # entries that the objects of the link show
    "unwind index",  # .eh_frame_hdr
    "exception tail",  # between exception tables: tables of removed functions
    "string table",
    "hash table",
    "version table",
    "section gap",
    "page slack",
    "inline frames",  # from debug information: a dtype's branch inside a function
    "function table",  # Go's table, which names all functions
)

KIND = {name: code for code, name in enumerate(KINDS)}
ANALYZER = {name: code for code, name in enumerate(ANALYZERS)}

# Types of sections that determine the kind.
_TYPES = {
    SHT_SYMTAB: "symbol table",
    SHT_DYNSYM: "symbol table",
    SHT_SYMTAB_SHNDX: "symbol table",
    SHT_HASH: "symbol table",
    SHT_GNU_HASH: "symbol table",
    SHT_GNU_VERSYM: "symbol table",
    SHT_GNU_VERDEF: "symbol table",
    SHT_GNU_VERNEED: "symbol table",
    SHT_DYNAMIC: "dynamic",
    SHT_NOTE: "note",
    SHT_INIT_ARRAY: "initializer",
    SHT_FINI_ARRAY: "initializer",
    SHT_PREINIT_ARRAY: "initializer",
    **dict.fromkeys(RELOCATION_TYPES, "relocation"),
}

# Prefixes of section names; the first match wins.
_NAMES = (
    (".text", "code"),
    (".ctors", "initializer"),
    (".dtors", "initializer"),
    (".init_array", "initializer"),
    (".fini_array", "initializer"),
    (".init", "code"),
    (".fini", "code"),
    (".plt", "import"),
    (".iplt", "import"),
    (".got", "import"),
    (".rela.", "relocation"),
    (".rel.", "relocation"),
    (".relr", "relocation"),
    (".dynstr", "string table"),
    (".strtab", "string table"),
    (".shstrtab", "string table"),
    (".interp", "dynamic"),
    (".eh_frame", "unwind"),
    (".ARM.exidx", "unwind"),
    (".ARM.extab", "exception table"),
    (".gcc_except_table", "exception table"),
    (".rodata", "rodata"),
    (".data.rel.ro", "rodata"),
    (".data", "data"),
    (".tdata", "data"),
    (".debug", "debug"),
    (".zdebug", "debug"),
    (".gnu_debug", "debug"),
    (".gdb_index", "debug"),
    (".stab", "debug"),
    (".comment", "comment"),
    (".note", "note"),
)


def kind_of(section: Section) -> str:
    """Return the kind of a section's bytes: by its type, its name, then its flags."""
    if section.is_nobits:
        return "zero" if section.is_allocated else "other"
    if section.type in _TYPES:
        return _TYPES[section.type]
    for prefix, kind in _NAMES:
        if section.name.startswith(prefix):
            return kind
    if section.is_executable:
        return "code"
    if not section.is_allocated:
        return "string table" if section.type == SHT_STRTAB else "other"
    return "data" if section.is_writable else "rodata"
