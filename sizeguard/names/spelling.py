"""Compare spellings of a symbol: a user's with a demangler's.

A spelling is a list of parts between `::`. A user may leave out the result, parameters, qualifiers,
template arguments, ABI tags, unnamed namespaces and the suffix of a clone. Everything that is
written must agree, also a `::` at the start: no scope is left out before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from sizeguard.base.dataclass import dataclass
from sizeguard.names.demangle import ANONYMOUS, demangle, demangle_rust
from sizeguard.names.rewrites import (
    is_expression,
    normal,
    without_defaults,
    without_spaces,
    without_tags,
)
from sizeguard.names.short import split_name, top_level
from sizeguard.names.spellings.legacy_rust import legacy_rust
from sizeguard.names.spellings.omitted import agree_without_omitted
from sizeguard.names.spellings.rust_hashes import MANGLED_HASH

SHOWN_HASH = re.compile(r"::h[0-9a-f]{16}\Z")
_SPACE = re.compile(r"(?<![\w\"]) | (?![\w\"])")
_QUALIFIERS = re.compile(r"(?: ?(?:const|volatile|&&?))+(?=\.|\Z)")
_CLONE = re.compile(r"\.[\w.]+\Z")
_CLONE_OF_PATH = re.compile(r"(?<=[\w>])(?:\.[a-z_]\w*(?:\.\d+)*)+\Z")  # ns::f.constprop.0.cold
_WORDS = re.compile(r"~?\w+")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_ADDRESSED = re.compile(r"(?<=[<,])&(?=[\w(])")
# int (&f(int)) [3]: a result, its reference, the function and its bound
_ARRAY = re.compile(r"([\w:<>, ]+?) ?\(([&*]+)(?=\w)(.+)\) ?(\[\d+\])")
# typeinfo for void f<int>(int)::'lambda'(): the name after `for` may have a result.
_SPECIAL = re.compile(r"((?:[\w#-]+ )+?(?:for|to))(?: (.*))?\Z")
# The end of a result, even if _tight removed the space after it.
_BEFORE_NAME = re.compile(
    r" (?!(?:int|long|short|char|double|const|volatile)\b)"
    r"(?=\w+(?:::|[<(])|\(anonymous ?namespace\)::)"
    r"|(?<=[&*>])(?=\w+(?:::|<)|\(anonymous ?namespace\)::)"
)
_PIECE = re.compile(r"[<>(),\n]|[^<>(),\n]+")
_OPERATOR = re.compile(r"\boperator(?:<=>|<<=?|<=?)(?![\w:])")
# A typedef of std, also as the first class of `construction vtable for A-in-B`
_TYPEDEF = re.compile(r"\A(string|[io]stream|iostream)(?=\Z|-in-)")
_UNGROUPED = re.compile(r"[()]")
_GLOBAL = re.compile(r"(?:\A|[ *&(])::(?=[\w~(])")
_POINTER = re.compile(r"[*&]+")
_FUNCTION = re.compile(r"&\((?![*&])")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a spelling: foo, <int>, (float) and const; each is empty if not written."""

    name: str
    arguments: str
    parameters: str
    qualifiers: str


@dataclass(frozen=True, slots=True)
class Spelling:
    """A name as a user spells it.

    special:   `vtable for` and the like, which is part of the name
    result:    result type of a function
    clone:     `.cold`, `.isra.0`
    is_global: whether it begins with `::`, the global scope
    """

    special: str
    result: str
    parts: tuple[_Part, ...]
    clone: str
    is_global: bool = False

    @property
    def is_nameless(self) -> bool:
        """Return whether it contains an unnamed namespace."""
        return any(
            ANONYMOUS in text
            for part in self.parts
            for text in (part.name, part.arguments, part.parameters)
        )

    @property
    def has_tags(self) -> bool:
        """Return whether it contains an ABI tag."""
        return any(
            "[abi:" in text
            for part in self.parts
            for text in (part.name, part.arguments, part.parameters)
        )

    @property
    def has_arguments(self) -> bool:
        """Return whether it contains template arguments."""
        return any(
            "<" in _OPERATOR.sub("", text)
            for part in self.parts
            for text in (part.name, part.arguments, part.parameters)
        )

    @property
    def is_plain(self) -> bool:
        """Return whether it is a path of names, without optional parts."""
        return not (self.result or self.clone) and all(
            _WORDS.fullmatch(part.name)
            and not (part.arguments or part.parameters or part.qualifiers)
            for part in self.parts
        )

    def without_parameters(self) -> Spelling:
        """Drop the parameters of all functions on the path, and what follows them."""
        parts = (replace(part, parameters="", qualifiers="") for part in self.parts)
        return replace(self, parts=tuple(parts))

    def bare(self) -> str:
        """Return only the names of the parts, joined."""
        return "::".join(part.name for part in self.parts)


def shown_symbol(symbol: str) -> str:
    """Demangle a symbol of C++ or Rust as a user would spell it; return others unchanged."""
    base = symbol[1:] if symbol.startswith(("__Z", "__R")) else symbol
    if base.startswith("_R"):
        # Suffixes of clones and of LLVM, such as .llvm.123, are not part of the name
        return demangle_rust(base.partition(".")[0]) or symbol
    if base.startswith("_ZN") and (hashed := MANGLED_HASH.search(base)):
        return legacy_rust(base[: hashed.end()]) or symbol
    return demangle(symbol)


@lru_cache(maxsize=4096)
def spelling_of(text: str) -> Spelling:
    """Split a name into the parts that a user may leave out."""
    is_global = has_global_scope(text)
    text = SHOWN_HASH.sub("", normal(text))
    if (array := _ARRAY.fullmatch(text)) and _is_constructor(spelling_of(array[3]).parts):
        text = f"{array[1]}({array[2]}){array[4]} {array[3]}"
    name = split_name(text)
    rest = name.head + name.parameters + name.suffix
    of = _SPECIAL.match(name.result)
    special, result = (of[1], of[2] or "") if of else ("", name.result)
    if result and (pointer := _POINTER.match(rest)):  # char *ns::f(int)
        result, rest = f"{result} {pointer[0]}", rest[pointer.end() :]
    clone = ""
    if dot := (_CLONE.search(name.suffix) if name.parameters else _CLONE_OF_PATH.search(rest)):
        clone = dot[0]
        rest = rest[: -len(clone)]
    parts = tuple(_part(part) for part in _split(rest))
    if result and _is_constructor(parts):
        parts, result = _with_first(parts, _tight(result)), ""
    return Spelling(_tight(special), _tight(result), parts, clone, is_global)


def has_global_scope(text: str) -> bool:
    """Return whether the path of a name begins with `::`, after `vtable for` or a result."""
    if "::" not in text or not _GLOBAL.search(text := without_spaces(text)):
        return False
    return split_name(text).head.lstrip("*&").startswith("::")


def without_global_scope(text: str) -> str:
    """Remove each `::` that begins a path."""
    return _GLOBAL.sub(lambda match: match[0].partition("::")[0], without_spaces(text))


def _is_constructor(parts: Sequence[_Part]) -> bool:
    """Return whether a name is a template's constructor, which has no result.

    If it has an ABI tag, binutils' demangler shows the type of its first parameter as its result.
    """
    *scopes, last = [without_tags(part.name) for part in parts]
    return scopes[-1:] == [last] and bool(parts[-1].arguments)


def _with_first(parts: tuple[_Part, ...], first: str) -> tuple[_Part, ...]:
    """Put a type before the parameters, if they are written."""
    last = parts[-1]
    if not last.parameters:
        return parts
    others = last.parameters[1:-1]
    return (*parts[:-1], replace(last, parameters=f"({first}{',' if others else ''}{others})"))


def _tight(text: str) -> str:
    """Remove each space that is not between two words."""
    return _SPACE.sub("", text)


def _split(text: str) -> list[str]:
    """Split at each `::` outside brackets."""
    inside = [(begin, end) for token, begin, end in top_level(text) if end - begin > 1]
    cuts = [
        match.start()
        for match in re.finditer("::", text)
        if not any(begin <= match.start() < end for begin, end in inside)
    ]
    starts = [0, *(cut + 2 for cut in cuts)]
    return [text[i:j] for i, j in zip(starts, [*cuts, len(text)], strict=True)]


def _part(text: str) -> _Part:
    """Split `foo<int>(float) const` into its four parts."""
    arguments = parameters = ""
    kept = []
    at = 0
    for token, begin, end in top_level(text):
        if token == "(" and (begin or end < len(text)):
            parameters = text[begin:end]
        elif token == "<" and begin:
            arguments += text[begin:end]
        else:
            continue
        kept.append(text[at:begin])
        at = end
    tail = text[at:]
    qualifiers = _QUALIFIERS.search(tail) if parameters else None
    if qualifiers:
        tail = tail[: qualifiers.start()] + tail[qualifiers.end() :]
    name = _tight("".join([*kept, tail]).strip())
    shown = qualifiers[0] if qualifiers else ""
    tight = "()" if parameters == "(void)" else _tight(parameters)
    return _Part(name, _tight(arguments), tight, _tight(shown.strip()))


def spells(written: Spelling, actual: Spelling, *, ends: bool = False) -> bool:
    """Return whether a user's spelling means a name.

    ends: whether outer scopes may be left out, too; never those before `::`
    """
    if ends and written.is_global:
        return False
    if written.special != actual.special or (written.clone and written.clone != actual.clone):
        return False
    if written.special and written.result and not actual.result:
        return False  # vtable for const ns::Box
    if written.result and actual.result and not _agree(written, written.result, actual.result):
        return False
    mine, parts = written.parts, actual.parts
    if not any(part.name == ANONYMOUS for part in mine):
        parts = tuple(part for part in parts if part.name != ANONYMOUS)
    if not written.has_arguments:
        mine, parts = _with_templates(mine), _with_templates(parts)
    if ends:
        parts = parts[-len(mine) :]
    return len(mine) == len(parts) and all(
        _part_agrees(written, one, other) for one, other in zip(mine, parts, strict=True)
    )


def _with_templates(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
    """Name the templates that std::string and std::ostream stand for."""
    found = list(parts)
    for i, (scope, part) in enumerate(pairwise(parts), 1):
        if scope.name == "std" or scope.name.endswith("-in-std"):
            found[i] = replace(part, name=_TYPEDEF.sub(r"basic_\1", part.name))
    return tuple(found)


def _part_agrees(written: Spelling, one: _Part, other: _Part) -> bool:
    return (
        _agree(written, one.name, other.name)
        and (not one.arguments or _agree(written, one.arguments, other.arguments))
        and (not one.parameters or _parameters_agree(written, one.parameters, other.parameters))
        and (not one.qualifiers or one.qualifiers == other.qualifiers)
    )


def _parameters_agree(written: Spelling, one: str, other: str) -> bool:
    """Compare parameters; a demangler may show the type of `auto` in a generic lambda."""
    if _agree(written, one, other):
        return True
    pieces = re.split(r"\bauto\b", other)
    return len(pieces) > 1 and re.fullmatch(".+".join(map(re.escape, pieces)), one) is not None


def _agree(written: Spelling, one: str, other: str) -> bool:
    """Compare two texts; tags and unnamed namespaces count only if the user writes any."""
    if one == other:
        return True
    written_text = one
    if not written.has_tags:
        other = without_tags(other)
    if not written.is_nameless:
        other = other.replace(f"{ANONYMOUS}::", "")
    if not written.has_arguments:
        before = ""
        while other != before:
            before, other = other, _ARGUMENTS.sub("", other)
        one, other = without_defaults(one), without_defaults(other)
    spaced = other
    one, other = one.replace(" ", ""), other.replace(" ", "")
    if one == other or ("&" in one and one == without_addressed(other)):
        return True
    if agree_without_omitted(one, other):
        return True
    if is_expression(one) and _UNGROUPED.sub("", one) == _UNGROUPED.sub("", other):
        return True
    if "(" not in one:
        return False
    one, other = _without_results(written_text), _without_results(spaced)
    return one == other or ("&" in one and one == without_addressed(other))


def _without_results(text: str) -> str:
    """Remove the results of enclosing functions: <void f<int>(int)::'lambda'>.

    LLVM's demangler writes them, binutils' does not. The latter writes &(int f(int)).
    """
    while match := _FUNCTION.search(text):
        end = _group_end(text, match.start() + 1)
        text = f"{text[: match.start()]}&{text[match.end() : end - 1]}{text[end:]}"
    kept: list[str] = []  # pieces between brackets and commas
    begins = [0]  # start of the argument at each depth, as an index into `kept`
    for piece in _PIECE.findall(_BEFORE_NAME.sub("\n", text).replace(" ", "")):
        if piece == "\n":
            del kept[begins[-1] :]
            continue
        if piece in ">)" and len(begins) > 1:
            begins.pop()
        kept.append(piece)
        if piece in "<(":
            begins.append(len(kept))
        elif piece == ",":
            begins[-1] = len(kept)
    return "".join(kept)


def without_addressed(text: str) -> str:
    """Write &f for &f(int), since binutils' demangler omits these parameters."""
    for match in reversed(list(_ADDRESSED.finditer(text))):
        begin = _name_end(text, match.end())
        if text[begin : begin + 1] == "(":
            text = text[:begin] + text[_group_end(text, begin) :]
    return text


def _name_end(text: str, at: int) -> int:
    """Return the end of a name with its template arguments, before its parameters."""
    while at < len(text):
        if text[at] == "<" or text.startswith(("(anonymousnamespace)", "(anonymous "), at):
            at = _group_end(text, at)
        elif text[at].isalnum() or text[at] in "_:~":
            at += 1
        else:
            break
    return at


def _group_end(text: str, at: int) -> int:
    """Return the end of the group that begins with the bracket at a place."""
    opening, closing = text[at], ">" if text[at] == "<" else ")"
    depth = 0
    while at < len(text):
        depth += (text[at] == opening) - (text[at] == closing)
        at += 1
        if not depth:
            break
    return at
