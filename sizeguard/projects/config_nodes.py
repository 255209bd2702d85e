"""Read nodes of sizeguard.yaml as checked values; errors name file, line and column."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.nearest import nearest_is
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable
from sizeguard.projects.project import CONFIG

_LONGEST = 255  # bytes of a file's name, on all usual file systems


def table_of(node: Node, known: tuple[str, ...] | None, expected: str) -> Mapping[str, Node]:
    """Read a mapping with unique keys.

    known: the allowed keys, or None for any; expected: the error message for another kind of node
    """
    if not isinstance(node, YamlTable):
        raise InputError(f"{place_of(node)}: {expected}")
    table: dict[str, Node] = {}
    for key, value in node.pairs:
        if known is not None and key.text not in known:
            hint = nearest_is(key.text, known) or f"; there are {', '.join(known)}"
            raise InputError(f"{place_of(key)}: unknown key '{key.text}'{hint}")
        if key.text in table:
            raise InputError(f"{place_of(key)}: '{key.text}' is given twice")
        table[key.text] = value
    return table


def key_node(node: Node, name: str) -> Node:
    """Return the key node of that name in a mapping."""
    return (
        next(key for key, _ in node.pairs if key.text == name)
        if isinstance(node, YamlTable)
        else node
    )


def one_of(node: Node | None, known: Iterable[str]) -> str | None:
    """Read one of the known words; None for no node."""
    if node is None:
        return None
    text = text_of(node)
    if text not in known:
        near = nearest_is(text, known)
        listing = f"; there are {', '.join(known)}" if near.startswith("; nearest") else ""
        raise InputError(f"{place_of(node)}: unknown '{text}'{near}{listing}")
    return text


def flag_of(node: Node | None, default: bool) -> bool:
    """Read a boolean; the default for no node."""
    if node is None:
        return default
    if not isinstance(node, Scalar) or node.kind != "bool":
        raise InputError(f"{place_of(node)}: expected true or false")
    return node.text.lower() in ("true", "yes", "on")


def is_empty(node: Node) -> bool:
    """Return whether a node is null."""
    return isinstance(node, Scalar) and node.kind == "null"


def text_of(node: Node) -> str:
    """Read a string that is not empty."""
    if not isinstance(node, Scalar):
        what = "list" if isinstance(node, Listing) else "table"
        raise InputError(f"{place_of(node)}: expected text, not a {what}")
    if not node.text or node.kind == "null":
        raise InputError(f"{place_of(node)}: expected text, but there is none")
    return node.text


def path_of(node: Node) -> str:
    """Read a path inside the project's folder, and normalize it: ./a becomes a."""
    text = text_of(node)
    if Path(text).is_absolute() or ".." in Path(text).parts or "\0" in text:
        raise InputError(f"{place_of(node)}: '{text}' is not a path inside the source tree")
    if any(len(os.fsencode(part)) > _LONGEST for part in Path(text).parts):
        raise InputError(f"{place_of(node)}: no file has a name of more than {_LONGEST} bytes")
    return posixpath.normpath(text)


def pattern_of(node: Node) -> str:
    """Read a pattern of files inside the project's folder."""
    pattern = path_of(node)
    if pattern == "." or any("**" in part and part != "**" for part in pattern.split("/")):
        raise InputError(
            f"{place_of(node)}: '{pattern}' is not a pattern of files; ** between slashes stands"
            " for any folders: build/**/*.o"
        )
    return pattern


def place_of(node: Node) -> str:
    """Return file, line and column of a node."""
    return f"{CONFIG}:{node.line}:{node.column}"


def with_whole_calls(node: Node) -> Node:
    """Join values that commas of a flow mapping split: {growth: max(1%, 256B)}.

    YAML reads `growth: max(1%` there, and a key `256B)` without a value.
    """
    if isinstance(node, Listing):
        return Listing(node.line, [with_whole_calls(item) for item in node.items], node.column)
    if isinstance(node, Scalar):
        return node
    pairs: list[tuple[Scalar, Node]] = []
    for key, value in node.pairs:
        before = pairs[-1][1] if pairs else None
        if isinstance(before, Scalar) and _is_open(before.text) and is_empty(value):
            text = f"{before.text}, {key.text}"
            pairs[-1] = pairs[-1][0], Scalar(before.line, "str", text, before.column)
        else:
            pairs.append((key, with_whole_calls(value)))
    return YamlTable(node.line, pairs, node.column)


def _is_open(text: str) -> bool:
    return text.startswith("max(") and text.count("(") > text.count(")")
