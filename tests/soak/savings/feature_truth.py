"""Compare the prices of build features with rebuilds, and verify each rebuild, on each target.

    python -m tests.soak.savings.feature_truth [--target NAME]…

The app vision is built with all build features, and again without each of them. Must hold: every
build verifies, one without a feature has none of its traces, and the price that `predict` shows
contains the difference of the two builds.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import NOT_APPLICABLE, PASS
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_build
from sizeguard.predict.prediction import FeatureCost
from sizeguard.predict.what_if import kept_by, predictor_of
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant, default_folder
from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.write import write_selection
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain
from tests.support.places import ROOT
from tests.support.script import Tally, options_of

TARGETS = ("x86_64-linux", "aarch64-linux", "arm64-macos", "arm64-android", "arm64-ios")


@dataclass(frozen=True, slots=True)
class FeatureBench:
    """The full build of one target, and the folder of the builds beside it."""

    toolchain: Toolchain
    full: Build
    folder: Path

    def built(self, selection: Selection, name: str) -> Build:
        """Build a selection in a folder of its own."""
        path = self.folder / f"{name}.yaml"
        write_selection(path, selection)
        variant = Variant("selective", name, path, optimize="s", sanitize="")
        return build(ROOT, checked_variant(ROOT, variant), self.toolchain, self.folder / name)

    def costs(self, selection: Selection) -> Mapping[str, FeatureCost]:
        """Return the price of each feature in a build of the selection."""
        predictor = predictor_of(self.full.image.parent)
        kept = kept_by(selection, predictor, dtypes=True)
        return {each.feature: each for each in predictor.feature_costs(kept)}


def bench_of(target: str) -> FeatureBench:
    toolchain = find_toolchain("gcc" if target.endswith("-linux") else None, None, target)
    whole = Variant("full")
    full = build(ROOT, whole, toolchain, default_folder(ROOT, whole, toolchain))
    folder = ROOT / "build" / "feature-truth" / target
    folder.mkdir(parents=True, exist_ok=True)
    return FeatureBench(toolchain, full, folder)


def check_verified(tally: Tally, what: str, made: Build, full: Build) -> None:
    """Verify a build against its selection."""
    found = verify_build(ROOT, made, RequestedClaims(full=full))
    wrong = [
        f"{each.verdict} {each.kind} {each.name}: {each.cause}"
        for each in found.verdicts
        if each.verdict not in (PASS, NOT_APPLICABLE)
    ]
    tally.check(not wrong and not found.gaps, f"{what}: {wrong[:3]} {found.gaps}")


def check_target(tally: Tally, target: str) -> None:
    bench = bench_of(target)
    features = NativeSources(ROOT, ROOT).features()
    app = read_selection(ROOT / "native" / "apps" / "vision" / "selected_operators.yaml").selection
    everything = replace(app, build_features=frozenset(features))
    whole = bench.built(everything, "whole")
    check_verified(tally, f"{target} with all features", whole, bench.full)
    costs = bench.costs(everything)
    for feature in sorted(features):
        chosen = replace(everything, build_features=frozenset(features) - {feature})
        made = bench.built(chosen, f"no_{feature}")
        what = f"{target} without {feature}"
        check_verified(tally, what, made, bench.full)
        saved = whole.sizes.load - made.sizes.load
        price = costs[feature].price
        shown = f"{price.low:,} to {price.high:,}" if price else "unknown"
        print(f"{target:14} {feature:22}{saved:>7,}   predicted {shown}", flush=True)
        tally.check(saved > 0, f"{what}: frees {saved}")
        holds = price is not None and price.low <= saved <= price.high
        tally.check(holds, f"{what}: frees {saved:,}, predicted {shown}")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--target", action="append", choices=TARGETS)
    tally = Tally()
    for target in parser.parse_args().target or TARGETS:
        check_target(tally, target)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
