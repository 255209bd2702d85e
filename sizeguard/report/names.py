"""Turns the values of a report's levels into what people read: demangled, without what would steer a terminal, short enough."""

from __future__ import annotations

from sizeguard.formats.demangle import demangle

NOTHING = "–"
_ANONYMOUS = "(anonymous namespace)::"


def shown(level: str, text: str, width: int = 0) -> str:
    """One line of at most `width` characters; 0 for no limit."""
    if not text:
        return NOTHING
    name = printable(demangle(text) if level == "symbol" else text)
    if not width or len(name) <= width:
        return name
    if level == "symbol":
        name = name.replace(_ANONYMOUS, "")
        name = name if len(name) <= width else without_parameters(name)
        name = name if len(name) <= width else _without_arguments(name, width)
    return name if len(name) <= width else f"{name[: max(width - 1, 1)]}…"


def printable(text: str) -> str:
    """What would break a line, steer a terminal or turn the direction of a text is shown as an escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def middle(text: str, width: int) -> str:
    """At most `width` characters: of a long name the end says most, and its beginning whose it is."""
    name = printable(text)
    if len(name) <= width:
        return name
    begin = max((width - 1) // 4, 0)
    return f"{name[:begin]}…{name[len(name) - (width - 1 - begin) :]}"


def without_parameters(text: str) -> str:
    """f<T>::table of `void f<T>(int)::table`."""
    kept: list[str] = []
    angles = brackets = 0
    for character in text.replace("operator()", "operator\0").removesuffix(" const"):
        if angles == 0 and character in "()":
            brackets += 1 if character == "(" else -1
        elif brackets <= 0:
            angles += (character == "<") - (character == ">")
            kept.append(character)
    return _without_return_type("".join(kept)).replace("\0", "()") or text


def _without_return_type(text: str) -> str:
    depth = start = 0
    for i, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == " " and depth == 0 and not text[start:i].endswith("operator"):
            start = i + 1
    return text[start:]


def _without_arguments(text: str, width: int) -> str:
    """Deeper template arguments become <…>, as few levels of them as needed."""
    for keep in (3, 2, 1, 0):
        kept: list[str] = []
        depth = 0
        for i, character in enumerate(text):
            if character == "<":
                depth += 1
                if depth == keep + 1:
                    kept.append("<…>")
            if depth <= keep:
                kept.append(character)
            if character == ">" and text[i - 1] != "-":
                depth = max(depth - 1, 0)
        shorter = "".join(kept)
        if len(shorter) <= width:
            return shorter
    return shorter
