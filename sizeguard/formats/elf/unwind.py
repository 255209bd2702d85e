"""Read .eh_frame and .eh_frame_hdr as columns: the unwind records of each function."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Bytes, Int
from sizeguard.formats.elf.cie import OMIT, pointer_forms, pointer_width
from sizeguard.formats.elf.image import Elf, Section
from sizeguard.formats.elf.layout import Layout, signed

NOWHERE = -(1 << 62)
CIE, FDE, END = 0, 1, 2

_CODE = compiled_beside(__file__)
_HEADER = 12  # bytes of .eh_frame_hdr's header, with the encodings that linkers write


@dataclass(frozen=True, slots=True)
class UnwindRecords:
    """Records in order, as columns; everything after the last one is damaged.

    start, size:    bytes of the section
    kind:           CIE, FDE or END (a length of 0)
    function, lsda: addresses that an FDE names; NOWHERE if there are none
    extent:         bytes of code that an FDE describes; 0 if it cannot be read
    function_at, lsda_at: offsets of these addresses in the section, where a relocatable object has
                    relocations; empty for other files
    """

    start: Int
    size: Int
    kind: npt.NDArray[np.int8]
    function: Int
    lsda: Int
    extent: Int
    function_at: Int
    lsda_at: Int


@dataclass(frozen=True, slots=True)
class HeaderTable:
    """The sorted table of .eh_frame_hdr: functions and their FDEs, as addresses.

    Entry i is eight bytes at 12 + 8 i.
    """

    function: Int
    frame: Int


def header_table(image: Elf, section: Section) -> HeaderTable | None:
    """Read the table of .eh_frame_hdr.

    Returns None unless it has the form that all linkers write: 32-bit offsets from its own address.
    """
    content = image.view(section)
    if len(content) < _HEADER or content[:4].tolist() != [1, 0x1B, 0x03, 0x3B]:
        return None
    count = int(content[8:12].view(image.layout.half)[0])
    if count > (len(content) - _HEADER) // 8:
        return None
    offsets = content[_HEADER : _HEADER + 8 * count].view(f"{image.layout.order}i4")
    function, frame = offsets[::2].astype(np.int64), offsets[1::2].astype(np.int64)
    function += signed(section.address)
    frame += signed(section.address)
    return HeaderTable(function, frame)


def read_frames(image: Elf, section: Section, table: HeaderTable | None) -> UnwindRecords:
    """Read the records of a section.

    With a table, records are also found behind a damaged one.
    """
    content = image.view(section)
    address = 0 if image.is_relocatable else signed(section.address)
    start, size = _records(
        content, image.layout, table.frame - address if table is not None else np.zeros(0, np.int64)
    )
    kind, cie = np.empty(len(start), np.int8), np.empty(len(start), np.int64)
    runs = np.empty(len(start), np.int64)
    data = (content, len(content), image.layout.is_foreign)
    count = _CODE.call("record_kinds", *data, start, size, len(start), kind, cie, runs)
    cies = distinct(runs[:count])
    forms = np.array([_encodings(content, at, image.layout) for at in cies.tolist()], np.uint8)
    function, lsda = np.full(len(start), NOWHERE, np.int64), np.full(len(start), NOWHERE, np.int64)
    extent = np.zeros(len(start), np.int64)
    at = np.full(len(start) if image.is_relocatable else 0, NOWHERE, np.int64)
    found = UnwindRecords(start, size, kind, function, lsda, extent, at, at.copy())
    known = (start, size, kind, cie, len(start), cies, forms, len(cies), NOWHERE)
    columns = (function, lsda, extent, found.function_at, found.lsda_at)
    _CODE.call("decode_records", *data, address, *known, image.is_relocatable, *columns)
    return found


def _records(content: Bytes, layout: Layout, listed: Int) -> tuple[Int, Int]:
    """Return starts and sizes of all records.

    The bytes between listed records are walked, too.
    """
    data = (content, len(content), layout.is_foreign)
    listed = listed[(listed >= 0) & (listed <= len(content) - 8)]
    marks = np.zeros(len(content) // 8 + 1, np.uint8)
    nothing = np.zeros(0, np.int64)
    count = _CODE.call("walk_records", *data, nothing, 0, nothing, nothing, 0, marks, True)
    if _CODE.call("are_marked", marks, listed, len(listed)):
        listed = nothing  # it has nothing that the walk has not
    else:
        listed = distinct(listed)
        if _CODE.call("listed_bytes", *data, listed, len(listed)) < 0:
            listed = nothing  # the table belongs to another section
        else:
            count = _CODE.call(
                "walk_records", *data, listed, len(listed), nothing, nothing, 0, marks, False
            )
    start, size = np.empty(count, np.int64), np.empty(count, np.int64)
    _CODE.call("walk_records", *data, listed, len(listed), start, size, count, marks, False)
    return start, size


def _encodings(content: Bytes, offset: int, layout: Layout) -> tuple[int, int, int, int]:
    """Return how the FDEs of the CIE at an offset store functions and LSDA pointers.

    That is the form of the former and its width, then those of the latter.
    """
    forms = OMIT, OMIT
    if 0 <= offset <= len(content) - 12:
        forms = pointer_forms(content[offset + 8 : offset + 256].tobytes(), layout.word_size)
    function, lsda = forms
    width = layout.word_size
    return function, pointer_width(function, width), lsda, pointer_width(lsda, width)
