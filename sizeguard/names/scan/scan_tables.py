"""Rules as columns that compiled/scan.c reads; compiled/names.h describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.columns.compiled_code import addresses
from sizeguard.columns.texts import Int32
from sizeguard.names.demangle import mangled
from sizeguard.names.rules import Path, Rules
from sizeguard.names.scan.dtype_words import dtype_words
from sizeguard.operators.dtypes import (
    CODE_OF_NAME,
    COMPLEX_OF_REAL,
    NAME_OF_CODE,
    NAME_OF_LETTER,
)

Column = npt.NDArray[np.generic]

NONE = -1
_TRANSPARENT = 1  # a bit of the meanings of a word, besides those of dtype_words
_IS_SCOPE, _IS_MENTION, _IS_WORD = range(3)
_WORD_BITS, _LEAD_BITS, _PREFIX_BITS = 12, 8, 8
_CODES = 128  # more than any code, and than any number of two digits
# Bytes of a path, or of a suffix, that are compared.
_COMPARED = 8
# Characters that may follow a builtin type in a list of template arguments or parameters.
_AFTER = b"ENSLZTKRPXFJIDUsoncvzw123456789" + "".join(NAME_OF_LETTER).encode()
# The longest identifier that is looked up, in bytes; zeros of this length follow each name.
_LONGEST = 63


class ScanTables:
    """Columns of a set of rules. scopes: namespaces whose members rules name."""

    def __init__(self, rules: Rules, *, dtypes: bool) -> None:
        """Make the columns. Raises ValueError for identifiers of 1 or of more than 63 bytes.

        dtypes: whether the words that matter for dtypes are looked for
        """
        self.scopes = tuple(dict.fromkeys(rule.within for rule in rules.rules if rule.within))
        uses = _uses(rules, self.scopes)
        meanings = dtype_words(rules) if dtypes else {}
        words = list(
            dict.fromkeys([*(path[-1] for *_, path in uses), *rules.transparent, *meanings])
        )
        if any(not 2 <= len(word.encode()) <= _LONGEST for word in words):
            raise ValueError("an identifier of 2 to 63 characters is expected")
        number = {word: i for i, word in enumerate(words)}
        uses.sort(key=lambda use: number[use[2][-1]])  # stable: of a word, in the order of rules
        self.uses = len(uses)
        leads, std_rule = _leads(rules)
        prefixes = [(i, r.prefix.encode()) for i, r in enumerate(rules.rules) if r.prefix]
        self._columns: list[Column] = [
            *_lists([word.encode() for word in words], _slot_of_word, _WORD_BITS),
            *_lists([path for _, path in leads], _slot_of_lead, _LEAD_BITS),
            # The first rule of equal places counts, and a list begins with its last text.
            *_lists([raw for _, raw in reversed(prefixes)], _slot_of_prefix, _PREFIX_BITS),
            np.array([rule for rule, _ in leads], np.int32),
            np.array([rule for rule, _ in reversed(prefixes)], np.int32),
            np.array([std_rule], np.int32),
            *_meanings(words, rules, meanings),
            *_use_columns(uses, [number[path[-1]] for *_, path in uses], len(words)),
            *_joined([*(mark.encode()[-_COMPARED:] for mark in rules.marks), b""]),
            *_grammar(rules),
        ]
        self.pointers = addresses(*self._columns)


Use = tuple[int, int, Path]  # kind, number of a scope or rule, words of which the last is looked up


def _uses(rules: Rules, scopes: Sequence[Path]) -> list[Use]:
    numbered = list(enumerate(rules.rules))
    return [
        *((_IS_SCOPE, i, path) for i, path in enumerate(scopes)),
        *((_IS_MENTION, i, r.namespace) for i, r in numbered if r.namespace and r.mentions),
        *((_IS_WORD, i, (r.identifier,)) for i, r in numbered if r.identifier and not r.within),
    ]


def _use_columns(uses: Sequence[Use], words: Sequence[int], count: int) -> list[Column]:
    """Return the columns of uses, which are sorted by word."""
    before = [mangled(path[:-1]).encode()[-_COMPARED:] for *_, path in uses]
    outer = [mangled(path[:1]).encode() for *_, path in uses]
    before_at, before_bytes = _joined(before)
    outer_at, outer_bytes = _joined(outer)
    return [
        np.searchsorted(np.array(words, np.int64), np.arange(count + 1)).astype(np.int32),
        np.array([kind for kind, _, _ in uses], np.int32),
        np.array([value for _, value, _ in uses], np.int32),
        np.array([len(path[-1].encode()) > 9 for *_, path in uses], np.int32),
        before_at,
        outer_at,
        before_bytes,
        outer_bytes,
    ]


def _leads(rules: Rules) -> tuple[list[tuple[int, bytes]], int]:
    """Return the rule and the mangled path of each leading namespace, and the rule of std.

    The deepest namespace comes last, and so is compared first.
    """
    std = NONE
    first: dict[bytes, int] = {}
    for number, rule in enumerate(rules.rules):
        if rule.namespace == ("std",):
            std = number if std == NONE else std
        elif rule.namespace:
            first.setdefault(mangled(rule.namespace).encode(), number)
    return [(first[path], path) for path in sorted(first, key=len)], std


def _meanings(words: Sequence[str], rules: Rules, meanings: dict[str, int]) -> list[Column]:
    transparent = frozenset(rules.transparent)
    classes = dict(rules.dtypes) if meanings else {}
    return [
        np.array([meanings.get(w, 0) | (w in transparent) * _TRANSPARENT for w in words], np.uint8),
        np.array([CODE_OF_NAME[classes[w]] if w in classes else NONE for w in words], np.int8),
    ]


def _grammar(rules: Rules) -> list[Column]:
    """Return what characters and codes mean in lists of types."""
    code_of_letter = np.full(256, NONE, np.int8)
    for letter, dtype in NAME_OF_LETTER.items():
        code_of_letter[ord(letter)] = CODE_OF_NAME[dtype]
    complex_of = np.full(_CODES, NONE, np.int8)
    for real, dtype in COMPLEX_OF_REAL.items():
        complex_of[CODE_OF_NAME[real]] = CODE_OF_NAME[dtype]
    return [
        code_of_letter,
        complex_of,
        _flags(_AFTER, 256),
        _flags(NAME_OF_CODE, _CODES),
        _flags((CODE_OF_NAME[dtype] for dtype in rules.absent), _CODES),
        _flags((CODE_OF_NAME["Int"], CODE_OF_NAME["Long"]), _CODES),
    ]


def _flags(set_ones: Iterable[int], count: int) -> npt.NDArray[np.uint8]:
    flags = np.zeros(count, np.uint8)
    flags[list(set_ones)] = 1
    return flags


def _lists(texts: Sequence[bytes], slot_of: Callable[[bytes], int], bits: int) -> list[Column]:
    """Return the lists of texts with the same hash; the last text comes first."""
    heads = np.full(1 << bits, NONE, np.int32)
    following = np.full(len(texts), NONE, np.int32)
    for i, text in enumerate(texts):
        slot = slot_of(text)
        following[i] = heads[slot]
        heads[slot] = i
    return [heads, following, *_joined(texts)]


def _slot_of_word(word: bytes) -> int:
    key = int.from_bytes(b"%d%b" % (len(word) % 10, word[:2]), "little")
    return ((key << 8) * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - _WORD_BITS)


def _slot_of_lead(path: bytes) -> int:
    return (path[0] * 31 + path[1]) & ((1 << _LEAD_BITS) - 1)


def _slot_of_prefix(prefix: bytes) -> int:
    return prefix[0]


def _joined(texts: Sequence[bytes]) -> tuple[Int32, npt.NDArray[np.uint8]]:
    """Return where each text begins in their bytes, and last where they end; and the bytes."""
    at = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=at[1:])
    return at, np.frombuffer(b"".join(texts), np.uint8)
