"""Change drawn expressions of the rooms that make evidence; the nearest unit tests must fail.

    python -m tests.soak.room_mutants [--room NAME]… [--count N] [--seed N] [--minutes N]

Mutants are those of verdict_mutants, drawn from all modules but the deciding ones, in random
order. The unit tests of a mutant are in the files that import its module, or else a module that
imports it; those that run its line judge it. Tests are traced when a mutant first needs them.
Survivors are printed; the last lines have the counts by room.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.soak.verdict_mutants import DECIDING, Mutant, mutants
from tests.support.mutant_runs import Session, collected
from tests.support.places import ROOT

ROOMS = ("attribution", "builds", "claims", "gate", "ledger", "linkgraph", "measurement", "names",
         "projects", "selection", "verify")  # fmt: skip
FILES = 8  # test files for a module: those that import the fewest other modules
_IMPORT = re.compile(r"^\s*(?:from|import) (sizeguard[\w.]*)(?: import \(?([\w, \n]*))?", re.M)


def modules_of(room: str) -> list[str]:
    """List the modules of a room that do not decide."""
    paths = sorted((ROOT / "sizeguard" / room).rglob("[a-z]*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return [name for name in names if name not in DECIDING]


def imported(path: Path) -> set[str]:
    """Return the modules of this package that a file imports."""
    found = set()
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        found |= {module, *(f"{module}.{name.strip()}" for name in names.split(","))}
    return found


def nearest_tests(modules: set[str]) -> Mapping[str, list[str]]:
    """List the test files of each module."""
    of_tests = {path: imported(path) for path in sorted((ROOT / "tests").glob("test_*.py"))}
    importers: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "sizeguard").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for module in imported(path) & modules:
            importers[module].add(name)

    def files(wanted: set[str]) -> list[str]:
        found = [path for path, names in of_tests.items() if names & wanted]
        found.sort(key=lambda path: len(of_tests[path]))
        return [path.relative_to(ROOT).as_posix() for path in found[:FILES]]

    return {module: files({module}) or files(importers[module]) for module in modules}


def main(arguments: list[str]) -> int:
    """Run the drawn mutants until the time is over; print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append", choices=ROOMS)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--minutes", type=float, default=10_000)
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    end = time.monotonic() + 60 * chosen.minutes
    every = [
        mutant
        for room in chosen.room or ROOMS
        for module in modules_of(room)
        for mutant in mutants(module)
    ]
    drawn = random.Random(chosen.seed).sample(every, min(chosen.count, len(every)))
    nearest = nearest_tests({mutant.module for mutant in drawn})
    print(f"{len(every)} mutants; {len(drawn)} are drawn", flush=True)
    counts: dict[str, Counter[str]] = defaultdict(Counter)

    def work(session: Session) -> None:
        of_file: dict[str, list[int]] = defaultdict(list)
        for at, item in enumerate(session.items):
            of_file[item.nodeid.partition("::")[0]].append(at)
        for mutant in drawn:
            outcome = "left"
            if time.monotonic() < end:
                outcome = _judge(
                    session, mutant, [of_file[file] for file in nearest[mutant.module]]
                )
            counts[mutant.module.split(".")[1]][outcome] += 1
            if outcome not in ("killed", "left"):
                print(f"{outcome}: {mutant.module}:{mutant.line}: {mutant.what}", flush=True)

    files = sorted({file for found in nearest.values() for file in found})
    collected(files, {mutant.path for mutant in drawn}, work)
    for room, found in sorted(counts.items()):
        print(f"{room}: {', '.join(f'{count} {word}' for word, count in sorted(found.items()))}")
    return 0


def _judge(session: Session, mutant: Mutant, files: list[list[int]]) -> str:
    """Run the tests of one file after another, until one fails."""
    outcome = "no test"
    for among in files:
        if tests := session.tests_of(mutant.lines, among):
            if session.killer(mutant.change(), tests) is not None:
                return "killed"
            outcome = "survives"
    return outcome


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
