"""Texts with and without."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.claims.verdict import Verdict
from sizeguard.runtimes.sizeguard.native_universe import NativeUniverse
from sizeguard.selection.selection import Selection
from sizeguard.verify.bodies import CaseBodies
from sizeguard.verify.feature_texts import judge_absent_feature, judge_present_feature, signs_of


def judge_features(
    branches: CaseBodies, universe: NativeUniverse, selection: Selection
) -> Iterator[Verdict]:
    """Judge features by strings that only builds with or without the feature hold, and by calls."""
    for feature in universe.features:
        sites = [site for site in universe.sites if site.feature == feature]
        signs = signs_of(
            branches,
            sites,
            {t for site in universe.sites if site.feature != feature for t in site.with_},
        )
        if selection.is_feature_selected(feature):
            yield judge_present_feature(branches.evidence, feature, signs)
        else:
            yield judge_absent_feature(branches.evidence, feature, signs)
