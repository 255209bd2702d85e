"""Read and write op_deps.yaml: the operators that each operator calls, and the tags that it runs.

The format is that of PyTorch's former code analyzer, with two additional keys, which PyTorch
ignores: `tags` (kernel tags of the dtype switches that the operator runs) and `unknown` (functions
that call an operator whose name is not constant). PyTorch's own files name no overloads; there, a
name stands for all overloads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import write_if_changed
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, read_nodes
from sizeguard.base.yaml.text import yaml_name
from sizeguard.operators.name import family_of

# PyTorch's names for operators that every build needs.
BASE = "__BASE__"
ROOT = "__ROOT__"

_Names = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class OpDeps:
    """Calls between operators.

    calls:   operator or custom class → operators that its code calls; each known operator is a key
    at_load: operators that are called for any model
    tags:    operator or custom class → kernel tags of the dtype switches that it runs itself
    unknown: operator → functions in it that call an operator whose name is not constant
    """

    calls: _Names
    at_load: frozenset[str] = frozenset()
    tags: _Names = field(default_factory=dict)
    unknown: _Names = field(default_factory=dict)

    def callers(self, roots: Iterable[str]) -> dict[str, str]:
        """Map each operator that the roots can reach to its caller on a shortest path from a root.

        The caller is "" for roots and for operators called at load.
        """
        found = dict.fromkeys([*sorted(roots), *sorted(self.at_load)], "")
        waiting = list(found)
        for operator in waiting:
            new = [name for name in sorted(self.calls.get(operator, ())) if name not in found]
            found.update(dict.fromkeys(new, operator))
            waiting += new
        return found

    def spelled_out(self, known: Collection[str]) -> OpDeps:
        """Replace families by their known overloads if the file names no overload at all.

        Unknown names are left out: they are operators of another runtime.
        """
        named = {*self.calls, *self.at_load}.union(*self.calls.values())
        if any("." in name.rpartition("::")[2] for name in named):
            return self
        overloads: dict[str, set[str]] = {}
        for name in known:
            overloads.setdefault(family_of(name), set()).add(name)

        def names(families: Iterable[str]) -> frozenset[str]:
            return frozenset().union(*(overloads.get(name, ()) for name in families))

        def table(of: _Names) -> dict[str, frozenset[str]]:
            return {name: of[key] for key in of for name in overloads.get(key, ())}

        calls = {name: names(called) for name, called in table(self.calls).items()}
        return OpDeps(calls, names(self.at_load), table(self.tags), table(self.unknown))

    def union(self, other: OpDeps) -> OpDeps:
        """Combine two files."""
        return OpDeps(
            _union(self.calls, other.calls),
            self.at_load | other.at_load,
            _union(self.tags, other.tags),
            _union(self.unknown, other.unknown),
        )


def read_op_deps(path: Path) -> OpDeps:
    """Read a file of sizeguard or PyTorch. Raises InputError with the place of an error."""
    top = read_nodes(path, "list of operator calls")
    if not isinstance(top, Listing):
        raise InputError(f"{path}: no list of operators with `name` and `depends`")
    calls: dict[str, frozenset[str]] = {}
    tags: dict[str, frozenset[str]] = {}
    unknown: dict[str, frozenset[str]] = {}
    for entry in top.items:
        table = _table(entry, path)
        name = _text(_one(table, "name", path), path)
        calls[name] = calls.get(name, frozenset()) | _names(table, "depends", path)
        tags[name] = tags.get(name, frozenset()) | _names(table, "tags", path)
        unknown[name] = unknown.get(name, frozenset()) | _names(table, "unknown", path)
    at_load = calls.pop(BASE, frozenset()) | calls.pop(ROOT, frozenset())
    return OpDeps(calls, at_load, _filled(tags), _filled(unknown))


def write_op_deps(path: Path, deps: OpDeps) -> bool:
    """Write the file, unless it has this content already.

    True if it was written.
    """
    return write_if_changed(path, format_op_deps(deps))


def format_op_deps(deps: OpDeps) -> str:
    """Write all operators and classes, sorted, each with its calls."""
    lines = _entry(BASE, {"depends": deps.at_load}) if deps.at_load else []
    for name in sorted({*deps.calls, *deps.unknown}):
        parts = {
            "depends": deps.calls.get(name, frozenset()),
            "tags": deps.tags.get(name, frozenset()),
            "unknown": deps.unknown.get(name, frozenset()),
        }
        lines += _entry(name, parts)
    return "\n".join(lines or ["[]"]) + "\n"


def _entry(name: str, parts: _Names) -> list[str]:
    lines = [f"- name: {yaml_name(name)}"]
    if called := parts["depends"]:
        lines += ["  depends:", *(f"  - name: {yaml_name(other)}" for other in sorted(called))]
    for key in ("tags", "unknown"):
        if values := parts.get(key):
            lines += [
                f"  {key}: [{', '.join(yaml_name(_line(value)) for value in sorted(values))}]"
            ]
    return lines


def _line(text: str) -> str:
    """Escape a symbol, because symbols of damaged objects may have any characters."""
    return text if text.isprintable() and text.isascii() else ascii(text)


def _union(left: _Names, right: _Names) -> dict[str, frozenset[str]]:
    return {
        name: left.get(name, frozenset()) | right.get(name, frozenset())
        for name in (*left, *(name for name in right if name not in left))
    }


def _filled(table: _Names) -> dict[str, frozenset[str]]:
    return {name: names for name, names in table.items() if names}


def _table(node: Node, path: Path) -> Mapping[str, Node]:
    if not isinstance(node, YamlTable):
        raise InputError(f"{path}:{node.line}: an operator's entry is a mapping with `name`")
    return {key.text: value for key, value in node.pairs}


def _one(table: Mapping[str, Node], key: str, path: Path) -> Node:
    if key not in table:
        line = next(iter(table.values())).line if table else 0
        raise InputError(f"{path}:{line}: an operator's entry has no `{key}`")
    return table[key]


def _names(table: Mapping[str, Node], key: str, path: Path) -> frozenset[str]:
    """Read a list of names; each is a string, or a mapping with `name` as in PyTorch's files."""
    node = table.get(key)
    if node is None:
        return frozenset()
    if not isinstance(node, Listing):
        raise InputError(f"{path}:{node.line}: `{key}` is a list of names")
    return frozenset(
        _text(_one(_table(item, path), "name", path) if isinstance(item, YamlTable) else item, path)
        for item in node.items
    )


def _text(node: Node, path: Path) -> str:
    if not isinstance(node, Scalar) or node.kind != "str" or not node.text:
        raise InputError(f"{path}:{node.line}: a name is a string")
    return node.text
