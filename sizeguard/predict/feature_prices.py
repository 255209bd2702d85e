"""Prices of build features: the functions in the graph, and a measured rest.

A feature is code of the runtime, which every image contains. Its functions, and all that only they
reach, leave the graph. The rest is code within other functions, measured with two full builds. A
feature with functions in the full build's graph costs nothing if none of them stays.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from sizeguard.columns.texts import Int
from sizeguard.linkgraph.graph import STRING, SectionGraph
from sizeguard.linkgraph.live import Bool
from sizeguard.runtimes.build_facts import BuildFacts

# Of a price's bytes in the graph, the share that may be wrong, compared with that of the rest.
_SURER = 4


class UngraphedBytes(NamedTuple):
    """Bytes of left-out features that the section graph lacks, and their possible error."""

    load: int = 0
    slack: int = 0


class FeaturePrices:
    """Prices of the features of one full build. The messages feature is not among them."""

    def __init__(self, graph: SectionGraph, facts: BuildFacts) -> None:
        """Find the functions and messages of each feature."""
        self._facts = facts
        self._graph = graph
        self._all = _functions_by_name(graph)
        marks = {n: each for n, each in facts.features.items() if n != facts.verbose_feature}
        self._nodes = {
            name: self.functions((*each.functions, *each.hosts)) for name, each in marks.items()
        }
        # Without functions here or in the measured build, all is rest.
        self._own = {
            name: self.functions(each.functions if each.linked else ())
            for name, each in marks.items()
        }
        self._messages = {
            name: nodes_of_texts(graph, facts.verbose_texts & {*each.texts})
            for name, each in marks.items()
        }

    def functions(self, names: Collection[str]) -> Int:
        """Return the nodes of functions, given their mangled names."""
        return np.array([self._all[name] for name in names if name in self._all], np.int64)

    def gone(self, features: Collection[str] | None) -> Int:
        """Return the functions that an image lacks without the other features."""
        if features is None or self._facts.calibration.feature is None:
            return np.zeros(0, np.int64)
        gone = [nodes for name, nodes in self._own.items() if name not in features]
        return np.concatenate([np.zeros(0, np.int64), *gone])

    def rest(
        self, features: Collection[str] | None, before: Bool, after: Bool, *, linked: int
    ) -> UngraphedBytes:
        """Return the bytes that an image lacks beside the functions that are gone.

        features: the image's features; None for all
        before:   the image's nodes with all features
        after:    its nodes without the functions that are gone
        linked:   the bytes of the difference
        """
        if features is None or self._facts.calibration.feature is None:
            return UngraphedBytes()
        rows = [
            self._rest(name, features, after)
            for name, nodes in self._nodes.items()
            if name not in features and (not len(nodes) or before[nodes].any())
        ]
        if not rows:
            return UngraphedBytes()
        slack = sum(self.slack(row) for row in rows) + self.slack(0, linked) - self.slack(0)
        return UngraphedBytes(sum(rows), slack)

    def slack(self, rest: int, linked: int = 0) -> int:
        """Return the bytes by which a price may be off, in either direction."""
        if self._facts.calibration.feature is None:
            return 0
        constant, share = self._facts.calibration.feature
        return constant + abs(rest) * share // 100 + abs(linked) * share // (100 * _SURER)

    def _rest(self, name: str, features: Collection[str], after: Bool) -> int:
        """Return a feature's bytes beside its functions.

        The messages feature removes the messages, whether or not the feature is kept.
        """
        facts, marks = self._facts, self._facts.features[name]
        rest = marks.load - (marks.linked if len(self._own[name]) else 0)
        if facts.verbose_feature in features:
            return rest
        edges, code = self._graph.edges, facts.calibration.message_code
        there = [
            node
            for node in self._messages[name]
            if after[edges.source[np.flatnonzero(edges.target == node)]].any()
        ]
        return rest - sum(int(self._graph.nodes.size[node]) + code for node in there)


def nodes_of_texts(graph: SectionGraph, texts: Collection[str]) -> list[int]:
    """List the strings that are one of the texts: parts of ELF sections, or Mach-O literals."""
    strings = np.flatnonzero(graph.nodes.kind == STRING).tolist()
    found = [node for node in strings if graph.names[node] in texts]
    wanted = {text.encode() + b"\0" for text in texts}
    return [*found, *(node for node, content in graph.contents.items() if content in wanted)]


def _functions_by_name(graph: SectionGraph) -> dict[str, int]:
    """Map mangled names to function nodes. Mach-O adds an underscore to each symbol."""
    under = "_" if graph.linker == "ld64.lld" else ""
    symbols = ((graph.symbol_of(node), node) for node in range(graph.nodes.sections))
    return {symbol.removeprefix(under): node for symbol, node in symbols}
