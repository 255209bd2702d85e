"""Match patterns with all spellings of a symbol, so that none of them hides it from a claim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, product

from sizeguard.base.dataclass import dataclass
from sizeguard.names.demangle import ANONYMOUS
from sizeguard.names.globs import glob_regex
from sizeguard.names.rewrites import (
    normal,
    with_arguments,
    without_defaults,
    without_spaces,
    without_tags,
)
from sizeguard.names.short import (
    split_name,
    top_level,
    without_constraints,
    without_parameters,
    without_templates,
)
from sizeguard.names.spelling import (
    SHOWN_HASH,
    Spelling,
    has_global_scope,
    spelling_of,
    without_addressed,
)
from sizeguard.names.spellings.omitted import without_omitted
from sizeguard.names.spellings.plain_paths import is_scoped
from sizeguard.names.spellings.second_readings import LP64, second_readings

_OPTIONAL = re.compile(r"[ (<&[{.]")  # what a path of names and wildcards does not contain
_QUALIFIERS = re.compile(r"(?: (?:const|volatile|&&?))+\Z")
_CONST = re.compile(r"(?<![\w:>])((?:unsigned |long )*[\w:]+) const(?=[&*,)> ])")
# The global scope. In a pattern, a * before `::` is a wildcard, and may follow it.
_GLOBAL = re.compile(r"(?:\A|(?<=[ &(]))::(?=[\w~(*?])")
_LAMBDA = re.compile(r"'(lambda|unnamed)(\d{0,9})'(\((?:[^()]|\([^()]*\))*\))?")
_LAMBDA_OF_LLVM = "'lambda'"
# Sources call this class std::string as a scope, too.
_OF_STRING = re.compile(
    r"\bstd::(?:__cxx11::|__1::|__ndk1::)?"
    r"basic_string<char, std::char_traits<char>, std::allocator<char>>(?=::)"
)
# A function as a template argument, with parameters that binutils leaves out
_WITH_ADDRESS = re.compile(r"[<,] ?&[\w(]")
_OF_CLANG = re.compile(r"\$_\d+")  # how clang names lambdas of local functions
_CLOSURE = re.compile(r"\{closure(?:#\d+)?\}")  # of Rust's newer mangling
_IN_BRACKETS = re.compile(r"\A<| as ")  # before the type and the trait of a method of Rust
_WILDCARD = re.compile(r"(?!operator)\w*[*?][\w*?]*")
WORD = re.compile(r"(?<![\w$])(?!\d)[\w$]+")


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern, with the regular expressions that match names.

    text:     the pattern
    as_shown: matches a symbol, or its demangled text with all spaces
    tight:    matches spellings without spaces
    bare:     matches them with or without the pattern's result, for symbols that have none
    words:    words that each reading of the pattern has, with or without its result
    """

    text: str
    as_shown: re.Pattern[str]
    tight: re.Pattern[str]
    bare: re.Pattern[str]
    words: tuple[str, ...]

    @staticmethod
    def of(pattern: str, model: str = LP64) -> NamePattern:
        """Read a pattern, as written and as demanglers would spell it; model: see data_model."""
        pattern = _GLOBAL.sub("", without_spaces(pattern))
        texts = _readings(pattern, model)
        bare = [*texts, *_readings(_without_result(pattern), model)]
        words = set.intersection(*({*WORD.findall(text)} for text in bare))
        as_shown = re.compile(glob_regex(pattern))
        return NamePattern(pattern, as_shown, _any(texts), _any(bare), tuple(sorted(words)))

    def matches(self, symbol: str, shown: str) -> bool:
        """Return whether any spelling of a symbol matches.

        shown: its demangled text. A function of C has no parameters in its name.
        """
        if self.as_shown.match(symbol) or self.as_shown.match(shown):
            return True
        if shown == symbol and not is_scoped(symbol):
            return self.as_shown.match(f"{shown}()") is not None
        shown = shown if "requires" in self.text else without_constraints(shown)
        tight = self.tight if spelling_of(shown).result else self.bare
        texts = [text.replace(" ", "") for text in self._spellings(shown)]
        if "&" in self.text or _WITH_ADDRESS.search(shown):
            texts += [without_addressed(text) for text in texts]
        return any(map(tight.match, dict.fromkeys(texts)))

    def matches_part(self, shown: str) -> bool:
        """Return whether a demangled name matches without some adjacent scopes.

        A method of Rust also has the scopes of its trait. Sources leave out those of both.
        """
        path = shown[len(split_name(shown).result) :].lstrip()
        of_type, of_trait = _of_rust(path)
        for text in dict.fromkeys((path, of_type, of_trait)):
            ends = [0, *(end for _, end in _separators(text))]
            parts = [text[:first] + text[last:] for first, last in combinations(ends, 2)]
            if any(self.matches("", each) for each in (*parts, of_trait)):
                return True
        if not self.text.startswith("<"):
            return False
        return any(self.matches("", each) for each in _shorter_rust(path))

    def _spellings(self, shown: str) -> Iterator[str]:
        """Yield spellings without the optional parts that the pattern does not mention."""
        if (member := _OF_STRING.sub("std::string", shown)) != shown:
            yield from self._spellings(member)
        spelling = spelling_of(shown)
        for path in (spelling.bare(), _without_nameless(without_tags(spelling.bare()))):
            yield f"{spelling.special} {path}"
            if "lambda" in self.text:
                yield f"{spelling.special} {_OF_CLANG.sub(_LAMBDA_OF_LLVM, path)}"
        if not _OPTIONAL.search(self.text):
            text = _without_start(_without_nameless(without_tags(shown)), spelling.result)
            text = without_defaults(text) if "basic_" in self.text else text
            yield from (text, *map(without_templates, (text, *_of_type(text))))
            if "std::" in self.text:
                yield normal(text)
            return
        text = normal(shown)
        if "[abi:" not in self.text:
            text = without_tags(text)
        if ANONYMOUS not in normal(self.text):
            text = _without_nameless(text)
        text = text.removesuffix(spelling.clone)
        texts = [text, without_defaults(text), *_of_type(text)]
        if "basic_" in self.text:
            texts.append(with_arguments(text))
        if shown.startswith("<"):  # a method of Rust, of which a pattern may be a part
            texts.append(shown)
        if "{{closure" in self.text:
            texts += [_CLOSURE.sub("{{closure}}", each) for each in texts]
        if "const " in self.text:
            texts += [_CONST.sub(r"const \1", each) for each in texts]
        if "lambda" in self.text:
            texts += [_OF_CLANG.sub(_LAMBDA_OF_LLVM, each) for each in texts]
        if "{" in self.text:
            texts += [_LAMBDA.sub(_as_binutils, each) for each in texts]
        for whole in dict.fromkeys(texts):
            for each in self._shorter(whole, spelling.result):
                yield from dict.fromkeys((each, each + spelling.clone))
        if " -> " in shown:  # a function of Swift without its result
            yield shown.partition(" -> ")[0]

    def _shorter(self, text: str, result: str) -> Iterator[str]:
        """Yield a text without result, qualifiers, parameters and template arguments."""
        texts = {text: None, _without_start(text, result): None}
        texts |= dict.fromkeys([_QUALIFIERS.sub("", each) for each in texts])
        if "(" not in self.text:
            texts |= dict.fromkeys([without_parameters(each) for each in texts])
        shorten = without_omitted if "<" in self.text else without_templates
        yield from dict.fromkeys([*texts, *(shorten(each) for each in texts)])


def with_more_scopes(pattern: str) -> list[str]:
    """Return patterns with any scopes before a pattern or inside: *::ns::f* and ns::*::f*.

    The scopes of a method of Rust are in brackets: <*ns*>::f*, <*Rows as *Trait>::f*.
    """
    places = [(start, end) for start, end in _separators(pattern) if start]
    inside = [f"{pattern[:end]}*::{pattern[end:]}" for _, end in places]
    if pattern.startswith("<"):
        inside.append(_IN_BRACKETS.sub(r"\g<0>*", pattern, count=2))
    if is_global(pattern):
        return inside
    of_rust = [f"<*{pattern[:start].strip('<>')}*>::{pattern[end:]}" for start, end in places[-1:]]
    return [f"*::{pattern}", *inside, *of_rust]


def is_global(pattern: str) -> bool:
    """Return whether a pattern names the global scope; a * at its start is a wildcard."""
    return has_global_scope(pattern) and not pattern.startswith("*")


def _separators(path: str) -> list[tuple[int, int]]:
    """Return the start and end of each `::` that is not inside brackets."""
    groups = [range(start, end) for token, start, end in top_level(path) if token in "<("]
    places = [match.span() for match in re.finditer("::", path)]
    return [span for span in places if not any(span[0] in group for group in groups)]


def _readings(pattern: str, model: str) -> list[str]:
    """Return a pattern as written, with other types for size_t, and as demanglers spell it."""
    readings = (each for more in second_readings(pattern, model) for each in more)
    texts = list(dict.fromkeys((pattern, *readings)))
    texts += [each for text in texts if (each := normal(text)) not in texts]
    return list(dict.fromkeys([*texts, *map(without_omitted, texts)]))


def _any(texts: list[str]) -> re.Pattern[str]:
    """Make a regular expression for all patterns, without spaces."""
    return re.compile("|".join(glob_regex(text.replace(" ", "")) for text in texts))


def _without_result(pattern: str) -> str:
    name = split_name(pattern)
    return pattern if name.is_special else pattern[len(name.result) :].lstrip()


def _without_start(text: str, start: str) -> str:
    """Remove a start that may have other spaces; return other texts unchanged."""
    tight = start.replace(" ", "")
    places = [i for i, character in enumerate(text) if character != " "]
    is_start = text.replace(" ", "").startswith(tight) and len(tight) < len(places)
    return text[places[len(tight)] :] if is_start else text


def _of_type(text: str) -> tuple[str, str]:
    """Spell a method of Rust as one of its type, with and without a hash."""
    of_type = _of_rust(text)[0]
    return of_type, SHOWN_HASH.sub("", of_type)


def _of_rust(text: str) -> tuple[str, str]:
    """Spell a method of Rust as one of its type and as one of its trait.

    They are A::f for <A>::f, and A::f and B::f for <A as B>::f. Other texts are returned unchanged.
    """
    if not text.startswith("<"):
        return text, text
    end = next(top_level(text))[2]
    inside, rest = text[1 : end - 1], text[end:]
    groups = [range(start, stop) for _, start, stop in top_level(inside) if stop - start > 1]
    cuts = [match.span() for match in re.finditer(" as ", inside)]
    cuts = [cut for cut in cuts if not any(cut[0] in group for group in groups)]
    first, last = cuts[0] if cuts else (len(inside), 0)
    return inside[:first] + rest, inside[last:] + rest


def _shorter_rust(text: str) -> Iterator[str]:
    """Yield <A as B>::f without outer scopes of A, of B, or of both."""
    of_type, of_trait = _of_rust(text)
    if of_type == of_trait:
        return
    rest = text[next(top_level(text))[2] :]
    types, traits = (_inner_paths(each.removesuffix(rest)) for each in (of_type, of_trait))
    yield from (f"<{one} as {other}>{rest}" for one, other in product(types, traits))


def _inner_paths(path: str) -> list[str]:
    """Return a path and the ends of it: a::b::C, b::C and C."""
    return [path, *(path[end:] for _, end in _separators(path))]


def _as_binutils(match: re.Match[str]) -> str:
    """Spell 'lambda0'(int) as {lambda(int)#2}; the first one of LLVM has no number."""
    word = "lambda" if match[1] == "lambda" else "unnamed type"
    return f"{{{word}{match[3] or ''}#{int(match[2]) + 2 if match[2] else 1}}}"


def _without_nameless(text: str) -> str:
    return text.replace(f"{ANONYMOUS}::", "")


def has_wildcard(written: Spelling) -> bool:
    """Return whether a scope or the name is like conv*, which is a pattern and no name.

    The type of `typeinfo for ns::Box*` ends with its own pointers.
    """
    *scopes, last = [part.name for part in written.parts]
    last = last.rstrip("*") if written.special else last
    return any(map(_WILDCARD.fullmatch, (*scopes, last)))
