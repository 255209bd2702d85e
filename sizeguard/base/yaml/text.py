"""Write strings as YAML: plain if they are read back unchanged, else quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import yaml

from sizeguard.base.yaml.nodes import resolve

# Names that YAML reads as strings anywhere, unless the resolver reads them as a number, a date or a
# boolean.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*(?:::?[A-Za-z0-9_./-]+)*")
# Paths and commands: words with a space between them.
_COMMAND = re.compile(r"[A-Za-z/][A-Za-z0-9_./=+-]*(?: [A-Za-z0-9_./=+-]+)*")
_BOOLEANS = frozenset({"y", "n"})  # of YAML 1.1; PyYAML and torchgen read them as strings


def yaml_name(text: str) -> str:
    """Write the name of an operator, a dtype, a class or a file, in ASCII."""
    return text if _is_plain(text, _NAME) else ascii_quoted(text)


def yaml_list(names: Iterable[str]) -> str:
    """Write names as a sequence in brackets, sorted."""
    return f"[{', '.join(yaml_name(name) for name in sorted(names))}]"


def yaml_table(key: str, entries: Mapping[str, str]) -> list[str]:
    """Write the lines of a mapping of names to written values, sorted by name."""
    if not entries:
        return [f"{key}: {{}}"]
    return [f"{key}:", *(f"  {yaml_name(name)}: {entries[name]}" for name in sorted(entries))]


def yaml_command(text: str) -> str:
    """Write a path or a command, in double quotes if it is not plain."""
    is_plain = _is_plain(text, _COMMAND) and text.lower() not in _BOOLEANS
    return text if is_plain else double_quoted(text)


def single_quoted(text: str) -> str:
    """Quote in single quotes, which need the fewest escapes for JSON, if all is printable."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return double_quoted(text)


def ascii_quoted(text: str) -> str:
    """Quote like `single_quoted`, and escape characters outside ASCII."""
    if text.isascii():
        return single_quoted(text)
    return '"' + "".join(_quotable(char, char.isascii()) for char in text) + '"'


def double_quoted(text: str) -> str:
    """Quote in double quotes; printable characters of other alphabets remain."""
    return '"' + "".join(_quotable(char) for char in text) + '"'


def escaped_controls(text: str) -> str:
    """Escape what is not printable, for a comment of one line."""
    return "".join(char if char.isprintable() else _code(char) for char in text)


def _is_plain(text: str, pattern: re.Pattern[str]) -> bool:
    return bool(
        pattern.fullmatch(text)
        and resolve(yaml.ScalarNode, text, (True, False)) == "tag:yaml.org,2002:str"
    )


def _quotable(char: str, may_stay: bool = True) -> str:
    """Write a character between double quotes; `may_stay` if it needs no escape when printable."""
    if char in '"\\':
        return f"\\{char}"
    return char if may_stay and char.isprintable() else _code(char)


def _code(char: str) -> str:
    """Write a character as its number, in the shortest escape of YAML."""
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
