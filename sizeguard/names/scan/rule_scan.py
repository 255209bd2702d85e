"""Scan mangled names for the namespaces, words and dtypes that rules name."""

from __future__ import annotations

import numpy as np

from sizeguard.base.parallel import in_threads
from sizeguard.columns.texts import Int, Texts
from sizeguard.names.demangle import mangled
from sizeguard.names.rules import Rules
from sizeguard.names.scan.dtype_scan import DtypeScan
from sizeguard.names.scan.identifiers import (
    Bool,
    Chunk,
    Dictionary,
    FoundWords,
    beginnings,
    following,
)
from sizeguard.names.scan.mention_tables import NONE, mention_tables, stands
from sizeguard.names.scan.packed_names import PackedNames
from sizeguard.names.scan.rule_hits import ChunkHits, Members, RuleHits, Scanned

_UNDERSCORE = ord("_")
_THUNK = np.isin(np.arange(256), np.frombuffer(b"hvc", np.uint8))


def scan_names(names: Texts, rules: Rules, *, dtypes: bool = True) -> Scanned:
    """Scan names that are sorted by place, without duplicates.

    dtypes: whether to search for dtypes, a fifth of the time
    """
    is_inside = np.zeros(len(names), np.bool_)
    is_inside[1:] = names.start[1:] < np.maximum.accumulate(names.end)[:-1]
    outside, inside = np.flatnonzero(~is_inside), np.flatnonzero(is_inside)
    # Names that end other names (tail merging) overlap them: 1,604 of the 489,687 in
    # libtorch_cpu.so 2.12.
    packed = PackedNames.of(names.take(outside), names.take(inside))
    scan = _Scan(rules, len(names), dtypes=dtypes)
    found = [ChunkHits.nothing(), *in_threads(scan.take, packed.chunks())]
    number, *columns = (
        np.concatenate(column)
        for column in zip(*(row for each in found for row in each.members), strict=True)
    )
    name, rule, start, is_mention = (
        np.concatenate(column)
        for column in zip(*(row for each in found for row in each.rules), strict=True)
    )
    order = np.argsort(start, kind="stable")  # names are in the order of their places
    mask, first = scan.dtypes.mask, scan.dtypes.first
    if len(inside):
        which = np.concatenate([outside, inside])
        number, name = which[number], which[name]
        if dtypes:
            mask[which], first[which] = mask.copy(), first.copy()
    hits = RuleHits(name[order], rule[order], start[order], is_mention[order].astype(bool))
    return Scanned(packed, scan.scopes, Members(number, *columns), hits, mask, first)


class _Scan:
    def __init__(self, rules: Rules, count: int, *, dtypes: bool) -> None:
        self.scopes = tuple(dict.fromkeys(rule.within for rule in rules.rules if rule.within))
        numbered = list(enumerate(rules.rules))
        namespaces = [(i, rule.namespace) for i, rule in numbered if rule.namespace]
        mentions = [(i, rule.namespace) for i, rule in numbered if rule.namespace and rule.mentions]
        words = [
            (i, rule.identifier) for i, rule in numbered if rule.identifier and not rule.within
        ]
        self.marks = [mark.encode()[-8:] for mark in rules.marks]
        self.prefixes = [(i, rule.prefix.encode()) for i, rule in numbered if rule.prefix]
        self.dtypes = DtypeScan(rules, count if dtypes else 0)
        wanted = [
            *(path[-1] for path in self.scopes),
            *rules.transparent,
            *(path[-1] for _, path in mentions),
            *(word for _, word in words),
            *(self.dtypes.words if dtypes else ()),
        ]
        self.dictionary = Dictionary(list(dict.fromkeys(wanted)))
        self.number = {word: i for i, word in enumerate(self.dictionary.identifiers)}
        self.kinds = self.dtypes.kinds(self.dictionary) if dtypes else None
        self.is_transparent = np.zeros(len(self.number), bool)
        self.is_transparent[[self.number[word] for word in rules.transparent]] = True
        self.leads = _Leads(namespaces)
        self.tables = mention_tables(mentions, self.number)
        self.word_tables = mention_tables([(i, (word,)) for i, word in words], self.number)

    def take(self, chunk: Chunk) -> ChunkHits:
        """Scan a chunk. Threads may scan different chunks at the same time."""
        hits = ChunkHits([], [])
        candidates = chunk.identifiers()
        words = self.dictionary.words_in(chunk, candidates)
        self._members(hits, chunk, words)
        self._mentions(hits, chunk, words)
        self.leads.find(hits, chunk, candidates)
        self._prefixes(hits, chunk)
        if self.kinds is not None:
            self.dtypes.take(chunk, candidates, words, self.kinds)
        return hits

    def _members(self, hits: ChunkHits, chunk: Chunk, words: FoundWords) -> None:
        """Find the identifiers after a namespace that rules name.

        This includes identifiers after a transparent namespace later in the same name.
        """
        passes = self.is_transparent[words.word]
        scope, is_sure = self._scopes(chunk, words)
        _inherit(scope, words.name, passes, is_sure | ~passes)
        # at::(anonymous namespace) as S5_12_GLOBAL__N_1: the identifier after it is a member, too.
        _inherit(scope, words.name, passes, scope != NONE)

        rows = np.flatnonzero(scope != NONE)
        inner, scope = words.at(rows), scope[rows]
        start, length = following(chunk, inner.end)
        # A transparent namespace is not a member.
        is_namespace = np.zeros(len(chunk.text), bool)
        is_namespace[words.position[passes]] = True
        ok = (start >= 0) & ~is_namespace[np.maximum(start - 1, 0)]
        hits.add_members(chunk, inner.name[ok], scope[ok], start[ok], length[ok])
        if self.marks and len(rows):
            self._substituted(hits, chunk, inner, scope)

    def _scopes(self, chunk: Chunk, words: FoundWords) -> tuple[Int, Bool]:
        """Return the scope that each word names, NONE if there is none, and whether it is certain.

        It is uncertain if a substitution precedes the word.
        """
        scope = np.full(len(words.word), NONE, np.int64)
        is_sure = np.zeros(len(words.word), bool)
        for i, path in enumerate(self.scopes):
            here = np.flatnonzero((words.word == self.number[path[-1]]) & (scope == NONE))
            found = stands(chunk, words.position[here], words.name[here], path)
            scope[here[found != 0]] = i
            is_sure[here[found == 1]] = True
        return scope, is_sure

    def _substituted(self, hits: ChunkHits, chunk: Chunk, words: FoundWords, scope: Int) -> None:
        """Find members of a namespace that occurred earlier in the name: NS3_10add_kernelE.

        Only identifiers with the suffix of a member count.

        words, scope: words that name a scope
        """
        at = self._after_substitutions(chunk)
        row = np.searchsorted(words.position, at) - 1
        at, row = at[row >= 0], row[row >= 0]
        end = chunk.end[words.name[row] - chunk.first]
        same = at < end
        at, row, end = at[same], row[same], end[same]
        start, length = following(chunk, at)
        last = chunk.words()[np.maximum(start + length - 8, 0)]
        ok = np.zeros(len(start), bool)
        for mark in self.marks:
            shift = np.uint64(8 * (8 - len(mark)))
            is_mark = last >> shift == np.uint64(int.from_bytes(mark, "little"))
            ok |= is_mark & (length > len(mark))
        # The 1 of 12_GLOBAL__N_125add is not of a length; 125 bytes may leave the name.
        ok &= (start >= 0) & (start + length <= end)
        hits.add_members(chunk, words.name[row[ok]], scope[row[ok]], start[ok], length[ok])

    @staticmethod
    def _after_substitutions(chunk: Chunk) -> Int:
        """Find identifiers' lengths, or an L before them, after a substitution (S3_, SB_)."""
        text = chunk.text
        is_begin = text[2:-1] == ord("L")
        is_begin |= chunk.is_digit[2:-1]
        is_begin &= text[1:-2] == _UNDERSCORE
        at = np.flatnonzero(is_begin) + 2
        return at[chunk.is_digit[at - 2] | ((text[at - 2] - np.uint8(65)) < 26)]

    def _mentions(self, hits: ChunkHits, chunk: Chunk, words: FoundWords) -> None:
        for tables, is_mention in ((self.tables, True), (self.word_tables, False)):
            for table in tables:
                rows, rule = table.find(chunk, words)
                start = words.position[rows] + chunk.offset
                hits.add_rules(rule, words.name[rows], start, is_mention)

    def _prefixes(self, hits: ChunkHits, chunk: Chunk) -> None:
        """Find the rules for prefixes of names that are not mangled."""
        text = chunk.text
        is_mangled = (text[chunk.start] == _UNDERSCORE) & (text[chunk.start + 1] == ord("Z"))
        plain = np.flatnonzero(~is_mangled)
        start = chunk.start[plain]
        length = chunk.end[plain] - start
        for number, rows in beginnings(chunk, start, [raw for _, raw in self.prefixes]):
            rule, raw = self.prefixes[number]
            here = plain[rows[length[rows] >= len(raw)]]
            hits.add_rules(rule, here + chunk.first, chunk.start[here] + chunk.offset)


def _inherit(scope: Int, name: Int, passes: Bool, gives: Bool) -> None:
    """Give transparent words the scope of the previous word in the same name.

    scope:  by word; NONE if there is none; changed in place
    passes: transparent words
    gives:  words that pass on their own scope, if any, and do not receive one
    """
    own = (scope != NONE) & gives
    last = np.maximum.accumulate(np.where(own, np.arange(len(scope)), NONE))
    rows = np.flatnonzero(passes & ~own & (last >= 0))
    rows = rows[name[last[rows]] == name[rows]]
    scope[rows] = scope[last[rows]]


class _Leads:
    """Rules for the namespaces that names begin with."""

    def __init__(self, namespaces: list[tuple[int, tuple[str, ...]]]) -> None:
        self.std = next((rule for rule, path in namespaces if path == ("std",)), NONE)
        first: dict[bytes, int] = {}
        for rule, path in namespaces:
            if path != ("std",):
                first.setdefault(mangled(path).encode(), rule)
        # The deepest namespace comes last, and so replaces those around it.
        self.paths = sorted(first, key=len)
        self.rules = [first[path] for path in self.paths]

    def find(self, hits: ChunkHits, chunk: Chunk, candidates: Int) -> None:
        """Find the deepest namespace that a rule names, for each name that begins with one.

        candidates: last digits of the lengths of all identifiers, in order

        A mangled path is one text (2at6native), which a name with this namespace contains from its
        first length on.
        """
        if not len(candidates):
            return
        names, at = _first_lengths(chunk, candidates)
        text = chunk.text
        is_std = (text[np.maximum(at - 2, 0)] == ord("S")) & (
            text[np.maximum(at - 1, 0)] == ord("t")
        )
        deepest = np.where(is_std, self.std, NONE)
        others = np.flatnonzero(~is_std)
        for number, rows in beginnings(chunk, at[others], self.paths):
            deepest[others[rows]] = self.rules[number]
        hit = np.flatnonzero(deepest != NONE)
        hits.add_rules(
            deepest[hit], names[hit] + chunk.first, chunk.start[names[hit]] + chunk.offset
        )


def _first_lengths(chunk: Chunk, candidates: Int) -> tuple[Int, Int]:
    """Return a chunk's mangled names that contain an identifier, and where its length begins."""
    text = chunk.text
    index = np.minimum(np.searchsorted(candidates, chunk.start), len(candidates) - 1)
    # _ZThn16_N2at: the first digits are a thunk's offset.
    is_thunk = (text[chunk.start + 2] == ord("T")) & _THUNK[text[chunk.start + 3]]
    at = candidates[np.minimum(index + is_thunk, len(candidates) - 1)]
    is_mangled = (text[chunk.start] == _UNDERSCORE) & (text[chunk.start + 1] == ord("Z"))
    names = np.flatnonzero((at < chunk.end) & (at >= chunk.start) & is_mangled)
    at = at[names]
    for _ in range(2):
        at = np.where((text[np.maximum(at - 1, 0)] - np.uint8(48)) < 10, at - 1, at)
    return names, at
