"""Write tests/data/exported_models: models that each use one feature of torch.export.

It needs PyTorch 2.13; the tests do not.

Usage: python -m tests.generators.exported_models
"""

from __future__ import annotations

import copy
import math

import numpy
import torch
from torch.export import Dim, export, save

from tests.support.places import DATA

OUT = DATA / "exported_models"


class NestedCond(torch.nn.Module):
    """Nested branches: the outer condition depends on a size, the inner one on data."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def inner_true(x: torch.Tensor) -> torch.Tensor:
            return x.relu() + x.shape[0]

        def inner_false(x: torch.Tensor) -> torch.Tensor:
            return x.sigmoid() * 2.5

        def outer_true(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, inner_true, inner_false, (x,))

        def outer_false(x: torch.Tensor) -> torch.Tensor:
            return x.tanh()

        return torch.cond(x.shape[0] > 4, outer_true, outer_false, (x,))


class ConstantInputs(torch.nn.Module):
    """Inputs that are not tensors, which become constants of the export."""

    def forward(
        self, x: torch.Tensor, scale: float, flag: bool, nothing: None, keep: int, mode: str
    ) -> torch.Tensor:
        return x * scale + keep if flag and nothing is None and mode == "on" else x


class BufferMutation(torch.nn.Module):
    """A counter that each call increments."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


class ViewMutation(torch.nn.Module):
    """Writes to a buffer through a view of it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state[1].add_(x).mul_(x)
        return self.state * 2


class InputMutation(torch.nn.Module):
    """Writes to its input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2


class Passthrough(torch.nn.Module):
    """Returns an input, a parameter, a number, None and a result."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(4.0))

    def forward(self, x: torch.Tensor) -> tuple[object, ...]:
        return x, self.weight, 7, None, x + self.weight


class SharedWeights(torch.nn.Module):
    """Weights that view one storage.

    They are tied, transposed, expanded, with an offset, and without elements.
    """

    def __init__(self) -> None:
        super().__init__()
        base = torch.arange(24.0).reshape(4, 6)
        self.whole = torch.nn.Parameter(base)
        self.tied = self.whole
        self.register_buffer("transposed", base.t())
        self.register_buffer("part", base[1:3, 2:5])
        self.register_buffer("expanded", torch.ones(1, 6).expand(4, 6))
        self.register_buffer("empty", torch.zeros(0, 6))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x @ self.whole + x @ self.tied + x @ self.expanded
        return y, y @ self.transposed, torch.cat([self.part, self.part], 1), self.empty + 1


class TensorConstant(torch.nn.Module):
    """A tensor made in forward, and a buffer that is not part of the state."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.tensor([3, 1, 2], dtype=torch.int32), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.tensor([1.0, -0.5, 0.25]) * self.table


class SymbolicSizes(torch.nn.Module):
    """Arithmetic on sizes: products, quotients, maxima, floats, comparisons."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows, columns = x.shape[0], y.shape[1]
        half = x.reshape(rows // 2, 2, x.shape[1])
        torch._check(rows * columns < 10000)
        scale = 1.0 / math.sqrt(16) * (rows + columns)
        larger = torch.sym_max(rows, columns) - torch.sym_min(rows, 3) % 5
        return (
            half.sum(0) * scale,
            torch.zeros(larger, 2),
            torch.full((rows, columns), torch.sym_float(rows) / 2),
        )


class DataDependentSize(torch.nn.Module):
    """A size that depends on data."""

    def forward(self, n: torch.Tensor) -> torch.Tensor:
        size = n.item()
        torch._check(size >= 0)
        torch._check(size <= 100)
        return torch.zeros(size, 2) + 1


class IntInput(torch.nn.Module):
    """An int that is an input."""

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n + torch.zeros(n, 1)


class NoGrad(torch.nn.Module):
    """A part without gradients, which becomes a separate graph."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        with torch.no_grad():
            z = y.relu() + 1
        return z * y


class Unsupported(torch.nn.Module):
    """Operators that the runtime does not have, one of them twice, one with complex results."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (
            torch.fft.rfft(x).abs()
            + torch.special.bessel_j0(x).sum()
            + torch.special.bessel_j0(x).sum()
        )


class ComplexWeight(torch.nn.Module):
    """A weight of a dtype that the runtime does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("phase", torch.ones(3, dtype=torch.complex64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.phase


class AllDtypes(torch.nn.Module):
    """A weight of each dtype."""

    def __init__(self) -> None:
        super().__init__()
        for dtype in (
            "uint8",
            "int8",
            "int16",
            "int32",
            "int64",
            "float16",
            "float32",
            "float64",
            "bool",
            "bfloat16",
        ):
            self.register_buffer(
                f"of_{dtype}", torch.tensor([1, 0, 1], dtype=getattr(torch, dtype))
            )

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [x + buffer for buffer in self.buffers()]


class SpecialNumbers(torch.nn.Module):
    """Numbers that JSON cannot express."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clamp(-math.inf, math.inf) + torch.full((3,), math.nan) + torch.full((3,), -0.0)


class LinearForms(torch.nn.Module):
    """Linear layers: with and without bias, clamped and not, and with a computed weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 5)
        self.second = torch.nn.Linear(5, 6, bias=False)
        self.third = torch.nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.hardtanh(self.second(self.first(x).relu()), -0.5, 0.75)
        z = self.third(y)
        return torch.nn.functional.linear(x, z) + z.relu()[:, :1] + z[:, :1]


def write(
    name: str,
    model: torch.nn.Module,
    inputs: tuple[object, ...],
    dynamic: object = None,
    more: tuple[tuple[object, ...], ...] = (),
    with_core: bool = True,
) -> None:
    """Write model.pt2 and model_core.pt2 as in native/models, with expected outputs.

    Each element of `more` is another case of inputs.
    """
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    program = export(model.eval(), inputs, dynamic_shapes=dynamic)
    forms = {"model": program} | ({"model_core": program.run_decompositions()} if with_core else {})
    for form, exported in forms.items():
        # Stack traces would contain paths of this machine.
        for module in exported.graph_module.modules():
            for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
                node.meta.pop("stack_trace", None)
        save(exported, folder / f"{form}.pt2")
    is_number_input = dynamic is not None
    for case, arguments in enumerate((inputs, *more)):
        arrays = [
            a
            for a in arguments
            if isinstance(a, torch.Tensor) or (is_number_input and isinstance(a, int))
        ]
        for i, array in enumerate(arrays):
            numpy.save(folder / f"case{case}_input{i}.npy", numpy.array(array))
        given = copy.deepcopy(model)(*copy.deepcopy(arguments))
        for i, result in enumerate(given if isinstance(given, tuple | list) else [given]):
            if isinstance(result, torch.Tensor):
                numpy.save(
                    folder / f"case{case}_expected{i}.npy", result.detach().contiguous().numpy()
                )


def write_refused(name: str, model: torch.nn.Module, inputs: tuple[object, ...]) -> None:
    """Write a model that cannot be imported."""
    (OUT / name).mkdir(parents=True, exist_ok=True)
    exported = export(model.eval(), inputs)
    for node in exported.graph.nodes:
        node.meta.pop("stack_trace", None)
    save(exported, OUT / name / "model.pt2")


def main() -> None:
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 3)
    n = Dim("n", min=2, max=12)
    sizes = ({0: 2 * Dim("rows", min=2, max=64)}, {1: Dim("columns", min=2, max=9)})
    small = (torch.linspace(-1, 1, 6).reshape(2, 3),)
    write(
        "nested_cond", NestedCond(), (torch.ones(6, 3),), ({0: n},), ((-torch.ones(5, 3),), small)
    )
    write("constant_inputs", ConstantInputs(), (x, 0.5, True, None, 3, "on"))
    write("buffer_mutation", BufferMutation(), (x,))
    write("view_mutation", ViewMutation(), (x,), with_core=False)  # its core form needs arange
    write("input_mutation", InputMutation(), (x,))
    write("passthrough", Passthrough(), (torch.ones(4),))
    write("shared_weights", SharedWeights(), (torch.ones(2, 4),))
    write("tensor_constant", TensorConstant(), (x,))
    write(
        "symbolic_sizes",
        SymbolicSizes(),
        (torch.ones(8, 3), torch.ones(2, 5)),
        sizes,
        ((torch.ones(4, 3), torch.ones(2, 9)),),
    )
    write(
        "data_dependent_size", DataDependentSize(), (torch.tensor(3),), more=((torch.tensor(0),),)
    )
    write("int_input", IntInput(), (torch.ones(3), 5), (None, Dim.DYNAMIC), ((torch.ones(3), 2),))
    write("no_grad", NoGrad(), (x,))
    write("all_dtypes", AllDtypes(), (x,))
    write("special_numbers", SpecialNumbers(), (x,))
    write("linear_forms", LinearForms(), (torch.linspace(-3, 3, 8).reshape(2, 4),))
    write_refused("unsupported", Unsupported(), (torch.ones(6),))
    write_refused("complex_weight", ComplexWeight(), (x,))


if __name__ == "__main__":
    main()
