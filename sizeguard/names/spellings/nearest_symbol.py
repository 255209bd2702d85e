"""The symbol that an unknown spelling most likely means."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int
from sizeguard.names.rewrites import normal
from sizeguard.names.spelling import shown_symbol, spelling_of
from sizeguard.names.spellings.plain_paths import bare_path

_COMPARED = 60  # symbols to compare with a spelling
_ALIKE = 20  # symbols to compare as a whole
_TYPES = 500  # names of type information to compare as a whole: types of functions share all words
_LENGTH = 0.5  # of a mangled name, in characters of its demangled text
_CUTOFF = 0.6  # of difflib's ratio
_LIKE_A_WORD = 0.85  # of difflib's ratio, of a misspelt `typeinfo for `
_PIECES = 6  # of a word that no symbol has
_SHORTEST = 3  # characters in a piece
_SHORT_WORD = 8  # characters; in a shorter word, pieces of two may be all that is right
_LONGER = 2  # difference in length from a short word, in characters
_FEW = 50_000  # names to search one by one: 5 ms a piece; a search of 76 MB takes 50 ms

# How mangled names spell destructors, without and with an ABI tag
_DESTRUCTORS = ("D0Ev", "D1Ev", "D2Ev")
_TAGGED = ("D0B", "D1B", "D2B")
# What mangled names have for operators, by the Itanium C++ ABI.
_CODES = {
    "+": "pl", "-": "mi", "*": "ml", "/": "dv", "%": "rm", "^": "eo", "&": "an", "|": "or",
    "~": "co", "!": "nt", "=": "aS", "<": "lt", ">": "gt", "+=": "pL", "-=": "mI", "*=": "mL",
    "/=": "dV", "%=": "rM", "^=": "eO", "&=": "aN", "|=": "oR", "<<": "ls", ">>": "rs",
    "<<=": "lS", ">>=": "rS", "==": "eq", "!=": "ne", "<=": "le", ">=": "ge", "<=>": "ss",
    "&&": "aa", "||": "oo", "++": "pp", "--": "mm", ",": "cm", "->*": "pm", "->": "pt",
    "()": "cl", "[]": "ix",
}  # fmt: skip
_OPERATOR = re.compile(r"::operator ?(\(\)|[^\w\s(]+)")

_MANGLED = ("_Z", "__Z", "_R")
_SPELLED = re.compile(r"::|[( <]")

_LAST_WORD = re.compile(r"(?<=\)) \w+\Z")
_SMALL_WORD = re.compile(r"\b[a-z]{3,}\b")
_KEYWORDS = (
    *("auto", "bool", "char", "const", "decltype", "double", "float", "int", "lambda", "long"),
    *("operator", "short", "signed", "unnamed", "unsigned", "void", "volatile"),
)

Scores = npt.NDArray[np.float64]
Holding = Callable[[str], Int]
_OF_TYPES = {"typeinfo name for ": "_ZTS", "typeinfo for ": "_ZTI", "vtable for ": "_ZTV"}


def corrections(text: str) -> list[str]:
    """Correct words that mangled names do not spell: `typeinfo for`, `const` and `unsigned`.

    Returns a text for each possible correction, and the text without its last word.
    """
    from difflib import get_close_matches  # 3 ms

    first, space, rest = text.partition(" for ")
    begins = get_close_matches(first + space, _OF_TYPES, n=1, cutoff=_LIKE_A_WORD) if space else []
    found = [begin + rest for begin in begins]
    for word in dict.fromkeys(_SMALL_WORD.findall(text)):
        alike = [each for each in _KEYWORDS if _differ_once(word, each)]
        found += [re.sub(rf"\b{word}\b", each, text) for each in alike]
    if last := _LAST_WORD.search(text):
        found.append(text[: last.start()])
    return found


def _differ_once(word: str, other: str) -> bool:
    """Return whether two words have the same length and differ in one letter."""
    return len(word) == len(other) and sum(map(str.__ne__, word, other)) == 1


def nearest_symbol(text: str, words: Sequence[str], holding: Holding, names: Sequence[str]) -> str:
    """Find the symbol whose spelling is most like a text; empty if there is none.

    Only the symbols that share most with it are compared: its words, each the more telling the
    fewer symbols contain it, and pieces of the words that no symbol contains.

    words: of the text, as in mangled names
    holding: returns the symbols that contain a piece of text, as indices into `names`
    """
    # Names of C are as in the symbol table, too: anon.0b1fd1e2.3.llvm.42
    mangled = text.startswith(_MANGLED) or _SPELLED.search(text) is None
    score = np.zeros(len(names))
    unknown = [text] if mangled else []
    for word in [] if mangled else sorted(words):
        rows = holding(word)
        score[rows] += _weight(len(rows), len(names))
        if not len(rows):
            unknown.append(word.lstrip("0123456789"))
    if not unknown and not score.any():
        unknown = [text if mangled else spelling_of(text).parts[-1].name]
    for piece in _wordless(text):
        rows = holding(piece)
        score[rows] += _weight(len(rows), len(names))
    likely = np.flatnonzero(score == score.max(initial=0.0))
    for word in unknown:
        for piece in pieces(word):
            if len(likely) <= _FEW:
                rows = likely[[piece in names[i] for i in likely.tolist()]]
            else:
                rows = holding(piece)
            score[rows] += _weight(len(rows), len(names)) / _PIECES
    if text.startswith(tuple(_OF_TYPES)):
        near = _best(text, score, names, _TYPES)
        return _most_like(text, near[:_COMPARED], mangled=False) or _alike(text, near)
    near = _best(text, score, names, _COMPARED)
    found = _most_like(text, near, mangled) or _alike(text, near[:_ALIKE])
    return found if text.startswith(_MANGLED) else shown_symbol(found)


def _wordless(text: str) -> Sequence[str]:
    """Return what mangled names have for a destructor, an operator of a class, or type information.

    None of it is a word.
    """
    for words, code in _OF_TYPES.items():
        if text.startswith(words):
            return (code,)
    if "::~" in text:
        return _TAGGED if text.endswith("]()") else _DESTRUCTORS
    found = _OPERATOR.search(text)
    return [f"{_CODES[found[1]]}E"] if found and found[1] in _CODES else ()


def _best(text: str, score: Scores, names: Sequence[str], most: int) -> list[str]:
    """Return the names with the highest scores; equal scores are ordered by length difference.

    A short word shares its pieces with many long names, so names of similar length come first.
    """
    is_short = len(text) < _SHORT_WORD
    length = len(text) * _LENGTH if _SPELLED.search(text) else len(text)
    is_cut = len(score) > most and not is_short
    least = np.partition(score, -most)[-most] if is_cut else 0.0
    rows = np.flatnonzero((score >= least) & (score > 0))
    apart = np.array([abs(len(names[i]) - length) for i in rows.tolist()])
    is_other = (apart > _LONGER) & is_short
    order = np.lexsort((apart, -score[rows], is_other))[:most]
    return [names[i] for i in rows[order].tolist()]


def pieces(word: str) -> list[str]:
    """Cut a word into pieces that overlap, so that most of them survive one wrong letter."""
    shortest = _SHORTEST - (len(word) < _SHORT_WORD)
    length = max(shortest, min(12, len(word) // 3))
    step = max(1, (len(word) - length) // _PIECES)
    found = [word[i : i + length] for i in range(0, len(word) - length + 1, step)] or [word]
    if len(word) < _SHORT_WORD:
        found += _swapped(word)
    return list(dict.fromkeys(found))


def _swapped(word: str) -> list[str]:
    """Swap each two neighbours: in a short word, no piece survives two swapped letters."""
    return [f"{word[:i]}{word[i + 1]}{word[i]}{word[i + 2 :]}" for i in range(len(word) - 1)]


def _weight(found: int, names: int) -> float:
    return math.log(1 + names / found) if found else 0.0


def _most_like(text: str, near: Sequence[str], mangled: bool) -> str:
    """Compare paths; the whole text decides between overloads."""
    from difflib import SequenceMatcher  # 3 ms

    wanted = text if mangled else _spoken(text)
    path, whole = SequenceMatcher(None, "", wanted), SequenceMatcher(None, "", text)
    best, found = (_CUTOFF, 0.0), ""
    for name in near:
        shown = name if mangled else shown_symbol(name)
        path.set_seq1(name if mangled else _spoken(shown))
        if path.real_quick_ratio() < best[0] or path.quick_ratio() < best[0]:
            continue
        ratio = path.ratio()
        if ratio < best[0]:
            continue
        whole.set_seq1(shown)
        likeness = ratio, whole.quick_ratio()
        if likeness > best:
            best, found = likeness, shown
    return found


def _spoken(shown: str) -> str:
    """Return a path, after its `vtable for` if it has any."""
    if bare := bare_path(shown):
        return bare
    spelling = spelling_of(shown)
    return f"{spelling.special} {spelling.bare()}".lstrip()


def _alike(text: str, near: Sequence[str]) -> str:
    """Compare whole texts: the path of a function's type or of a lambda says little."""
    from difflib import SequenceMatcher  # 3 ms

    whole = SequenceMatcher(None, "", normal(text))
    best, found = _CUTOFF, ""
    for name in near:
        shown = shown_symbol(name)
        whole.set_seq1(normal(shown))
        if whole.quick_ratio() >= best and whole.ratio() >= best:
            best, found = whole.ratio(), shown
    return found
