"""Turns a linker into the rules by which it keeps sections: its roots, and what it keeps beside relocations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sizeguard.formats.elf import SHT_NOTE
from sizeguard.linkgraph.inputs import Linker
from sizeguard.linkgraph.objects import SHF_GROUP

SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY = 14, 15, 16
SHF_LINK_ORDER, SHF_GNU_RETAIN = 0x80, 0x200000

_ARRAYS = {SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


def is_identifier(name: str) -> bool:
    """Whether __start_ and __stop_ can name a section."""
    return _IDENTIFIER.match(name) is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """How a linker keeps sections.

    root_names:        patterns of sections that stay
    keeps_identifiers: sections that __start_ could name stay, referenced or not
    keeps_groups:     the members of a group live together
    follows_order:    a SHF_LINK_ORDER section lives with the one that it links to
    retains:          SHF_GNU_RETAIN counts
    lsda:             what keeps an exception table: its "function", or "always" (a loose one: in no group, not ordered)
    personality:      what keeps a personality routine's reference: "function", "always", or "never" (but by name)
    grouped_notes:    notes of a group stay, too
    """

    root_names: tuple[str, ...]
    keeps_identifiers: bool = False
    keeps_groups: bool = True
    follows_order: bool = True
    retains: bool = True
    lsda: str = "function"
    personality: str = "function"
    grouped_notes: bool = False

    def root_of(self, name: str, type_: int, flags: int) -> str:
        """Why a section stays by itself; empty if it does not."""
        if type_ in _ARRAYS:
            return name.split(".")[1] if name.startswith(".") else name
        if type_ == SHT_NOTE and (self.grouped_notes or not flags & SHF_GROUP):
            return "note"
        if flags & SHF_GNU_RETAIN and self.retains:
            return "retain attribute"
        if any(fnmatchcase(name, pattern) for pattern in self.root_names):
            return "kept by name"
        if self.keeps_identifiers and is_identifier(name):
            return "kept by name"
        return ""


_LLD = (".init", ".fini", ".init_array*", ".jcr", ".ctors*", ".dtors*")
_MOLD = (".ctors*", ".dtors*", ".init*", ".fini*")
_BFD = (".init", ".fini", ".preinit_array", ".init_array*", ".fini_array*", ".ctors*", ".dtors*", ".jcr")
_GOLD = (
    *(".ctors*", ".dtors*", ".note*", ".init*", ".fini*", ".gcc_except_table*", ".jcr*", ".preinit_array*"),
    *(".text*personality*", ".data*personality*", ".sdata*personality*", ".gnu.linkonce.d*personality*", ".rodata*nptl_version*"),
)


def rules_of(linker: Linker) -> Rules:
    """The rules of a family. tests/soak/live_set.py holds them against the linkers' own logs."""
    if linker.family == "lld":
        return Rules(_LLD, lsda="always", personality="always")
    if linker.family == "gold":
        return Rules(_GOLD, keeps_groups=False, follows_order=False, personality="never", grouped_notes=True)
    if linker.family == "mold":
        return Rules(_MOLD, keeps_identifiers=True, keeps_groups=False, follows_order=False, personality="always", grouped_notes=True)
    return Rules(_BFD)
