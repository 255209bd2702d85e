"""Name the tags, attributes, forms and types of units of DWARF that are read."""

from __future__ import annotations

DW_TAG_COMPILE_UNIT, DW_TAG_SUBPROGRAM, DW_TAG_INLINED, DW_TAG_SKELETON = 0x11, 0x2E, 0x1D, 0x4A
DW_TAG_TYPEDEF, DW_AT_DECLARATION, DW_AT_TYPE = 0x16, 0x3C, 0x49
DW_TAG_NAMESPACE = 0x39
DW_AT_SIBLING, DW_AT_NAME, DW_AT_LOW_PC, DW_AT_HIGH_PC, DW_AT_ABSTRACT_ORIGIN = (
    0x01,
    0x03,
    0x11,
    0x12,
    0x31,
)
DW_AT_SPECIFICATION, DW_AT_RANGES, DW_AT_LINKAGE_NAME, DW_AT_MIPS_LINKAGE_NAME = (
    0x47,
    0x55,
    0x6E,
    0x2007,
)
DW_AT_STR_OFFSETS_BASE, DW_AT_ADDR_BASE, DW_AT_RNGLISTS_BASE = 0x72, 0x73, 0x74
DW_AT_GNU_ADDR_BASE = 0x2133

# Attributes that give the place and the owner of an entry's code.
WANTED = frozenset(
    {DW_AT_SIBLING, DW_AT_LOW_PC, DW_AT_HIGH_PC, DW_AT_RANGES, DW_AT_ABSTRACT_ORIGIN}
)

# Attributes that name the function of an entry, or refer to an entry that does.
NAMING = frozenset(
    {
        DW_AT_NAME,
        DW_AT_LINKAGE_NAME,
        DW_AT_MIPS_LINKAGE_NAME,
        DW_AT_ABSTRACT_ORIGIN,
        DW_AT_SPECIFICATION,
    }
)

# Types, which contain no code: concrete functions are outside their class.
TYPE_TAGS = frozenset({0x02, 0x04, 0x13, 0x17, 0x15, 0x01, 0x38, 0x42})

FORM_ADDR, FORM_BLOCK2, FORM_BLOCK4, FORM_DATA2, FORM_DATA4, FORM_DATA8, FORM_STRING = (
    0x01,
    0x03,
    0x04,
    0x05,
    0x06,
    0x07,
    0x08,
)
FORM_BLOCK, FORM_BLOCK1, FORM_DATA1, FORM_FLAG, FORM_SDATA, FORM_STRP, FORM_UDATA = (
    0x09,
    0x0A,
    0x0B,
    0x0C,
    0x0D,
    0x0E,
    0x0F,
)
FORM_REF_ADDR, FORM_REF1, FORM_REF2, FORM_REF4, FORM_REF8, FORM_REF_UDATA = (
    0x10,
    0x11,
    0x12,
    0x13,
    0x14,
    0x15,
)
FORM_INDIRECT, FORM_SEC_OFFSET, FORM_EXPRLOC, FORM_FLAG_PRESENT, FORM_STRX, FORM_ADDRX = (
    0x16,
    0x17,
    0x18,
    0x19,
    0x1A,
    0x1B,
)
FORM_REF_SUP4, FORM_STRP_SUP, FORM_DATA16, FORM_LINE_STRP, FORM_REF_SIG8, FORM_IMPLICIT = (
    0x1C,
    0x1D,
    0x1E,
    0x1F,
    0x20,
    0x21,
)
FORM_LOCLISTX, FORM_RNGLISTX, FORM_REF_SUP8 = 0x22, 0x23, 0x24
(
    FORM_STRX1,
    FORM_STRX2,
    FORM_STRX3,
    FORM_STRX4,
    FORM_ADDRX1,
    FORM_ADDRX2,
    FORM_ADDRX3,
    FORM_ADDRX4,
) = range(0x25, 0x2D)
FORM_GNU_ADDR_INDEX, FORM_GNU_STR_INDEX, FORM_GNU_REF_ALT, FORM_GNU_STRP_ALT = (
    0x1F01,
    0x1F02,
    0x1F20,
    0x1F21,
)

# References into another file or to a type.
ELSEWHERE = frozenset({FORM_GNU_REF_ALT, FORM_REF_SUP4, FORM_REF_SUP8, FORM_REF_SIG8})

UT_TYPE, UT_SKELETON, UT_SPLIT, UT_SPLIT_TYPE = 2, 4, 5, 6
