"""Operators of a full build: their calls, and the dtype switches that they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import read_build
from sizeguard.linkgraph.subjects import operators
from sizeguard.operators.name import OPERATOR
from sizeguard.predict.call_closure import Dependencies, call_graph, dependencies
from sizeguard.runtimes.known import build_facts
from sizeguard.selection.op_deps import OpDeps


@dataclass(frozen=True, slots=True)
class FullBuild:
    """Operators of a full build.

    operators: names of registered operators
    classes:   names of custom classes
    tags:      operator or class → tags of the switches that it runs itself
    """

    dependencies: Dependencies
    operators: frozenset[str]
    classes: frozenset[str]
    tags: Mapping[str, frozenset[str]]

    @property
    def op_deps(self) -> OpDeps:
        """The calls and tags of all operators and classes, as in op_deps.yaml."""
        found = self.dependencies
        unknown = {
            owner: frozenset(where.function for where in places)
            for owner, places in found.unknown.items()
        }
        return OpDeps(found.calls, found.at_load, self.tags, unknown)


def read_full_build(path: Path, dispatchers: Sequence[str] = ()) -> FullBuild:
    """Read a full build by its folder or build.json.

    dispatchers: functions that take an operator's name, in place of the runtime's own
    """
    build = read_build(path)
    if build.variant != "full":
        raise InputError(
            f"{path}: a build of {build.variant}; reachability is read from the variant full"
        )
    # Takes 40 ms, which a gate saves if the store has the calls.
    from sizeguard.linkgraph.open_graph import graph_of_path
    from sizeguard.predict.switch_edges import tag_holders

    graph = graph_of_path(path)
    facts = build_facts(build)
    holders = tag_holders(graph, facts)
    by_name = tuple(dispatchers) or facts.dispatch.by_name
    calls = call_graph(graph, replace(facts.dispatch, by_name=by_name))
    tags = {}
    for owner, nodes in operators(graph).items():
        reached = calls.reached(nodes)
        tags[owner] = frozenset(tag for tag, where in holders.items() if reached[where].any())
    names = frozenset(owner for owner in tags if OPERATOR.fullmatch(owner))
    return FullBuild(dependencies(calls), names, frozenset(tags) - names, tags)
