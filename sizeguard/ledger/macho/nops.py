"""Count the padding at the end of a function's code."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.texts import Bytes, Int
from sizeguard.formats.macho.constants import CPU_ARM64, CPU_X86_64

MOST_PADDING = 64  # the largest alignment of functions
_LONG = bytes.fromhex("0f1f840000000000")
# Fillers in code of x86-64, longest first: a nop of each length.
_X86 = (
    *(b"\x66" * n + b"\x2e" + _LONG for n in (6, 5, 4, 3, 2, 1)),
    b"\x66" + _LONG,
    _LONG,
    bytes.fromhex("0f1f8000000000"),
    bytes.fromhex("660f1f440000"),
    bytes.fromhex("0f1f440000"),
    bytes.fromhex("0f1f4000"),
    bytes.fromhex("0f1f00"),
    b"\x66\x90",
    b"\x90",
)
_NOP = bytes.fromhex("1f2003d5")
_ARM64 = (_NOP,)
_LAST = frozenset({0x00, 0x90, 0xD5})  # last bytes of the fillers
_RETURN = b"\xc3"
_LONG_JUMPS = frozenset({0xE8, 0xE9})
_SHORT_JUMPS = frozenset({0xEB, *range(0x70, 0x80)})


def padding_before(code: bytes, cpu: int) -> int:
    """Count the bytes at the end of `code` that are nops, or zeros after a return.

    Assemblers fill with nops inside an object, ld64.lld with zeros between objects. Returns 0 for
    architectures other than x86-64 and arm64.
    """
    if not code or code[-1] not in _LAST:
        return 0
    fills = _X86 if cpu == CPU_X86_64 else _ARM64 if cpu == CPU_ARM64 else ()
    end = len(code) - (_zeros(code) if cpu == CPU_X86_64 else 0)
    while True:
        fill = next((f for f in fills if code.endswith(f, 0, end)), b"")
        if not fill:
            break
        end -= len(fill)
    # A single 90 after a short jump is the jump's target.
    if len(code) - end == 1 and end and code[-1] == 0x90 and code[end - 1] in _SHORT_JUMPS:
        return 0
    return len(code) - end


def is_padding(code: bytes, cpu: int) -> bool:
    """Check that all bytes are nops, then zeros."""
    nops = len(code.rstrip(b"\0"))
    return any(padding_before(code[:end], cpu) == end for end in range(nops, len(code) + 1))


def _zeros(code: bytes) -> int:
    """Count zeros at the end that follow a return.

    Zeros that may be the upper bytes of a jump's or call's distance do not count.
    """
    kept = code.rstrip(b"\0")
    count = len(code) - len(kept)
    is_distance = count <= 3 and len(code) >= 5 and code[-5] in _LONG_JUMPS
    return count if kept.endswith(_RETURN) and count < 16 and not is_distance else 0


def paddings(data: Bytes, start: Int, size: Int, cpu: int) -> Int:
    """Count the padding at the end of each function, within its last 64 bytes.

    start: in `data`.
    """
    looked = np.minimum(size, MOST_PADDING)
    end = start + size
    found = np.zeros(len(start), np.int64)
    if cpu == CPU_ARM64:
        # Each nop is one instruction; functions that still end with one are checked again.
        rows = np.flatnonzero(looked >= len(_NOP))
        while len(rows):
            at = end[rows] - found[rows] - len(_NOP)
            is_nop = np.ones(len(rows), np.bool_)
            for i in reversed(range(len(_NOP))):
                is_nop[is_nop] = data[at[is_nop] + i] == _NOP[i]
            found[rows[is_nop]] += len(_NOP)
            rows = rows[is_nop]
            rows = rows[looked[rows] - found[rows] >= len(_NOP)]
        return found
    if cpu != CPU_X86_64:
        return found
    filled = np.flatnonzero(size > 0)
    last = data[end[filled] - 1]
    may_fill = np.isin(last, np.array(sorted(_LAST), np.uint8))
    for row in filled[may_fill].tolist():
        tail = data[int(end[row] - looked[row]) : int(end[row])].tobytes()
        found[row] = padding_before(tail, cpu)
    return found
