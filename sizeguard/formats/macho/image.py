"""A Mach-O image as its load commands describe it.

It has segments, sections, symbols and parts of the link-edit data.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Bytes, Int, Texts
from sizeguard.formats.link_kind import BUNDLE, LIBRARY, OBJECT, PROGRAM
from sizeguard.formats.macho.constants import (
    MH_BUNDLE,
    MH_DSYM,
    MH_DYLIB,
    MH_EXECUTE,
    MH_OBJECT,
    MH_SUBSECTIONS_VIA_SYMBOLS,
    S_ATTR_DEBUG,
    S_ATTR_NO_DEAD_STRIP,
    S_ATTR_PURE_INSTRUCTIONS,
    S_ATTR_SOME_INSTRUCTIONS,
    SECTION_TYPE,
    VM_PROT_WRITE,
    ZEROFILL_TYPES,
)

_KINDS = {MH_EXECUTE: PROGRAM, MH_DYLIB: LIBRARY, MH_OBJECT: OBJECT, MH_BUNDLE: BUNDLE}


@dataclass(frozen=True, slots=True)
class LoadCommand:
    """A load command; offset in the slice, size in bytes."""

    name: str
    number: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Extent:
    """A part of the slice that a command or section points to: [offset, offset + size)."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment; sections: indices into MachO.sections."""

    name: str
    address: int
    memory_size: int
    offset: int
    file_size: int
    max_protection: int
    protection: int
    flags: int
    sections: range

    @property
    def is_writable(self) -> bool:
        """Return whether it is writable."""
        return bool(self.protection & VM_PROT_WRITE)


@dataclass(frozen=True, slots=True)
class Section:
    """A section.

    index:     n_sect of its symbols minus 1
    size:      bytes in memory
    file_size: 0 if the file has no bytes for it
    relocation_offset, relocation_count: file offset and number of its relocations, in objects
    """

    index: int
    segment: int
    name: str
    segment_name: str
    address: int
    size: int
    offset: int
    file_size: int
    alignment: int
    flags: int
    reserved1: int
    reserved2: int
    relocation_offset: int
    relocation_count: int

    @property
    def full_name(self) -> str:
        """Segment and section, such as __TEXT,__text."""
        return f"{self.segment_name},{self.name}"

    @property
    def type(self) -> int:
        """The section's type, an S_ number."""
        return self.flags & SECTION_TYPE

    @property
    def is_zerofill(self) -> bool:
        """Return whether it consists of zeros that are not in the file."""
        return self.type in ZEROFILL_TYPES

    @property
    def is_code(self) -> bool:
        """Return whether it contains instructions."""
        return bool(self.flags & (S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS))

    @property
    def is_debug(self) -> bool:
        """Return whether it contains debug information."""
        return bool(self.flags & S_ATTR_DEBUG) or self.segment_name == "__DWARF"

    @property
    def no_dead_strip(self) -> bool:
        """Return whether dead stripping keeps it."""
        return bool(self.flags & S_ATTR_NO_DEAD_STRIP)


@dataclass(frozen=True, slots=True)
class MachoSymbols:
    """The symbol table in its stored order, including STABs, as parallel columns.

    names:       mangled, with the leading underscore
    type:        n_type: N_STAB, N_PEXT, N_TYPE and N_EXT bits
    section:     n_sect; 1 is sections[0], 0 is none
    description: n_desc: N_NO_DEAD_STRIP, N_WEAK_DEF, N_ALT_ENTRY …
    value:       n_value; an address for N_SECT
    """

    names: Texts
    type: npt.NDArray[np.uint8]
    section: npt.NDArray[np.uint8]
    description: npt.NDArray[np.uint16]
    value: Int

    def __len__(self) -> int:
        """Return the number of symbols."""
        return len(self.type)

    def raw_names(self) -> list[bytes]:
        """Return all names from one copy of the string table.

        It takes two thirds of the time of reading them one by one.
        """
        if not len(self):
            return []
        low = int(self.names.start.min())
        table = self.names.buffer[low : int(self.names.end.max())].tobytes()
        return [
            table[a:b]
            for a, b in zip(
                (self.names.start - low).tolist(), (self.names.end - low).tolist(), strict=True
            )
        ]


@dataclass(frozen=True, slots=True)
class MachO:
    """A Mach-O image: a file, or the slice of a universal binary at `offset`.

    All other offsets are relative to it.

    indirect: the indirect symbol table: an index into symbols for each stub and pointer slot
    linkedit: parts that commands point to: symbol table, string table, exports trie, code signature
              …
    data:     the slice's bytes, mapped
    """

    path: Path
    offset: int
    size: int
    arch: str
    order: str
    is_64: bool
    cpu: int
    filetype: int
    flags: int
    header_size: int
    commands: tuple[LoadCommand, ...]
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]
    symbols: MachoSymbols
    indirect: npt.NDArray[np.uint32]
    linkedit: tuple[Extent, ...]
    dylibs: tuple[str, ...]
    uuid: str
    data: Bytes = field(repr=False)

    @property
    def is_object(self) -> bool:
        """Return whether it is an object, before linking."""
        return self.filetype == MH_OBJECT

    @property
    def kind(self) -> str:
        """The kind of file, as in link_kind; empty for rare types."""
        return _KINDS.get(self.filetype, "")

    @property
    def pointer_size(self) -> int:
        """Bytes of an address."""
        return 8 if self.is_64 else 4

    @property
    def subsections_via_symbols(self) -> bool:
        """Return whether the linker may split an object at its symbols."""
        return bool(self.flags & MH_SUBSECTIONS_VIA_SYMBOLS)

    @property
    def base(self) -> int:
        """The address of the header, the base of function starts and unwind information."""
        return next((s.address for s in self.segments if s.name == "__TEXT"), 0)

    def is_loaded(self, segment: Segment) -> bool:
        """Check that a segment is loaded.

        __PAGEZERO, which must not be accessed, and debug information are not loaded. Segments of a
        dSYM are not loaded.
        """
        return (
            self.filetype != MH_DSYM and segment.max_protection != 0 and segment.name != "__DWARF"
        )

    def section_is_loaded(self, section: Section) -> bool:
        """Check that a section is loaded."""
        return self.is_loaded(self.segments[section.segment]) and not section.is_debug

    def section_is_writable(self, section: Section) -> bool:
        """Check that a section is writable.

        An object has one segment, which is writable as a whole; section names determine their later
        segment.
        """
        segment = self.segments[section.segment]
        return section.segment_name.startswith("__DATA") if self.is_object else segment.is_writable

    @property
    def load(self) -> int:
        """Bytes that sections load from the file."""
        return sum(s.file_size for s in self.sections if self.section_is_loaded(s))

    @property
    def ram(self) -> int:
        """Bytes of writable sections, including zero-filled ones.

        Sections that become read-only after fix-ups (__DATA_CONST) count as writable.
        """
        return sum(
            s.size
            for s in self.sections
            if self.section_is_loaded(s) and self.section_is_writable(s)
        )

    def content(self, section: Section) -> Bytes:
        """Return a section's bytes in the file."""
        return self.data[section.offset : section.offset + section.file_size]

    def extent(self, name: str) -> Extent | None:
        """Return the first non-empty link-edit part with that name; None if there is none."""
        return next((e for e in self.linkedit if e.name == name and e.size), None)

    def part(self, name: str) -> Bytes:
        """Return the bytes of a part of the link-edit data; empty if it is missing."""
        extent = self.extent(name)
        return (
            self.data[:0]
            if extent is None
            else self.data[extent.offset : extent.offset + extent.size]
        )
