"""The program of a file of torch.export.save (.pt2), as data: its graph and its weights."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.dataclass import dataclass

# Dimensions of a tensor: kMaxDims of native/runtime/tensor.h.
MAXIMUM_DIMENSIONS = 16


@dataclass(frozen=True, slots=True)
class Name:
    """A reference to a value of the graph.

    kind: tensor, int, bool or float, as stated by the reference
    """

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class DtypeArgument:
    """A dtype as an argument, by PyTorch's name."""

    name: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """An argument that no operator of the runtime accepts; kind: its tag in the file."""

    kind: str


@dataclass(frozen=True, slots=True)
class GraphArgument:
    """A whole graph as an argument: a branch of torch.cond."""

    name: str
    graph: Graph


Argument = (
    None
    | bool
    | int
    | float
    | str
    | Name
    | DtypeArgument
    | Unsupported
    | GraphArgument
    | tuple["Argument", ...]
)


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """Dtype and layout of a tensor.

    dtype: PyTorch's name
    sizes, strides, offset: of elements; numbers, or expressions of symbols such as 2*s0
    """

    dtype: str
    sizes: tuple[int | str, ...]
    strides: tuple[int | str, ...]
    offset: int | str


@dataclass(frozen=True, slots=True)
class Node:
    """One call.

    target: torch.ops.aten.add.Tensor, _operator.mul, …
    inputs: by name, in order
    """

    name: str
    target: str
    inputs: tuple[tuple[str, Argument], ...]
    outputs: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph of calls.

    tensors: by name
    """

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    nodes: tuple[Node, ...]
    tensors: dict[str, TensorMeta]


@dataclass(frozen=True, slots=True)
class InputSpec:
    """The source of a graph input.

    kind:   user, weight (`target` names it) or constant (`value`)
    """

    kind: str
    argument: Argument
    target: str = ""
    value: bool | int | float | str | None = None


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """The use of a graph output.

    kind:   user, mutation (written back to `target`) or other (dropped)
    """

    kind: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Weight:
    """A parameter, buffer or constant: a view of the bytes of one entry of the archive."""

    meta: TensorMeta
    entry: str


@dataclass(frozen=True, slots=True)
class SymbolBounds:
    """Inclusive bounds of a size that is known only at run time; None without a bound."""

    minimum: int | None
    maximum: int | None


@dataclass(frozen=True, slots=True)
class ExportedProgram:
    """The content of a .pt2 file.

    ranges:  bounds by symbol
    weights: by the names that the inputs' targets have
    data:    bytes by entry of the archive, for those of weights; None if weights were not read
    """

    path: Path
    graph: Graph
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    ranges: dict[str, SymbolBounds]
    weights: dict[str, Weight]
    data: dict[str, bytes] | None
