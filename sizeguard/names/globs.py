"""Globs over names, in which * and ? are special unless they are part of a C++ type."""

from __future__ import annotations

import fnmatch
import re

from sizeguard.names.short import has_open_brackets, split_name, top_level

_TYPE_INFO = re.compile(r"(?:typeinfo(?: name)?|non-virtual thunk|VTT) (?:for|to) ")
_POINTERS = re.compile(r"(?<=[\w>)}])(?:[*&]| (?:const|volatile|restrict))+\Z")
_POINTED = re.compile(r"\([*&]+\)(?=\()")
_CONVERSION = re.compile(r"\boperator (?:[\w:]|<.*>| )+[*&]*")
_SHIFT = re.compile(r"\boperator<<?[*?]+\Z")  # its < opens no template arguments
_OPERATOR = re.compile(r"\boperator(?:->\*|\*=?)(?=\(|<|\[|\.|\Z)")

# A method of Objective-C, or of Rust; there, pointers are *const T and *mut T
_METHOD = re.compile(r"[-+]\[|<(?!lambda)")
_WILD = re.compile(r"[*?](?!(?:const|mut) )")


def is_glob(text: str) -> bool:
    """Return whether a name is a pattern: `*gemm*`, `ns::f*`, `f(*)`.

    A * inside brackets is a pointer, as in f(char*), unless it is an entire argument.
    """
    if "*" not in text and "?" not in text:
        return False
    if _METHOD.match(text):
        return _WILD.search(text) is not None
    if has_open_brackets(text) or _SHIFT.search(text):
        return True
    if kind := _TYPE_INFO.match(text):
        # A type may end with its own pointers, and may be a function type: void (*)(int).
        text = _POINTERS.sub("", _POINTED.sub("(", text[kind.end() :]))
    name = split_name(text)
    has_result = name.result and not name.is_special
    head = name.head.lstrip("*&") if has_result else name.head  # char *ns::f(int)
    rest = head + name.parameters + name.suffix
    rest = _OPERATOR.sub("operator", _CONVERSION.sub("operator", rest))
    at = 0
    outside = []
    for token, begin, end in top_level(rest):
        if token in ("(", "<"):
            outside.append(rest[at:begin])
            at = end
            arguments = rest[begin + 1 : end - 1].split(",")
            if any(each.strip() in ("*", "?") for each in arguments):
                return True
    outside.append(rest[at:])
    return any("*" in piece or "?" in piece for piece in outside)


def glob_regex(pattern: str) -> str:
    """Make a regular expression for a whole name, in which only * and ? are special.

    C++ names contain brackets.
    """
    return fnmatch.translate(pattern.replace("[", "[[]"))


def common_pattern(one: str, other: str) -> str:
    """Return a pattern for names that both patterns match; empty if there are none.

    Only * and ? are special. Of several such patterns it is one of the widest.
    """
    todo: list[tuple[int, int, str]] = [(0, 0, "")]
    seen: set[tuple[int, int]] = set()
    while todo:
        i, j, text = todo.pop()
        if (i, j) == (len(one), len(other)):
            return text
        if (i, j) in seen:
            continue
        seen.add((i, j))
        a, b = one[i : i + 1], other[j : j + 1]
        # The last is tried first: a * takes what it can, so that the pattern is wide
        if "*" in (a, b):
            todo += [(i + (a == "*"), j + (a != "*"), text)]
            if a == b:
                todo += [(i, j + 1, text)]
        if b == "*" and a:
            todo.append((i + 1, j, _joined(text, a)))
        if a == "*" and b:
            todo.append((i, j + 1, _joined(text, b)))
        if a and b and "*" not in (a, b) and (a == b or "?" in (a, b)):
            todo.append((i + 1, j + 1, text + (b if a == "?" else a)))
    return ""


def _joined(text: str, character: str) -> str:
    """Append a character, but no second * in a row."""
    return text if character == "*" and text.endswith("*") else text + character
