"""Compare the exclusive bytes of operators with rebuilds of the full runtime without each.

25 operators a seed.

Holds if at least 23 of 25 are within max(1 %, 64 bytes), for each seed. Exit code 1 otherwise.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from sizeguard.linkgraph.open_graph import graph_of_path
from sizeguard.linkgraph.retained import retained
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.write import format_selection
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.places import ROOT
from tests.support.script import Tally, options_of


def without(names: list[str], dropped: str, path: Path) -> None:
    kept = {
        name: SelectedOperator(is_root_operator=True, include_all_overloads=False)
        for name in names
        if name != dropped
    }
    path.write_text(format_selection(Selection(operators=kept, include_all_non_op_selectives=True)))


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "exclusive-truth")
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, action="append")
    options = parser.parse_args()
    toolchain = find_toolchain("gcc", None)
    options.folder.mkdir(parents=True, exist_ok=True)
    selection = options.folder / "selected.yaml"
    # The full runtime from a list of all operators, so that a rebuild without one only compiles
    # registrations.
    full = build(ROOT, Variant("full"), toolchain, ROOT / "build" / "full")
    expected = retained(graph_of_path(full.image.parent))
    names = sorted(name for name in expected if "(" not in name and "::" in name)
    without(names, "", selection)
    variant = Variant("selective", "truth", selection, dtypes=False)
    whole = build(ROOT, variant, toolchain, options.folder / "build")
    print(f"full {full.sizes.load}, by a list of {len(names)} operators {whole.sizes.load}")
    tally = Tally()
    known: dict[str, int] = {}
    for seed in options.seed or (0, 1, 2):
        good = 0
        chosen = random.Random(seed).sample(names, options.count)
        for name in chosen:
            if name not in known:
                without(names, name, selection)
                known[name] = (
                    whole.sizes.load
                    - build(ROOT, variant, toolchain, options.folder / "build").sizes.load
                )
            actual, predicted = known[name], expected[name].exclusive
            holds = abs(actual - predicted) <= max(actual / 100, 64)
            good += holds
            print(
                f"seed {seed}  {name:50} rebuild {actual:6}  graph {predicted:6} "
                f" {predicted - actual:+5}  {'' if holds else '✗'}",
                flush=True,
            )
        said = f"seed {seed}: {good} of {len(chosen)} within max(1 %, 64 B)"
        print(said)
        tally.check(good >= 23 * len(chosen) / 25, said)
    return tally.close(f"{len(known)} rebuilds")


if __name__ == "__main__":
    sys.exit(main())
