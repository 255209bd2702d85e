"""Turns mangled names into the places where a preset's namespaces, words and dtypes stand in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.dtype_scan import DtypeScan
from sizeguard.attribution.preset import Path, Preset
from sizeguard.attribution.scan import Chunk, Dictionary, Words, chunks, fingerprint, fingerprints, following, mask, side_by_side
from sizeguard.formats.texts import Int, Texts
from sizeguard.parallel import in_threads

NONE = -1
_UNDERSCORE = ord("_")
_THUNK = np.isin(np.arange(256), np.frombuffer(b"hvc", np.uint8))


@dataclass(frozen=True, slots=True)
class Members:
    """Identifiers that are members of a namespace that rules name, in order of name and place.

    scope: which namespace; hash: of the identifier; start, length: its text in the names' buffer.
    """

    name: Int
    scope: Int
    hash: Words
    start: Int
    length: Int


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that fit a name by themselves, in order of name and place. is_mention: the namespace stands inside, not in front."""

    name: Int
    rule: Int
    start: Int
    is_mention: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scanned:
    """buffers: places are in both, one behind the other."""

    buffers: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]
    scopes: tuple[Path, ...]
    members: Members
    rules: Rules
    dtypes: npt.NDArray[np.uint64]
    first_dtype: npt.NDArray[np.int8]

    @property
    def places(self) -> int:
        return sum(map(len, self.buffers))

    def texts(self, start: Int, length: Int) -> list[bytes]:
        contents = [np.ascontiguousarray(buffer).data for buffer in self.buffers]
        first = len(self.buffers[0])
        pairs = zip(start.tolist(), length.tolist(), strict=True)
        return [bytes(contents[0][a : a + n] if a < first else contents[1][a - first : a - first + n]) for a, n in pairs]


def scan_names(names: Texts, preset: Preset) -> Scanned:
    """names: sorted by their place, each once."""
    is_inside = np.zeros(len(names), np.bool_)
    is_inside[1:] = names.start[1:] < np.maximum.accumulate(names.end)[:-1]
    apart, inside = np.flatnonzero(~is_inside), np.flatnonzero(is_inside)
    # Names that end others (tail merging), which lie inside of them, are copied: 1,604 of the 489,687 of libtorch_cpu.so 2.12.
    copies = side_by_side(names.take(inside))
    scan = _Scan(preset, len(names))
    found = [_Found.nothing(), *in_threads(scan.take, _chunks(names.take(apart), copies))]
    number, *columns = (np.concatenate(column) for column in zip(*(row for each in found for row in each.members), strict=True))
    name, rule, start, is_mention = (np.concatenate(column) for column in zip(*(row for each in found for row in each.rules), strict=True))
    order = np.argsort(start, kind="stable")  # names are in the order of their places
    mask, first = scan.dtypes.mask, scan.dtypes.first
    if len(inside):
        which = np.concatenate([apart, inside])
        number, name = which[number], which[name]
        mask[which], first[which] = mask.copy(), first.copy()
    rules = Rules(name[order], rule[order], start[order], is_mention[order].astype(bool))
    return Scanned((names.buffer, copies.buffer), scan.scopes, Members(number, *columns), rules, mask, first)


def _chunks(apart: Texts, copies: Texts) -> Iterator[Chunk]:
    """Of both; the second ones are numbered behind the first, and so are their places."""
    yield from chunks(apart)
    for chunk in chunks(copies):
        yield replace(chunk, offset=chunk.offset + len(apart.buffer), first=chunk.first + len(apart))


@dataclass(frozen=True, slots=True)
class _Found:
    """What a chunk holds: the columns of Members and of Rules, in pieces."""

    members: list[tuple[Int, Int, Words, Int, Int]]
    rules: list[tuple[Int, Int, Int, Int]]

    @staticmethod
    def nothing() -> _Found:
        none = np.zeros(0, np.int64)
        return _Found([(none, none, np.zeros(0, np.uint64), none, none)], [(none, none, none, none)])

    def keep(self, chunk: Chunk, name: Int, scope: Int, start: Int, length: Int) -> None:
        """Members."""
        self.members.append((name, scope, fingerprints(chunk, start, length), start + chunk.offset, length))

    def add(self, rule: int | Int, name: Int, start: Int, is_mention: bool = False) -> None:
        if len(name):
            rules = np.full(len(name), rule, np.int64) if isinstance(rule, int) else rule
            self.rules.append((name, rules, start, np.full(len(name), is_mention, np.int64)))


class _Mentions:
    """Rules for namespaces that names mention, and for identifiers: the first of each word here, others in a table of their own."""

    def __init__(self, rules: Sequence[tuple[int, Path]], number: Mapping[str, int]) -> None:
        """Paths have different last words."""
        self.rule = np.full(len(number), NONE, np.int64)
        self.before = np.zeros(len(number), np.uint64)
        self.shift = np.zeros(len(number), np.uint64)
        self.has_tens = np.zeros(len(number), np.int64)
        self.is_path = np.zeros(len(number), np.bool_)
        for rule, path in rules:
            word = number[path[-1]]
            before = mangled(path[:-1]).encode()[-8:]
            self.rule[word], self.is_path[word] = rule, bool(before)
            self.before[word], self.shift[word] = int.from_bytes(before, "little"), 8 * (8 - len(before)) if before else 0
            self.has_tens[word] = len(path[-1]) > 9

    @staticmethod
    def tables(rules: Sequence[tuple[int, Path]], number: Mapping[str, int]) -> list[_Mentions]:
        tables = []
        while rules:
            first: dict[str, tuple[int, Path]] = {}
            for pair in rules:
                first.setdefault(pair[1][-1], pair)
            tables.append(_Mentions(list(first.values()), number))
            rules = [pair for pair in rules if first[pair[1][-1]] is not pair]
        return tables

    def find(self, chunk: Chunk, position: Int, word: Int) -> tuple[Int, Int]:
        """Which of the words found in a chunk a rule fits, and which rule: see _stands."""
        rows = np.flatnonzero(self.rule[word] != NONE)
        kind, at = word[rows], position[rows]
        start = at - self.has_tens[kind]
        found = chunk.words()[np.maximum(start - 8, 0)] >> self.shift[kind]
        fits = ~self.is_path[kind]
        fits |= (start >= 8) & (found == self.before[kind])
        fits |= chunk.text[np.maximum(start - 1, 0)] == _UNDERSCORE
        return rows[fits], self.rule[kind[fits]]


class _Scan:
    def __init__(self, preset: Preset, count: int) -> None:
        self.scopes = tuple(dict.fromkeys(rule.within for rule in preset.rules if rule.within))
        # Rules by number, each with its condition.
        numbered = list(enumerate(preset.rules))
        self.namespaces = [(i, rule.namespace) for i, rule in numbered if rule.namespace]
        self.mentions = [(i, rule.namespace) for i, rule in numbered if rule.namespace and rule.mentions]
        self.words = [(i, rule.identifier) for i, rule in numbered if rule.identifier and not rule.within]
        self.marks = [mark.encode()[-8:] for mark in preset.marks]
        self.prefixes = [(i, rule.prefix.encode()) for i, rule in numbered if rule.prefix]
        self.dtypes = DtypeScan(preset, count)
        wanted = [path[-1] for path in self.scopes] + list(preset.transparent) + [path[-1] for _, path in self.mentions]
        self.dictionary = Dictionary(list(dict.fromkeys(wanted + [word for _, word in self.words] + self.dtypes.words)))
        self.number = {word: i for i, word in enumerate(self.dictionary.identifiers)}
        self.kinds = self.dtypes.kinds(self.dictionary)
        self.is_transparent = np.zeros(len(self.number), bool)
        self.is_transparent[[self.number[word] for word in preset.transparent]] = True
        self.leads = sorted((fingerprint("std" if path == ("std",) else mangled(path)), i) for i, path in self.namespaces)
        self.depth = max((len(path) for _, path in self.namespaces), default=0)
        outer = {mangled(path[:k]) for _, path in self.namespaces for k in range(1, len(path))}
        self.outer = np.array([fingerprint(text) for text in sorted(outer)], np.uint64)
        self.outer.sort()
        self.lead_keys = np.array([key for key, _ in self.leads], np.uint64)
        self.lead_rules = np.array([rule for _, rule in self.leads], np.int64)
        self.std = fingerprint("std")
        self.tables = _Mentions.tables(self.mentions, self.number)
        self.word_tables = _Mentions.tables([(i, (word,)) for i, word in self.words], self.number)

    def take(self, chunk: Chunk) -> _Found:
        """Names of other chunks may be taken at the same time."""
        found = _Found([], [])
        candidates = chunk.identifiers()
        position, word = self.dictionary.find(chunk, candidates)
        name = chunk.name_at(position)
        inside = name >= 0
        position, word, name = position[inside], word[inside], name[inside]
        self._members(found, chunk, position, word, name)
        self._mentions(found, chunk, position, word, name)
        self._leads(found, chunk, candidates)
        self._prefixes(found, chunk)
        end = position + 1 + self.dictionary.lengths(word)
        self.dtypes.take(chunk, candidates, position, end, word, name, self.kinds)
        return found

    def _members(self, found: _Found, chunk: Chunk, position: Int, word: Int, name: Int) -> None:
        """What follows a namespace that rules name, and what follows a transparent one behind it in the same name."""
        scope = np.full(len(position), NONE, np.int64)
        is_sure = np.zeros(len(position), bool)
        for i, path in enumerate(self.scopes):
            here = np.flatnonzero((word == self.number[path[-1]]) & (scope == NONE))
            stands = _stands(chunk, position[here], path)
            scope[here[stands != 0]] = i
            is_sure[here[stands == 1]] = True
        passes = self.is_transparent[word]
        own = (scope != NONE) & (is_sure | ~passes)
        last = np.maximum.accumulate(np.where(own, np.arange(len(position)), NONE))
        inherits = np.flatnonzero(passes & ~own & (last >= 0))
        inherits = inherits[name[last[inherits]] == name[inherits]]
        scope[inherits] = scope[last[inherits]]
        # at::(anonymous namespace) as S5_12_GLOBAL__N_1: what follows in the name is a member, too.
        last = np.maximum.accumulate(np.where(scope != NONE, np.arange(len(position)), NONE))
        inherits = np.flatnonzero(passes & (scope == NONE) & (last >= 0))
        inherits = inherits[name[last[inherits]] == name[inherits]]
        scope[inherits] = scope[last[inherits]]

        rows = np.flatnonzero(scope != NONE)
        start, length = following(chunk, position[rows] + 1 + self.dictionary.lengths(word[rows]))
        # A transparent namespace is no member.
        is_namespace = np.zeros(len(chunk.text), bool)
        is_namespace[position[passes]] = True
        ok = (start >= 0) & ~is_namespace[np.maximum(start - 1, 0)]
        found.keep(chunk, name[rows[ok]], scope[rows[ok]], start[ok], length[ok])
        if self.marks and len(rows):
            self._substituted(found, chunk, position[rows], name[rows], scope[rows])

    def _substituted(self, found: _Found, chunk: Chunk, position: Int, name: Int, scope: Int) -> None:
        """NS3_10add_kernelE: a member of a namespace that stands earlier in the name. Only what ends as members do."""
        text = chunk.text
        is_end = text[1:-2] == _UNDERSCORE
        is_end &= ((text[2:-1] - np.uint8(48)) < 10) | (text[2:-1] == ord("L"))
        at = np.flatnonzero(is_end) + 2
        before = text[at - 2]
        at = at[((before - np.uint8(48)) < 10) | ((before - np.uint8(65)) < 26)]
        row = np.searchsorted(position, at) - 1
        at, row = at[row >= 0], row[row >= 0]
        same = chunk.name_at(at) == name[row]
        at, row = at[same], row[same]
        start, length = following(chunk, at)
        words = chunk.words()
        ok = np.zeros(len(start), bool)
        for mark in self.marks:
            shift = np.uint64(8 * (8 - len(mark)))
            last = words[np.maximum(start + length - 8, 0)] >> shift
            ok |= (length > len(mark)) & (last == np.uint64(int.from_bytes(mark, "little")))
        ok &= start >= 0
        found.keep(chunk, name[row[ok]], scope[row[ok]], start[ok], length[ok])

    def _mentions(self, found: _Found, chunk: Chunk, position: Int, word: Int, name: Int) -> None:
        for tables, is_mention in ((self.tables, True), (self.word_tables, False)):
            for table in tables:
                here, rule = table.find(chunk, position, word)
                found.add(rule, name[here], position[here] + chunk.offset, is_mention)

    def _leads(self, found: _Found, chunk: Chunk, candidates: Int) -> None:
        """Namespaces that names begin with, up to the third: the deepest that a rule names."""
        text = chunk.text
        index = np.minimum(np.searchsorted(candidates, chunk.start), max(len(candidates) - 1, 0))
        if not len(candidates) or not self.leads:
            return
        # _ZThn16_N2at: the digits of a thunk's offset.
        is_thunk = (text[chunk.start + 2] == ord("T")) & _THUNK[text[chunk.start + 3]]
        index = np.minimum(index + is_thunk, len(candidates) - 1)
        at = candidates[index]
        names = np.flatnonzero(
            (at < chunk.end) & (at >= chunk.start) & (text[chunk.start] == _UNDERSCORE) & (text[chunk.start + 1] == ord("Z"))
        )
        at = at[names]
        for _ in range(2):
            at = np.where((text[np.maximum(at - 1, 0)] - np.uint8(48)) < 10, at - 1, at)
        is_std = (text[np.maximum(at - 1, 0)] == ord("t")) & (text[np.maximum(at - 2, 0)] == ord("S"))
        deepest = np.full(len(names), NONE, np.int64)
        deepest[is_std] = _look(self.lead_keys, self.lead_rules, np.array([self.std]))[0]
        live = np.flatnonzero(~is_std)
        start = at = at[live]
        for _ in range(self.depth):
            begin, length = following(chunk, at)
            ok = begin >= 0
            live, begin, length, start = live[ok], begin[ok], length[ok], start[ok]
            # The path as it is mangled is one text: 2at6native.
            key = fingerprints(chunk, start, begin + length - start)
            rule = _look(self.lead_keys, self.lead_rules, key)
            known = rule != NONE
            deepest[live[known]] = rule[known]
            deeper = _look(self.outer, np.arange(len(self.outer)), key) != NONE
            live, start, at = live[deeper], start[deeper], (begin + length)[deeper]
        hit = np.flatnonzero(deepest != NONE)
        found.add(deepest[hit], names[hit] + chunk.first, chunk.start[names[hit]] + chunk.offset)

    def _prefixes(self, found: _Found, chunk: Chunk) -> None:
        text, words = chunk.text, chunk.words()
        is_mangled = (text[chunk.start] == _UNDERSCORE) & (text[chunk.start + 1] == ord("Z"))
        plain = np.flatnonzero(~is_mangled)
        start, length = chunk.start[plain], chunk.end[plain] - chunk.start[plain]
        for rule, raw in self.prefixes:
            fits = length >= len(raw)
            for k in range(0, len(raw), 8):
                part = np.uint64(int.from_bytes(raw[k : k + 8], "little"))
                fits &= (words[np.minimum(start + k, len(words) - 1)] & mask(np.array([len(raw) - k]))) == part
            here = plain[fits]
            found.add(rule, here + chunk.first, chunk.start[here] + chunk.offset)


def mangled(path: Path) -> str:
    """2at6native of at::native; std has an abbreviation of its own."""
    return "".join(f"{len(word)}{word}" for word in path)


def _stands(chunk: Chunk, position: Int, path: Path) -> npt.NDArray[np.int8]:
    """Whether the words before a path's last one stand before each position: 1 if so, 2 for a substitution (S3_), else 0."""
    before = mangled(path[:-1]).encode()[-8:]
    if not before:
        return np.ones(len(position), np.int8)
    start = position - (len(path[-1]) > 9)
    words = chunk.words()
    found = words[np.maximum(start - 8, 0)] >> np.uint64(8 * (8 - len(before)))
    is_same = (start >= 8) & (found == np.uint64(int.from_bytes(before, "little")))
    is_substituted = chunk.text[np.maximum(start - 1, 0)] == _UNDERSCORE
    return np.where(is_same, 1, np.where(is_substituted, 2, 0)).astype(np.int8)


def _look(known: Words, rules: Int, wanted: Words) -> Int:
    if not len(known):
        return np.full(len(wanted), NONE, np.int64)
    index = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[index] == wanted, rules[index], NONE)
