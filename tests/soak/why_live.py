"""Compares the chains of 50 symbols a seed with lld-22's --why-live, on the full runtime. Exit code 1 if one differs."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lld_chains import ask_lld, disagreements, live_functions
from test_why import driver_of

from sizeguard.build.record import read_build
from sizeguard.linkgraph.sources import graph_of_path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parents[2] / "build" / "full")
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    build = read_build(options.build)
    functions = live_functions(graph_of_path(options.build))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for seed in (0, 1, 2):
            names = [name for name, _ in random.Random(seed).sample(functions, options.count)]
            linked, chains = ask_lld(driver_of(build), build.image.parent, Path(folder) / "out", names)
            missing = set(names) - {chain.symbol for chain in chains}
            wrong = disagreements(linked.graph, build.image.parent, chains)
            print(f"seed {seed}: {len(chains)} chains, {len(wrong)} disagree, {len(missing)} symbols without a chain")
            for line in (*wrong, *sorted(missing)):
                print(f"  {line}")
            failed |= bool(wrong or missing)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
