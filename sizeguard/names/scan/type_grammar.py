"""Grammar of mangled types: which characters of a chunk's text are a dtype, or not a type.

Places are positions in the text, as columns.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int
from sizeguard.names.scan.identifiers import Bytes, Chunk
from sizeguard.operators.dtypes import (
    CODE_OF_NAME,
    COMPLEX_OF_REAL,
    NAME_OF_CODE,
    NAME_OF_LETTER,
)

Bool = npt.NDArray[np.bool_]
# Places in a chunk's text, and the code of the dtype at each.
Found = tuple[Int, Int]

NONE = -1
CODE_OF_LETTER = np.full(256, NONE, np.int8)
for _letter, _dtype in NAME_OF_LETTER.items():
    CODE_OF_LETTER[ord(_letter)] = CODE_OF_NAME[_dtype]
COMPLEX_OF = np.full(max(NAME_OF_CODE) + 1, NONE, np.int8)
for _dtype, _complex in COMPLEX_OF_REAL.items():
    COMPLEX_OF[CODE_OF_NAME[_dtype]] = CODE_OF_NAME[_complex]

# Characters that may follow a builtin type in a list of template arguments or parameters.
_AFTER = np.zeros(256, bool)
_AFTER[np.frombuffer(b"ENSLZTKRPXFJIDUsoncvzw" + "".join(NAME_OF_LETTER).encode(), np.uint8)] = True
_AFTER[np.frombuffer(b"123456789", np.uint8)] = True

_INDICES = (CODE_OF_NAME["Int"], CODE_OF_NAME["Long"])

MOST = 4  # adjacent builtin types to read


def builtin_types(text: Bytes, starts: Int) -> list[Found]:
    """Find adjacent builtin types from each place, at most MOST of them."""
    found = []
    at = starts
    for _ in range(MOST):
        code = CODE_OF_LETTER[text[at]].astype(np.int64)
        is_type = code != NONE
        at, code = at[is_type], code[is_type]
        ok = _AFTER[text[at + 1]]
        found.append((at[ok], code[ok]))
        at = at[ok] + 1
    return found


def or_complex(text: Bytes, code: Int, position: Int, complexes: Int) -> Int:
    """Replace codes of classes that are arguments of complex, as in complexIN3c104HalfE.

    complexes: sorted places where the words "complex" end
    """
    if not len(complexes):
        return code
    before = complexes[np.maximum(np.searchsorted(complexes, position) - 1, 0)]
    is_near = (before < position) & (position - before <= len("IN3c10"))
    is_argument = is_near & (text[before] == ord("I")) & (text[before + 1] == ord("N"))
    return np.where(is_argument & (COMPLEX_OF[code] != NONE), COMPLEX_OF[code], code)


def is_behind(chunk: Chunk, at: Int, words: Int) -> Bool:
    """Return for each place whether one of the words precedes it in the same name."""
    if not len(words):
        return np.zeros(len(at), np.bool_)
    last = np.searchsorted(words, at) - 1
    same_name = chunk.name_at(words[np.maximum(last, 0)]) == chunk.name_at(at)
    return np.asarray((last >= 0) & same_name)


def element_types(text: Bytes, at: Int) -> list[Found]:
    """Find the element types in lists such as <int, 6, double, false>.

    An Int or a Long in them is an index. Literals (Li6E) may be between the types.
    """
    found = []
    last = len(text) - 1
    for _ in range(2 * MOST):
        code = CODE_OF_LETTER[text[at]].astype(np.int64)
        is_literal = text[at] == ord("L")
        end = at + 2
        for _ in range(4):
            end = end + (is_literal & (text[np.minimum(end, last)] != ord("E")))
        is_literal &= text[np.minimum(end, last)] == ord("E")
        is_element = (code != NONE) & ~np.isin(code, _INDICES) & _AFTER[text[at + 1]]
        found.append((at[is_element], code[is_element]))
        goes_on = is_literal | (code != NONE)
        at = np.minimum(np.where(is_literal, end + 1, at + 1)[goes_on], last - 1)
    return found


def number_at(text: Bytes, at: Int) -> Int:
    """Read the number of one or two digits before an E at each place; NONE if there is none."""
    value = np.zeros(len(at), np.int64)
    at = np.minimum(at, len(text) - 4)
    start = at.copy()
    for _ in range(2):
        digit = text[at] - np.uint8(48)
        is_digit = digit < 10
        value = np.where(is_digit, value * 10 + digit, value)
        at = at + is_digit
    return np.where((at > start) & (text[at] == ord("E")), value, NONE)


def is_grammar(chunk: Chunk, candidates: Int, at: Int) -> Bool:
    """Return for each place whether it is outside the preceding identifier of its name.

    The I of IsEmpty does not begin a list of arguments.

    candidates: last digits of the lengths of all identifiers, in order
    """
    if not len(candidates):
        return np.ones(len(at), np.bool_)
    text = chunk.text
    # What looks like an identifier at the end of the name before it does not reach into this one.
    name = chunk.start[np.maximum(np.searchsorted(chunk.start, at, side="right") - 1, 0)]
    index = np.searchsorted(candidates, at) - 1
    last = candidates[np.maximum(index, 0)]
    is_first = (index < 0) | (last < name)
    length = _length(text, last)
    # 12general_c2r_: the 2 is a part of the identifier before it, and does not begin another.
    before = candidates[np.maximum(index - 1, 0)]
    is_covered = (name <= before) & (before < last) & (before + _length(text, before) >= last)
    last = np.where(is_covered, before, last)
    length = np.where(is_covered, _length(text, before), length)
    is_outside = last + 1 + length <= at
    # _GLOBAL__N_13add: of two digits after an underscore, only the second can be a length.
    units = (text[last] - np.uint8(48)).astype(np.int64)
    tens = text[np.maximum(last - 1, 0)] - np.uint8(48)
    is_alone = (tens < 10) & (text[np.maximum(last - 2, 0)] == ord("_")) & (last + 1 + units <= at)
    return np.asarray(is_first | is_outside | is_alone)


def _length(text: Bytes, last: Int) -> Int:
    """Read the number of one or two digits that ends at each place."""
    units = (text[last] - np.uint8(48)).astype(np.int64)
    tens = text[np.maximum(last - 1, 0)] - np.uint8(48)
    length: Int = np.where((tens < 10) & (tens > 0), tens.astype(np.int64) * 10 + units, units)
    return length


def is_allocator(text: Bytes, at: Int) -> Bool:
    """Return for the I of argument lists whether they belong to an allocator: SaIlE."""
    return np.asarray(
        (text[np.maximum(at - 1, 0)] == ord("a")) & (text[np.maximum(at - 2, 0)] == ord("S"))
    )


def is_substituted(chunk: Chunk, candidates: Int, at: Int) -> Bool:
    """Return for the I of argument lists whether a substitution precedes them: SB_IlE.

    The template's name occurred earlier and is hidden; most often it is std::optional.
    """
    text = chunk.text
    start = at - 2
    for _ in range(2):
        letter = text[start]
        is_digit = (letter - np.uint8(48)) < 10
        is_letter = ((letter - np.uint8(65)) < 26) & (letter != ord("S"))
        start = start - (is_digit | is_letter)
    found = (text[at - 1] == ord("_")) & (text[start] == ord("S"))
    found[found] = is_grammar(chunk, candidates, start[found])
    return np.asarray(found)
