"""Compute the difference between an image and the same image without a part, as an interval."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from sizeguard.linkgraph.live import Bool, reachable
from sizeguard.predict.prediction import PredictedSaving
from sizeguard.predict.predictor import Kept, Predictor
from sizeguard.predict.savings.code_changes import Span


class ImageChange:
    """An image that a full build's selection makes, and its layout."""

    def __init__(self, predictor: Predictor, kept: Kept) -> None:
        """Lay out the image."""
        self.predictor = predictor
        self.graph = predictor.graph
        self.base = predictor.remaining(kept)
        self._sizes = predictor.layout.sizes(self.base.seen, self.base.shrunk, self.base.cut)
        self._handler = reachable(self.graph, predictor.handler)

    @cached_property
    def _paddings(self) -> dict[str, int]:
        """Padding of output sections that is not known, in bytes at most.

        The full build is laid out exactly. Where functions lost an estimated number of bytes, the
        following data may be anywhere within its alignment.
        """
        if not self.base.shrunk and not self.base.margin:
            return {}
        found = {}
        for name, output in self.predictor.layout.outputs.items():
            aligns = output.align[self.base.seen[output.nodes]]
            if len(aligns) > 1 and not output.is_write:
                found[name] = int(aligns[1:].max()) - 1
        return found

    @property
    def handler(self) -> int:
        """Bytes that the handler of deselected dtypes adds; 0 if the image has it."""
        sizes = self.predictor.layout.sizes(
            self.base.seen | self._handler, self.base.shrunk, self.base.cut
        )
        return -self.predictor.load_less(self._sizes, sizes)

    def reached(self, cut: Bool, *, handler: bool = False, without: Bool | None = None) -> Bool:
        """Return the nodes of the image that remain without edges and nodes.

        handler: whether the handler of deselected dtypes is included
        """
        base = self.base
        roots = np.concatenate([base.roots, self.predictor.handler]) if handler else base.roots
        absent = base.without if without is None else base.without | without
        seen = reachable(self.graph, roots, without=absent, cut=base.cut | cut)
        # Nodes that the image lacks for other reasons, such as messages, stay absent.
        return seen & (base.seen | self._handler) if handler else seen & base.seen

    def saving(
        self, seen: Bool, cut: Bool, spans: Mapping[int, Span], besides: Span | None = None
    ) -> PredictedSaving:
        """Compare the layouts; the functions in `spans` lose these bytes.

        besides: bytes that removed functions have less than in the layout
        """
        part = self.predictor.layout.part(seen, self.base.cut | cut)
        sizes = [part.sizes(self._shrunk(spans, k)) for k in range(3 if spans else 1)]
        totals = [self.predictor.load_less(self._sizes, each) for each in sizes]
        doubt = sum(
            padding
            for name, padding in self._paddings.items()
            if sizes[0].get(name, 0) != self._sizes.get(name, 0)
        )
        more = besides or Span()
        return PredictedSaving(
            totals[0] + more.less, min(totals) + more.low - doubt, max(totals) + more.high + doubt
        )

    def _shrunk(self, spans: Mapping[int, Span], k: int) -> dict[int, int]:
        shrunk = dict(self.base.shrunk)
        for node, span in spans.items():
            shrunk[node] = shrunk.get(node, 0) + span.pick(k)
        return shrunk
