"""Change drawn expressions of the rooms that make evidence; unit tests must fail.

    python -m tests.soak.mutants.room_mutants [--room NAME]… [--count N] [--seed N] [--minutes N]
        [--outcomes FILE]

Mutants are those of verdict_mutants, drawn from all modules but the deciding ones, in random
order, which a change of a function alters for its own mutants only. All unit tests run once, to
find those that run a mutant's line; these judge it until one fails. Survivors are printed; the last
lines have the counts by room. FILE gets a line for each judged mutant; those that it has already
are counted, and not judged again.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from tests.soak.mutants.verdict_mutants import DECIDING, Mutant, mutants, probes
from tests.support.mutant_outcomes import KILLED, LEFT, Outcomes
from tests.support.mutant_runs import Session, collected
from tests.support.places import ROOT, files_of_tests

ROOMS = ("attribution", "builds", "claims", "gate", "ledger", "linkgraph", "measurement", "names",
         "projects", "selection", "verify")  # fmt: skip
SECONDS = 60  # of tests for one mutant, the fastest first


def modules_of(room: str) -> list[str]:
    """List the modules of a room that do not decide."""
    paths = sorted((ROOT / "sizeguard" / room).rglob("[a-z]*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    return [name for name in names if name not in DECIDING]


def draw(rooms: Iterable[str], seed: int, count: int) -> list[Mutant]:
    """Draw mutants of rooms, in random order."""
    every = [mutant for room in rooms for module in modules_of(room) for mutant in mutants(module)]
    every.sort(key=lambda mutant: random.Random(f"{seed} {mutant.key}").random())
    return every[:count]


def main(arguments: list[str]) -> int:
    """Run the drawn mutants until the time is over; print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append", choices=ROOMS)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--minutes", type=float, default=10_000)
    parser.add_argument("--outcomes", type=Path, default=Path(os.devnull))
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    drawn = draw(chosen.room or ROOMS, chosen.seed, chosen.count)
    outcomes = Outcomes(chosen.outcomes, chosen.minutes)
    left = [mutant for mutant in drawn if mutant.key not in outcomes.known]
    print(f"{len(drawn)} mutants are drawn, {len(left)} not judged", flush=True)

    def work(session: Session) -> None:
        session.trace(range(len(session.items)))
        print(f"{len(session.items)} tests, {sum(session.seconds.values()):.0f} s", flush=True)
        for mutant in left:
            outcomes.of(mutant, lambda mutant=mutant: _judge(session, mutant))

    files = [path.relative_to(ROOT).as_posix() for path in files_of_tests()]
    collected(files, probes(left), work)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in drawn:
        counts[mutant.module.split(".")[1]][outcomes.known.get(mutant.key, LEFT)] += 1
    for room, found in sorted(counts.items()):
        print(f"{room}: {', '.join(f'{count} {word}' for word, count in sorted(found.items()))}")
    return 0


def _judge(session: Session, mutant: Mutant) -> str:
    """Run the tests of a mutant's line until one fails or the time is over."""
    tests = session.tests_of(mutant.lines)
    if not tests:
        return "no test"
    seconds = accumulate(session.seconds[test] for test in tests)
    few = [test for test, all_so_far in zip(tests, seconds, strict=True) if all_so_far < SECONDS]
    if session.killer(mutant.change(), few or tests[:1]) is not None:
        return KILLED
    return "survives" if len(few) == len(tests) else f"survives {len(few)} of {len(tests)} tests"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
