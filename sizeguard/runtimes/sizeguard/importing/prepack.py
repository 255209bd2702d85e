"""Replace linear layers with constant weights by prepacked::linear_clamp_run.

Two forms are recognized: aten::linear, and its form in core ATen: addmm or mm with a transposed
constant. A relu, hardtanh or clamp becomes the bounds of the object if it is the only user of the
result.
"""

from __future__ import annotations

from collections import Counter

from sizeguard.base.dataclass import dataclass
from sizeguard.runtimes.sizeguard.importing.builder import ProgramBuilder, ProgramStep, Ref
from sizeguard.runtimes.sizeguard.program.program import Kind, Tag, TensorView, Value

CLASS = "LinearOpContext"
RUN = "prepacked::linear_clamp_run"


@dataclass(frozen=True, slots=True)
class _Linear:
    """A linear layer found in the steps.

    It has an input, a constant weight, and a bias (None, or with one dimension).
    """

    input: Ref
    weight: Ref
    bias: Ref


def prepack_linear(builder: ProgramBuilder) -> int:
    """Replace the linear layers of a program under construction; return their number."""
    uses = Counter(ref.index for step in builder.steps for ref in step.inputs)
    uses.update(ref.index for ref in builder.outputs)
    writers = {ref.index: step for step in builder.steps for ref in step.outputs}
    none = builder.constant(Value(Tag.NONE))
    old, new = builder.steps, list[ProgramStep]()
    replaced = position = 0
    while position < len(old):
        step = old[position]
        position += 1
        linear = _linear(builder, step, writers)
        if linear is None:
            new.append(step)
            continue
        output, bounds = step.outputs[0], (none, none)
        if (
            position < len(old)
            and uses[output.index] == 1
            and old[position].inputs[:1] == (output,)
        ):
            found = _bounds(builder, old[position])
            if found is not None:
                output, bounds = old[position].outputs[0], found
                position += 1
        state = tuple(-1 - ref.index for ref in (linear.weight, linear.bias, *bounds))
        packed = builder.constant(Value(Tag.OBJECT, text=CLASS, integers=state))
        new.append(ProgramStep(Kind.CALL, RUN, (linear.input, packed), (output,)))
        replaced += 1
    builder.steps = _without_unused_transposes(builder, new)
    return replaced


def _linear(
    builder: ProgramBuilder, step: ProgramStep, writers: dict[int, ProgramStep]
) -> _Linear | None:
    """Recognise a linear layer on Float tensors in a step."""
    none = builder.constant(Value(Tag.NONE))
    match step.target, step.inputs:
        case "aten::linear", (x, weight, bias):
            found = _Linear(x, weight, bias)
        case "aten::mm", (x, transposed):
            found = _Linear(x, _untransposed(builder, transposed, writers), none)
        case "aten::addmm", (bias, x, transposed, beta, alpha) if _is_one(
            builder, beta
        ) and _is_one(builder, alpha):
            found = _Linear(x, _untransposed(builder, transposed, writers), bias)
        case _:
            return None
    matrix = _view(builder, found.weight)
    if (
        matrix is None
        or len(matrix.sizes) != 2
        or found.weight.dtypes | found.input.dtypes != {"Float"}
    ):
        return None
    if found.bias.is_constant and found.bias.tag == Tag.NONE:
        return found
    vector = _view(builder, found.bias)
    return (
        found
        if vector is not None
        and vector.sizes == matrix.sizes[:1]
        and found.bias.dtypes == {"Float"}
        else None
    )


def _untransposed(builder: ProgramBuilder, ref: Ref, writers: dict[int, ProgramStep]) -> Ref:
    """Return the constant whose transpose a value is, else the value itself."""
    writer = writers.get(ref.index)
    if writer is None or not _is_transpose(builder, writer):
        return Ref(0, Tag.NONE)
    return writer.inputs[0]


def _is_transpose(builder: ProgramBuilder, step: ProgramStep) -> bool:
    """Return whether a step swaps the two dimensions of a constant matrix."""
    if step.kind != Kind.CALL or not step.inputs or _view(builder, step.inputs[0]) is None:
        return False
    given = [builder.value(ref) for ref in step.inputs[1:] if ref.is_constant]
    if step.target == "aten::permute":
        return given == [Value(Tag.INT_LIST, integers=(1, 0))]
    if step.target == "aten::transpose.int":
        return [value.integer for value in given] in ([0, 1], [1, 0])
    return step.target == "aten::t"


def _view(builder: ProgramBuilder, ref: Ref) -> TensorView | None:
    """Return the constant tensor of a value; None if it is not one."""
    if not ref.is_constant or ref.tag != Tag.TENSOR:
        return None
    return builder.tensors[builder.value(ref).integer]


def _is_one(builder: ProgramBuilder, ref: Ref) -> bool:
    return ref.is_constant and builder.value(ref) in (
        Value(Tag.INT, integer=1),
        Value(Tag.DOUBLE, number=1.0),
    )


def _bounds(builder: ProgramBuilder, step: ProgramStep) -> tuple[Ref, Ref] | None:
    """Return the bounds of a step that only clamps its input."""
    none = builder.constant(Value(Tag.NONE))
    if step.target in ("aten::relu", "aten::relu_"):
        return builder.constant(Value(Tag.DOUBLE, number=0.0)), none
    if step.target in ("aten::hardtanh", "aten::hardtanh_", "aten::clamp") and all(
        ref.is_constant for ref in step.inputs[1:]
    ):
        return step.inputs[1], step.inputs[2]
    return None


def _without_unused_transposes(
    builder: ProgramBuilder, steps: list[ProgramStep]
) -> list[ProgramStep]:
    used = {ref.index for step in steps for ref in step.inputs} | {
        ref.index for ref in builder.outputs
    }
    return [
        step for step in steps if not _is_transpose(builder, step) or step.outputs[0].index in used
    ]
