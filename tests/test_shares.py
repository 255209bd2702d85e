"""Exclusive and shared bytes: their laws on the full runtime, and in reports."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from sizeguard.builds.build_record import Build
from sizeguard.cli.main import cli
from sizeguard.linkgraph.costs import costs_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import live, reachable
from sizeguard.linkgraph.open_graph import graph_of_path
from sizeguard.linkgraph.retained import retained, retained_by_dtype
from sizeguard.linkgraph.subjects import operators
from sizeguard.names.dtype_of import dtype_of


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
    for (operator, _), branch in retained_by_dtype(graph, dtype_of).items():
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
