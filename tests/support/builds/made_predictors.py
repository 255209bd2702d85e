"""Predictors of made-up graphs without dtype switches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sizeguard.claims.listed_names import FeatureMarks
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.predict.predictor import Predictor, Size
from sizeguard.predict.switch_edges import SwitchEdges
from sizeguard.runtimes.build_facts import BuildFacts, Calibration, Dispatch

_NONE = np.zeros(0, np.int64)


def made_predictor(
    graph: SectionGraph,
    full: Size,
    features: Mapping[str, FeatureMarks],
    feature: tuple[int, int] | None = None,
) -> Predictor:
    """Make a predictor; feature: constant and share of a price's error, None if unknown."""
    facts = BuildFacts(
        runtime="sizeguard",
        dispatch=Dispatch(()),
        switches=(),
        guards=(),
        verbose_texts=frozenset(),
        verbose_feature="messages",
        features=features,
        handler="",
        calibration=Calibration(6, 16, 40, 4, 128, 256, feature, is_usual=True),
        class_registrar="register_class",
    )
    branches = SwitchEdges(_NONE, _NONE, _NONE, _NONE, _NONE, (), (), {})
    return Predictor(graph, full, branches, facts)
