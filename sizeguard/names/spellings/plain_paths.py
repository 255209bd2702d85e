"""Scopes and name of a symbol, read quickly: templates have thousands of instances."""

from __future__ import annotations

import re

from sizeguard.base.dataclass import dataclass
from sizeguard.names.demangle import (
    ANONYMOUS,
    MOST_COMPARED,
    MOST_MANGLED,
    demangle,
    demangle_shortened,
    without_clones,
)
from sizeguard.names.rewrites import normal, without_tags
from sizeguard.names.short import CALL, without_constraints, without_groups
from sizeguard.names.spelling import SHOWN_HASH, shown_symbol
from sizeguard.names.spellings.rust_hashes import MANGLED_HASH

_ODD = re.compile(r"decltype| for |''")
_MEMBER = re.compile(r"(?: (?:const|volatile|&&?))+(?=::)")
_TAIL = re.compile(r"(?: (?:const|volatile|&&?))*(?:\.[\w.]+)?\Z")
_BARE = re.compile(r"(?:[\w:*& ]+[ &*])?([\w:~'$]+)")
_AS_SHOWN = re.compile(r"(?:[\w:]+[ *&]+)?((?:[\w$]+::)*~?[\w$]+)")
_SPECIAL = re.compile(r"((?:[\w-]+ )+?(?:#\d+ )?(?:for|to)) ")
_NUMBER = re.compile(r" #\d+")
# An identifier such as S_ or OPT_IN cannot be told from a reference without reading the whole name.
_REFERENCE = re.compile(r"[ST][0-9A-Z]{0,3}_")
_OF_OTHER = re.compile(r"__?Z(?:T|G(?!V[a-z][NM]))")
_DESTRUCTOR = re.compile(r"D[0-5](?:Ev|B)")


@dataclass(frozen=True, slots=True)
class PlainPath:
    """Scopes and name of a symbol, without template arguments.

    special: `vtable for` and the like; empty for the function or variable itself
    bare:    the path; None for a name with an operator and the like
    is_all:  whether the demangled name has nothing else
    """

    special: str
    bare: str | None
    is_all: bool


def plain_path(symbol: str) -> PlainPath:
    """Return a symbol's path; wrong if one of its names looks like a reference (S_, T0_)."""
    return _path(shortened_symbol(symbol) or shown_symbol(symbol))


def exact_path(symbol: str) -> PlainPath:
    """Return a symbol's path; slower than `plain_path`, unless the symbol is too long to show."""
    shown = shown_symbol(symbol)
    return _path(shown) if shown != symbol else plain_path(symbol)


def may_have_path(symbol: str, special: str, last: str) -> bool:
    """Return false for most symbols that are written as another kind, or with a name of one.

    It decides in 0.2 µs about the tables of classes, and about members other than destructors.

    last: the last name of a path
    """
    if _OF_OTHER.match(symbol):
        return bool(special)
    if last.startswith("~"):
        return _DESTRUCTOR.search(symbol) is not None or not symbol.startswith(("_Z", "__Z"))
    return not special or not symbol.startswith(("_Z", "__Z"))


def looks_like_reference(path: str) -> bool:
    """Return whether `plain_path` may be wrong for the symbols with a path."""
    return _REFERENCE.search(path) is not None


def _path(shown: str) -> PlainPath:
    special = _SPECIAL.match(shown)
    text = shown[special.end() :] if special else shown
    bare = bare_path(text)
    what = _NUMBER.sub("", special[1]) if special else ""
    return PlainPath(what, bare, text.replace(f"{ANONYMOUS}::", "") == bare)


def shortened_symbol(symbol: str) -> str:
    """Demangle a C++ symbol with a letter for each type that repeats an earlier one.

    Scopes and names are those of the symbol, unless one of them looks like a reference (S_, T0_).
    Empty for other symbols.

    It takes 20 µs; demangling an instance of a template in libtorch_cpu.so takes 60 µs, most of it
    to find out that the text is short enough.
    """
    base = symbol[1:] if symbol.startswith("__Z") else symbol
    if not base.startswith("_Z") or len(base) > MOST_MANGLED or MANGLED_HASH.search(base):
        return ""
    return demangle_shortened(without_clones(base))


def compared_text(symbol: str) -> str:
    """Return the text of a symbol to compare with patterns, even if it is too long to show.

    A text that would be much longer has a letter for each type that repeats an earlier one.
    """
    shown = shown_symbol(symbol)
    if shown != symbol or not symbol.startswith(("_Z", "__Z")):
        return shown
    whole = demangle(symbol, MOST_COMPARED)
    return whole if whole != symbol else shortened_symbol(symbol) or symbol


def bare_path(shown: str) -> str | None:
    """Return scopes and name of a demangled function or variable, quickly; None for other names.

    Operators other than the call are not handled.
    """
    text = without_constraints(shown)
    text = normal(text) if text.startswith("<") or "::<" in text else text
    if "[" in text:
        text = without_tags(text)
    plain = without_groups(SHOWN_HASH.sub("", text).replace(f"{ANONYMOUS}::", ""))
    if plain is None or _ODD.search(plain):
        return None
    text = _TAIL.sub("", _MEMBER.sub("", plain) if " " in plain else plain)
    if "std::" not in text and (match := _AS_SHOWN.fullmatch(text)):
        return match[1].replace(CALL, "operator()")
    match = _BARE.fullmatch(normal(text))
    if match is None or match[1].endswith("::"):
        return None
    return match[1].replace(CALL, "operator()")


def is_scoped(name: str) -> bool:
    """Return whether a function has no symbol and debug information gives its scopes: ns::f().

    Its parameters are not known.
    """
    return name.endswith("()") and "::" in name
