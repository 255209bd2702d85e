"""Prices of build features, measured with two full builds.

A feature is code of the runtime, which every image contains. A feature with functions in the full
build's graph costs nothing if none of them stays.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import Bool
from sizeguard.runtimes.build_facts import BuildFacts


class FeaturePrices:
    """Prices of the features of one full build. The messages feature is not among them."""

    def __init__(self, graph: SectionGraph, facts: BuildFacts) -> None:
        """Find the functions of each feature."""
        self._facts = facts
        under = "_" if graph.linker == "ld64.lld" else ""  # of each symbol of Mach-O
        functions = {
            graph.symbol_of(node).removeprefix(under): node for node in range(graph.nodes.sections)
        }
        self._nodes = {
            name: np.array(
                [functions[f] for f in (*marks.functions, *marks.hosts) if f in functions], np.int64
            )
            for name, marks in facts.features.items()
            if name != facts.verbose_feature
        }

    def left_out(self, features: Collection[str] | None, seen: Bool) -> tuple[int, int]:
        """Return the bytes that an image lacks without the other features, and their slack.

        features: the image's features; None for all
        seen:     the image's nodes
        """
        if features is None or self._facts.calibration.feature is None:
            return 0, 0
        gone = [
            self._price(name, features)
            for name, nodes in self._nodes.items()
            if name not in features and (not len(nodes) or seen[nodes].any())
        ]
        return sum(gone), sum(map(self.slack, gone))

    def slack(self, price: int) -> int:
        """Return the bytes by which a price may be off, in either direction."""
        if self._facts.calibration.feature is None:
            return 0
        constant, share = self._facts.calibration.feature
        return constant + abs(price) * share // 100

    def _price(self, name: str, features: Collection[str]) -> int:
        """Return the bytes of a feature. Messages are removed only with the messages feature."""
        facts, marks = self._facts, self._facts.features[name]
        if facts.verbose_feature in features:
            return marks.load
        messages = [text for text in marks.texts if text in facts.verbose_texts]
        code = facts.calibration.message_code
        return marks.load - sum(len(text) + 1 + code for text in messages)
