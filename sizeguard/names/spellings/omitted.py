"""Parts of template arguments that users leave out: defaults of the standard library, suffixes."""

from __future__ import annotations

import re

_DEFAULT = re.compile(r",(?: ?)std::(allocator|char_traits|default_delete|less|hash|equal_to)(?=<)")
_SUFFIX = re.compile(r"(?<=[<,(\]])(-?\d+)(?:ul{0,2}|l{1,2})(?=[],>)])")
_CAST = re.compile(r"(?<=[<,])\((?:(?:un)?signed ?)?(?:char|short)\)(?=-?\d)")
_UPPER = re.compile(r"(?<=\d)[UL]+\b")


def agree_without_omitted(written: str, actual: str) -> bool:
    """Compare texts without spaces; std::vector<int> and f<8> agree with what they abbreviate."""
    if "<" not in written:
        return False
    written = _UPPER.sub(lambda match: match[0].lower(), written)
    if not _SUFFIX.search(written):
        actual = _CAST.sub("", _SUFFIX.sub(r"\1", actual))
    return written == actual or without_defaults_of_std(written) == without_defaults_of_std(actual)


def without_omitted(text: str) -> str:
    """Remove what users leave out in template arguments: f<8> for f<8ul>; also all spaces."""
    return without_defaults_of_std(_CAST.sub("", _SUFFIX.sub(r"\1", text.replace(" ", ""))))


def without_defaults_of_std(text: str) -> str:
    """Remove trailing default arguments: std::map<int, A> for the one with less and allocator.

    Another comparison, such as std::less<void>, is no default.
    """
    for match in reversed([*_DEFAULT.finditer(text)]):
        end = _end(text, match.end())
        if text[end : end + 1] != ">":
            continue
        first, second = _first_arguments(text, match.start())
        argument = text[match.end() + 1 : end - 1].replace(" ", "")
        # std::map<K, T> allocates pairs, and the tree inside has them as its second argument.
        of_map = {f"std::pair<{first}const,{second}>", second} if match[1] == "allocator" else ()
        if argument == first or argument in of_map:
            text = text[: match.start()] + text[end:]
    return text


def _end(text: str, at: int) -> int:
    """Return the end of the bracket that begins at a place."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "<(") - (text[i] in ">)")
        if not depth:
            return i + 1
    return len(text)


def _first_arguments(text: str, at: int) -> tuple[str, str]:
    """Return the first two arguments of the list that contains a place, without spaces."""
    depth = 0
    first = second = at
    for i in range(at - 1, -1, -1):
        depth += (text[i] in ">)") - (text[i] in "<(")
        if depth < 0:
            ends = (text[i + 1 : first], text[first + 1 : second])
            return ends[0].replace(" ", ""), ends[1].replace(" ", "")
        if text[i] == "," and not depth:
            first, second = i, first
    return "", ""
