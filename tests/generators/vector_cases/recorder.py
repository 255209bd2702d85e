"""Record calls of PyTorch's operators: tensors byte for byte, and PyTorch's answers.

The file of an operator is a zip of storages.bin (the storages, one after the other) and cases.json:

    operator, torch   the operator, and the version that answered
    storages          length of each storage in bytes
    tensors           [dtype, sizes, strides, offset in elements, number of the storage]
    cases             {dtype, calls, outputs, expected, slack?}; dtype is the column of the
                      table that counts the case
    refusals          {dtype, calls, must, message}: PyTorch raised in the last call. must: a
                      runtime that accepts it is wrong

A call is [operator, arguments, results]: all the schema's arguments in order, defaults filled in,
and a name for each result. An argument is a number, a string, null, a list, {"t": number of a
tensor} or {"v": name of an earlier result}. `expected` has a {"t": …} or a number for each of
`outputs`. `slack`, if PyTorch rounds intermediate results to half precision, is the maximum
absolute distance of each answer from the same call in Double. Implementations that round elsewhere
come no closer to PyTorch.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from .tensors import CODES, NAMES

REFUSED = (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError, AssertionError)
_DTYPE_NAME = re.compile(
    r"\b(c10::)?(Byte|Char|Short|Int|Long|Half|Float|Double|Bool|BFloat16|u?int\d+|b?float\d+|"
    r"(un)?signed char|(short |long )?int|float|double|bool)\b"
)
MAXIMUM_MESSAGE = 100  # characters of PyTorch's message

GENERATORS: dict[str, Callable[[Recorder], None]] = {}


def operator(*names: str) -> Callable[[Callable[[Recorder], None]], Callable[[Recorder], None]]:
    """Register a function that makes the cases of these operators."""

    def register(function: Callable[[Recorder], None]) -> Callable[[Recorder], None]:
        for name in names:
            assert name not in GENERATORS, name
            GENERATORS[name] = function
        return function

    return register


def find(name: str) -> Any:
    """Return PyTorch's function, such as torch.ops.aten.add.Tensor for aten::add.Tensor."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


# PyTorch's Python bindings cannot pass lists of a type variable, so Python evaluates these.
BUILT_IN: dict[str, tuple[str, Callable[..., Any]]] = {
    "aten::__getitem__.t": (
        "aten::__getitem__.t(t[](a) list, int idx) -> t(*)",
        lambda items, index: items[index],
    ),
    "aten::len.t": ("aten::len.t(t[] a) -> int", len),
}


@dataclass(frozen=True, slots=True)
class Ref:
    """A value of a script: a constant or a result."""

    code: dict[str, Any]
    value: Any


class Refusal(Exception):
    """PyTorch refused a call."""


class NotCallable(Exception):
    """PyTorch's Python bindings cannot make the call, even if the operator accepts it.

    Such a call is not a case.
    """


@dataclass
class Script:
    """A sequence of calls, and the values to compare after it."""

    recorder: Recorder
    row: str | None
    calls: list[list[Any]] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    arguments: list[Any] = field(default_factory=list)  # of the last call
    names: int = 0
    refused: str | None = None

    def call(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        """Call an operator; return a Ref, a tuple of Refs for several results, or None."""
        if self.refused is not None:
            raise AssertionError(f"{name}: called after a refusal: {self.refused}")
        schema_arguments = self.recorder.schema_arguments(name)
        full = list(arguments)
        for argument in schema_arguments[len(arguments) :]:
            full.append(
                keywords.pop(argument.name) if argument.name in keywords else argument.default_value
            )
        assert not keywords, (name, keywords)
        coded = [
            self.encode(value, argument)
            for value, argument in zip(full, schema_arguments, strict=True)
        ]
        if self.row is None:
            self.row = next((d for d in map(_dtype_of, full) if d is not None), "number")
        values = self.arguments = [_value(value) for value in full]
        if name in BUILT_IN:
            result = BUILT_IN[name][1](*values)
        else:
            function = find(name)
            positional = [
                v for v, a in zip(values, schema_arguments, strict=True) if not a.kwarg_only
            ]
            named = {
                a.name: v for v, a in zip(values, schema_arguments, strict=True) if a.kwarg_only
            }
            before = [_bytes(value) for value in full if isinstance(value, torch.Tensor)]
            try:
                result = function(*positional, **named)
            except REFUSED as error:
                if "Expected a value of type" in str(error):
                    raise NotCallable(str(error)) from error
                self.calls.append([name, coded, []])
                self.refused = next(iter(str(error).splitlines()), type(error).__name__)[
                    :MAXIMUM_MESSAGE
                ]
                raise Refusal(self.refused) from error
            assert before == [_bytes(value) for value in full if isinstance(value, torch.Tensor)], (
                f"{name} writes to a constant"
            )
        count = 1 if name in BUILT_IN else len(find(name)._schema.returns)
        results = () if count == 0 else (result,) if count == 1 else tuple(result)
        refs = tuple(Ref({"v": f"r{self.names + i}"}, value) for i, value in enumerate(results))
        self.names += count
        self.calls.append([name, coded, [ref.code["v"] for ref in refs]])
        return refs[0] if count == 1 else refs if refs else None

    def slack(self) -> list[float]:
        """Return the distance of each half-precision result from the same call in Double."""
        assert len(self.calls) == 1
        name, values = self.calls[0][0], [_in_double(value) for value in self.arguments]
        formals = self.recorder.schema_arguments(name)
        positional = [v for v, a in zip(values, formals, strict=True) if not a.kwarg_only]
        result = find(name)(
            *positional, **{a.name: v for v, a in zip(values, formals, strict=True) if a.kwarg_only}
        )
        exact = result if isinstance(result, tuple | list) else [result]
        return [
            _distance(ref.value, reference)
            for ref, reference in zip(self.outputs, exact, strict=True)
        ]

    def item(self, items: Ref, index: int) -> Ref:
        """Return an element of a list."""
        found = self.call("aten::__getitem__.t", items, index)
        assert isinstance(found, Ref)
        return found

    def output(self, *refs: Ref) -> None:
        self.outputs += refs

    def encode(self, value: Any, argument: Any = None) -> Any:
        if isinstance(value, Ref):
            return value.code
        if isinstance(value, torch.Tensor):
            return {"t": self.recorder.tensor(value)}
        if isinstance(value, torch.dtype):
            return CODES[NAMES[value]]
        if isinstance(value, torch.layout | torch.device):
            return None
        if isinstance(value, torch.memory_format):
            return {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}[
                value
            ]
        if isinstance(value, list | tuple):
            return [self.encode(item) for item in value]
        if argument is not None and argument.name == "memory_format" and value == 0:
            return 0
        assert value is None or isinstance(value, bool | int | float | str), value
        return (
            float(value)
            if argument is not None
            and str(argument.type) in ("float", "Optional[float]")
            and value is not None
            else value
        )


def _value(value: Any) -> Any:
    if isinstance(value, Ref):
        return value.value
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    return value


def _in_double(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_double(item) for item in value]
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    return (
        value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
    )


def _distance(result: torch.Tensor, exact: torch.Tensor) -> float:
    if (
        result.dtype not in (torch.float16, torch.bfloat16)
        or result.shape != exact.shape
        or result.numel() == 0
    ):
        return 0.0
    return float(
        f"{(result.double() - exact).abs().nan_to_num(0.0, 0.0, 0.0).max().item() * 1.01:.3g}"
    )


def _bytes(value: torch.Tensor) -> bytes:
    """Return the bytes of a tensor's storage."""
    storage = value.untyped_storage()
    return (
        torch.empty(0, dtype=torch.uint8)
        .set_(storage, 0, (storage.nbytes(),), (1,))
        .numpy()
        .tobytes()
    )


def _dtype_of(value: Any) -> str | None:
    value = value.value if isinstance(value, Ref) else value
    if isinstance(value, list | tuple):
        return next((d for d in map(_dtype_of, value) if d is not None), None)
    return NAMES.get(value.dtype) if isinstance(value, torch.Tensor) else None


class Recorder:
    """The cases of one operator."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cases: list[dict[str, Any]] = []
        self.refusals: list[dict[str, Any]] = []
        self.tensors: list[list[Any]] = []
        self.storages: list[bytes] = []
        self._tensor_numbers: dict[str, int] = {}
        self._storage_numbers: dict[bytes, int] = {}
        self.rounds = False  # PyTorch rounds intermediate results: cases get a slack
        self._seen: set[str] = set()
        self._refused: set[tuple[str | None, str]] = set()

    def case(self, *arguments: Any, row: str | None = None, **keywords: Any) -> None:
        """Record one call and all of its results, or a refusal if PyTorch refuses."""

        def body(script: Script) -> None:
            results = script.call(self.name, *arguments, **keywords)
            script.output(*(results if isinstance(results, tuple) else (results,)))

        self.script(body, row)

    def refuse(self, *arguments: Any, row: str | None = None, **keywords: Any) -> None:
        """Record a call whose shapes or indices PyTorch refuses, as other runtimes must."""

        def body(script: Script) -> None:
            results = script.call(self.name, *arguments, **keywords)
            raise AssertionError(f"{self.name}{arguments}: PyTorch accepts: {results}")

        self.script(body, row, must=True)

    def script(
        self, body: Callable[[Script], None], row: str | None = None, must: bool = False
    ) -> None:
        """Record a sequence of calls."""
        script = Script(self, row)
        try:
            body(script)
        except NotCallable:
            return
        except Refusal:
            # One refusal of a kind is enough, since each becomes a separate program.
            kind = (script.row, _DTYPE_NAME.sub("", script.refused or ""))
            if not must and kind in self._refused:
                return
            self._refused.add(kind)
            self._add(
                self.refusals,
                {
                    "dtype": script.row,
                    "calls": script.calls,
                    "must": must,
                    "message": script.refused,
                },
            )
            return
        assert not must
        expected = [script.encode(ref.value) for ref in script.outputs]
        outputs = [ref.code for ref in script.outputs]
        case = {
            "dtype": script.row,
            "calls": script.calls,
            "outputs": outputs,
            "expected": expected,
        }
        slack = script.slack() if self.rounds else []
        self._add(self.cases, case | {"slack": slack} if any(slack) else case)

    def _add(self, items: list[dict[str, Any]], item: dict[str, Any]) -> bool:
        key = json.dumps(item["calls"])
        new = key not in self._seen
        if new:
            self._seen.add(key)
            items.append(item)
        return new

    def schema_arguments(self, name: str) -> list[Any]:
        if name in BUILT_IN:
            return list(torch._C.parse_schema(BUILT_IN[name][0]).arguments)
        return list(find(name)._schema.arguments)

    def tensor(self, value: torch.Tensor) -> int:
        """Return the number of a tensor with its current content."""
        storage = self._storage(value)
        entry = [
            NAMES[value.dtype],
            list(value.shape),
            list(value.stride()),
            value.storage_offset(),
            storage,
        ]
        key = json.dumps(entry)
        if key not in self._tensor_numbers:
            self._tensor_numbers[key] = len(self.tensors)
            self.tensors.append(entry)
        return self._tensor_numbers[key]

    def _storage(self, value: torch.Tensor) -> int:
        data = _bytes(value)
        if data not in self._storage_numbers:
            self._storage_numbers[data] = len(self.storages)
            self.storages.append(data)
        return self._storage_numbers[data]

    def file(self) -> bytes:
        """Return the zip file; equal cases give equal bytes."""
        content = {
            "operator": self.name,
            "torch": torch.__version__,
            "storages": [len(data) for data in self.storages],
            "tensors": self.tensors,
            "cases": self.cases,
            "refusals": self.refusals,
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as file:
            for name, data in (
                ("cases.json", _text(content).encode()),
                ("storages.bin", b"".join(self.storages)),
            ):
                file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_LZMA)
        return buffer.getvalue()


def _text(content: dict[str, Any]) -> str:
    """Return readable JSON, with a line for each tensor and each case."""
    parts = []
    for key, value in content.items():
        if isinstance(value, list) and key != "storages":
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            parts.append(f'"{key}":[\n{rows}\n]')
        else:
            parts.append(f'"{key}":{json.dumps(value, separators=(",", ":"))}')
    return "{" + ",\n".join(parts) + "}\n"
