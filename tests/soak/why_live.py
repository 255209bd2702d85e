"""Compares the chains of 50 symbols a seed with lld-22's --why-live, and with ld64.lld's -why_live, on the full runtime.

Exit code 1 if one differs.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ld64_chains
from lld_chains import ask_lld, disagreements, live_functions
from test_why import driver_of, driver_words

from sizeguard.build.driver import build
from sizeguard.build.record import read_build
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import Variant, default_folder
from sizeguard.formats.demangle import demangle
from sizeguard.linkgraph.sources import graph_of_path

ROOT = Path(__file__).resolve().parents[2]


def against_ld64(count: int) -> bool:
    """Both targets for macOS, linked again as they were; whether a chain differs."""
    failed = False
    for target in ("arm64-macos", "x86_64-macos"):
        toolchain = find_toolchain(None, None, target)
        built = build(ROOT, Variant("full"), toolchain, default_folder(ROOT, Variant("full"), toolchain))
        graph = graph_of_path(built.image.parent)
        functions = ld64_chains.live_functions(graph)
        driver = [word for word in driver_words(built.image.parent, "run_program") if not word.startswith("-Wl,-map")]
        for seed in (0, 1, 2):
            names = random.Random(seed).sample(functions, count)
            with tempfile.TemporaryDirectory() as folder:
                driver[driver.index("-o") + 1] = str(Path(folder) / "out")
                words = [*driver, *(f"-Wl,-why_live,{name}" for name in names)]
                done = subprocess.run(words, cwd=built.image.parent, capture_output=True, text=True, check=True)
            chains = ld64_chains.chains_of(done.stdout)
            missing = {demangle(name).removeprefix("_") for name in names} - {chain.links[0][0] for chain in chains}
            wrong = ld64_chains.disagreements(graph, chains)
            print(f"{target} seed {seed}: {len(chains)} chains, {len(wrong)} disagree, {len(missing)} symbols without a chain")
            for line in (*wrong, *sorted(missing)):
                print(f"  {line}")
            failed |= bool(wrong or missing)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parents[2] / "build" / "full")
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    failed = against_ld64(options.count)
    recorded = read_build(options.build)
    functions = live_functions(graph_of_path(options.build))
    with tempfile.TemporaryDirectory() as folder:
        for seed in (0, 1, 2):
            names = [name for name, _ in random.Random(seed).sample(functions, options.count)]
            linked, chains = ask_lld(driver_of(recorded), recorded.image.parent, Path(folder) / "out", names)
            missing = set(names) - {chain.symbol for chain in chains}
            wrong = disagreements(linked.graph, recorded.image.parent, chains)
            print(f"seed {seed}: {len(chains)} chains, {len(wrong)} disagree, {len(missing)} symbols without a chain")
            for line in (*wrong, *sorted(missing)):
                print(f"  {line}")
            failed |= bool(wrong or missing)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
