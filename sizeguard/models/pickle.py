"""Read a pickle into plain values and execute nothing: calls and classes stay names.

`pickle.loads` runs everything that a file names. Here only the opcodes that PyTorch writes are
interpreted. All others are refused, as are globals that no TorchScript model has.
"""

from __future__ import annotations

import pickletools
import re
from dataclasses import field

from sizeguard.base.dataclass import dataclass

MAXIMUM_OPCODES = 5_000_000  # opcodes; an MLP's bytecode has 250
MAXIMUM_SHOWN = 100  # characters of the file's text to show in a message

# Names in the pickles of TorchScript: modules and classes of the model, and functions that rebuild
# tensors. They are compared and never looked up.
_GLOBALS = re.compile(
    r"__torch__(\.\w+)+"
    r"|collections\.OrderedDict"
    r"|torch\._utils\._rebuild_\w+"
    r"|torch\.jit\._pickle\.(build_\w+|restore_type_tag)"
    r"|torch\.(\w+Storage|device|Size|per_\w+)"
)


class PickleError(ValueError):
    """A damaged pickle, or one with content that no TorchScript model has."""


@dataclass(frozen=True, slots=True)
class Global:
    """A name that pickle.loads would import."""

    name: str


@dataclass(frozen=True, slots=True)
class ReducedObject:
    """An object that pickle.loads would make by a call.

    The call's arguments and the object's state are dropped.
    """

    by: Value


@dataclass(frozen=True, slots=True)
class Pairs:
    """A dictionary as a list of pairs: hashing the keys of a hostile file could take hours."""

    items: list[tuple[Value, Value]] = field(default_factory=list)


Value = (
    None
    | bool
    | int
    | float
    | str
    | bytes
    | tuple["Value", ...]
    | list["Value"]
    | Pairs
    | Global
    | ReducedObject
)


@dataclass(frozen=True, slots=True)
class Pickle:
    """The value, and all names that pickle.loads would import."""

    value: Value
    globals: frozenset[str]


def read_pickle(data: bytes) -> Pickle:
    """Interpret a pickle.

    Raises PickleError if it is damaged or has content that no TorchScript model has.
    """
    machine = _Machine()
    try:
        for count, (opcode, argument, position) in enumerate(pickletools.genops(data)):
            if count == MAXIMUM_OPCODES:
                raise PickleError(f"more than {MAXIMUM_OPCODES} opcodes, too many for a model")
            machine.step(opcode.name, argument, position or 0)
    except PickleError:
        raise
    except ValueError as error:  # pickletools raises it if the pickle is truncated or garbled
        raise PickleError(" ".join(str(error).split())[:MAXIMUM_SHOWN]) from error
    return Pickle(machine.result(), frozenset(machine.globals))


class _Machine:
    """The pickle machine.

    marks: the heights of the stack at each MARK
    """

    def __init__(self) -> None:
        self.stack: list[Value] = []
        self.marks: list[int] = []
        self.memo: dict[int, Value] = {}
        self.globals: set[str] = set()
        self.position = 0

    def result(self) -> Value:
        """Return the value that remains on the stack."""
        if len(self.stack) != 1 or self.marks:
            raise PickleError(f"ends with {len(self.stack)} values instead of one")
        return self.stack[0]

    # More than 40 lines: one case for each opcode, in one list.
    def step(self, opcode: str, argument: Value, position: int) -> None:
        """Execute one opcode."""
        self.position = position
        match opcode:
            case "PROTO" | "STOP":
                pass
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "BINUNICODE":
                self.stack.append(argument)
            case "NONE":
                self.stack.append(None)
            case "NEWTRUE" | "NEWFALSE":
                self.stack.append(opcode == "NEWTRUE")
            case "BINPUT" | "LONG_BINPUT":
                self.memo[self._index(argument)] = self._top()
            case "BINGET" | "LONG_BINGET":
                self._get(self._index(argument))
            case "MARK":
                self.marks.append(len(self.stack))
            case "EMPTY_TUPLE":
                self.stack.append(())
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                self.stack.append(tuple(self._take(int(opcode[-1]))))
            case "TUPLE":
                self.stack.append(tuple(self._take_marked()))
            case "EMPTY_LIST":
                self.stack.append([])
            case "EMPTY_DICT":
                self.stack.append(Pairs())
            case "APPEND":
                self._extend(self._take(1))
            case "APPENDS":
                self._extend(self._take_marked())
            case "SETITEM":
                self._set(self._take(2))
            case "SETITEMS":
                self._set(self._take_marked())
            case "GLOBAL":
                self._global(argument)
            case "REDUCE" | "NEWOBJ":
                self.stack.append(ReducedObject(self._take(2)[0]))
            case "BUILD":
                self._take(1)
                self._top()
            case "BINPERSID":
                self._take(1)
                self.stack.append(ReducedObject(None))
            case _:
                raise self._error(f"opcode {opcode}, which PyTorch does not write")

    def _index(self, argument: Value) -> int:
        if not isinstance(argument, int):
            raise self._error("a memo index that is not a number")
        return argument

    def _get(self, index: int) -> None:
        if index not in self.memo:
            raise self._error(f"reads memo {index}, which was never written")
        self.stack.append(self.memo[index])

    def _floor(self) -> int:
        """Return the height of the last mark; values below it cannot be used."""
        return self.marks[-1] if self.marks else 0

    def _top(self) -> Value:
        if len(self.stack) <= self._floor():
            raise self._error("needs a value, but the stack is empty")
        return self.stack[-1]

    def _take(self, count: int) -> list[Value]:
        if len(self.stack) - self._floor() < count:
            raise self._error(f"needs {count} values, but the stack has fewer")
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def _take_marked(self) -> list[Value]:
        if not self.marks:
            raise self._error("needs a mark, but there is none")
        start = self.marks.pop()
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def _extend(self, values: list[Value]) -> None:
        target = self._top()
        if isinstance(target, list):
            target.extend(values)
        elif not isinstance(target, ReducedObject):
            raise self._error("appends to a value that is not a list")

    def _set(self, values: list[Value]) -> None:
        target = self._top()
        if len(values) % 2:
            raise self._error("a key without a value")
        if isinstance(target, Pairs):
            target.items.extend(zip(values[::2], values[1::2], strict=True))
        elif not isinstance(target, ReducedObject):
            raise self._error("sets items of a value that is not a dictionary")

    def _global(self, argument: Value) -> None:
        name = str(argument).replace(" ", ".", 1)
        if not _GLOBALS.fullmatch(name):
            raise self._error(
                f"names {name[:MAXIMUM_SHOWN]!r}, which no TorchScript model needs (nothing was"
                " executed)"
            )
        self.globals.add(name)
        self.stack.append(Global(name))

    def _error(self, message: str) -> PickleError:
        return PickleError(f"at byte {self.position}: {message}")
