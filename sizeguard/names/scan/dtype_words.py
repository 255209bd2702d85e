"""Words of mangled names that tell of dtypes, and labels for the dtypes of a name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.distinct import distinct
from sizeguard.names.rules import Rules
from sizeguard.operators.dtypes import NAME_OF_CODE

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

# Bits of the meanings of a word, as in compiled/names.h.
CONTAINER, COMPLEX, DRIVER, INDEXED, SCALAR_TYPE = 2, 4, 8, 16, 32


def dtype_words(rules: Rules) -> dict[str, int]:
    """Return the words that matter for dtypes, with the bits of their meanings.

    Container: its template arguments are not dtypes. Driver: it runs any operator's loop. Indexed:
    a namespace of templates over elements and an index type.
    """
    found: dict[str, int] = {}
    for words, bit in (
        ([name for name, _ in rules.dtypes], 0),
        ((*_CONTAINERS, *rules.containers), CONTAINER),
        (rules.drivers, DRIVER),
        (rules.indexed, INDEXED),
        (("complex",), COMPLEX),
        (("ScalarType",), SCALAR_TYPE),
    ):
        for word in words:
            found[word] = found.get(word, 0) | bit
    return found


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
