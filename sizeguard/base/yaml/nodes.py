"""Read YAML as nodes with line numbers, in bounded time and memory.

PyYAML's own composer recurses: a file of brackets ends in a RecursionError or, with libyaml, a
crash. It follows anchors into themselves and has no limits. So this module composes nodes from
PyYAML's events. Tags and scalars resolve as in safe_load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

import yaml

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import read_input

# Our selection of 2,000 operators with the models that name them has 400 KB and 15,000 values.
# Files at these limits are read in 5 s; a selection of 400,000 operators took a minute.
MAXIMUM_FILE_SIZE = 4 << 20  # bytes
MAXIMUM_NODES = 200_000
MAXIMUM_DEPTH = 16  # selections nest 4 deep

_TAG = "tag:yaml.org,2002:"

# Returns the type of a bare word (string, number, boolean, …) from its node class, text and (bare,
# quoted).
resolve: Callable[[type[yaml.ScalarNode], str, tuple[bool, bool]], str] = (
    yaml.resolver.Resolver().resolve
)

# libyaml's parser is ten times as fast, but PyYAML may be built without it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number, boolean or other single value.

    kind: str, bool, int, float, null, timestamp, …; text: as in the file, without quotes.
    """

    line: int
    kind: str
    text: str
    column: int = 1


@dataclass(frozen=True, slots=True)
class Listing:
    """A sequence, with the line and column of its start."""

    line: int
    items: list[Node] = field(default_factory=list)
    column: int = 1


@dataclass(frozen=True, slots=True)
class YamlTable:
    """A mapping, as pairs in the file's order; duplicate keys are kept."""

    line: int
    pairs: list[tuple[Scalar, Node]] = field(default_factory=list)
    column: int = 1


Node = Scalar | Listing | YamlTable


def value_of(node: Node | None, name: str) -> Node | None:
    """Return the first value of a key; None if the node is no mapping, or has no such key.

    For those who need one part of a file, whatever its other parts are.
    """
    pairs = node.pairs if isinstance(node, YamlTable) else []
    return next((value for key, value in pairs if key.text == name), None)


def read_nodes(path: Path, what: str, *, may_be_empty: bool = False) -> Node:
    """Read the root node of a file with one document; `what` names the file's kind in errors.

    may_be_empty: a file without a node, such as one of comments, is null

    Raises InputError for a file that cannot be read, is not YAML, is empty, or exceeds the limits.
    """
    return parse_nodes(read_document(path), path, what, may_be_empty=may_be_empty)


def read_document(path: Path) -> bytes:
    """Read the bytes for parse_nodes, up to its limit. Raises InputError if it cannot."""
    return read_input(path, MAXIMUM_FILE_SIZE + 1)


def _line_not_utf8(data: bytes) -> int:
    """Return the number of the first line that is not valid UTF-8; 0 if all lines are."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return 0


def parse_nodes(data: bytes, path: Path | str, what: str, *, may_be_empty: bool = False) -> Node:
    """Parse bytes as read_nodes does; path appears in error messages."""
    if len(data) > MAXIMUM_FILE_SIZE:
        raise InputError(f"{path}: larger than {MAXIMUM_FILE_SIZE} bytes, too large for a {what}")
    composer = _Composer(path, what)
    try:
        for event in yaml.parse(data, Loader=_Loader):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 1
        text = b"".join(data.splitlines()[line - 1 : line])
        is_tab = text[: len(text) - len(text.lstrip())].find(b"\t") >= 0
        why = "a tab is before its text; YAML is indented by spaces" if is_tab else error.problem
        raise InputError(f"{path}:{line}: not YAML: {why}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        if b"\0" in data:
            hint = "; sizeguard select ops MODEL -o FILE makes a selection of a model"
            more = hint if what == "selection" else ""
            raise InputError(f"{path}: not YAML but a binary file{more}") from error
        if line := _line_not_utf8(data):
            raise InputError(f"{path}:{line}: not YAML: not UTF-8 text") from error
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if composer.root is None and may_be_empty:
        return Scalar(1, "null", "")
    if composer.root is None:
        hint = "; a selection of nothing is written 'operators: {}'" if what == "selection" else ""
        raise InputError(f"{path}: is empty{hint}")
    return composer.root


class _Composer:
    """Compose nodes from events.

    open: lists and tables that are not closed yet, each with its anchor; keys: for each, the key
    without a value so far.
    """

    def __init__(self, path: Path | str, what: str) -> None:
        self.path = path
        self.what = what
        self.root: Node | None = None
        self.open: list[tuple[Listing | YamlTable, str | None]] = []
        self.keys: list[Scalar | None] = []
        self.anchors: dict[str, Node] = {}
        self.count = 0

    def take(self, event: yaml.Event) -> None:
        """Add an event to the nodes."""
        if isinstance(event, yaml.ScalarEvent):
            scalar = self._scalar(event)
            self._name(scalar, event.anchor, event)
            self._add(scalar, event)
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._aliased(event), event)
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            self._start(event)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            node, anchor = self.open.pop()
            self.keys.pop()
            # An anchor names only closed nodes, so no node can contain itself.
            self._name(node, anchor, event)
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise self._error(event, f"more than one YAML document; a {self.what} has one")

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        tag = event.tag
        if tag is None or tag == "!":
            tag = resolve(yaml.ScalarNode, event.value, event.implicit)
        if not tag.startswith(_TAG):
            raise self._error(event, f"unknown YAML tag {tag}")
        is_plain = event.value.isascii()  # looking at each character took a sixth of the time
        if not is_plain and any(0xD800 <= ord(each) <= 0xDFFF for each in event.value):
            raise self._error(event, "half of a surrogate pair, which is not a character")
        return Scalar(_line(event), tag.removeprefix(_TAG), event.value, _column(event))

    def _aliased(self, event: yaml.AliasEvent) -> Node:
        node = self.anchors.get(event.anchor or "")
        if node is None:
            raise self._error(
                event, f"alias *{event.anchor} names nothing before it, or its own container"
            )
        return node

    def _start(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent) -> None:
        line = _line(event)
        column = _column(event)
        node = (
            Listing(line, column=column)
            if isinstance(event, yaml.SequenceStartEvent)
            else YamlTable(line, column=column)
        )
        kind = "seq" if isinstance(node, Listing) else "map"
        if event.tag not in (None, "!", _TAG + kind):
            raise self._error(event, f"unknown YAML tag {event.tag}")
        if len(self.open) == MAXIMUM_DEPTH:
            limit = f"nested more than {MAXIMUM_DEPTH} deep"
            raise self._error(event, f"{limit}, too deep for a {self.what}")
        self._add(node, event)
        self.open.append((node, event.anchor))
        self.keys.append(None)

    def _name(self, node: Node, anchor: str | None, event: yaml.Event) -> None:
        if anchor in self.anchors:
            raise self._error(event, f"duplicate anchor &{anchor}")
        if anchor is not None:
            self.anchors[anchor] = node

    def _add(self, node: Node, event: yaml.Event) -> None:
        self.count += 1
        if self.count > MAXIMUM_NODES:
            limit = f"more than {MAXIMUM_NODES} values"
            raise self._error(event, f"{limit}, too many for a {self.what}")
        if not self.open:
            self.root = node
            return
        parent = self.open[-1][0]
        if isinstance(parent, Listing):
            parent.items.append(node)
            return
        key = self.keys[-1]
        if key is not None:
            parent.pairs.append((key, node))
            self.keys[-1] = None
        elif isinstance(node, Scalar):
            self.keys[-1] = node
        else:
            raise self._error(event, "a key that is a list or a table")

    def _error(self, event: yaml.Event, message: str) -> InputError:
        return InputError(f"{self.path}:{_line(event)}: {message}")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _column(event: yaml.Event) -> int:
    return event.start_mark.column + 1 if event.start_mark else 1
