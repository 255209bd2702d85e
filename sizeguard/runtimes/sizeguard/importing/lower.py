"""Lower an exported graph to the steps of a program.

Each node becomes a call, torch.cond becomes jumps, symbolic sizes become scalar operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.models.exported_program import (
    Argument,
    ExportedProgram,
    Graph,
    GraphArgument,
    Name,
    Node,
)
from sizeguard.operators.dtypes import CODES, SUPPORTED
from sizeguard.operators.library import Operator
from sizeguard.operators.schema import FunctionSchema, Return
from sizeguard.runtimes.sizeguard.importing.arguments import ArgumentError, ArgumentLowering
from sizeguard.runtimes.sizeguard.importing.builder import ProgramBuilder, Ref
from sizeguard.runtimes.sizeguard.importing.symbolic import TARGETS, scalar_operator
from sizeguard.runtimes.sizeguard.program.program import Tag

COND = "torch.ops.higher_order.cond"  # (condition, graph, graph, operands)
INLINED = "torch.ops.higher_order.wrap_with_set_grad_enabled"  # (flag, graph, operands)
CHOICE = "torch.sym_ite"  # (condition, number, number)
ITEM = "_operator.getitem"

# Operators that a library may lack, and equivalents at inference. All take one tensor.
SAME_AT_INFERENCE = {
    "aten::lift_fresh_copy": "aten::clone",
    "aten::lift_fresh": "aten::alias",
    "aten::lift": "aten::alias",
    "aten::detach_": "aten::detach",
}
# Operators that are only hints for torch.compile.
NO_EFFECT = frozenset(["aten::sym_constrain_range"])

KIND_TAGS = {"tensor": Tag.TENSOR, "int": Tag.INT, "bool": Tag.BOOL, "float": Tag.DOUBLE}
_TYPE_TAGS = {
    "Tensor": Tag.TENSOR,
    "int": Tag.INT,
    "SymInt": Tag.INT,
    "float": Tag.DOUBLE,
    "bool": Tag.BOOL,
}


@dataclass(slots=True)
class Lowering:
    """A program under construction from an exported graph.

    unsupported: operator that the libraries lack → the first node that calls it
    dtypes: operator that the program calls → the dtypes of the tensors at its calls
    warnings: lines for the user
    """

    exported: ExportedProgram
    library: Mapping[str, Operator]
    builder: ProgramBuilder
    unsupported: dict[str, str] = field(default_factory=dict)
    dtypes: dict[str, set[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def call(self, operator: str, inputs: Sequence[Ref], outputs: Sequence[Ref], node: str) -> None:
        """Add a call of an operator for a node."""
        if operator not in self.library:
            self.unsupported.setdefault(operator, node)
        seen = self.dtypes.setdefault(operator, set())
        for ref in (*inputs, *outputs):
            seen |= ref.dtypes
        self.builder.call(operator, inputs, outputs)

    def check_supported(self) -> None:
        """Raise InputError that lists every operator that the libraries lack."""
        if not self.unsupported:
            return
        advice = "not in this runtime (supported: sizeguard select ops --list)"
        found = sorted(self.unsupported.items())
        if len(found) == 1:
            operator, node = found[0]
            raise InputError(f"{self.exported.path}: operator {operator} is {advice}; node {node}")
        listed = ", ".join(f"{operator} (node {node})" for operator, node in found)
        raise InputError(f"{self.exported.path}: {len(found)} operators are {advice}: {listed}")


class GraphLowering:
    """One graph, the model's or a branch's. values: name → its value."""

    def __init__(self, lowering: Lowering, graph: Graph) -> None:
        """Lower one graph; `lowering` has the state that all graphs of a model share."""
        self.lowering = lowering
        self.builder = lowering.builder
        self.graph = graph
        self.values: dict[str, Ref] = {}
        self.used = used_names(graph)
        self.place = "the inputs"  # for error messages: the current node
        self.arguments = ArgumentLowering(self.builder, self.look_up, self.call)

    def call(self, operator: str, inputs: Sequence[Ref], outputs: Sequence[Ref]) -> None:
        """Add a call of an operator."""
        self.lowering.call(operator, inputs, outputs, self.place.removeprefix("node "))

    def look_up(self, name: Name) -> Ref:
        """Return the value of a node's name."""
        if name.name not in self.values:
            raise ArgumentError(f"unknown value {name.name}")
        return self.values[name.name]

    def error(self, message: str) -> InputError:
        """Make an error that names the node."""
        return InputError(f"{self.lowering.exported.path}: {self.place}: {message}")

    def lower(self) -> list[Ref]:
        """Lower all nodes; return the values of the graph's outputs."""
        for node in self.graph.nodes:
            self.place = f"node {node.name}"
            try:
                self._node(node)
            except ArgumentError as error:
                raise self.error(str(error)) from error
        self.place = "the outputs"
        try:
            return [self.arguments.plain(output) for output in flat(self.graph.outputs)]
        except ArgumentError as error:
            raise self.error(str(error)) from error

    def _node(self, node: Node) -> None:
        arguments = [argument for _, argument in node.inputs]
        if node.target == COND:
            self._cond(node, arguments)
        elif node.target == INLINED:
            self._inlined(node, arguments)
        elif node.target == CHOICE and len(arguments) == 3:
            self._choice(node, arguments)
        elif node.target == ITEM and len(arguments) == 2:
            self._item(node, arguments)
        elif node.target in TARGETS:
            self._scalar(node, arguments)
        else:
            self._operator(node)

    def _operator(self, node: Node) -> None:
        library = self.lowering.library
        name = library_name(node.target, library)
        if name in NO_EFFECT and name not in library:
            return
        if name in library:
            schema = library[name].schema
            inputs = self._schema_arguments(node, schema)
            if len(node.outputs) != len(schema.returns) and any(
                output is not None for output in node.outputs
            ):
                raise self.error(
                    f"{len(node.outputs)} outputs; {name} returns {len(schema.returns)}"
                )
            outputs = [self._result(node, i, result) for i, result in enumerate(schema.returns)]
        else:
            given = [
                argument.name
                for argument in flat(argument for _, argument in node.inputs)
                if isinstance(argument, Name)
            ]
            inputs = [self.values[name] for name in given if name in self.values]
            # First: its results may have unsupported dtypes, too
            self.lowering.unsupported.setdefault(name, node.name)
            outputs = [self._unknown_result(output) for output in node.outputs]
        self.call(name, inputs, outputs)
        for argument, ref in zip(node.outputs, outputs, strict=False):
            self._bind(argument, ref)

    def _schema_arguments(self, node: Node, schema: FunctionSchema) -> list[Ref]:
        """Return one value for each argument of the schema; missing ones get their defaults."""
        given = dict(node.inputs)
        known = {argument.name for argument in schema.arguments}
        for name, _ in node.inputs:
            if name not in known:
                raise self.error(f"{schema.name} has no argument {name}")
        refs = []
        for argument in schema.arguments:
            if (
                argument.name not in given
                and not argument.has_default
                and not argument.type.optional
            ):
                raise self.error(f"{schema.name} needs the argument {argument.name}")
            try:
                refs.append(
                    self.arguments.lower(given.get(argument.name, argument.default), argument.type)
                )
            except ArgumentError as error:
                raise self.error(f"argument {argument.name} of {schema.name}: {error}") from error
        return refs

    def _result(self, node: Node, index: int, result: Return) -> Ref:
        """Make a new value for one result of an operator."""
        output = node.outputs[index] if index < len(node.outputs) else None
        if result.type.is_list:
            if result.type.name != "Tensor":
                raise self.error(f"a result of type {result.type} is not supported")
            return self.builder.variable(Tag.TENSOR_LIST, self._dtypes(flat([output])))
        if result.type.name == "Scalar":
            tag = KIND_TAGS[output.kind] if isinstance(output, Name) else Tag.INT
        else:
            tag = _TYPE_TAGS.get(result.type.name, Tag.OBJECT)
        if isinstance(output, Name) and output.kind == "tensor" and tag != Tag.TENSOR:
            raise self.error(f"{output.name} is not a tensor")
        return self.builder.variable(tag, self._dtypes([output]))

    def _unknown_result(self, output: Argument) -> Ref:
        if isinstance(output, tuple):
            return self.builder.variable(Tag.TENSOR_LIST, self._dtypes(flat(output)))
        tag = KIND_TAGS[output.kind] if isinstance(output, Name) else Tag.NONE
        return self.builder.variable(tag, self._dtypes([output]))

    def _dtypes(self, outputs: Iterable[Argument]) -> frozenset[str]:
        names = [output.name for output in outputs if isinstance(output, Name)]
        found = {
            name: self.graph.tensors[name].dtype for name in names if name in self.graph.tensors
        }
        for name, dtype in found.items():
            if dtype not in CODES and not self.lowering.unsupported:
                raise self.error(f"tensor {name} has dtype {dtype}; the runtime has {SUPPORTED}")
        return frozenset(found.values())

    def _bind(self, output: Argument, ref: Ref) -> None:
        """Bind a result to its name; for a list, bind the used elements."""
        if isinstance(output, Name):
            self.values[output.name] = ref
        elif isinstance(output, tuple):
            for i, element in enumerate(output):
                if isinstance(element, Name) and element.name in self.used:
                    made = self.builder.variable(Tag.TENSOR, self._dtypes([element]))
                    # No dtype is recorded, because taking an element of a list computes nothing.
                    self.call(
                        "aten::__getitem__.t",
                        [Ref(ref.index, ref.tag), self.arguments.number(i)],
                        [Ref(made.index, made.tag)],
                    )
                    self.values[element.name] = made

    def _scalar(self, node: Node, arguments: list[Argument]) -> None:
        operands = [self.arguments.plain(argument) for argument in arguments]
        operator = scalar_operator(node.target, [operand.tag for operand in operands])
        if operator is None or len(node.outputs) != 1:
            raise self.error(f"{node.target} of these operands is not supported")
        operands = [self.arguments.convert(operand, operator.operand) for operand in operands]
        if not operator.name:
            self._bind(node.outputs[0], operands[0])
            return
        made = self.builder.variable(operator.result)
        self.call(operator.name, operands, [made])
        self._bind(node.outputs[0], made)

    def _item(self, node: Node, arguments: list[Argument]) -> None:
        items, index = arguments
        if (
            not isinstance(items, tuple)
            or not isinstance(index, int)
            or not 0 <= index < len(items)
            or len(node.outputs) != 1
        ):
            raise self.error("does not take an element of a list")
        self._bind(node.outputs[0], self.arguments.plain(items[index]))

    def _choice(self, node: Node, arguments: list[Argument]) -> None:
        condition, *numbers = [self.arguments.plain(argument) for argument in arguments]
        if condition.tag != Tag.BOOL:
            raise self.error(f"{CHOICE} without a condition")
        self._branches(condition, node, lambda taken: [numbers[0] if taken else numbers[1]])

    def _cond(self, node: Node, arguments: list[Argument]) -> None:
        match arguments:
            case [condition, GraphArgument() as then, GraphArgument() as otherwise, *rest]:
                pass
            case _:
                raise self.error("torch.cond without a condition and two branches")
        tested = self.arguments.plain(condition)
        if tested.tag == Tag.TENSOR:
            tensor, tested = tested, self.builder.variable(Tag.BOOL)
            self.call("aten::Bool.Tensor", [tensor], [tested])
        if tested.tag != Tag.BOOL:
            raise self.error("torch.cond on a value that is neither a tensor nor a bool")
        operands = [self.arguments.plain(operand) for operand in flat(rest)]
        self._branches(
            tested, node, lambda taken: self._inline(then if taken else otherwise, operands)
        )

    def _branches(self, condition: Ref, node: Node, branch: Callable[[bool], list[Ref]]) -> None:
        """Lower one of two branches, and move its results to the node's values."""
        names = flat(node.outputs)
        results = [self._unknown_result(name) for name in names]
        otherwise, end = self.builder.new_label(), self.builder.new_label()
        self.builder.jump(otherwise, unless=condition)
        for taken in (True, False):
            given = branch(taken)
            if len(given) != len(names):
                raise self.error(f"a branch returns {len(given)} values instead of {len(names)}")
            for name, source, result in zip(names, given, results, strict=True):
                if isinstance(name, Name):
                    self.builder.move(self.arguments.convert(source, result.tag), result)
            if taken:
                self.builder.jump(end)
                self.builder.place(otherwise)
        self.builder.place(end)
        for name, result in zip(names, results, strict=True):
            self._bind(name, result)

    def _inlined(self, node: Node, arguments: list[Argument]) -> None:
        match arguments:
            case [_, GraphArgument() as inner, *rest]:
                given = self._inline(
                    inner, [self.arguments.plain(operand) for operand in flat(rest)]
                )
            case _:
                raise self.error("a graph call without a graph")
        names = flat(node.outputs)
        if len(given) != len(names):
            raise self.error(f"the graph returns {len(given)} values instead of {len(names)}")
        for name, ref in zip(names, given, strict=True):
            self._bind(name, ref)

    def _inline(self, argument: GraphArgument, operands: list[Ref]) -> list[Ref]:
        """Lower a graph inline, with these values as its inputs."""
        inputs = argument.graph.inputs
        if len(inputs) != len(operands):
            raise self.error(
                f"{argument.name} takes {len(inputs)} values, but gets {len(operands)}"
            )
        inner = GraphLowering(self.lowering, argument.graph)
        inner.values = {
            name.name: ref
            for name, ref in zip(inputs, operands, strict=True)
            if isinstance(name, Name)
        }
        return inner.lower()


def library_name(target: str, library: Mapping[str, Operator]) -> str:
    """Return the operator that a node calls, or its equivalent that the library has."""
    name = operator_name(target)
    same = SAME_AT_INFERENCE.get(name, name)
    return same if name not in library and same in library else name


def operator_name(target: str) -> str:
    """Convert torch.ops.aten.add.Tensor to aten::add.Tensor; other names stay unchanged."""
    match target.split("."):
        case ["torch", "ops", namespace, base, "default"]:
            return f"{namespace}::{base}"
        case ["torch", "ops", namespace, base, overload]:
            return f"{namespace}::{base}.{overload}"
    return target


def flat(arguments: Iterable[Argument]) -> list[Argument]:
    """Yield arguments with lists replaced by their elements."""
    found: list[Argument] = []
    for argument in arguments:
        found += flat(argument) if isinstance(argument, tuple) else [argument]
    return found


def used_names(graph: Graph) -> set[str]:
    """Collect the names that a node takes or that the graph returns."""
    arguments = [*graph.outputs, *(argument for node in graph.nodes for _, argument in node.inputs)]
    return {argument.name for argument in flat(arguments) if isinstance(argument, Name)}
