"""Find the inputs that a graph writes to in place, directly or through views."""

from __future__ import annotations

from collections.abc import Mapping

from sizeguard.models.exported_program import Argument, Graph, GraphArgument, Name, Node
from sizeguard.operators.library import Operator
from sizeguard.operators.schema import FunctionSchema
from sizeguard.runtimes.sizeguard.importing.lower import flat, library_name

Origins = frozenset[str]


def written_inputs(graph: Graph, library: Mapping[str, Operator]) -> set[str]:
    """List the inputs that an operator of the graph writes to.

    The aliases in the schemas show which inputs a result may share memory with.
    """
    origins: dict[str, Origins] = {
        name.name: frozenset([name.name]) for name in graph.inputs if isinstance(name, Name)
    }
    written: set[str] = set()
    for node in graph.nodes:
        inner = [
            argument.graph for _, argument in node.inputs if isinstance(argument, GraphArgument)
        ]
        operator = library.get(library_name(node.target, library))
        if inner:
            shared = _follow_graphs(node, inner, origins, written, library)
        elif operator is not None:
            shared = _follow_schema(node, operator.schema, origins, written)
        else:  # an element of a list
            shared = _origins(tuple(argument for _, argument in node.inputs), origins)
        for output in flat(node.outputs):
            if isinstance(output, Name):
                origins[output.name] = shared
    return written


def _origins(argument: Argument, origins: Mapping[str, Origins]) -> Origins:
    names = [item.name for item in flat([argument]) if isinstance(item, Name)]
    return frozenset().union(*(origins.get(name, frozenset()) for name in names))


def _follow_schema(
    node: Node, schema: FunctionSchema, origins: Mapping[str, Origins], written: set[str]
) -> Origins:
    """Record the inputs that an operator writes to; return those that its results may alias."""
    given = dict(node.inputs)
    shared: Origins = frozenset()
    for argument in schema.arguments:
        if argument.alias is None or argument.name not in given:
            continue
        found = _origins(given[argument.name], origins)
        shared |= found
        if argument.alias.is_write:
            written |= found
    return shared


def _follow_graphs(
    node: Node,
    graphs: list[Graph],
    origins: Mapping[str, Origins],
    written: set[str],
    library: Mapping[str, Operator],
) -> Origins:
    """Follow a node that runs graphs; their inputs are the node's last arguments."""
    operands = flat(
        argument for _, argument in node.inputs if not isinstance(argument, GraphArgument)
    )
    for graph in graphs:
        inside = written_inputs(graph, library)
        for name, operand in zip(reversed(graph.inputs), reversed(operands), strict=False):
            if isinstance(name, Name) and name.name in inside:
                written |= _origins(operand, origins)
    return _origins(tuple(operands), origins)
