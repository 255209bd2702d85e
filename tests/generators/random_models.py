"""Write a hundred models drawn by hypothesis, with inputs and PyTorch's results.

They go to tests/data/random_models.

Run it with a Python that has torch 2.13, hypothesis and pyyaml. Its output is committed; a seed
fixes the choices.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers operators)
import yaml
from hypothesis import strategies as st

from tests.generators.random_graphs import layers, steps
from tests.generators.random_graphs.conditioning import is_steady
from tests.generators.random_graphs.graph import Graph, Model
from tests.support.places import DATA, ROOT

OUTPUT = DATA / "random_models"
COUNT = 100
SEED = 20
DRAWS = 6000  # more than enough
MAXIMUM_OUTPUTS = 4
# An operator in this many models is not rare; each new model must have a rare operator.
COMMON = 5
HIGHER_ORDER = {"cond"}
# Arithmetic on sizes; the importer turns it into operators on numbers.
ON_SIZES = {"add", "sub", "mul", "floordiv", "mod", "getitem", "eq", "ne", "lt", "le", "gt", "ge"}
SHAPES = (
    (3,),
    (2, 3),
    (4, 5),
    (1, 4),
    (2, 3, 4),
    (3, 1, 2),
    (2, 4, 5, 5),
    (1, 3, 6, 4),
    (2, 2, 3, 4),
    (3, 4, 2),
)


# Exceptions of PyTorch for models that it cannot export.
EXPORT_ERRORS = (
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    AssertionError,
    NotImplementedError,
)


class Refused(Exception):
    """A draw is not used as a model; str() is the reason."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a graph of three to ten steps over one to three inputs."""
    dynamic = draw(st.integers(0, 3)) == 0
    inputs = []
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.sampled_from(SHAPES))
        if dynamic:
            shape = (5, *shape[1:])
        dtype = draw(st.sampled_from(steps.DTYPES))
        low = 0 if dtype in (torch.uint8, torch.bool) else -20
        inputs.append(
            steps.weights(draw, *shape, dtype=dtype, low=low, high=1 if dtype == torch.bool else 20)
        )
    graph = Graph(inputs, dynamic)
    wanted = draw(st.integers(3, 10))
    for _ in range(3 * wanted):
        if len(graph.steps) == wanted:
            break
        steps.choose(draw, steps.STEPS)(draw, graph)
    return graph


def operator_names() -> set[str]:
    entries = yaml.safe_load((ROOT / "native" / "operators" / "operators.yaml").read_text())
    return {entry["func"].partition("(")[0] for entry in entries}


def names_in_order(module: torch.fx.GraphModule) -> list[str]:
    """Return the operators that a graph and its branches call."""
    found = []
    for part in module.modules():
        if not isinstance(part, torch.fx.GraphModule):
            continue
        for node in part.graph.nodes:
            if node.op != "call_function":
                continue
            schema = getattr(node.target, "_schema", None)
            if schema is not None:
                found.append(
                    schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
                )
            else:
                found.append(getattr(node.target, "__name__", str(node.target)))
    return found


def export(graph: Graph, model: Model, decomposed: bool) -> torch.export.ExportedProgram:
    shapes: Any = None
    if graph.dynamic:
        batch = torch.export.Dim("batch", min=2, max=32)
        shapes = (tuple({0: batch} for _ in graph.inputs),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(model, tuple(graph.inputs), dynamic_shapes=shapes)
        return program.run_decompositions() if decomposed else program


def anonymous(program: torch.export.ExportedProgram) -> None:
    """Remove metadata about the model's place in this machine's files."""
    for part in program.graph_module.modules():
        if isinstance(part, torch.fx.GraphModule):
            for node in part.graph.nodes:
                node.meta.pop("stack_trace", None)
                node.meta.pop("nn_module_stack", None)
                node.meta.pop("source_fn_stack", None)


def save_array(path: Path, tensor: torch.Tensor) -> None:
    tensor = tensor.detach().contiguous()
    np.save(
        path,
        (
            tensor.view(torch.int16).numpy().view("V2")
            if tensor.dtype == torch.bfloat16
            else tensor.numpy()
        ),
    )


def save(number: int, graph: Graph, model: Model, program: torch.export.ExportedProgram) -> None:
    folder = OUTPUT / f"{number:03}"
    folder.mkdir(parents=True)
    torch.export.save(program, folder / "model.pt2")
    cases = [graph.inputs]
    if graph.dynamic:
        cases.append([torch.cat([tensor[1:3], tensor[:1]]) for tensor in graph.inputs])
    for case, inputs in enumerate(cases):
        for i, tensor in enumerate(inputs):
            save_array(folder / f"case{case}_input{i}.npy", tensor)
        for i, tensor in enumerate(model(*inputs)):
            save_array(folder / f"case{case}_expected{i}.npy", tensor)


class Maker:
    """Saves draws that are good models until there are enough."""

    def __init__(self) -> None:
        self.known = operator_names()
        self.made = 0
        self.kinds: set[str] = set()
        self.refused: Counter[str] = Counter()
        self.operators: Counter[str] = Counter()

    def take(self, graph: Graph, decomposed: bool) -> None:
        if self.made == COUNT:
            return
        try:
            self.make(graph, decomposed)
        except Refused as reason:
            self.refused[str(reason)] += 1

    def make(self, graph: Graph, decomposed: bool) -> None:
        if not 3 <= len(graph.steps) <= 10:
            raise Refused("too few steps")
        if sum(value.numel() for value in graph.values) > 6000:
            raise Refused("too large")
        model = graph.model(MAXIMUM_OUTPUTS)
        if not is_steady(model, graph.inputs):
            raise Refused("ill-conditioned")
        try:
            program = export(graph, model, decomposed)
        except EXPORT_ERRORS as error:
            raise Refused(f"no export: {type(error).__name__}") from error
        found = set(names_in_order(program.graph_module))
        unknown = found - self.known - ON_SIZES - HIGHER_ORDER
        if unknown:
            raise Refused(f"uses {min(unknown)}")
        if min(self.operators[name] for name in found) >= COMMON:
            raise Refused("names no operator that is still rare")
        kind = str(sorted(Counter(names_in_order(program.graph_module)).items()))
        if kind in self.kinds:
            raise Refused("names the operators of an earlier model")
        self.kinds.add(kind)
        anonymous(program)
        save(self.made, graph, model, program)
        self.made += 1
        self.operators.update(found)


def main() -> None:
    assert layers.linear in steps.STEPS
    # As in operator_vectors, results must not depend on the machine.
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False
    torch.backends.cuda.enable_flash_sdp(False)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    maker = Maker()

    @hypothesis.seed(SEED)
    @hypothesis.settings(
        max_examples=DRAWS,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(graphs(), st.booleans())
    def draw_all(graph: Graph, decomposed: bool) -> None:
        maker.take(graph, decomposed)

    draw_all()
    assert maker.made == COUNT, f"{maker.made} of {COUNT} models"
    record = [f"{maker.made} models; draws that made none: {maker.refused.total()}"]
    record += [f"  {count} {reason}" for reason, count in maker.refused.most_common()]
    record.append(
        f"operators that no model names: {', '.join(sorted(maker.known - maker.operators.keys()))}"
    )
    record.append("models that name an operator:")
    record += [f"  {count} {name}" for name, count in sorted(maker.operators.items())]
    (OUTPUT / "record.txt").write_text("\n".join(record) + "\n")
    sys.stdout.write("\n".join(record) + "\n")


if __name__ == "__main__":
    main()
