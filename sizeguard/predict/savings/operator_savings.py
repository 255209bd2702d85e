"""Predict the savings of operators, each with an interval, from the full build.

Omitting an operator removes its table entry and everything that only it needs, which the section
graph gives exactly. The registering code is recompiled, so other calls of the same functions may
change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from sizeguard.columns.distinct import distinct
from sizeguard.linkgraph.graph import ENTRY
from sizeguard.linkgraph.live import Bool
from sizeguard.predict.prediction import PredictedSaving
from sizeguard.predict.predictor import Kept
from sizeguard.predict.savings.code_changes import Span, shared_span, statement_span
from sizeguard.predict.savings.image_change import ImageChange
from sizeguard.predict.savings.recompiled import Absent, Recompiler
from sizeguard.predict.unselected import Unselected


class OperatorSavings:
    """Savings in one image: the full build, or the part that a selection leaves.

    coarse:     objects whose functions share a section; nothing is known about operators in them
    deselected: bytes that a function lost to dtypes that the image omits; None if not known
    """

    def __init__(
        self,
        change: ImageChange,
        recompiler: Recompiler,
        coarse: Collection[str],
        deselected: Callable[[int], Span | None],
    ) -> None:
        """Prepare for the operators of one image."""
        self._change = change
        self._recompiler = recompiler
        self._coarse = coarse
        self._deselected = deselected

    def all(self, kept: Kept) -> dict[str, PredictedSaving | None]:
        """Return the saving of every operator; None if the build does not show it."""
        every = self._change.predictor.operators
        chosen = every if kept.operators is None else kept.operators & every
        return {
            name: self._saving(replace(kept, operators=chosen - {name})) for name in sorted(chosen)
        }

    def _saving(self, rest: Kept) -> PredictedSaving | None:
        change, graph = self._change, self._change.graph
        base = change.base
        what = change.predictor.unselected(rest)
        entries = np.flatnonzero(what.gone & ~base.without & (graph.nodes.kind == ENTRY))
        kernels = graph.edges.target[np.isin(graph.edges.source, entries)]
        touched = distinct(graph.nodes.object[np.concatenate([entries, kernels])])
        if any(graph.objects[k] in self._coarse for k in touched.tolist() if k >= 0):
            return None
        compiled = self._recompiler.without(
            distinct(graph.nodes.object[entries]),
            Absent(base.without | what.gone, base.cut),
        )
        seen = change.reached(compiled.cut, without=what.gone)
        spans = self._shrunk(what)
        for node, references in compiled.shared.items():
            size = int(graph.nodes.size[node])
            spans[node] = spans.get(node, Span()) + shared_span(size, references)
        left = self._sizes_that_go(base.seen & ~seen)
        return None if left is None else change.saving(seen, compiled.cut, spans, left)

    def _shrunk(self, what: Unselected) -> dict[int, Span]:
        before = self._change.base.shrunk
        less = {node: bytes_ - before.get(node, 0) for node, bytes_ in what.shrunk.items()}
        return {node: statement_span(bytes_) for node, bytes_ in less.items() if bytes_}

    def _sizes_that_go(self, gone: Bool) -> Span | None:
        """Bound the saving that removed functions already lost to deselected dtypes."""
        total = Span()
        for node in np.flatnonzero(gone & self._change.graph.nodes.is_exec).tolist():
            lost = self._deselected(node)
            if lost is None:
                return None
            total = total + Span(-lost.less, -lost.high, -lost.low)
        return total
