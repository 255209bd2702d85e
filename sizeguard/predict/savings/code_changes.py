"""Bound how x86-64 compilers change code when a part of it is removed.

The numbers are lengths of instructions, not fits: tests/soak/savings/saving_truth.py compares the
intervals with rebuilds.
"""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass

# A call of the handler takes two moves to registers (2 to 5 bytes each) and a call (5 or 6). It may
# share the tail of another call, and then is one jump.
_CALL, _SHORTEST_CALL, _LONGEST_CALL = 12, 2, 18
_JUMP, _LONG_JUMP = 2, 5
_LOAD_ADDRESS = 7
# Code that moves by some bytes changes the length of jumps over it, of at most this many.
_JUMPS = 4
# Two registers more or less to save: push and pop, with a prefix.
_REGISTERS = 8
# With one case left there is no choice: its value needs no register between switch and use, so its
# load, its jump, a move and two saved registers may disappear.
_LAST_CASE = _LOAD_ADDRESS + _LONG_JUMP + 4 + _REGISTERS
# clang's table of bodies: loading its address and the body's, and the test for holes.
_TABLE_LOAD, _HOLES = 11, 12
# A jump table: loading its address, the entry, an addition and the jump; a distant default.
_DISPATCH, _FAR_DEFAULT = 16, 4
_TABLE_ENTRY, _FEWEST_IN_TABLE, _DTYPES = 4, 4, 8
_COMPARE = 5  # compare and jump
# Setting up the frame of a function that is called instead of inlined.
_FRAME = 16
# An unwind entry describes pushes and pops, two or three bytes each, padded to 8.
_UNWIND = 16
# Functions with fewer callers are inlined: any with few of them, and small ones with some more.
_FEW, _SMALL = 3, 300
_SOME, _VERY_SMALL = 6, 64


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes that a section loses: most likely, at least and at most; negative for growth."""

    less: int = 0
    low: int = 0
    high: int = 0

    def __add__(self, other: Span) -> Span:
        """Add an independent effect."""
        return Span(self.less + other.less, self.low + other.low, self.high + other.high)

    def pick(self, k: int) -> int:
        """Return the most likely bytes (0), the low end (1) or the high end (2)."""
        return (self.less, self.low, self.high)[k]


def case_span(code: int, others: int, copies: int, *, has_handler: bool = False) -> Span:
    """Bound the change of a function whose switch loses a case.

    code:   bytes that only this case uses
    others: remaining cases
    copies: number of switches over the same tag in the function
    has_handler: whether another case was deselected before, whose call the case shares
    """
    call = _SHORTEST_CALL if has_handler else _CALL
    around = _REGISTERS + (_LONG_JUMP - _JUMP) * min(others + 1, _JUMPS)
    # Code other than a body's address and a jump uses values that surrounding code prepares.
    around += max(code - copies * (_LOAD_ADDRESS + _JUMP), 0) // 2
    return Span(
        code - copies * call,
        code - copies * _LONGEST_CALL - around,
        code - copies * _SHORTEST_CALL + around + (_LAST_CASE if others < 2 else 0),
    )


def table_span(others: int, tables: int) -> Span:
    """Bound the change of a function whose table of bodies becomes code.

    The deselected case has no value to put into the table, so the function jumps to code that loads
    the body's address.
    """
    each = _LOAD_ADDRESS + _JUMP
    grows = each * others + _CALL - _TABLE_LOAD
    if others + 1 >= _FEWEST_IN_TABLE:
        grows += _DISPATCH + _FAR_DEFAULT + _TABLE_ENTRY * _DTYPES
    else:
        grows += _COMPARE * others
    most = grows + (_LONGEST_CALL - _CALL) + _REGISTERS + _COMPARE
    least = grows - (_CALL - _SHORTEST_CALL) - _REGISTERS - _HOLES - _JUMP
    return Span(-grows * tables, -most * tables, -least * tables)


def statement_span(less: int) -> Span:
    """Bound the change of an initializer that loses one call."""
    return Span(less, less - _REGISTERS, less + _REGISTERS)


def frame_span() -> Span:
    """Bound the change of a function's unwind entry."""
    return Span(0, -_UNWIND, _UNWIND)


def uninlined_span(inlined: int) -> Span:
    """Bound the bytes saved if a switch's function is called instead of inlined.

    The call of the handler makes inlining costlier than the load of a body's address did.

    inlined: bytes that the call would replace
    """
    return Span(0, 0, inlined)


def shared_span(size: int, references: int) -> Span:
    """Bound the change of a function with fewer callers, which may be inlined or specialized.

    If inlined, it is in each of them, without its frame and often without some part.
    """
    is_small = size <= (_SMALL if references <= _FEW else _VERY_SMALL)
    if references > _SOME or not is_small:
        return Span()
    return Span(0, -(size * references // 2), size + _FRAME * references)
