"""Compares the exclusive bytes of operators with a rebuild of the full runtime without each: 25 operators a seed.

Holds if at least 23 of 25 are within max(1 %, 64 bytes), for each seed. Exit code 1 otherwise.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from sizeguard.build.driver import build
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import Variant
from sizeguard.linkgraph.retained import retained
from sizeguard.linkgraph.sources import graph_of_path
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.yaml_writer import format_selection

ROOT = Path(__file__).resolve().parents[2]


def without(names: list[str], dropped: str, path: Path) -> None:
    kept = {name: SelectedOperator(is_root_operator=True, include_all_overloads=False) for name in names if name != dropped}
    path.write_text(format_selection(Selection(operators=kept, include_all_non_op_selectives=True)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "exclusive-truth")
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, action="append")
    options = parser.parse_args()
    toolchain = find_toolchain("gcc", None)
    options.folder.mkdir(parents=True, exist_ok=True)
    selection = options.folder / "selected.yaml"
    # The full runtime, by a list of all its operators: then a rebuild without one compiles only what registers.
    full = build(ROOT, Variant("full"), toolchain, ROOT / "build" / "full")
    expected = retained(graph_of_path(full.image.parent))
    names = sorted(name for name in expected if "(" not in name and "::" in name)
    without(names, "", selection)
    variant = Variant("selective", "truth", selection, dtypes=False)
    whole = build(ROOT, variant, toolchain, options.folder / "build")
    print(f"full {full.sizes.load}, by a list of {len(names)} operators {whole.sizes.load}")
    failed = False
    known: dict[str, int] = {}
    for seed in options.seed or (0, 1, 2):
        good = 0
        chosen = random.Random(seed).sample(names, options.count)
        for name in chosen:
            if name not in known:
                without(names, name, selection)
                known[name] = whole.sizes.load - build(ROOT, variant, toolchain, options.folder / "build").sizes.load
            actual, predicted = known[name], expected[name].exclusive
            holds = abs(actual - predicted) <= max(actual / 100, 64)
            good += holds
            print(
                f"seed {seed}  {name:50} rebuild {actual:6}  graph {predicted:6}  {predicted - actual:+5}  {'' if holds else '✗'}",
                flush=True,
            )
        print(f"seed {seed}: {good} of {len(chosen)} within max(1 %, 64 B)")
        failed |= good < 23 * len(chosen) / 25
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
