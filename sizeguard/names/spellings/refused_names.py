"""Demangle names that LLVM's demangler refuses, by rewriting the part that it cannot read.

These are generic lambdas of clang with internal linkage, those of variables and classes as template
arguments, conversions to types of std such as std::string, members of classes in conditions of gcc
(enable_if<is_same<T, int>::value>), packs of old versions of gcc, and copies for transactions.
Patterns and reports need their scopes. libLLVM-19 has 4 such names among 45,762, libtorch_cpu.so
2.13 has 81 among 427,311.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

# clang's lambda $_0 inside a function, and its members
_LAMBDA = re.compile(r"_ZZ(.+)E(N[KVRO]*\d+\$_\d+.*)\Z")
_INSIDE = re.compile(r"_ZZ(.*\$_.+)E(N[KVRO]*U[lt].*)\Z")  # another lambda in one
_FIRST = re.compile(r"\$_|'(?:lambda|unnamed)")
_TRANSACTION = "_ZGTt"  # copies of functions for transactional memory, which libstdc++ has
_DEEPEST = 20  # lambdas in lambdas
_MOST_ALLOCATORS = 100  # of one name; 1,500 take 3 s
_REFERENCE = re.compile(r"(?<!\d)S[0-9A-Z]{0,3}_")
# The member of a class in an expression: of one of std, a nested one, an instance of a template.
# LLVM does not read the first two, and does not count the third for later references.
_CLASS = re.compile(r"N|St\d|S[0-9A-Z]*_I")
_TYPE = "typeid ("  # it stands for that class
# Tokens of mangled names: identifiers, literals, references, opening and closing brackets
_PIECE = re.compile(
    r"(?P<name>\d{1,4})|L[a-z]n?[0-9a-f]+E|(?P<type>S[0-9A-Z]*_|T(?:L[0-9A-Z]*_)?[0-9A-Z]*_)"
    r"|(?P<open>Ul|[INXJFL]|D[Tt])|(?P<close>E)|.",
    re.DOTALL,
)
_VALUE = "value"  # the rest of a literal whose type is read


def refused_name(name: str, readable: Callable[[str], str], depth: int = 0) -> str:
    """Return the demangled text of a name that the library refuses; empty if it stays unknown.

    readable: demangles a name with the library; empty if it refuses
    """
    if name.startswith(_TRANSACTION):
        text = readable(f"_Z{name.removeprefix(_TRANSACTION)}")
        return f"transaction clone for {text}" if text else ""
    if (found := _INSIDE.match(name) or _LAMBDA.match(name)) and depth < _DEEPEST:
        function = readable(f"_Z{found[1]}") or refused_name(f"_Z{found[1]}", readable, depth + 1)
        # References count the parts of the function, too; _ stands for them.
        member = readable("_Z" + _REFERENCE.sub("1_", found[2]))
        scope = f"{function.removeprefix('auto ')}::"
        return _FIRST.sub(lambda first: scope + first[0], member, count=1) if function else ""
    if "Ul" in name and (text := readable(_with_auto(name))):
        return text
    if "cv" in name and 0 < name.count("SaI") <= _MOST_ALLOCATORS:
        return readable(_with_nested_allocators(name))
    if "sr" in name or "II" in name:
        return _members_in(readable(_with_packs(_with_members(name))))
    return ""


class _Piece(NamedTuple):
    """A token of a mangled name, with the place behind it.

    opens: the bracket that it opens; empty if it opens none
    """

    text: str
    end: int
    opens: str
    closes: bool


def _pieces(name: str, at: int = 0) -> Iterator[_Piece]:
    """Yield the tokens from a place on; an identifier with its length is one."""
    opened: list[str] = []
    while found := _PIECE.match(name, at):
        around = opened[-1] if opened else "N"
        end = found.end()
        if around != _VALUE:
            end += int(found["name"] or 0)
        # Between scopes, L marks internal linkage; elsewhere it opens a literal with its type.
        opens = "" if found[0] == "L" and around == "N" else found["open"] or ""
        yield _Piece(name[at:end], end, opens, found["close"] is not None)
        at = end
        if opens:
            opened.append(opens)
            continue
        if found["close"] and opened:
            opened.pop()
        if opened[-1:] == ["L"] and (found["name"] or found["type"] or found["close"]):
            opened[-1] = _VALUE


def _with_auto(name: str) -> str:
    """Write a type `auto` for T_ in generic lambdas, which LLVM's demangler cannot resolve."""
    kept: list[str] = []
    opened: list[bool] = []  # whether each open bracket is that of a lambda's parameters
    for piece in _pieces(name):
        is_argument = piece.text.startswith("T") and piece.text.endswith("_")
        kept.append("4auto" if is_argument and any(opened) else piece.text)
        if piece.opens:
            opened.append(piece.opens == "Ul")
        elif piece.closes and opened:
            opened.pop()
    return "".join(kept)


def _with_nested_allocators(name: str) -> str:
    """Write NSaIcEE for SaIcE, the same type, which LLVM's demangler reads in conversions, too."""
    at = name.find("SaI", name.find("cv"))
    while at >= 0:
        end = _end_of_bracket(name, at + 2)
        name = f"{name[:at]}N{name[at:end]}E{name[end:]}"
        at = name.find("SaI", at + 4)
    return name


def _with_members(name: str) -> str:
    """Write typeid(A).b for A::b in expressions; a type there counts for later references, too."""
    kept: list[str] = []
    for piece in _pieces(name):
        if kept[-1:] == ["s"] and piece.text == "r" and _CLASS.match(name, piece.end):
            kept[-1] = "dtti"
        else:
            kept.append(piece.text)
    return "".join(kept)


def _members_in(text: str) -> str:
    """Write A::b for typeid (A).b."""
    while (at := text.rfind(_TYPE)) >= 0:  # the innermost first
        begin, depth = at + len(_TYPE), 1
        end = begin
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = f"{text[:at]}{text[begin : end - 1]}::{text[end:].removeprefix('.')}"
    return text


def _with_packs(name: str) -> str:
    """Write J for the I of a pack that is a template's first argument, as gcc does since 4.7."""
    kept: list[str] = []
    for piece in _pieces(name):
        kept.append("J" if piece.text == "I" and kept[-1:] == ["I"] else piece.text)
    return "".join(kept)


def _end_of_bracket(name: str, at: int) -> int:
    depth, end = 0, at
    for piece in _pieces(name, at):
        depth += bool(piece.opens) - piece.closes
        end = piece.end
        if not depth:
            break
    return end
