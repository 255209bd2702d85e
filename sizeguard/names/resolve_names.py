"""Resolve names that users write: the only place that decides which symbols or operators they mean.

A symbol is found mangled or demangled, with or without result, parameters, template arguments, ABI
tags, qualifiers and unnamed namespaces, on ELF and Mach-O. An operator is found with or without its
overload. Globs match any of these spellings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from functools import cached_property, lru_cache

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.nearest import nearest_names
from sizeguard.columns.texts import Int
from sizeguard.names.demangle import SWIFT
from sizeguard.names.find_operators import find_operators
from sizeguard.names.globs import is_glob
from sizeguard.names.short import without_constraints
from sizeguard.names.spelling import (
    Spelling,
    shown_symbol,
    spelling_of,
    spells,
    without_global_scope,
)
from sizeguard.names.spellings.compare_spellings import demangled_long, same_text, spelled
from sizeguard.names.spellings.mangled_words import ABBREVIATED, HASH, TYPEDEFS, is_kept
from sizeguard.names.spellings.nearest_symbol import corrections, nearest_symbol
from sizeguard.names.spellings.other_languages import symbol_in_scope
from sizeguard.names.spellings.patterns import WORD, NamePattern, has_wildcard, with_more_scopes
from sizeguard.names.spellings.plain_paths import (
    PlainPath,
    compared_text,
    exact_path,
    is_scoped,
    looks_like_reference,
    may_have_path,
    plain_path,
)
from sizeguard.names.spellings.rust_hashes import MANGLED_HASH, has_hashes
from sizeguard.names.spellings.second_readings import LP64, second_readings
from sizeguard.names.spellings.thread_locals import (
    INITIALIZER,
    WRAPPER,
    as_binutils,
    as_llvm,
    without_words,
)

# The underscore that Mach-O adds before each name: there is none, names have it, names lost it
NOT_ADDED, KEPT, DROPPED = "not added", "kept", "dropped"

# Tags, clones, vectors, complex numbers, `thunk to` and gcc's states of coroutines are spelled
# differently in mangled names, or are missing.
_UNMANGLED = re.compile(
    r"\[(?:abi:\w+|[0-9a-f]{5,16})\]|\A[a-z -]+ thunk to |\{(?:parm|default arg)#\d+\}"
    r"|\b_Z\w+\.Frame\b| vector\[\d*\]|(?:(?<=float)|(?<=double)) (?:complex|imaginary)\b"
    r"|'(?:\\u\{\w+\}|\\?.)'"  # characters as constants of Rust
    r"|(?: \[clone [^]]*\]| \(\.[\w.]+\)|(?<=[)\w])\.[a-z_][\w.]*)+\Z"
)
_RUST = re.compile(MANGLED_HASH.pattern.encode())
# Claims request the instances of few templates again and again. In libtorch_cpu.so that many
# demangled names take about 200 MB, that many places 256 MB.
_SHOWN_KEPT = 1 << 19
_PLACES_KEPT = 1 << 25


@dataclass(frozen=True, slots=True)
class Resolved:
    """Names that a text means, in the order of their table.

    is_glob: whether the text is a pattern
    nearest: the nearest known name if the text means none, or one that a pattern would match with
             more scopes; empty if nothing is near
    """

    text: str
    names: tuple[str, ...]
    is_glob: bool
    nearest: str = ""


@dataclass(frozen=True, eq=False)
class SymbolNames:
    """Symbols, found by any spelling.

    Names are demangled only on request: a symbol that a spelling means contains the words of the
    spelling, each after its length. The 530,469 symbols of libtorch_cpu.so take 0.3 s to join; a
    look-up takes about 40 ms.

    underscore: whether the format adds one before each name, and whether the table's names have it
    model:      what size_t is, see data_model
    """

    names: tuple[str, ...]
    underscore: str = NOT_ADDED
    model: str = LP64
    _hits: dict[str, Int] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(names: Iterable[str], underscore: str = NOT_ADDED, model: str = LP64) -> SymbolNames:
        """Build the table; equal names are stored once."""
        return SymbolNames(tuple(dict.fromkeys(names)), underscore, model)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _joined(self) -> tuple[bytes, Int]:
        """All names in one text, and the start of each."""
        names = [name.encode("utf-8", "surrogatepass") for name in self.names]
        length = np.fromiter(map(len, names), np.int64, len(names)) + 1
        return b"\n".join(names), np.cumsum(length) - length

    @cached_property
    def _clones(self) -> dict[str, list[str]]:
        """Names that contain a dot, by the part before it."""
        found: dict[str, list[str]] = {}
        for name in self.names:
            if "." in name:
                found.setdefault(name.partition(".")[0], []).append(name)
        return found

    @cached_property
    def _shown(self) -> Callable[[str], str]:
        """Demangle a symbol of the table; recent results are cached."""
        return lru_cache(_SHOWN_KEPT)(shown_symbol)

    @cached_property
    def _path(self) -> Callable[[str], PlainPath]:
        """Return the path of a symbol; recent results are cached."""
        return lru_cache(_SHOWN_KEPT)(plain_path)

    @cached_property
    def _has_rust(self) -> bool:
        """Return whether there may be Rust names, in which words do not follow their length."""
        text = self._joined[0]
        return text.startswith(b"_R") or b"\n_R" in text or _RUST.search(text) is not None

    def _in_table(self, text: str) -> str:
        """Add or remove the underscore before a name, as in the names of the table."""
        if self.underscore == KEPT:
            return f"_{text}"
        is_added = text.startswith("_" if self.underscore == DROPPED else ("__Z", "__R"))
        return text[1:] if is_added else text

    def exact(self, text: str) -> tuple[str, ...]:
        """Find a symbol as the linker spells it, with its clones: f, f.cold, f.isra.0.

        _f and f differ, unless the format adds the underscore; that of __Z always is an added one.
        """
        for name in (text, self._in_table(text)):
            if name in self._index:
                clones = self._clones.get(name.partition(".")[0], ())
                return (name, *(each for each in clones if each.startswith(f"{name}.")))
        return ()

    def find(self, text: str) -> tuple[str, ...]:
        """Find the symbols that a spelling means; an entire path wins over the end of one."""
        found = self.exact(text)
        if found or text.startswith(("_Z", "__Z")):
            return found
        if found := self._find(text) or self._of_swift(text):
            return found
        for readings in second_readings(text, self.model):
            known = {found for each in readings if (found := self._find(each))}
            if len(known) == 1:
                return known.pop()
        return ()

    @cached_property
    def _swift(self) -> tuple[tuple[str, str], ...]:
        """Symbols of Swift, in which words do not follow their length, and their texts."""
        names = (name for name in self.names if name.startswith(SWIFT))
        return tuple((name, shown) for name in names if (shown := shown_symbol(name)) != name)

    @cached_property
    def _scoped(self) -> tuple[str, ...]:
        return tuple(filter(is_scoped, self.names))

    def _of_swift(self, text: str) -> tuple[str, ...]:
        """Find symbols of Swift, with or without parameters."""
        return tuple(
            name
            for name, shown in self._swift
            if shown == text or shown.startswith((f"{text}(", f"{text}<", f"{text} -> "))
        )

    def _find(self, text: str) -> tuple[str, ...]:
        """Find a spelling that is not a symbol itself."""
        text = as_llvm(text)
        written = spelling_of(text)
        if not any(part.name for part in written.parts) or has_wildcard(written):
            return ()
        last = written.parts[-1].name
        names = [*self._candidates(text), *(name for name in self._scoped if last in name)]
        among = self._plain(names, written) if written.is_plain else self._whole(names, text)
        if found := tuple(name for name in among if has_hashes(name, text)):
            return found
        # C functions have no parameters in their names. Those of a C++ function may be misspelt.
        part = written.parts[0]
        is_c = len(written.parts) == 1 and not part.arguments and not written.special
        is_c &= part.parameters.endswith(")") or (written.is_global and not part.parameters)
        found = self.exact(part.name) if is_c else ()
        others = self._candidates(part.name) if found and part.parameters else ()
        is_other = any(self._path(each).bare == part.name for each in others if each not in found)
        return () if is_other else found

    def _whole(self, names: Sequence[str], text: str) -> tuple[str, ...]:
        """Find a spelling among the symbols with its words."""
        candidates = [(name, self._shown(name)) for name in names]
        found = same_text(candidates, text)
        return found or spelled([*candidates, *demangled_long(candidates)], spelling_of(text))

    def _plain(self, names: Sequence[str], written: Spelling) -> tuple[str, ...]:
        """Find a spelling that has only names, without parsing a template's thousands of instances.

        The table of a class is not a member of it: their special words differ.
        """
        path = written.bare()
        path_of = exact_path if looks_like_reference(path) else self._path
        found: tuple[list[str], list[str], list[str]] = ([], [], [])
        last = written.parts[-1].name
        for name in names:
            if not may_have_path(name, written.special, last):
                continue
            here = path_of(name)
            if here.special != written.special:
                continue
            if here.bare is None:
                spelling = spelling_of(self._shown(name))
                if spells(written, spelling):
                    found[1].append(name)
                elif spells(written, spelling, ends=True):
                    found[2].append(name)
            elif here.bare == path:
                found[not here.is_all].append(name)
            elif here.bare.endswith(f"::{path}") and not written.is_global:
                found[2].append(name)
        return next((tuple(each) for each in found if each), ())

    def meant(self, text: str) -> Resolved:
        """Find the symbols that a text means.

        A text that is itself a symbol is not a pattern, regardless of its characters. Functions
        with unknown parameters match all parameters, so a pattern that finds them stays one.
        """
        found = self.find(text)
        if is_glob(text) and all(map(is_scoped, found)):
            found = self.glob(text)
            return Resolved(text, found, True, "" if found else self._in_scope(text))
        return Resolved(text, found, False)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Find the symbols with a spelling that matches a pattern, which has all scopes."""
        wanted = NamePattern.of(pattern, self.model)
        kept = (word for word in wanted.words if is_kept(word) and self._is_verbatim(word))
        longest = max(kept, key=len, default="")
        words = [word for word in wanted.words if word not in ABBREVIATED]
        words = [word for word in words if not HASH.fullmatch(word)]
        found = []
        for name in self._with_any(longest) if longest else self.names:
            shown = compared_text(name)
            plain = name.removeprefix("_") if self.underscore == KEPT else name
            has_words = all(word in shown for word in words)
            if (
                wanted.as_shown.match(name)
                or wanted.as_shown.match(plain)
                or (has_words and wanted.matches(plain, plain if shown == name else shown))
            ):
                found.append(name)
        for name in dict.fromkeys([*self._with_word(WRAPPER), *self._with_word(INITIALIZER)]):
            if name not in found and wanted.matches(name, as_binutils(compared_text(name))):
                found.append(name)
        if self.underscore == DROPPED and pattern.startswith("_"):  # as nm shows it
            found += [name for name in self.glob(pattern[1:]) if name not in found]
        return tuple(found)

    def _in_scope(self, pattern: str) -> str:
        """Find a symbol that a pattern would match with more scopes; empty if none.

        The scopes of a local class, and inline namespaces, are not in the name that sources use.
        """
        wanted = NamePattern.of(pattern, self.model)
        for each in with_more_scopes(pattern):
            for symbol in self.glob(each):
                if wanted.matches_part(compared_text(symbol)):
                    return shown_symbol(symbol)
        return symbol_in_scope(pattern, self.names)

    def _candidates(self, text: str) -> list[str]:
        """Find the symbols that contain all words of a spelling; repeated words occur once."""
        words = self._words(text)
        coded = [
            self._coded(word)
            for word in words
            if word not in ABBREVIATED and self._is_verbatim(word)
        ]
        if not coded:
            return self._with_shown(words)
        coded.sort(key=lambda word: (len(word), word), reverse=True)
        found = self._with_word(coded[0])
        for word in coded[1:]:
            found = [name for name in found if word in name]
        return found

    def _words(self, text: str) -> set[str]:
        """Return the words of a spelling that mangled names have, too."""
        text = _UNMANGLED.sub("", without_words(without_constraints(text)))
        return {word for word in WORD.findall(text) if not HASH.fullmatch(word)}

    def _with_shown(self, words: Iterable[str]) -> list[str]:
        """Find the symbols that contain words after demangling, 5 µs a symbol."""
        found = []
        for name in self.names:
            shown = compared_text(name)
            if shown != name and all(word in shown or word in TYPEDEFS for word in words):
                found.append(name)
        return found

    def _is_verbatim(self, word: str) -> bool:
        """Return whether mangled names have a word as it is: Rust writes größe as gre_6ka8i."""
        return word.isascii() or not self._has_rust

    def _coded(self, word: str) -> str:
        """Spell a word as in mangled names, after its length."""
        return word if self._has_rust else f"{len(word.encode())}{word}"

    def _with_word(self, word: str) -> list[str]:
        return [self.names[i] for i in self._holding(word).tolist()]

    def _with_any(self, word: str) -> list[str]:
        """Find the names that may be shown with a word: those of Swift and MSVC lack some."""
        others = (*(name for name, _ in self._swift), *self._with_word("?"))
        return [*self._with_word(word), *(name for name in others if word not in name)]

    def _holding(self, piece: str) -> Int:
        """Find the names that contain a text."""
        if piece not in self._hits:
            if sum(map(len, self._hits.values())) > _PLACES_KEPT:
                self._hits.clear()
            places = self._places(piece.encode("utf-8", "surrogatepass"))
            found = np.searchsorted(self._joined[1], places, "right") - 1
            self._hits[piece] = found[np.diff(found, prepend=-1) > 0]
        return self._hits[piece]

    def _places(self, piece: bytes) -> Int:
        """Find where a text begins in the joined names, in order; 40 ms in 76 MB."""
        found = re.finditer(re.escape(piece), self._joined[0])
        return np.fromiter((match.start() for match in found), np.int64)

    def nearest(self, text: str) -> str:
        """Find the symbol whose spelling is most like a text; empty if there is none."""
        asked, text = text, without_global_scope(text)
        for meant in (*([text] if text != asked else []), *corrections(text)):
            if found := self.find(meant):
                return shown_symbol(found[0])
        words = [self._coded(word) for word in self._words(text) if word not in ABBREVIATED]
        return nearest_symbol(text, words, self._holding, self.names)


@dataclass(frozen=True, eq=False)
class KnownNames:
    """Names that a query can mean: registered operators, and symbols.

    operators: with overloads, as registered
    """

    symbols: SymbolNames
    operators: Collection[str] = ()

    def operator(self, text: str) -> tuple[str, ...]:
        """Find the operators that a text means: one, or all overloads of a name."""
        return find_operators(text, self.operators)

    def resolve(self, text: str) -> Resolved:
        """Find the symbols that a text means, else the nearest name."""
        found = self.symbols.meant(text)
        if found.names or found.is_glob:
            return found
        return Resolved(text, (), False, self.nearest(text))

    def nearest(self, text: str) -> str:
        """Find the operator or symbol that is most like a text."""
        near = [*nearest_names(text, self.operators)]
        symbol = self.symbols.nearest(text)
        near += [symbol] if symbol else []
        return max(near, key=lambda each: _likeness(text, each), default="")


def _likeness(one: str, other: str) -> float:
    import difflib  # 3 ms

    return difflib.SequenceMatcher(None, one, other.partition("(")[0]).ratio()
