"""Find dtypes in mangled names: in template arguments, lambda parameters, classes, enum values.

All names of a chunk are read together, each step with numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.names.rules import Rules
from sizeguard.names.scan.identifiers import Bytes, Chunk, Dictionary, FoundWords
from sizeguard.names.scan.type_grammar import (
    CODE_OF_LETTER,
    COMPLEX_OF,
    MOST,
    NONE,
    Bool,
    Found,
    builtin_types,
    element_types,
    is_allocator,
    is_behind,
    is_grammar,
    is_substituted,
    number_at,
    or_complex,
)
from sizeguard.operators.dtypes import CODE_OF_NAME, NAME_OF_CODE

# Elements of std::vector<long> and the like are sizes and indices; kernels do not compute with
# them.
_CONTAINERS = [
    "ArrayRef",
    "vector",
    "optional",
    "List",
    "initializer_list",
    "SmallVector",
    "SmallVectorImpl",
    "SmallVectorTemplateCommon",
    "SmallVectorTemplateBase",
    "array",
    "allocator",
    "Span",
    "span",
    "unordered_map",
    "function",
    "_Optional_payload",
    "_Optional_base",
    "_Optional_payload_base",
    "Array",
    "Dict",
    "tuple_element",
    "unique_ptr",
    "shared_ptr",
    "OptionalArrayRef",
    "OptionalBase",
    "integer_sequence",
]

# Marks the numbers of number_at that are codes of dtypes.
_IS_CODE = np.isin(np.arange(100), list(NAME_OF_CODE))


@dataclass(frozen=True, slots=True)
class WordKinds:
    """Meanings of a dictionary's words, as columns by the word's number.

    dtype:               code, or NONE
    is_container:        whether its template arguments are not dtypes
    is_driver:           whether it runs any operator's loop
    is_indexed:          whether it is a namespace of templates over elements and an index type
    scalar_type, complex: numbers of these two words
    """

    dtype: npt.NDArray[np.int8]
    is_container: Bool
    is_driver: Bool
    is_indexed: Bool
    scalar_type: int
    complex: int


class DtypeScan:
    """Collect the dtypes of names.

    mask:  uint64 by name; bit c is set if dtype c occurs in it
    first: int8 by name; code of the first dtype, or NONE
    """

    def __init__(self, rules: Rules, count: int) -> None:
        """Prepare for `count` names."""
        self._classes = dict(rules.dtypes)
        self._containers = tuple(dict.fromkeys([*_CONTAINERS, *rules.containers]))
        self._drivers = frozenset(rules.drivers)
        self._indexed = frozenset(rules.indexed)
        named = (*self._classes, *self._containers, *self._drivers, *self._indexed)
        self.words = list(dict.fromkeys([*named, "complex", "ScalarType"]))
        self._is_absent = np.isin(
            np.arange(len(_IS_CODE)), [CODE_OF_NAME[dtype] for dtype in rules.absent]
        )
        self.mask = np.zeros(count, np.uint64)
        self.first = np.full(count, NONE, np.int8)

    def kinds(self, dictionary: Dictionary) -> WordKinds:
        """Look up the meanings of the words of a dictionary, which contains all of `words`."""
        words = dictionary.identifiers
        code = [CODE_OF_NAME[self._classes[w]] if w in self._classes else NONE for w in words]
        return WordKinds(
            dtype=np.array(code, np.int8),
            is_container=np.array([w in self._containers for w in words], np.bool_),
            is_driver=np.array([w in self._drivers for w in words], np.bool_),
            is_indexed=np.array([w in self._indexed for w in words], np.bool_),
            scalar_type=words.index("ScalarType"),
            complex=words.index("complex"),
        )

    def take(self, chunk: Chunk, candidates: Int, words: FoundWords, kinds: WordKinds) -> None:
        """Collect the dtypes of a chunk's names.

        candidates: last digits of the lengths of all identifiers in the chunk, in order
        words:      words of the dictionary in the chunk
        kinds:      meanings of these words
        """
        steps = ChunkDtypes(chunk, candidates, words, kinds)
        found = [steps.classes(), steps.enum_values()]
        lists, complexes = steps.split_complex(steps.argument_lists())
        found.append(complexes)
        lists = steps.without_bounds_of_calls(lists)
        lambdas = steps.without_bounds(steps.lambda_parameters())
        if self._indexed:
            lists, elements = steps.split_indexed(lists)
            found += elements
        for starts in (lists, lambdas, steps.after_classes()):
            found += builtin_types(chunk.text, starts)
        self._add(chunk, found)

    def _add(self, chunk: Chunk, found: list[Found]) -> None:
        """Record the dtypes at these places for the names that contain them."""
        position = np.concatenate([places for places, _ in found])
        code = np.concatenate([codes for _, codes in found])
        name = chunk.name_at(position)
        ok = (name >= 0) & (code >= 0)
        ok[ok] = ~self._is_absent[code[ok]]
        position, code, name = position[ok], code[ok], name[ok]
        np.bitwise_or.at(self.mask, name, np.uint64(1) << code.astype(np.uint64))
        order = np.argsort(-position, kind="stable")  # the first one is written last
        self.first[name[order]] = code[order]


@dataclass(frozen=True)
class ChunkDtypes:
    """Find the dtypes in the names of one chunk; DtypeScan.take describes the fields."""

    chunk: Chunk
    candidates: Int
    words: FoundWords
    kinds: WordKinds

    def classes(self) -> Found:
        """Find classes that are a dtype, such as c10::Half, or a complex of one."""
        rows = self._classes
        position = self.words.position[rows]
        code = self.kinds.dtype[self.words.word[rows]].astype(np.int64)
        return position, or_complex(self.chunk.text, code, position, self._ends_of_complex)

    def after_classes(self) -> Int:
        """Return the places of the next arguments or parameters after these classes."""
        end = self.words.end[self._classes]
        after: Int = end[self._character(end) == ord("E")] + 1
        return after

    def enum_values(self) -> Found:
        """Find values of ScalarType: N3c1010ScalarTypeE6E is Float."""
        is_enum = self.words.word == self.kinds.scalar_type
        rows = np.flatnonzero(is_enum & (self._character(self.words.end) == ord("E")))
        code = number_at(self.chunk.text, self.words.end[rows] + 1)
        ok = (code >= 0) & _IS_CODE[code]
        return self.words.position[rows][ok], code[ok]

    def argument_lists(self) -> Int:
        """Find lists of template arguments that begin with a builtin type, after their I.

        Arguments of containers, and of templates with a hidden name, are left out.
        """
        text = self.chunk.text
        # The letters of builtin types are small. Most lists begin with a capital or a digit.
        is_list = text[1:-1] >= ord("a")
        is_list &= text[:-2] == ord("I")
        starts = self._of_builtin_types(np.flatnonzero(is_list) + 1, opening=1)
        at_i = starts - 1
        is_hidden = self._is_after(starts, self.words.end[self.kinds.is_container[self.words.word]])
        is_hidden &= ~self._is_after(starts, self._ends_of_complex)
        is_hidden |= is_allocator(text, at_i) | is_substituted(self.chunk, self.candidates, at_i)
        return starts[~is_hidden]

    def lambda_parameters(self) -> Int:
        """Find lists of lambda parameters that begin with a builtin type, after their Ul."""
        text = self.chunk.text
        is_lambda = text[1:-2] == ord("l")
        is_lambda &= text[:-3] == ord("U")
        return self._of_builtin_types(np.flatnonzero(is_lambda) + 2, opening=2)

    def split_complex(self, lists: Int) -> tuple[Int, Found]:
        """Separate argument lists such as complex<float> from those of other templates."""
        is_complex = self._is_after(lists, self._ends_of_complex)
        complexes = lists[is_complex]
        code = COMPLEX_OF[CODE_OF_LETTER[self.chunk.text[complexes]]].astype(np.int64)
        return lists[~is_complex], (complexes, code)

    def without_bounds_of_calls(self, lists: Int) -> Int:
        """Skip bounds in the arguments of generic lambdas: clIllE is read as lambda parameters."""
        text = self.chunk.text
        is_call = (text[lists - 3] == ord("c")) & (text[lists - 2] == ord("l"))
        is_call &= is_grammar(self.chunk, self.candidates, lists - 3)
        return np.concatenate([lists[~is_call], self.without_bounds(lists[is_call])])

    def without_bounds(self, lambdas: Int) -> Int:
        """Return where the element types of lambdas begin.

        Longs in front are bounds, such as those of parallel_for and parallel_reduce, unless a
        driver of loops calls the lambda. A lambda with only bounds is left out.
        """
        text = self.chunk.text
        elements = lambdas.copy()
        for _ in range(MOST):
            elements = elements + (text[elements] == ord("l"))
        only_bounds = (text[elements] == ord("E")) & (elements > lambdas)
        name = self.chunk.name_at(lambdas)
        is_driven = self._is_driven[np.where(name >= 0, name - self.chunk.first, NONE)]
        starts: Int = np.where(is_driven, lambdas, elements)[~only_bounds | is_driven]
        return starts

    def split_indexed(self, lists: Int) -> tuple[Int, list[Found]]:
        """Separate the elements of argument lists with an index type from other lists."""
        text = self.chunk.text
        spaces = self.words.position[self.kinds.is_indexed[self.words.word]]
        is_indexed = is_behind(self.chunk, lists, spaces)
        literals = np.flatnonzero((text[:-2] == ord("I")) & (text[1:-1] == ord("L"))) + 1
        literals = literals[is_behind(self.chunk, literals, spaces)]
        literals = literals[is_grammar(self.chunk, self.candidates, literals - 1)]
        starts = np.concatenate([lists[is_indexed], literals])
        return lists[~is_indexed], element_types(text, starts)

    @cached_property
    def _classes(self) -> Int:
        return np.flatnonzero(self.kinds.dtype[self.words.word] != NONE)

    @cached_property
    def _ends_of_complex(self) -> Int:
        ends: Int = self.words.end[self.words.word == self.kinds.complex]
        return ends

    @cached_property
    def _mangled(self) -> Int:
        """Starts of mangled names, found by _Z: IsNan and IsEventReady are functions of C."""
        text = self.chunk.text
        return np.flatnonzero((text[1:] == ord("Z")) & (text[:-1] == ord("_")))

    @cached_property
    def _is_driven(self) -> Bool:
        """For each name of the chunk, whether it names a driver; last, False for other places."""
        is_driven = np.zeros(len(self.chunk.start) + 1, np.bool_)
        is_driven[self.words.name[self.kinds.is_driver[self.words.word]] - self.chunk.first] = True
        return is_driven

    def _character(self, at: Int) -> Bytes:
        """Return the character at each place, even if a damaged name leads past the text."""
        return self.chunk.text[np.minimum(at, len(self.chunk.text) - 1)]

    def _of_builtin_types(self, starts: Int, opening: int) -> Int:
        """Keep lists of mangled names that begin with a builtin type after `opening` bytes.

        The characters of identifiers are no types.
        """
        text = self.chunk.text
        starts = starts[CODE_OF_LETTER[text[starts]] != NONE]
        starts = starts[is_behind(self.chunk, starts, self._mangled)]
        return starts[is_grammar(self.chunk, self.candidates, starts - opening)]

    def _is_after(self, starts: Int, ends: Int) -> Bool:
        """Return which argument lists follow a word that ends at one of the places."""
        is_end = np.zeros(len(self.chunk.text), np.bool_)
        is_end[np.minimum(ends, len(is_end) - 1)] = True
        return is_end[starts - 1]


def dtype_texts(
    mask: npt.NDArray[np.uint64], first: npt.NDArray[np.int8]
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Make a label such as Float+Double for each name, the first dtype first.

    Returns indices into the labels by name, and the labels.
    """
    key = mask | ((first + 1).astype(np.uint64) << np.uint64(56))
    some = np.flatnonzero(key)  # most names have none, so only the others are sorted
    keys = np.concatenate([np.zeros(1, np.uint64), distinct(key[some])])
    ids = np.zeros(len(key), np.int32)
    ids[some] = np.searchsorted(keys, key[some])
    return ids, [_dtype_text(value & ((1 << 56) - 1), (value >> 56) - 1) for value in keys.tolist()]


def _dtype_text(bits: int, first: int) -> str:
    if first < 0:
        return ""
    others = [code for code in NAME_OF_CODE if bits >> code & 1 and code != first]
    return "+".join(NAME_OF_CODE[code] for code in (first, *others))
