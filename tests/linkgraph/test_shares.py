"""Exclusive and shared bytes: their laws on any graph, on the full runtime, and in reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.group import group
from sizeguard.attribution.leaving import with_shares
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.attribution.owners.graph_owners import reach
from sizeguard.builds.build_record import Build
from sizeguard.cli.main import cli
from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.costs import costs_of
from sizeguard.linkgraph.graph import ENTRY, SectionGraph
from sizeguard.linkgraph.live import live, reachable
from sizeguard.linkgraph.open_graph import graph_of_path
from sizeguard.linkgraph.retained import retained, retained_by_dtype, users_of
from sizeguard.linkgraph.subjects import find_subject, operators
from sizeguard.names.dtype_of import dtype_of
from tests.support.builds.recorded_builds import recorded_runtime
from tests.support.links.made_graphs import made_graph
from tests.support.links.object_graph import read_graph

SIZE = 12  # nodes of a made graph
NODE = st.integers(0, SIZE - 1)


@st.composite
def graphs(draw: st.DrawFn) -> SectionGraph:
    """Draw graphs of sections, of which up to four are entries of two operators and a class."""
    entries = draw(st.dictionaries(NODE, st.sampled_from(["a::a(t)", "a::b(t)", "c"]), max_size=4))
    return made_graph(
        draw(st.lists(st.integers(0, 40), min_size=SIZE, max_size=SIZE)),
        draw(st.lists(st.tuples(NODE, NODE), max_size=30)),
        draw(st.lists(NODE, max_size=3)),
        entries,
    )


@given(graphs())
def test_laws_of_any_graph(graph: SectionGraph) -> None:
    costs, kept = costs_of(graph).load, live(graph)
    found, table = retained(graph), operators(graph)
    assert set(found) == {name for name, nodes in table.items() if kept[nodes].any()}
    reached = reach(graph)
    entries = np.flatnonzero(graph.nodes.kind == ENTRY)
    core = reachable(graph, graph.roots, without=graph.nodes.kind == ENTRY)
    assert costs[kept].sum() == costs[core].sum() + sum(
        cost.exclusive + cost.share for cost in found.values()
    )
    for name, cost in found.items():
        assert cost.exclusive + cost.shared <= cost.reachable
        assert 0 <= cost.share <= cost.shared
        own = [int(costs[i]) for i in range(len(graph.nodes)) if reached.label(i) == name]
        assert sum(own) == (cost.exclusive if "::" in name else 0)
        barred = np.zeros(len(graph.nodes), bool)
        barred[table[name]] = True
        frees = int(costs[kept & ~reachable(graph, graph.roots, without=barred)].sum())
        assert cost.exclusive <= frees
        # No operator's code refers to an entry.
        if not any(
            reachable(graph, graph.edges.target[_from(graph, i)])[entries].any() for i in entries
        ):
            assert cost.exclusive == frees


def _from(graph: SectionGraph, node: int) -> slice:
    return slice(int(graph.edges.start[node]), int(graph.edges.start[node + 1]))


@given(graphs(), st.lists(st.sampled_from(["", "Float", "Long"]), min_size=SIZE, max_size=SIZE))
def test_dtypes_sum_to_their_operator(graph: SectionGraph, dtypes: list[str]) -> None:
    parts = retained_by_dtype(users_of(graph), lambda name: dtypes[int(name[1:])])
    for name, whole in retained(graph).items():
        mine = [cost for (operator, _), cost in parts.items() if operator == name]
        for column in ("exclusive", "shared", "reachable", "share"):
            assert sum(getattr(cost, column) for cost in mine) == getattr(whole, column)


def check_reports(place: Path) -> None:
    """Check the laws of both reports with shares, and that `why` frees the exclusive bytes."""
    analysis = analysis_of(place)
    assert analysis.users is not None
    graph = analysis.users.graph
    found = retained(graph)
    assert found
    for by in (("operator",), ("operator", "dtype")):
        report = with_shares(group(analysis, by), analysis)
        assert report.exclusive is not None
        assert report.shared is not None
        assert (report.exclusive <= report.load).all()
        sums: dict[str, list[int]] = {}
        for i in range(len(report)):
            both = sums.setdefault(report.keys(i)[0], [0, 0])
            both[0] += int(report.exclusive[i])
            both[1] += int(report.shared[i])
        for name, cost in found.items():
            if "::" in name:
                assert sums[name] == [cost.exclusive, cost.shared]
    for name in sorted(found)[::9]:  # all 182 take a second
        if "::" in name:
            assert why(graph, find_subject(graph, name, dtype_of)).frees == found[name].exclusive


def test_laws_of_a_recorded_build(tmp_path: Path) -> None:
    check_reports(recorded_runtime(tmp_path).build.image.parent)


def test_laws_of_the_full_build(full_build: Build) -> None:
    check_reports(full_build.image.parent)


def test_laws_of_the_full_build_for_macos(macos_full: Build) -> None:
    check_reports(macos_full.image.parent)


def test_sections_are_reached_as_in_a_naive_graph(full_build: Build) -> None:
    graph = graph_of_path(full_build.image.parent)
    naive = read_graph(full_build.objects, full_build.image.parent)
    theirs: dict[str, set[str]] = {}
    core = naive.closure(naive.roots())
    for entry in naive.entries:
        for node in naive.closure([entry.function]) - core:
            label = Path(naive.objects[node[0]][0]).name
            theirs.setdefault(f"{label} {naive.section(node)}", set()).add(entry.name)
    ours: dict[str, set[str]] = {}
    users = users_of(graph)
    for name, mine in users.reached.items():
        for node in mine[~users.core[mine] & graph.nodes.is_exec[mine]].tolist():
            label = Path(graph.objects[int(graph.nodes.object[node])]).name
            ours.setdefault(f"{label} {graph.names[node]}", set()).add(name)
    # The naive graph counts sections that a class reaches as the program's own.
    ours = {key: names for key, names in ours.items() if all("::" in name for name in names)}
    assert len(ours) > 500
    assert {key: theirs.get(key) for key in ours} == ours


@pytest.fixture(scope="module")
def graph(full_build: Build) -> SectionGraph:
    return graph_of_path(full_build.image.parent)


def test_shares_sum_to_what_is_live(graph: SectionGraph) -> None:
    costs = costs_of(graph).load
    found = retained(graph)
    barred = np.zeros(len(graph.nodes), bool)
    for nodes in operators(graph).values():
        barred[nodes] = True
    core = reachable(graph, graph.roots, without=barred)
    assert costs[live(graph)].sum() == costs[core].sum() + sum(
        cost.exclusive + cost.share for cost in found.values()
    )


def test_order_of_the_three_numbers(graph: SectionGraph) -> None:
    for cost in retained(graph).values():
        assert 0 < cost.exclusive <= cost.reachable
        assert 0 <= cost.share <= cost.shared <= cost.reachable


def test_exclusive_is_what_a_removal_frees(graph: SectionGraph) -> None:
    costs = costs_of(graph).load
    kept = live(graph)
    found = retained(graph)
    for name, nodes in operators(graph).items():
        barred = np.zeros(len(graph.nodes), bool)
        barred[nodes] = True
        assert (
            found[name].exclusive
            == costs[kept & ~reachable(graph, graph.roots, without=barred)].sum()
        )


def test_branches_are_parts_of_their_operator(graph: SectionGraph) -> None:
    whole = retained(graph)
    for (operator, _), branch in retained_by_dtype(users_of(graph), dtype_of).items():
        assert branch.exclusive <= whole[operator].exclusive
        assert branch.reachable <= whole[operator].reachable


@pytest.mark.parametrize("by", ["operator", "operator,dtype"])
def test_reports_have_the_columns(full_build: Build, graph: SectionGraph, by: str) -> None:
    done = CliRunner().invoke(
        cli, ["report", str(full_build.image.parent), "--by", by, "--format", "json"]
    )
    assert done.exit_code == 0, done.output
    rows = json.loads(done.output)["rows"]
    found = retained(graph)
    sums: dict[str, int] = {}
    for row in rows:
        sums[row["operator"]] = sums.get(row["operator"], 0) + row["exclusive"]
    for name in ("aten::convolution", "aten::erf", "aten::lstm.input"):
        assert sums[name] == found[name].exclusive
