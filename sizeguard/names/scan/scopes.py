"""Read namespace and package of symbols from their mangled names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.names.demangle import ANONYMOUS
from sizeguard.names.spellings.legacy_rust import implemented_for, unescaped

_GLOBAL = "(global)"
_PLAIN = "(no namespace)"

_SPECIAL = re.compile(r"T[VTISWH]|GV|GR|GTt|T[hvc][^N]*?(?=N)")
_TYPE_OF_CLASS = re.compile(r"T[VTIS]")
_CONSTRUCTOR = re.compile(r"C[I]?[1-5]|D[0-5]")
_OPERATOR = re.compile(r"[a-z][a-zA-Z]")  # pl, aS, cv …
_NUMBER = re.compile(r"\d{1,9}")  # no name is longer
_TAG = re.compile(r"B(\d{1,9})")
_STANDARD = ("St", "Sa", "Sb", "Ss", "Si", "So", "Sd")
_RUST_CRATE = re.compile(r"C(?:s[0-9a-zA-Z]*_)?(\d{1,9})_?")
_RUST_HASH = re.compile(r"h[0-9a-f]{16}")
_GO = re.compile(r"((?:[\w.~%-]+/)*[\w~%-]+(?:\.[a-z]\w*(?=/))?)\.")


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes around a name, outermost first, and its language; own: the name itself."""

    language: str
    path: tuple[str, ...]
    is_class: bool = False


@dataclass(slots=True)
class ScopeReader:
    """Read the names of one image.

    A scope with a constructor, a virtual table or template arguments is a class, not a namespace.
    """

    is_go: bool = False
    _classes: set[tuple[str, ...]] = field(default_factory=set)

    def read(self, names: Iterable[str]) -> list[Scopes]:
        """Return the scopes of names, and remember the classes in them."""
        found = [self._scopes(name) for name in names]
        for scopes in found:
            if scopes.is_class:
                self._classes.add(scopes.path)
        return found

    def namespace(self, scopes: Scopes) -> str:
        """Return the innermost namespace; empty for anything except a name of code or data."""
        path = scopes.path
        for end in range(1, len(path) + 1):
            if path[:end] in self._classes:
                path = path[: end - 1]
                break
        if path:
            separator = "/" if scopes.language == "go" else "::"
            return separator.join(path)
        return {"": "", "c": _PLAIN}.get(scopes.language, _GLOBAL)

    @staticmethod
    def package(scopes: Scopes) -> str:
        """Return the crate of Rust or the package of Go; empty for other languages."""
        return scopes.path[0] if scopes.language in ("rust", "go") and scopes.path else ""

    def _scopes(self, name: str) -> Scopes:
        if not name or name.startswith("("):
            return Scopes("", ())
        base = name[1:] if name.startswith(("__Z", "__R")) else name
        if base.startswith("_R"):
            return _rust(base)
        if base.startswith("_Z"):
            return _cpp(base)
        if self.is_go and "." in name:
            found = _GO.match(name.removeprefix("go:").removeprefix("type:"))
            return Scopes("go", (found[1],) if found else ())
        return Scopes("c", ())


def _rust(name: str) -> Scopes:
    crate = _RUST_CRATE.search(name)
    if crate is None:
        return Scopes("rust", ())
    at = crate.end() + int(crate[1])
    words = [name[crate.end() : at]]
    while (number := _NUMBER.match(name, at)) is not None:
        start = number.end() + (name[number.end() : number.end() + 1] == "_")
        at = start + int(number[0])
        words.append(name[start:at])
    return Scopes("rust", tuple(words[:-1]) if len(words) > 1 else tuple(words))


def _cpp(name: str) -> Scopes:
    at = 2
    special = _SPECIAL.match(name, at)
    is_type = _TYPE_OF_CLASS.match(name, at) is not None
    at = special.end() if special else at
    while name.startswith("Z", at):  # inside a function
        at += 1
    nested = name.startswith("N", at)
    is_method = False
    if nested:
        at += 1
        while at < len(name) and name[at] in "rVKRO":
            is_method = True
            at += 1
    words, is_class, is_cut = _words(name, at, is_nested=nested)
    if not nested and words[:1] != ["std"]:
        words = words[:1]
    if words and _RUST_HASH.fullmatch(words[-1]):
        clean = [unescaped(word) for word in words[:-2] if not word.startswith("_$")]
        return Scopes("rust", tuple(clean) or _rust_owner(words[0]))
    path = tuple(words) if is_type or is_class else tuple(words[:-1])
    # Template arguments end the words: std::vector<int>::size() const does not make std a class.
    return Scopes("c++", path, is_type or is_class or (is_method and not is_cut))


def _rust_owner(word: str) -> tuple[str, ...]:
    """Return the scopes of a function that no module encloses: of an implementation, or a crate."""
    return implemented_for(word) if word.startswith("_$") else (word,)


def _words(name: str, at: int, *, is_nested: bool) -> tuple[list[str], bool, bool]:
    """Read identifiers up to template arguments or the end of the name.

    Returns them, whether the last one is a class, and whether template arguments or a lambda
    follow it. An operator counts as an identifier.
    """
    words: list[str] = []
    while at < len(name):
        if name.startswith(_STANDARD, at):
            if words:
                break
            words.append("std")
            at += 2
            if name[at - 1] != "t":
                return [*words, "basic_string"], True, False
            continue
        if name.startswith("L", at):
            at += 1
            continue
        if tag := _TAG.match(name, at):
            at = tag.end() + int(tag[1])
            continue
        number = _NUMBER.match(name, at)
        if number is None:
            is_scope = is_nested or not words or words == ["std"]  # else parameters follow
            if is_scope and (operator := _OPERATOR.match(name, at)):
                return [*words, operator[0]], False, False
            if is_scope and name[at] in "UM":
                # A lambda in a namespace, or in the initial value of a variable
                return [*words, *(["lambda"] if name[at] == "U" else [])], False, True
            is_made = _CONSTRUCTOR.match(name, at) is not None
            return words, is_made and bool(words), False
        at = number.end() + int(number[0])
        word = name[number.end() : at]
        words.append(ANONYMOUS if word.startswith("_GLOBAL__N") else word)
        if name.startswith("I", at):
            # A template is a class if names follow its arguments, else the function itself.
            return words, False, True
    return words, False, False
