"""Numbers of the ELF format, and the layout of its tables by class and byte order."""

from __future__ import annotations

import functools
import sys

import numpy as np

from sizeguard.base.dataclass import dataclass

ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4

(
    SHT_NULL,
    SHT_PROGBITS,
    SHT_SYMTAB,
    SHT_STRTAB,
    SHT_RELA,
    SHT_HASH,
    SHT_DYNAMIC,
    SHT_NOTE,
    SHT_NOBITS,
) = (0, 1, 2, 3, 4, 5, 6, 7, 8)
(
    SHT_REL,
    SHT_DYNSYM,
    SHT_INIT_ARRAY,
    SHT_FINI_ARRAY,
    SHT_PREINIT_ARRAY,
    SHT_GROUP,
    SHT_SYMTAB_SHNDX,
    SHT_RELR,
) = (9, 11, 14, 15, 16, 17, 18, 19)
SHT_ANDROID_REL, SHT_ANDROID_RELA, SHT_ANDROID_RELR = 0x60000001, 0x60000002, 0x6FFFFF00
SHT_CREL = 0x40000014  # of clang and lld since version 19
SHT_GNU_HASH, SHT_GNU_VERDEF, SHT_GNU_VERNEED, SHT_GNU_VERSYM = (
    0x6FFFFFF6,
    0x6FFFFFFD,
    0x6FFFFFFE,
    0x6FFFFFFF,
)

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE, SHF_STRINGS, SHF_TLS, SHF_COMPRESSED = (
    1,
    2,
    4,
    0x10,
    0x20,
    0x400,
    0x800,
)
SHF_LINK_ORDER, SHF_GROUP, SHF_GNU_RETAIN = 0x80, 0x200, 0x200000

PF_X, PF_W, PF_R = 1, 2, 4
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
PT_TLS, PT_GNU_EH_FRAME = 7, 0x6474E550

DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME = 4, 5, 6, 10, 14
DT_GNU_HASH, DT_FLAGS_1 = 0x6FFFFEF5, 0x6FFFFFFB

STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE, STT_COMMON, STT_TLS, STT_IFUNC = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    10,
)
STB_LOCAL, STB_GLOBAL, STB_WEAK, STB_GNU_UNIQUE = 0, 1, 2, 10
SHN_UNDEF, SHN_LORESERVE, SHN_ABS, SHN_COMMON, SHN_XINDEX = 0, 0xFF00, 0xFFF1, 0xFFF2, 0xFFFF

NT_GNU_BUILD_ID = 3

R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT = 1, 2, 4, 6, 7
R_X86_64_GOTPCRELX = 41
R_AARCH64_ABS64, R_AARCH64_JUMP26, R_AARCH64_CALL26 = 257, 282, 283
R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT = 1025, 1026


_SECTION_64 = (
    "name:u4 type:u4 flags:u8 address:u8 offset:u8 size:u8 link:u4 info:u4 alignment:u8"
    " entry_size:u8"
)
_SECTION_32 = (
    "name:u4 type:u4 flags:u4 address:u4 offset:u4 size:u4 link:u4 info:u4 alignment:u4"
    " entry_size:u4"
)
_SEGMENT_64 = (
    "type:u4 flags:u4 offset:u8 address:u8 physical:u8 file_size:u8 memory_size:u8 alignment:u8"
)
_SEGMENT_32 = (
    "type:u4 offset:u4 address:u4 physical:u4 file_size:u4 memory_size:u4 flags:u4 alignment:u4"
)
_SYMBOL_64 = "name:u4 info:u1 other:u1 section:u2 address:u8 size:u8"
_SYMBOL_32 = "name:u4 address:u4 size:u4 info:u1 other:u1 section:u2"

EM_MIPS = (8, 10)  # e_machine: MIPS, and MIPS RS3000 little endian


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a file's tables; order: < little endian, > big endian.

    is_mips64el: whether r_info has the symbol first, then four bytes of types, the last one first
    """

    is_64: bool
    order: str
    is_mips64el: bool = False

    @property
    def header(self) -> str:
        """Format of the file header for struct, after the 16 bytes of identification."""
        return self.order + ("16xHHIQQQIHHHHHH" if self.is_64 else "16xHHIIIIIHHHHHH")

    @property
    def is_foreign(self) -> bool:
        """Whether the order is not that of this machine."""
        return self.order != "<>"[sys.byteorder == "big"]

    @property
    def word_size(self) -> int:
        """Bytes of an address."""
        return 8 if self.is_64 else 4

    @property
    def word(self) -> np.dtype[np.void]:
        """Type of an address."""
        return np.dtype(f"{self.order}u{self.word_size}")

    @property
    def half(self) -> np.dtype[np.void]:
        """Type of 32-bit numbers."""
        return np.dtype(f"{self.order}u4")

    @property
    def section(self) -> np.dtype[np.void]:
        """Type of a section header."""
        return self._table(_SECTION_64 if self.is_64 else _SECTION_32)

    @property
    def section_fields(self) -> str:
        """Format of a section header for struct."""
        return self.order + ("IIQQQQIIQQ" if self.is_64 else "IIIIIIIIII")

    @property
    def segment(self) -> np.dtype[np.void]:
        """Type of a program header."""
        return self._table(_SEGMENT_64 if self.is_64 else _SEGMENT_32)

    @property
    def symbol(self) -> np.dtype[np.void]:
        """Type of a symbol."""
        return self._table(_SYMBOL_64 if self.is_64 else _SYMBOL_32)

    def relocation(self, *, addend: bool) -> np.dtype[np.void]:
        """Return the type of a relocation, with an addend (RELA) or without (REL)."""
        width = self.word_size
        return self._table(
            f"offset:u{width} info:u{width}" + (f" addend:i{width}" if addend else "")
        )

    def _table(self, fields: str) -> np.dtype[np.void]:
        return _dtype(self.order, fields)


@functools.cache
def _dtype(order: str, fields: str) -> np.dtype[np.void]:
    """Make a type, cached: making eight of them for each of 200 objects took 15 ms."""
    pairs = [field.split(":") for field in fields.split()]
    return np.dtype([(name, order + kind) for name, kind in pairs])


def signed(address: int) -> int:
    """Convert an address to two's complement, so that a kernel's addresses fit an int64."""
    return address - (1 << 64) if address >= 1 << 63 else address
