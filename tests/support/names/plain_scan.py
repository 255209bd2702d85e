"""Scan one mangled name with plain loops: what the scan in C must find.

Places are offsets in the name; nothing is before and behind it.
"""

from __future__ import annotations

import itertools
import re
import string
from dataclasses import dataclass

from sizeguard.names.demangle import mangled
from sizeguard.names.rules import Path, Rules
from sizeguard.names.scan.dtype_words import (
    COMPLEX,
    CONTAINER,
    DRIVER,
    INDEXED,
    SCALAR_TYPE,
    dtype_words,
)
from sizeguard.operators.dtypes import CODE_OF_NAME, COMPLEX_OF_REAL, NAME_OF_CODE, NAME_OF_LETTER

DIGITS, LETTERS = frozenset(string.digits), frozenset(string.ascii_letters)
COMPARED = 8  # bytes before a word, or of a suffix, that are compared
BEHIND_TYPES = frozenset("ENSLZTKRPXFJIDUsoncvzw123456789hasilxfdbtjmy")
INDICES = (CODE_OF_NAME["Int"], CODE_OF_NAME["Long"])
_IDENTIFIER = re.compile(r"L?([1-9][0-9]{0,2})(?=[A-Za-z_])")
_SUBSTITUTION = re.compile(r"(?<=[0-9A-Z])_(?=[0-9L])")
_NUMBER = re.compile(r"([0-9]{1,2})E")

Found = list[tuple[int, int]]  # place and code of a dtype


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the dictionary. place: of the last digit of its length; end: behind it"""

    text: str
    place: int
    end: int


@dataclass(frozen=True, slots=True)
class PlainMember:
    """An identifier that is a member of a namespace."""

    start: int
    text: bytes
    scope: Path


def dictionary(rules: Rules, *, dtypes: bool) -> list[str]:
    """Return the words to look up; where two stand at one place, the later one comes first."""
    every = rules.rules
    return list(
        dict.fromkeys(
            [
                *(rule.within[-1] for rule in every if rule.within),
                *(rule.namespace[-1] for rule in every if rule.namespace and rule.mentions),
                *(rule.identifier for rule in every if rule.identifier and not rule.within),
                *rules.transparent,
                *(dtype_words(rules) if dtypes else ()),
            ]
        )
    )


def lengths_in(text: str) -> list[int]:
    """Return the last digits of lengths, which precede a letter, or an underscore.

    Numbers of substitutions, of parameters and of lambdas precede an underscore, too.
    """
    found = []
    for place, character in enumerate(text[:-1]):
        if character not in DIGITS:
            continue
        if text[place + 1] in LETTERS:
            found.append(place)
        if text[place + 1] == "_":
            backwards = text[max(place - 2, 0) : place + 1][::-1]
            head = text[
                : place + 1 - sum(1 for _ in itertools.takewhile(DIGITS.__contains__, backwards))
            ]
            if not head.endswith(("S", "T", "UlvE")):
                found.append(place)
    return found


class PlainName:
    """What is found in one name."""

    def __init__(self, raw: bytes, rules: Rules, *, dtypes: bool = True) -> None:
        self.text = raw.decode("latin-1")
        self.rules = rules
        self.scopes = tuple(dict.fromkeys(rule.within for rule in rules.rules if rule.within))
        self.meanings = dtype_words(rules)
        self.lengths = lengths_in(self.text)
        known = dictionary(rules, dtypes=dtypes)[::-1]
        self.words = [
            word for last in self.lengths for text in known for word in self._word_at(last, text)
        ]

    def _at(self, place: int) -> str:
        return self.text[place] if 0 <= place < len(self.text) else "\0"

    def _word_at(self, last: int, word: str) -> list[Word]:
        """Return the word if its length ends at a place."""
        end = last + 1 + len(word)
        length = str(len(word))
        if self.text[last + 1 : end] != word or not self.text[: last + 1].endswith(length):
            return []
        # The 6native of 16native_layer is a part of it.
        goes_on = self._at(end) in string.ascii_lowercase + "_"
        has_more_digits = self._at(last - len(length)) in DIGITS
        is_part = len(length) == 1 and has_more_digits and goes_on
        return [] if is_part else [Word(word, last, end)]

    # Members

    def _stands(self, path: Path, place: int) -> str:
        """Return whether a path's first words precede its last word: surely, perhaps, or not."""
        before = mangled(path[:-1])[-COMPARED:]
        head = self.text[: max(place - (len(path[-1]) > 9), 0)]
        if head.endswith(before):
            return "sure"
        return "perhaps" if head.endswith("_") and mangled(path[:1]) in head else ""

    def _scopes_of_words(self) -> list[Path | None]:
        """Return the scope that each word names, or inherits if it is transparent."""
        own = []
        for word in self.words:
            stands = [
                (path, found)
                for path in self.scopes
                if path[-1] == word.text and (found := self._stands(path, word.place))
            ]
            own.append(stands[0] if stands else (None, ""))
        result = [path for path, _ in own]
        passes = [word.text in self.rules.transparent for word in self.words]
        for only_sure in (True, False):
            last: Path | None = None
            for i, (_, found) in enumerate(own):
                if result[i] and not (only_sure and passes[i] and found != "sure"):
                    last = result[i]
                elif passes[i] and last:
                    result[i] = last
        return result

    def _identifier_at(self, place: int) -> tuple[int, str] | None:
        match = _IDENTIFIER.match(self.text, place)
        if match is None or match.end() + int(match[1]) > len(self.text):
            return None
        return match.end(), self.text[match.end() : match.end() + int(match[1])]

    def members(self) -> list[PlainMember]:
        """Return identifiers after a namespace, and marked ones after a substitution behind one."""
        scopes = self._scopes_of_words()
        transparent = {w.place for w in self.words if w.text in self.rules.transparent}
        found = []
        for word, scope in zip(self.words, scopes, strict=True):
            identifier = self._identifier_at(word.end)
            if scope and identifier and identifier[0] - 1 not in transparent:
                found.append((scope, identifier))
        for match in _SUBSTITUTION.finditer(self.text):
            earlier = [
                scope
                for word, scope in zip(self.words, scopes, strict=True)
                if scope and word.place < match.end()
            ]
            identifier = self._identifier_at(match.end())
            if earlier and identifier and self._has_mark(identifier[1]):
                found.append((earlier[-1], identifier))
        return [PlainMember(at, text.encode("latin-1"), scope) for scope, (at, text) in found]

    def _has_mark(self, identifier: str) -> bool:
        marks = [mark[-COMPARED:] for mark in self.rules.marks]
        return any(identifier.endswith(mark) and identifier != mark for mark in marks)

    # Rules

    def hits(self) -> list[tuple[int, int, bool]]:
        """Return the numbers of rules that match, with the place, and whether it is a mention."""
        found = []
        numbered = list(enumerate(self.rules.rules))
        for word in self.words:
            found += [
                (number, word.place, True)
                for number, rule in numbered
                if rule.mentions and rule.namespace[-1:] == (word.text,)
                if self._stands(rule.namespace, word.place)
            ]
            found += [
                (number, word.place, False)
                for number, rule in numbered
                if rule.identifier == word.text and not rule.within
            ]
        if self.text.startswith("_Z"):
            return found + [(number, 0, False) for number in self._leading()]
        return found + [
            (number, 0, False)
            for number, rule in enumerate(self.rules.rules)
            if rule.prefix and self.text.startswith(rule.prefix)
        ]

    def _leading(self) -> list[int]:
        """Return the rule of the deepest namespace that the name begins with."""
        # _ZThn16_N2at: the first digits are the offset of a thunk.
        rest = self.lengths[1:] if re.match("_ZT[hvc]", self.text) else self.lengths
        if not rest:
            return []
        at = rest[0]
        for _ in range(2):
            at -= self._at(at - 1) in DIGITS
        is_std = self.text[:at].endswith("St")
        fitting = [
            (len(mangled(rule.namespace)), -number)
            for number, rule in enumerate(self.rules.rules)
            if rule.namespace and (rule.namespace == ("std",)) == is_std
            if is_std or self.text.startswith(mangled(rule.namespace), at)
        ]
        return [-max(fitting)[1]] if fitting else []

    # Dtypes

    def dtypes(self) -> tuple[int, int]:
        """Return a bit for each dtype, and the code of the first one; -1 for none."""
        found = [*self._classes(), *self._enum_values(), *self._literal_lists()]
        starts = [w.end + 1 for w in self._words_of_classes() if self._at(w.end) == "E"]
        for start in self._lambdas():
            starts += self._without_bounds(start)
        for at_i in self._argument_lists():
            start = at_i + 1
            if at_i in self._ends(COMPLEX):
                name = COMPLEX_OF_REAL.get(NAME_OF_LETTER[self._at(start)])
                found += [(start, CODE_OF_NAME[name])] if name else []
                continue
            is_call = self.text[:at_i].endswith("cl") and self._is_grammar(at_i - 2)
            for place in self._without_bounds(start) if is_call else [start]:
                if self._is_indexed(place):
                    found += self._elements(place)
                else:
                    starts.append(place)
        found += [pair for start in starts for pair in self._types(start)]
        absent = {CODE_OF_NAME[dtype] for dtype in self.rules.absent}
        found = [(place, code) for place, code in found if code not in absent]
        return sum(1 << code for code in {code for _, code in found}), min(found)[
            1
        ] if found else -1

    def _code(self, place: int) -> int:
        letter = self._at(place)
        return CODE_OF_NAME[NAME_OF_LETTER[letter]] if letter in NAME_OF_LETTER else -1

    def _of_kind(self, kind: int) -> list[Word]:
        return [word for word in self.words if self.meanings.get(word.text, 0) & kind]

    def _ends(self, kind: int) -> set[int]:
        return {word.end for word in self._of_kind(kind)}

    def _length(self, last: int) -> int:
        tens = self._at(last - 1)
        return int(self.text[last]) + (10 * int(tens) if tens in DIGITS else 0)

    def _is_grammar(self, place: int) -> bool:
        """Return whether a place is outside of the identifier before it."""
        earlier = [last for last in self.lengths if last < place]
        if not earlier:
            return True
        last = earlier[-1]
        if len(earlier) > 1 and earlier[-2] + self._length(earlier[-2]) >= last:
            last = earlier[-2]
        if last + self._length(last) < place:
            return True
        has_number = self._at(last - 1) in DIGITS and self._at(last - 2) == "_"
        return has_number and last + int(self.text[last]) < place

    def _is_mangled(self, place: int) -> bool:
        """Return whether a _Z precedes a place."""
        return 0 <= self.text.find("_Z") < place

    def _is_indexed(self, place: int) -> bool:
        return any(word.place < place for word in self._of_kind(INDEXED))

    def _words_of_classes(self) -> list[Word]:
        classes = dict(self.rules.dtypes)
        return [word for word in self.words if word.text in classes]

    def _classes(self) -> Found:
        found = []
        for word in self._words_of_classes():
            dtype = dict(self.rules.dtypes)[word.text]
            before = max((end for end in self._ends(COMPLEX) if end < word.place), default=-9)
            if word.place - before <= len("IN3c10") and self.text[before : before + 2] == "IN":
                dtype = COMPLEX_OF_REAL.get(dtype, dtype)
            found.append((word.place, CODE_OF_NAME[dtype]))
        return found

    def _enum_values(self) -> Found:
        found = []
        for word in self._of_kind(SCALAR_TYPE):
            match = _NUMBER.match(self.text, word.end + 1)
            if self._at(word.end) == "E" and match and int(match[1]) in NAME_OF_CODE:
                found.append((word.place, int(match[1])))
        return found

    def _argument_lists(self) -> list[int]:
        """Return the I of lists that begin with a type and are not those of containers."""
        containers = self._ends(CONTAINER) - self._ends(COMPLEX)
        return [
            at_i
            for at_i, letter in enumerate(self.text)
            if letter == "I" and self._code(at_i + 1) >= 0 and self._is_mangled(at_i + 1)
            if self._is_grammar(at_i) and at_i not in containers
            if not self.text[:at_i].endswith("Sa") and not self._is_substituted(at_i)
        ]

    def _is_substituted(self, at_i: int) -> bool:
        """Return whether an I follows a substitution of at most two characters: S_I, SB1_I."""
        match = re.search(r"S[0-9A-RT-Z]{0,2}_\Z", self.text[:at_i])
        return match is not None and self._is_grammar(match.start())

    def _literal_lists(self) -> Found:
        """Return the types among lists of an indexed namespace that begin with a literal."""
        return [
            pair
            for match in re.finditer("I(?=L)", self.text)
            if self._is_indexed(match.end()) and self._is_grammar(match.start())
            for pair in self._elements(match.end())
        ]

    def _lambdas(self) -> list[int]:
        """Return the first parameters of lambdas, if they are types."""
        return [
            match.end()
            for match in re.finditer("Ul", self.text)
            if self._code(match.end()) >= 0 and self._is_mangled(match.end())
            if self._is_grammar(match.start())
        ]

    def _without_bounds(self, start: int) -> list[int]:
        """Return where the elements begin; nothing if there are only bounds."""
        if self._of_kind(DRIVER):
            return [start]
        place = start
        while self._at(place) == "l" and place < start + 4:
            place += 1
        return [] if place > start and self._at(place) == "E" else [place]

    def _types(self, start: int) -> Found:
        """Return up to four types; the list ends before one that no valid character follows."""
        found = []
        for place in range(start, start + 4):
            if self._code(place) < 0 or self._at(place + 1) not in BEHIND_TYPES:
                break
            found.append((place, self._code(place)))
        return found

    def _elements(self, start: int) -> Found:
        """Return types other than indices among eight types and literals of few characters."""
        found = []
        place = start
        for _ in range(8):
            if self._at(place) == "L":
                place = self.text.find("E", place + 2, place + 7)
                if place < 0:
                    break
            elif self._code(place) < 0:
                break
            elif self._code(place) not in INDICES:
                found += self._types(place)[:1]
            place += 1
        return found
