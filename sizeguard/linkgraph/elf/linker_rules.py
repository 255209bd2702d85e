"""Rules by which linkers keep sections: their roots, and sections kept without relocations."""

from __future__ import annotations

import functools
import re
from fnmatch import translate

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.elf import (
    SHF_GNU_RETAIN,
    SHF_GROUP,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_NOTE,
    SHT_PREINIT_ARRAY,
)
from sizeguard.linkgraph.inputs.link_inputs import Linker

_ARRAYS = {SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


def is_identifier(name: str) -> bool:
    """Return whether __start_ and __stop_ can name a section."""
    return _IDENTIFIER.match(name) is not None


@functools.cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Compile name patterns to one, which 1,500 names of sections match in a third of the time."""
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")


@dataclass(frozen=True, slots=True)
class LinkerRules:
    """Rules by which a linker keeps sections.

    root_names:        name patterns of root sections
    keeps_identifiers: sections that __start_ could name are always roots
    keeps_groups:      the members of a group are kept together
    follows_order:     a SHF_LINK_ORDER section is kept with the one that it links to
    retains:           SHF_GNU_RETAIN makes a root
    lsda:              exception tables are kept by their "function", or "always" (if in no group
        and not ordered)
    personality:       references to personality routines are kept by their "function", "always", or
        "never" (except by name)
    grouped_notes:     notes in a group are roots, too
    merges_ends:       a string that ends another string is stored inside it
    unwind_entries:    stored as they are in the object: "same"; filled up to a multiple of a
        pointer: "filled"; the last of the link without filling at its end: "trimmed"
    """

    root_names: tuple[str, ...]
    keeps_identifiers: bool = False
    keeps_groups: bool = True
    follows_order: bool = True
    retains: bool = True
    lsda: str = "function"
    personality: str = "function"
    grouped_notes: bool = False
    merges_ends: bool = False
    unwind_entries: str = "same"

    def root_of(self, name: str, type_: int, flags: int) -> str:
        """Return why a section is a root: "init_array", "note", …; empty if it is not.

        type_, flags: sh_type and sh_flags
        """
        if type_ in _ARRAYS:
            # Their names may end with a priority: .init_array.00100.
            return name.split(".")[1] if name.startswith(".") else name
        if type_ == SHT_NOTE and (self.grouped_notes or not flags & SHF_GROUP):
            return "note"
        if flags & SHF_GNU_RETAIN and self.retains:
            return "retain attribute"
        is_kept = _any_of(self.root_names).match(name) is not None
        is_kept |= self.keeps_identifiers and is_identifier(name)
        return "kept by name" if is_kept else ""


# From the linkers' sources: isReserved in lld's MarkLive.cpp, gc-sections.cc of mold, KEEP in ld's
# default script, Relobj::is_section_name_included of gold.
_LLD = (".init", ".fini", ".init_array*", ".jcr", ".ctors*", ".dtors*")
_MOLD = (".ctors*", ".dtors*", ".init*", ".fini*")
_BFD = (
    ".init",
    ".fini",
    ".preinit_array",
    ".init_array*",
    ".fini_array*",
    ".ctors*",
    ".dtors*",
    ".jcr",
)
_GOLD = (
    ".ctors*",
    ".dtors*",
    ".note*",
    ".init*",
    ".fini*",
    ".gcc_except_table*",
    ".jcr*",
    ".preinit_array*",
    ".text*personality*",
    ".data*personality*",
    ".sdata*personality*",
    ".gnu.linkonce.d*personality*",
    ".rodata*nptl_version*",
)


def rules_of(linker: Linker) -> LinkerRules:
    """Return the rules of a linker; those of GNU ld unless it is lld, gold or mold.

    tests/soak/links/live_set.py compares them with the linkers' own logs.
    """
    if linker.family == "lld":
        entries = "filled" if () < linker.version < (16,) else "same"
        return LinkerRules(_LLD, lsda="always", personality="always", unwind_entries=entries)
    if linker.family == "gold":
        return LinkerRules(
            _GOLD,
            keeps_groups=False,
            follows_order=False,
            personality="never",
            grouped_notes=True,
            unwind_entries="filled",
        )
    if linker.family == "mold":
        return LinkerRules(
            _MOLD,
            keeps_identifiers=True,
            keeps_groups=False,
            follows_order=False,
            personality="always",
            grouped_notes=True,
        )
    return LinkerRules(_BFD, merges_ends=True, unwind_entries="trimmed")
