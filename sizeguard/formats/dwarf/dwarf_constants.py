"""Name the tags, attributes, forms and types of units that Python code reads.

Those of C code are in compiled/constants.h.
"""

from __future__ import annotations

DW_TAG_SUBPROGRAM, DW_TAG_NAMESPACE = 0x2E, 0x39
DW_AT_NAME = 0x03
FORM_DATA2, FORM_DATA4, FORM_DATA8, FORM_STRING = 0x05, 0x06, 0x07, 0x08
FORM_BLOCK, FORM_DATA1, FORM_STRP, FORM_UDATA = 0x09, 0x0B, 0x0E, 0x0F
FORM_DATA16, FORM_LINE_STRP = 0x1E, 0x1F

UT_TYPE, UT_SKELETON, UT_SPLIT, UT_SPLIT_TYPE = 2, 4, 5, 6

DEEPEST = 512  # nesting of functions, as in compiled/debug_info.h
