"""Read the names in lists of operators, our own or ExecuTorch's, and merge two lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from sizeguard.base.errors import InputError
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, read_nodes
from sizeguard.operators.library import read_operator_libraries

MERGED = "merged.yaml"  # the file that `codegen --merge-yaml` writes
_WHAT = "list of operators"


def schema_names(files: Iterable[Path]) -> list[str]:
    """List the operators in the files, with their namespaces.

    ExecuTorch's lists have `op: add.out` or `func: ns::add.out(…) -> …`, with `kernels`. A list in
    this project's format is checked in full.

    Raises InputError, with the place, for other files and for an operator in two lists.
    """
    names: dict[str, tuple[Path, int]] = {}
    own = []
    for path in files:
        entries = _entries(path)
        if not any("kernels" in entry or "op" in entry for entry in entries.values()):
            own.append(path)
            continue
        for name, entry in entries.items():
            line = next(iter(entry.values())).line
            if name in names:
                other, first = names[name]
                raise InputError(f"{path}:{line}: {name} is in {other}:{first}, too")
            names[name] = (path, line)
    listed = read_operator_libraries(own)
    both = sorted(names.keys() & listed.keys())
    if both:
        path, line = names[both[0]]
        place = f"{listed[both[0]].file}:{listed[both[0]].line}"
        raise InputError(f"{path}:{line}: {both[0]} is in {place}, too")
    return [*listed, *names]


def merged_lists(functions: Path, fallback: Path) -> str:
    """Merge two lists into the text of a YAML file, sorted by name.

    For an operator in both, the entry of `functions` wins. Raises InputError.
    """
    chosen = {name: _plain(entry) for name, entry in _entries(fallback).items()}
    chosen |= {name: _plain(entry) for name, entry in _entries(functions).items()}
    return yaml.safe_dump(
        [chosen[name] for name in sorted(chosen)], sort_keys=False, width=1000, allow_unicode=True
    )


def _entries(path: Path) -> dict[str, Mapping[str, Node]]:
    """Read the entries of a list by their operators' names, with namespaces."""
    root = read_nodes(path, _WHAT)
    if not isinstance(root, Listing):
        raise InputError(f"{path}:{root.line}: expected a {_WHAT}")
    found: dict[str, Mapping[str, Node]] = {}
    for node in root.items:
        entry = (
            {key.text: value for key, value in node.pairs} if isinstance(node, YamlTable) else {}
        )
        named = entry.get("func") or entry.get("op")
        if not isinstance(named, Scalar) or named.kind != "str":
            raise InputError(f"{path}:{node.line}: an operator is a mapping with func or op")
        text = named.text.partition("(")[0].strip()
        name = text if "::" in text else f"aten::{text}"
        if name in found:
            raise InputError(f"{path}:{node.line}: duplicate operator {name}")
        found[name] = entry
    return found


def _plain(node: Node | Mapping[str, Node]) -> Any:
    """Convert nodes to values for yaml.safe_dump. Numbers and booleans stay strings."""
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, YamlTable):
        return {key.text: _plain(value) for key, value in node.pairs}
    if isinstance(node, Listing):
        return [_plain(item) for item in node.items]
    return None if node.kind == "null" else node.text
