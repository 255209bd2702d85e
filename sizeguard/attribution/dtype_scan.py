"""Turns template arguments and lambda parameters in mangled names into dtypes, all names at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.dtypes import CODES, COMPLEX, CONTAINERS, LETTERS
from sizeguard.attribution.preset import Preset
from sizeguard.attribution.scan import Bytes, Chunk, Dictionary
from sizeguard.formats.texts import Int

NONE = -1
_CODE_OF_LETTER = np.full(256, NONE, np.int8)
for _letter, _dtype in LETTERS.items():
    _CODE_OF_LETTER[ord(_letter)] = CODES[_dtype]
_COMPLEX_OF = np.full(len(CODES), NONE, np.int8)
for _dtype, _complex in COMPLEX.items():
    _COMPLEX_OF[CODES[_dtype]] = CODES[_complex]

# What may stand behind a builtin type in a list of template arguments or parameters.
_AFTER = np.zeros(256, bool)
_AFTER[np.frombuffer(b"ENSLZTKRPXFJIDUsoncvzw" + "".join(LETTERS).encode(), np.uint8)] = True
_AFTER[np.frombuffer(b"123456789", np.uint8)] = True

_INDICES = (CODES["Int"], CODES["Long"])

_MOST = 4  # builtin types side by side that are looked at


@dataclass(frozen=True, slots=True)
class WordKinds:
    """What words of a dictionary are, by their numbers. dtype: its code, or NONE."""

    dtype: npt.NDArray[np.int8]
    is_container: npt.NDArray[np.bool_]
    is_driver: npt.NDArray[np.bool_]
    is_indexed: npt.NDArray[np.bool_]
    scalar_type: int
    complex: int


class DtypeScan:
    """Collects dtypes of names. mask: bit c of a name is set if dtype c stands in it; first: the first one's code, or NONE."""

    def __init__(self, preset: Preset, count: int) -> None:
        self._classes = dict(preset.dtypes)
        self._containers = tuple(dict.fromkeys([*CONTAINERS, *preset.containers]))
        self._drivers = frozenset(preset.drivers)
        self._indexed = frozenset(preset.indexed)
        self.words = list(dict.fromkeys([*self._classes, *self._containers, *self._drivers, *self._indexed, "complex", "ScalarType"]))
        self._is_absent = np.isin(np.arange(len(CODES)), [CODES[dtype] for dtype in preset.absent])
        self.mask = np.zeros(count, np.uint64)
        self.first = np.full(count, NONE, np.int8)

    def kinds(self, dictionary: Dictionary) -> WordKinds:
        words = dictionary.identifiers
        return WordKinds(
            np.array([CODES[self._classes[w]] if w in self._classes else NONE for w in words], np.int8),
            np.array([w in self._containers for w in words], np.bool_),
            np.array([w in self._drivers for w in words], np.bool_),
            np.array([w in self._indexed for w in words], np.bool_),
            words.index("ScalarType"),
            words.index("complex"),
        )

    def take(self, chunk: Chunk, candidates: Int, position: Int, end: Int, word: Int, name: Int, kinds: WordKinds) -> None:
        """position, end, word, name: words of the dictionary found in the chunk, in order."""
        text = chunk.text
        of_word, is_container = kinds.dtype, kinds.is_container
        scalar_type, complex_ = kinds.scalar_type, kinds.complex
        found: list[tuple[Int, Int]] = []

        # Classes: c10::Half, and what follows one as the next argument.
        classes = np.flatnonzero(of_word[word] != NONE)
        found.append(
            (position[classes], _or_complex(text, of_word[word[classes]].astype(np.int64), position[classes], end[word == complex_]))
        )
        after = end[classes]
        closes = after[text[np.minimum(after, len(text) - 1)] == ord("E")] + 1

        # ScalarType)6: an enum's value.
        enums = np.flatnonzero((word == scalar_type) & (text[np.minimum(end, len(text) - 1)] == ord("E")))
        code = _number(text, end[enums] + 1)
        ok = (code >= 0) & (code < len(CODES))
        found.append((position[enums][ok], code[ok]))

        # I of template arguments, Ul of a lambda's parameters.
        opens = np.flatnonzero(text[:-2] == ord("I")) + 1
        opens = opens[_CODE_OF_LETTER[text[opens]] != NONE]
        lambdas = np.flatnonzero((text[:-3] == ord("U")) & (text[1:-2] == ord("l"))) + 2
        lambdas = lambdas[_CODE_OF_LETTER[text[lambdas]] != NONE]
        opens = opens[_is_grammar(text, candidates, opens - 1)]
        lambdas = lambdas[_is_grammar(text, candidates, lambdas - 2)]
        # What stands before an I: a container, complex, or neither.
        before = np.zeros(len(text), np.int8)
        before[np.minimum(end[is_container[word]], len(text) - 1)] = 1
        before[np.minimum(end[word == complex_], len(text) - 1)] = 2
        opens = opens[(before[opens - 1] != 1) & ~_is_allocator(text, opens - 1) & ~_is_substituted(text, candidates, opens - 1)]
        is_complex = before[opens - 1] == 2
        complexes, opens = opens[is_complex], opens[~is_complex]
        found.append((complexes, _COMPLEX_OF[_CODE_OF_LETTER[text[complexes]]].astype(np.int64)))
        driven = np.zeros(len(chunk.start) + 1, np.bool_)  # one more for what is in no name
        driven[name[kinds.is_driver[word]] - chunk.first] = True
        lambdas = self._elements(chunk, lambdas, driven)
        # clIllE: the arguments of a generic lambda, as those of any other.
        is_call = (text[opens - 2] == ord("l")) & (text[opens - 3] == ord("c")) & _is_grammar(text, candidates, opens - 3)
        opens = np.concatenate([opens[~is_call], self._elements(chunk, opens[is_call], driven)])
        if self._indexed:
            spaces = position[kinds.is_indexed[word]]
            inside = _is_behind(chunk, opens, spaces)
            literals = np.flatnonzero((text[:-2] == ord("I")) & (text[1:-1] == ord("L"))) + 1
            literals = literals[_is_behind(chunk, literals, spaces) & _is_grammar(text, candidates, literals - 1)]
            found += _scalars(text, np.concatenate([opens[inside], literals]))
            opens = opens[~inside]
        for first in (opens, lambdas, closes):
            at = first
            for _ in range(_MOST):
                code = _CODE_OF_LETTER[text[at]].astype(np.int64)
                at, code = at[code != NONE], code[code != NONE]
                ok = _AFTER[text[at + 1]]
                found.append((at[ok], code[ok]))
                at = at[ok] + 1
        self._add(chunk, found)

    @staticmethod
    def _elements(chunk: Chunk, lambdas: Int, driven: npt.NDArray[np.bool_]) -> Int:
        """Where the element types of lambdas begin. Longs in front are bounds, such as parallel_for's and parallel_reduce's, unless a
        driver of loops calls it; one that takes only those has none."""
        text = chunk.text
        at = lambdas.copy()
        for _ in range(_MOST):
            is_long = text[at] == ord("l")
            at = at + is_long
        only_longs = (text[at] == ord("E")) & (at > lambdas)
        named = chunk.name_at(lambdas)
        is_driven = driven[np.where(named >= 0, named - chunk.first, NONE)]
        starts: Int = np.where(is_driven, lambdas, at)[~only_longs | is_driven]
        return starts

    def _add(self, chunk: Chunk, found: list[tuple[Int, Int]]) -> None:
        position = np.concatenate([pair[0] for pair in found])
        code = np.concatenate([pair[1] for pair in found])
        name = chunk.name_at(position)
        ok = (name >= 0) & (code >= 0)
        ok[ok] = ~self._is_absent[code[ok]]
        position, code, name = position[ok], code[ok], name[ok]
        np.bitwise_or.at(self.mask, name, np.uint64(1) << code.astype(np.uint64))
        order = np.argsort(-position, kind="stable")  # the first one is written last
        self.first[name[order]] = code[order]


def _or_complex(text: Bytes, code: Int, position: Int, complexes: Int) -> Int:
    """complex<c10::Half>: complexIN3c104HalfE, complexINS_4HalfE. complexes: where the identifiers end, in order."""
    if not len(complexes):
        return code
    before = complexes[np.maximum(np.searchsorted(complexes, position) - 1, 0)]
    is_argument = (before < position) & (position - before <= len("IN3c10")) & (text[before] == ord("I")) & (text[before + 1] == ord("N"))
    return np.where(is_argument & (_COMPLEX_OF[code] != NONE), _COMPLEX_OF[code], code)


def _is_behind(chunk: Chunk, at: Int, words: Int) -> npt.NDArray[np.bool_]:
    """Whether one of the words, in order, stands before each place in the same name."""
    if not len(words):
        return np.zeros(len(at), np.bool_)
    last = np.searchsorted(words, at) - 1
    result: npt.NDArray[np.bool_] = (last >= 0) & (chunk.name_at(words[np.maximum(last, 0)]) == chunk.name_at(at))
    return result


def _scalars(text: Bytes, at: Int) -> list[tuple[Int, Int]]:
    """Element types of lists such as <int, 6, double, false>: an Int or a Long is an index there, and literals stand between."""
    found = []
    for _ in range(2 * _MOST):
        code = _CODE_OF_LETTER[text[at]].astype(np.int64)
        is_literal = text[at] == ord("L")
        end = at + 2
        for _ in range(4):
            end = end + (is_literal & (text[np.minimum(end, len(text) - 1)] != ord("E")))
        is_literal &= text[np.minimum(end, len(text) - 1)] == ord("E")
        is_element = (code != NONE) & ~np.isin(code, _INDICES) & _AFTER[text[at + 1]]
        found.append((at[is_element], code[is_element]))
        going = is_literal | (code != NONE)
        at = np.minimum(np.where(is_literal, end + 1, at + 1)[going], len(text) - 2)
    return found


def _number(text: Bytes, at: Int) -> Int:
    """The decimal number at each place, ended by E; -1 where there is none."""
    value = np.zeros(len(at), np.int64)
    at = np.minimum(at, len(text) - 4)
    start = at.copy()
    for _ in range(2):
        digit = text[at] - np.uint8(48)
        is_digit = digit < 10
        value = np.where(is_digit, value * 10 + digit, value)
        at = at + is_digit
    return np.where((at > start) & (text[at] == ord("E")), value, NONE)


def _is_grammar(text: Bytes, candidates: Int, at: Int) -> npt.NDArray[np.bool_]:
    """Whether a place lies outside of the identifier before it: the I of IsEmpty is no list of arguments."""
    if not len(candidates):
        return np.ones(len(at), np.bool_)
    index = np.searchsorted(candidates, at) - 1
    ok = index >= 0
    last = candidates[np.maximum(index, 0)]
    length = _length(text, last)
    # 11general_c2r: the 2 stands inside of an identifier, and begins none.
    before = candidates[np.maximum(index - 1, 0)]
    is_covered = (before < last) & (before + _length(text, before) >= last)
    last = np.where(is_covered, before, last)
    length = np.where(is_covered, _length(text, before), length)
    units = (text[last] - np.uint8(48)).astype(np.int64)
    tens = text[np.maximum(last - 1, 0)] - np.uint8(48)
    outside = last + 1 + length <= at
    # _GLOBAL__N_13add: the digit before is the end of another identifier.
    alone = (tens < 10) & (text[np.maximum(last - 2, 0)] == ord("_")) & (last + 1 + units <= at)
    result: npt.NDArray[np.bool_] = ~ok | outside | alone
    return result


def _length(text: Bytes, last: Int) -> Int:
    """The number that ends at each place, of one or two digits."""
    units = (text[last] - np.uint8(48)).astype(np.int64)
    tens = text[np.maximum(last - 1, 0)] - np.uint8(48)
    length: Int = np.where((tens < 10) & (tens > 0), tens.astype(np.int64) * 10 + units, units)
    return length


def _is_allocator(text: Bytes, at: Int) -> npt.NDArray[np.bool_]:
    """SaIlE: std::allocator<long>."""
    result: npt.NDArray[np.bool_] = (text[np.maximum(at - 1, 0)] == ord("a")) & (text[np.maximum(at - 2, 0)] == ord("S"))
    return result


def _is_substituted(text: Bytes, candidates: Int, at: Int) -> npt.NDArray[np.bool_]:
    """SB_IlE: arguments of a template that stood before. Its name is not there to be seen, and it is std::optional more often than not."""
    start = at - 2
    for _ in range(2):
        letter = text[start]
        start = start - (((letter - np.uint8(48)) < 10) | ((letter - np.uint8(65)) < 26) & (letter != ord("S")))
    found = (text[at - 1] == ord("_")) & (text[start] == ord("S"))
    result: npt.NDArray[np.bool_] = found & _is_grammar(text, candidates, start)
    return result


def dtype_texts(mask: npt.NDArray[np.uint64], first: npt.NDArray[np.int8]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """For each name the number of its label, and the labels: Float+Double, the first dtype first."""
    names = list(CODES)
    key = mask | ((first + 1).astype(np.uint64) << np.uint64(56))
    # Most names have none: only the others are sorted.
    some = np.flatnonzero(key)
    ordered = np.sort(key[some])
    keys = np.concatenate([np.zeros(1, np.uint64), ordered[np.diff(ordered, prepend=np.uint64(0)) != 0]])
    ids = np.zeros(len(key), np.int32)
    ids[some] = np.searchsorted(keys, key[some])
    labels = []
    for value in keys.tolist():
        bits, lead = value & ((1 << 56) - 1), (value >> 56) - 1
        codes = [lead, *(code for code in range(len(names)) if bits >> code & 1 and code != lead)] if lead >= 0 else []
        labels.append("+".join(names[code] for code in codes))
    return ids, labels
