"""Measures section graphs of the full runtime: building one, why, a prediction, 1,000 random selections. Exit code 1 beyond a limit."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sizeguard.attribution.names import dtype_of
from sizeguard.attribution.predict import predictor_of
from sizeguard.linkgraph.predict import Kept
from sizeguard.linkgraph.retained import retained
from sizeguard.linkgraph.sources import graph_of_path
from sizeguard.linkgraph.subjects import find_subject
from sizeguard.linkgraph.why import why

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "full")
    options = parser.parse_args()
    predictor = predictor_of(options.build)
    names, tags = sorted(predictor.operators), sorted({tag for tags in predictor.branches.tags for tag in tags})
    chance = random.Random(0)

    def selections() -> None:
        for _ in range(1000):
            chosen = frozenset(chance.sample(names, chance.randrange(1, len(names))))
            dtypes = {tag: chance.sample(predictor.branches.dtypes, 2) for tag in tags}
            predictor.size(Kept(chosen, frozenset(), dtypes, frozenset()))

    def explain() -> None:
        graph = graph_of_path(options.build)
        why(graph, find_subject(graph, "aten::convolution:Float", dtype_of))

    steps: list[tuple[str, float, Callable[[], object]]] = [
        ("graph of full", 2, lambda: graph_of_path(options.build)),
        ("graph and retained bytes", 2, lambda: retained(graph_of_path(options.build))),
        ("why", 3, explain),
        ("predict, set up", 5, lambda: predictor_of(options.build)),
        ("1,000 random selections", 60, selections),
    ]
    failed = False
    for what, limit, run in steps:
        started = time.perf_counter()
        run()
        seconds = time.perf_counter() - started
        failed |= seconds > limit
        print(f"{what:28} {seconds:8.3f} s  (limit {limit} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
