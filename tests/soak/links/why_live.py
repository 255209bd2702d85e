"""Compare the chains of 50 symbols a seed with lld's --why-live on the full runtime.

lld-22's --why-live, and ld64.lld's -why_live.

Exit code 1 if one differs.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sizeguard.builds.build_record import read_build
from sizeguard.linkgraph.open_graph import graph_of_path
from sizeguard.names.demangle import demangle
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.links import ld64_chains
from tests.support.links.lld_chains import (
    ask_lld,
    disagreements,
    driver_of,
    driver_words,
    live_functions,
)
from tests.support.places import ROOT
from tests.support.script import Tally, options_of


def against_ld64(tally: Tally, count: int) -> None:
    """Check both macOS targets, linked again as before."""
    for target in ("arm64-macos", "x86_64-macos"):
        toolchain = find_toolchain(None, None, target)
        built = build(
            ROOT, Variant("full"), toolchain, default_folder(ROOT, Variant("full"), toolchain)
        )
        graph = graph_of_path(built.image.parent)
        functions = ld64_chains.live_functions(graph)
        driver = [
            word
            for word in driver_words(built.image.parent, "run_program")
            if not word.startswith("-Wl,-map")
        ]
        for seed in (0, 1, 2):
            names = random.Random(seed).sample(functions, count)
            with tempfile.TemporaryDirectory() as folder:
                driver[driver.index("-o") + 1] = str(Path(folder) / "out")
                words = [*driver, *(f"-Wl,-why_live,{name}" for name in names)]
                done = subprocess.run(
                    words, cwd=built.image.parent, capture_output=True, text=True, check=True
                )
            chains = ld64_chains.chains_of(done.stdout)
            missing = {demangle(name).removeprefix("_") for name in names} - {
                chain.links[0][0] for chain in chains
            }
            wrong = ld64_chains.disagreements(graph, chains)
            print(
                f"{target} seed {seed}: {len(chains)} chains, {len(wrong)} disagree, {len(missing)}"
                " symbols without a chain"
            )
            report(tally, len(chains), wrong, missing)


def report(tally: Tally, chains: int, wrong: Sequence[str], missing: set[str]) -> None:
    """Count all chains; different or missing chains count as failed."""
    tally.checked += max(chains - len(wrong), 0)
    for line in wrong:
        tally.check(False, line)
    for name in sorted(missing):
        tally.check(False, f"{name}: no chain")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "full")
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    tally = Tally()
    against_ld64(tally, options.count)
    recorded = read_build(options.build)
    functions = live_functions(graph_of_path(options.build))
    with tempfile.TemporaryDirectory() as folder:
        for seed in (0, 1, 2):
            names = [name for name, _ in random.Random(seed).sample(functions, options.count)]
            linked, chains = ask_lld(
                driver_of(recorded), recorded.image.parent, Path(folder) / "out", names
            )
            missing = set(names) - {chain.symbol for chain in chains}
            wrong = disagreements(linked.graph, recorded.image.parent, chains)
            print(
                f"seed {seed}: {len(chains)} chains, {len(wrong)} disagree, {len(missing)} symbols"
                " without a chain"
            )
            report(tally, len(chains), wrong, missing)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
