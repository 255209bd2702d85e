"""Read a selection file of sizeguard, PyTorch or ExecuTorch, with torchgen's semantics.

It is stricter than torchgen, which misreads some errors: a string instead of a list (torchgen reads
its letters), and names that are not strings. It is more tolerant in one case: PyTorch's own tracer
writes `kernel_metadata: []`, which torchgen refuses and which is read as empty here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, parse_nodes, read_nodes
from sizeguard.selection.finding import Level, LintFinding
from sizeguard.selection.provenance import Provenance, read_record
from sizeguard.selection.selection import OPERATOR_FLAGS, SelectedOperator, Selection

TOP_KEYS = (
    "include_all_operators",
    "include_all_non_op_selectives",
    "debug_info",
    "operators",
    "kernel_metadata",
    "et_kernel_metadata",
    "custom_classes",
    "build_features",
)
OPERATOR_KEYS = ("name", *OPERATOR_FLAGS, "debug_info")

_WHAT = "selection"
_BOOLEANS = yaml.constructor.SafeConstructor.bool_values

# Limit with aliases expanded: a file of kilobytes can name a list a million times
MAXIMUM_VALUES = 2_000_000
MAXIMUM_NAME = 1000  # characters; YAML ends a key at 1024


@dataclass(frozen=True, slots=True)
class SelectionFile:
    """A selection with the lines of its parts: lines[key] and lines[key, name].

    findings: errors that only the text shows (missing and duplicate keys), for lint
    """

    name: str
    selection: Selection
    lines: Mapping[str | tuple[str, str], int]
    findings: tuple[LintFinding, ...]

    def line(self, key: str, name: str = "") -> int:
        """Return the line of an entry, else of its mapping, else 0."""
        return self.lines.get((key, name)) or self.lines.get(key) or 0


def read_selection(path: Path) -> SelectionFile:
    """Read a file.

    Raises InputError, with file and line, for everything that torchgen refuses and for malformed
    content.
    """
    return _SelectionReader(str(path)).read(read_nodes(path, _WHAT))


def parse_selection(data: bytes, name: str) -> SelectionFile:
    """Parse a selection as read_selection does; `name` is for error messages."""
    return _SelectionReader(name).read(parse_nodes(data, name, _WHAT))


class _SelectionReader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[str | tuple[str, str], int] = {}
        self.findings: list[LintFinding] = []
        self.values = 0

    def read(self, root: Node) -> SelectionFile:
        top = self._table(root, "a selection", TOP_KEYS)
        for key, node in top.items():
            self.lines[key] = node.line
        debug_info, provenance = _split_debug_info(self._texts(top, "debug_info"))
        selection = Selection(
            operators=self._operators(top),
            include_all_operators=self._flag(top, "include_all_operators", False),
            include_all_non_op_selectives=self._flag(top, "include_all_non_op_selectives", False),
            kernel_metadata=self._lists(top, "kernel_metadata"),
            et_kernel_metadata=self._lists(top, "et_kernel_metadata"),
            custom_classes=self._texts(top, "custom_classes"),
            build_features=self._texts(top, "build_features"),
            debug_info=debug_info,
            provenance=provenance,
        )
        return SelectionFile(self.file, selection, self.lines, tuple(self.findings))

    def _operators(self, top: Mapping[str, Node]) -> dict[str, SelectedOperator]:
        operators = {}
        for name, node in self._named(top, "operators"):
            entry = self._table(node, f"the entry of operator {name}", OPERATOR_KEYS)
            stated = entry.get("name")
            if stated is not None and not (
                isinstance(stated, Scalar) and stated.kind == "str" and stated.text == name
            ):
                raise self._error(stated, f"the entry of operator {name} states another name")
            operators[name] = SelectedOperator(
                is_root_operator=self._flag(entry, "is_root_operator", True),
                is_used_for_training=self._flag(entry, "is_used_for_training", True),
                include_all_overloads=self._flag(entry, "include_all_overloads", True),
                debug_info=self._texts(entry, "debug_info"),
            )
            missing = [flag for flag in OPERATOR_FLAGS if flag not in entry]
            if missing:
                message = (
                    f"{name} lacks {', '.join(missing)}; the default is true, the most inclusive "
                    f"value"
                )
                self._note(
                    self.lines["operators", name], Level.WARNING, "inclusive-default", message
                )
        return operators

    def _lists(self, top: Mapping[str, Node], key: str) -> dict[str, frozenset[str]]:
        node = top.get(key)
        if key == "kernel_metadata" and isinstance(node, Listing) and not node.items:
            message = "kernel_metadata is an empty list; torchgen refuses it, write {}"
            self._note(node.line, Level.WARNING, "kernel-metadata-list", message)
            return {}
        return {
            name: self._text_set(entry, f"{key} of {name}") for name, entry in self._named(top, key)
        }

    def _named(self, top: Mapping[str, Node], key: str) -> Iterable[tuple[str, Node]]:
        """Return the entries of a mapping with names as keys, and record their lines."""
        return self._table(top[key], key).items() if key in top else ()

    def _table(self, node: Node, what: str, allowed: tuple[str, ...] = ()) -> dict[str, Node]:
        """Read a mapping as a dict.

        The last entry of a name wins, as in every YAML reader, and lint reports the duplicate.
        """
        if not isinstance(node, YamlTable):
            raise self._error(node, f"{what} must be a table, not {_shown(node)}")
        table: dict[str, Node] = {}
        for key, value in node.pairs:
            self._count(key)
            if key.kind == "merge":
                raise self._error(key, f"{what} takes entries from elsewhere (<<); write them out")
            if key.kind != "str":
                raise self._error(
                    key, f"{what} has the key {_shown(key)}, which is not text; quote it"
                )
            if allowed and key.text not in allowed:
                raise self._error(
                    key, f"{what} has the unknown key '{key.text}'; keys are {', '.join(allowed)}"
                )
            if len(key.text) > MAXIMUM_NAME:
                raise self._error(key, f"{what} has a name of more than {MAXIMUM_NAME} characters")
            if key.text in table:
                self._note(
                    key.line,
                    Level.ERROR,
                    "given-twice",
                    f"{what}: '{key.text}' is given twice, and the last one counts",
                )
            table[key.text] = value
            if not allowed:
                self.lines[what, key.text] = key.line
        return table

    def _flag(self, table: Mapping[str, Node], key: str, default: bool) -> bool:
        node = table.get(key)
        if node is None:
            return default
        if (
            not isinstance(node, Scalar)
            or node.kind != "bool"
            or node.text.lower() not in _BOOLEANS
        ):
            raise self._error(node, f"{key} must be true or false, not {_shown(node)}")
        return bool(_BOOLEANS[node.text.lower()])

    def _texts(self, table: Mapping[str, Node], key: str) -> frozenset[str]:
        return self._text_set(table[key], key) if key in table else frozenset()

    def _text_set(self, node: Node, what: str) -> frozenset[str]:
        if not isinstance(node, Listing):
            raise self._error(node, f"{what} must be a list, not {_shown(node)}")
        found: set[str] = set()
        for item in node.items:
            text = self._text(item, what)
            if text in found and what != "debug_info":
                message = f"{what} lists {text} twice"
                self._note(item.line, Level.WARNING, "listed-twice", message)
            found.add(text)
        return frozenset(found)

    def _text(self, node: Node, what: str) -> str:
        """Read a string as torchgen's str() writes it: 1.50 becomes 1.5."""
        self._count(node)
        if not isinstance(node, Scalar):
            raise self._error(node, f"{what} must list words, not {_shown(node)}")
        if node.kind == "str":
            return node.text
        try:
            value = yaml.constructor.SafeConstructor().construct_object(
                yaml.ScalarNode(f"tag:yaml.org,2002:{node.kind}", node.text)
            )
            return str(value)
        except (ValueError, OverflowError, yaml.YAMLError) as error:
            raise self._error(node, f"{what}: '{node.text[:80]}' is not a {node.kind}") from error

    def _count(self, node: Node) -> None:
        self.values += 1
        if self.values > MAXIMUM_VALUES:
            raise self._error(
                node,
                f"more than {MAXIMUM_VALUES} values with aliases expanded, too many for a "
                f"selection",
            )

    def _note(self, line: int, level: Level, check: str, message: str) -> None:
        self.findings.append(LintFinding(self.file, line, level, check, message))

    def _error(self, node: Node, message: str) -> InputError:
        return InputError(f"{self.file}:{node.line}: {message}")


def _shown(node: Node) -> str:
    if isinstance(node, Listing):
        return "a list"
    if isinstance(node, YamlTable):
        return "a table"
    return "nothing" if node.kind == "null" else f"'{node.text[:80]}'"


def _split_debug_info(texts: frozenset[str]) -> tuple[frozenset[str], dict[str, Provenance]]:
    """Split debug_info into free text and our own records."""
    provenance: dict[str, Provenance] = {}
    free = set()
    for text in sorted(texts):
        record = read_record(text)
        if record is None:
            free.add(text)
        else:
            model, asked = record
            provenance[model] = provenance.get(model, Provenance()).union(asked)
    return frozenset(free), provenance
