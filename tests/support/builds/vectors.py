"""Run tests/data/vectors as programs, and list the cases that differ from PyTorch's answers.

The format of the files is described in tests/generators/vector_cases/recorder.py.
"""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.models.array_difference import difference
from sizeguard.models.npy import Array, read_npy
from sizeguard.operators.dtypes import CODES, ELEMENT_SIZES, NAMES
from sizeguard.operators.library import Operator, read_operator_libraries
from sizeguard.operators.schema import Type
from sizeguard.runtimes.sizeguard.importing.builder import ProgramBuilder, Ref
from sizeguard.runtimes.sizeguard.program.program import Program, Tag, TensorView, Value
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from tests.support.places import DATA, ROOT

VECTORS = DATA / "vectors"
OPERATORS_YAML = ROOT / "native" / "operators" / "operators.yaml"

_RESULT_TAGS = {"Tensor": Tag.TENSOR, "float": Tag.DOUBLE, "bool": Tag.BOOL}
_TIME_LIMIT = 120  # time limit in seconds; the longest program takes less than 1 s


@dataclass(frozen=True, slots=True)
class Case:
    """Calls, and the outputs to compare.

    expected: an Array for each output
    slack: added to the absolute tolerance of each output, because PyTorch's own answer has this
              error
    must: a refused case must also be refused here
    """

    number: int
    dtype: str
    calls: list[list[Any]]
    outputs: list[dict[str, Any]]
    expected: list[Array]
    slack: list[float]
    must: bool = False
    message: str = ""

    def __str__(self) -> str:
        return "; ".join(
            f"{name}({', '.join(map(str, arguments))})" for name, arguments, _ in self.calls
        )


@dataclass(frozen=True, slots=True)
class Vectors:
    """The cases of one operator."""

    operator: str
    tensors: list[TensorView]
    storages: list[bytes]
    cases: list[Case]
    refusals: list[Case]

    def describe(self, case: Case) -> str:
        """Describe the calls, with dtypes, shapes and strides for tensors."""

        def shown(argument: Any) -> str:
            if isinstance(argument, list):
                return "[" + ", ".join(map(shown, argument)) + "]"
            if isinstance(argument, dict) and "t" in argument:
                view = self.tensors[argument["t"]]
                strides = (
                    ""
                    if list(view.strides) == _contiguous(view.sizes)
                    else f" strides {list(view.strides)} offset {view.offset}"
                )
                return f"{NAMES[view.dtype]}{list(view.sizes)}{strides}"
            return str(argument["v"]) if isinstance(argument, dict) else repr(argument)

        return "; ".join(
            f"{', '.join(results)}{' = ' if results else ''}{name}"
            f"({', '.join(map(shown, arguments))})"
            for name, arguments, results in case.calls
        )


def operators() -> dict[str, Operator]:
    """The operators of the portable library."""
    return read_operator_libraries([OPERATORS_YAML])


def vector_files() -> list[Path]:
    return sorted(VECTORS.glob("*.zip"))


def read_vectors(path: Path) -> Vectors:
    """Read the cases of an operator."""
    with zipfile.ZipFile(path) as file:
        content = json.loads(file.read("cases.json"))
        data = file.read("storages.bin")
    storages = []
    start = 0
    for length in content["storages"]:
        storages.append(data[start : start + length])
        start += length
    tensors = [
        TensorView(CODES[dtype], tuple(sizes), tuple(strides), offset, storage)
        for dtype, sizes, strides, offset, storage in content["tensors"]
    ]

    def expected(item: Any) -> Array:
        return _contents(tensors[item["t"]], storages) if isinstance(item, dict) else _number(item)

    cases = [
        Case(
            i,
            item["dtype"],
            item["calls"],
            item["outputs"],
            [expected(value) for value in item["expected"]],
            item.get("slack", []),
        )
        for i, item in enumerate(content["cases"])
    ]
    refusals = [
        Case(i, item["dtype"], item["calls"], [], [], [], item["must"], item["message"])
        for i, item in enumerate(content["refusals"])
    ]
    return Vectors(content["operator"], tensors, storages, cases, refusals)


def _contiguous(sizes: Sequence[int]) -> list[int]:
    strides = [1] * len(sizes)
    for i in reversed(range(len(sizes) - 1)):
        strides[i] = strides[i + 1] * max(sizes[i + 1], 1)
    return strides


def _contents(view: TensorView, storages: Sequence[bytes]) -> Array:
    """Return the elements of a view, row by row."""
    size = ELEMENT_SIZES[NAMES[view.dtype]]
    elements = np.frombuffer(storages[view.storage], f"V{size}")[view.offset :]
    strides = [stride * size for stride in view.strides]
    shown = (
        np.lib.stride_tricks.as_strided(elements, view.sizes, strides)
        if 0 not in view.sizes
        else np.zeros(view.sizes, f"V{size}")
    )
    return Array(NAMES[view.dtype], view.sizes, np.ascontiguousarray(shown).tobytes())


def _number(value: bool | int | float) -> Array:
    """Return a number as run_program writes it."""
    if isinstance(value, bool):
        return Array("Bool", (), bytes([value]))
    if isinstance(value, int):
        return Array("Long", (), value.to_bytes(8, "little", signed=True))
    return Array("Double", (), np.float64(value).tobytes())


def make_program(vectors: Vectors, cases: Sequence[Case], known: Mapping[str, Operator]) -> Program:
    """Make one program with all calls of all cases."""
    builder = ProgramBuilder(vectors.operator)
    builder.storages = list(vectors.storages)
    for case in cases:
        results: dict[str, Ref] = {}
        for name, arguments, names in case.calls:
            schema = known[name].schema
            lower = [
                _lower(builder, vectors, results, argument, formal.type)
                for argument, formal in zip(arguments, schema.arguments, strict=True)
            ]
            made = [builder.variable(_result_tag(result.type)) for result in schema.returns]
            builder.call(name, lower, made)
            results.update(zip(names, made, strict=False))  # a refused call has no names
        builder.outputs += [
            results[item["v"]] if "v" in item else _tensor(builder, vectors, item)
            for item in case.outputs
        ]
    return builder.finish()


def _result_tag(type_: Type) -> Tag:
    if type_.is_list:
        return Tag.TENSOR_LIST
    return _RESULT_TAGS.get(type_.name, Tag.INT)


def _tensor(builder: ProgramBuilder, vectors: Vectors, argument: Mapping[str, int]) -> Ref:
    return builder.tensor(vectors.tensors[argument["t"]])


def _lower(
    builder: ProgramBuilder,
    vectors: Vectors,
    results: Mapping[str, Ref],
    argument: Any,
    type_: Type,
) -> Ref:
    if isinstance(argument, dict):
        return results[argument["v"]] if "v" in argument else _tensor(builder, vectors, argument)
    if isinstance(argument, list):
        return _lower_list(builder, vectors, results, argument, type_)
    if argument is None:
        return builder.constant(Value(Tag.NONE))
    if isinstance(argument, str):
        return builder.constant(Value(Tag.STRING, text=argument))
    if isinstance(argument, bool):
        return builder.constant(Value(Tag.BOOL, integer=int(argument)))
    if isinstance(argument, float):
        return builder.constant(Value(Tag.DOUBLE, number=argument))
    return builder.constant(Value(Tag.INT, integer=argument))


def _lower_list(
    builder: ProgramBuilder,
    vectors: Vectors,
    results: Mapping[str, Ref],
    items: list[Any],
    type_: Type,
) -> Ref:
    first = items[0] if items else None
    if isinstance(first, dict) or (first is None and type_.name == "Tensor"):
        if all("t" in item for item in items):
            for item in items:
                _tensor(builder, vectors, item)
            views = tuple(builder.views[vectors.tensors[item["t"]]] for item in items)
            return builder.constant(Value(Tag.TENSOR_LIST, integers=views))
        return builder.list_of(
            Tag.TENSOR_LIST, [_lower(builder, vectors, results, item, type_) for item in items]
        )
    if isinstance(first, bool):
        return builder.constant(Value(Tag.BOOL_LIST, integers=tuple(map(int, items))))
    if isinstance(first, float):
        return builder.constant(Value(Tag.DOUBLE_LIST, numbers=tuple(items)))
    return builder.constant(Value(Tag.INT_LIST, integers=tuple(items)))


@dataclass(frozen=True, slots=True)
class Failure:
    """A case with another result than PyTorch's."""

    case: Case
    what: str


def run_program(
    executable: Path, program: Path, output_dir: Path, *arguments: str, prefix: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a program, with outputs in a new folder. prefix: an emulator."""
    output_dir.mkdir(parents=True)
    command = [
        *prefix,
        str(executable),
        "--program",
        str(program),
        "--output-dir",
        str(output_dir),
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False)


@dataclass(slots=True)
class Runner:
    """Runs cases in as few programs as possible: in one, unless it fails as a whole."""

    executable: Path
    folder: Path
    known: Mapping[str, Operator]
    runs: int = 0

    def run(self, vectors: Vectors, cases: Sequence[Case]) -> list[Failure]:
        """Return the cases that differ from PyTorch or cannot run."""
        if not cases:
            return []
        outcome, output_dir = self.attempt(vectors, cases)
        if outcome.returncode != 0:
            if len(cases) == 1:
                return [Failure(cases[0], f"exit {outcome.returncode}: {outcome.stderr.strip()}")]
            middle = len(cases) // 2
            return self.run(vectors, cases[:middle]) + self.run(vectors, cases[middle:])
        failures = []
        index = 0
        for case in cases:
            for position, expected in enumerate(case.expected):
                slack = case.slack[position] if case.slack else 0.0
                what = self.compare(output_dir / f"output{index + position}.npy", expected, slack)
                if what is not None:
                    failures.append(Failure(case, f"output {position}: {what}"))
                    break
            index += len(case.expected)
        return failures

    def attempt(
        self, vectors: Vectors, cases: Sequence[Case]
    ) -> tuple[subprocess.CompletedProcess[str], Path]:
        """Run some cases as one program."""
        self.runs += 1
        program = self.folder / f"{self.runs}.sgp"
        write_program(make_program(vectors, cases, self.known), program)
        output_dir = self.folder / str(self.runs)
        return run_program(self.executable, program, output_dir), output_dir

    @staticmethod
    def compare(path: Path, expected: Array, slack: float) -> str | None:
        try:
            return difference(read_npy(path), expected, slack)
        except InputError as error:
            return str(error)
