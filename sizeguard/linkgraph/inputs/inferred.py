"""Infer the inputs of an unrecorded link from its image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sizeguard.formats.elf import (
    ET_DYN,
    SHT_ANDROID_REL,
    SHT_ANDROID_RELA,
    SHT_ANDROID_RELR,
    SHT_RELR,
    Elf,
)
from sizeguard.formats.elf.elf_kind import elf_kind
from sizeguard.formats.link_kind import LIBRARY, OBJECT
from sizeguard.linkgraph.elf.linker_rules import is_identifier
from sizeguard.linkgraph.inputs.link_inputs import Linker, LinkInput, LinkInputs, kind_of
from sizeguard.linkgraph.inputs.objects import names_of
from sizeguard.linkgraph.inputs.recorded_link import linker_named


def inferred(elf: Elf, objects: Sequence[Path]) -> LinkInputs:
    """Describe a link of these files; the image gives its mode, exports and linker.

    The files form one group: archives are searched until no new members are loaded.
    """
    dynamic = any(section.name == ".dynamic" for section in elf.sections)
    mode = {OBJECT: "relocatable", LIBRARY: "shared"}.get(
        elf_kind(elf), "executable" if dynamic else "static"
    )
    exports: set[bytes] = set()
    for table in elf.dynamic_symbols:
        exports.update(names_of(table, np.flatnonzero((table.section != 0) & (table.binding != 0))))
    linker = linker_of(elf)
    # __start_X keeps no section X by default of lld; an image with such sections keeps them
    has_named = any(s.is_allocated and is_identifier(s.name) for s in elf.sections)
    return LinkInputs(
        files=tuple(LinkInput(path, kind_of(path), group=1) for path in objects),
        mode=mode,
        linker=linker,
        start_stop_gc=linker.family == "lld" and not has_named,
        pic=elf.type == ET_DYN,
        packing=packing_of(elf),
        exports=frozenset(exports),
        output=elf.path,
    )


def packing_of(elf: Elf) -> str:
    """Return how an image's relocations are packed; a linker ignores options that it lacks."""
    types = {section.type for section in elf.sections if section.size}
    if types & {SHT_ANDROID_REL, SHT_ANDROID_RELA}:
        return "android"
    return "relr" if types & {SHT_RELR, SHT_ANDROID_RELR} else ""


def linker_of(elf: Elf) -> Linker:
    """Return the linker that left its name in the image; GNU ld leaves none."""
    comment = elf.section(".comment")
    text = elf.content(comment).decode("utf-8", "replace") if comment is not None else ""
    match = re.search(r"LLD [\d.]+\d|mold [\d.]+\d", text)
    if match:
        return linker_named(match[0], str(elf.path))
    if elf.section(".note.gnu.gold-version") is not None:
        return Linker("gold", ())
    return Linker("bfd", ())
