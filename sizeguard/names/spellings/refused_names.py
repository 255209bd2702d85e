"""Demangle names that LLVM's demangler refuses, by rewriting the part that it cannot read.

These are generic lambdas of clang with internal linkage, those of variables and classes as template
arguments, and conversions to types of std such as std::string. Patterns and reports need their
scopes. libLLVM-19 has 4 such names among 45,762.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# clang's lambda $_0 inside a function, and its members
_LAMBDA = re.compile(r"_ZZ(.+)E(N[KVRO]*\d+\$_\d+.*)\Z")
_INSIDE = re.compile(r"_ZZ(.*\$_.+)E(N[KVRO]*U[lt].*)\Z")  # another lambda in one
_FIRST = re.compile(r"\$_|'(?:lambda|unnamed)")
_DEEPEST = 20  # lambdas in lambdas
_MOST_ALLOCATORS = 100  # of one name; 1,500 take 3 s
_REFERENCE = re.compile(r"(?<!\d)S[0-9A-Z]{0,3}_")
# Tokens of mangled names: identifiers, literals, references, opening and closing brackets
_PIECE = re.compile(
    r"(?P<name>\d{1,4})|L[a-z]n?\d+E|S[0-9A-Z]*_|(?P<argument>T(?:L[0-9A-Z]*_)?[0-9A-Z]*_)"
    r"|(?P<lambda>Ul)|(?P<open>[INXJFL]|D[Tt])|(?P<close>E)|.",
    re.DOTALL,
)


def refused_name(name: str, readable: Callable[[str], str], depth: int = 0) -> str:
    """Return the demangled text of a name that the library refuses; empty if it stays unknown.

    readable: demangles a name with the library; empty if it refuses
    """
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
    return ""


def _with_auto(name: str) -> str:
    """Write a type `auto` for T_ in generic lambdas, which LLVM's demangler cannot resolve."""
    kept: list[str] = []
    opened: list[bool] = []  # whether each open bracket is that of a lambda's parameters
    at = 0
    while piece := _PIECE.match(name, at):
        at = piece.end() + int(piece["name"] or 0)
        kept.append("4auto" if piece["argument"] and any(opened) else name[piece.start() : at])
        if piece["open"] or piece["lambda"]:
            opened.append(piece["lambda"] is not None)
        elif piece["close"] and opened:
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


def _end_of_bracket(name: str, at: int) -> int:
    depth = 0
    while piece := _PIECE.match(name, at):
        at = piece.end()
        if piece["name"]:
            at += int(piece["name"])
        depth += bool(piece["open"] or piece["lambda"]) - bool(piece["close"])
        if not depth:
            break
    return at
