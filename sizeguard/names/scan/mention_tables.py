"""Find rules by a word in a name: the last word of a namespace, or an identifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int
from sizeguard.names.demangle import mangled
from sizeguard.names.rules import Path
from sizeguard.names.scan.identifiers import Chunk, FoundWords

NONE = -1
_UNDERSCORE = ord("_")


class MentionTable:
    """Rules for namespaces that names mention, or for identifiers (paths of one word).

    A word has one rule in a table; `mention_tables` makes as many tables as needed.
    """

    def __init__(self, rules: Sequence[tuple[int, Path]], number: Mapping[str, int]) -> None:
        """Fill a table: rules are numbers, with paths that end in different words.

        number: numbers of the dictionary's words
        """
        self.rule = np.full(len(number), NONE, np.int64)
        self.before = np.zeros(len(number), np.uint64)
        self.shift = np.zeros(len(number), np.uint64)
        self.has_tens = np.zeros(len(number), np.int64)
        self.is_path = np.zeros(len(number), np.bool_)
        self.outermost = [b""] * len(number)
        for rule, path in rules:
            word = number[path[-1]]
            before = mangled(path[:-1]).encode()[-8:]
            self.rule[word] = rule
            self.is_path[word] = bool(before)
            self.before[word] = int.from_bytes(before, "little")
            self.shift[word] = 8 * (8 - len(before)) if before else 0
            self.has_tens[word] = len(path[-1]) > 9
            self.outermost[word] = mangled(path[:1]).encode() if before else b""

    def find(self, chunk: Chunk, words: FoundWords) -> tuple[Int, Int]:
        """Return rows of words that match a rule, and the rules.

        The words before a path's last word must precede it, or a substitution (S3_) that hides
        them if the name has the first of them before.
        """
        rows = np.flatnonzero(self.rule[words.word] != NONE)
        kind, at = words.word[rows], words.position[rows]
        start = at - self.has_tens[kind]
        found = chunk.words()[np.maximum(start - 8, 0)] >> self.shift[kind]
        fits = ~self.is_path[kind]
        fits |= (start >= 8) & (found == self.before[kind])
        hidden = np.flatnonzero(~fits & (chunk.text[np.maximum(start - 1, 0)] == _UNDERSCORE))
        outermost = [self.outermost[word] for word in kind[hidden].tolist()]
        fits[hidden] = spelled_before(chunk, start[hidden], words.name[rows[hidden]], outermost)
        return rows[fits], self.rule[kind[fits]]


def mention_tables(
    rules: Sequence[tuple[int, Path]], number: Mapping[str, int]
) -> list[MentionTable]:
    """Make tables of all rules, with the first rule of each word in the first table."""
    tables = []
    while rules:
        first: dict[str, tuple[int, Path]] = {}
        for pair in rules:
            first.setdefault(pair[1][-1], pair)
        tables.append(MentionTable(list(first.values()), number))
        rules = [pair for pair in rules if first[pair[1][-1]] is not pair]
    return tables


def spelled_before(
    chunk: Chunk, position: Int, name: Int, words: Sequence[bytes]
) -> npt.NDArray[np.bool_]:
    """Return whether each name spells a word before a position.

    A substitution stands for scopes that the name spells before it: S0_7kernels is a member of
    sg only if 2sg precedes it.

    words: with their lengths, one for each position
    """
    text = chunk.text.data
    begin = chunk.start[name - chunk.first]
    return np.array(
        [
            bytes(text[first:end]).find(word) >= 0
            for first, end, word in zip(begin.tolist(), position.tolist(), words, strict=True)
        ],
        np.bool_,
    )


def stands(chunk: Chunk, position: Int, name: Int, path: Path) -> npt.NDArray[np.int8]:
    """Return whether the words before a path's last one precede each position.

    Returns 1 if they do, 2 for a substitution (S3_) that can stand for them, else 0.

    name: that has each position
    """
    before = mangled(path[:-1]).encode()[-8:]
    if not before:
        return np.ones(len(position), np.int8)
    start = position - (len(path[-1]) > 9)
    words = chunk.words()
    found = words[np.maximum(start - 8, 0)] >> np.uint64(8 * (8 - len(before)))
    is_same = (start >= 8) & (found == np.uint64(int.from_bytes(before, "little")))
    kind: npt.NDArray[np.int8] = is_same.astype(np.int8)
    hidden = np.flatnonzero(~is_same & (chunk.text[np.maximum(start - 1, 0)] == _UNDERSCORE))
    outermost = [mangled(path[:1]).encode()] * len(hidden)
    kind[hidden] = 2 * spelled_before(chunk, start[hidden], name[hidden], outermost)
    return kind
