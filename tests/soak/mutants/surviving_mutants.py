"""Verify leaks with mutants that unit tests do not kill: none may turn a finding into a pass.

    python -m tests.soak.mutants.surviving_mutants --outcomes FILE [--module NAME]… [--leak NAME]…
        [--build gcc] [--tricks TEST]… [--minutes N] [--judged FILE]

--outcomes has the file that verdict_mutants or room_mutants wrote; --judged keeps the verdicts of
this script, so that a run can be continued. The leaks are those of
tests/verify/leaks/test_leaks.py, each linked once by gcc, or as --build says: macos for mutants of
the modules that read Mach-O files. A mutant verifies, in a forked process, the leaks whose
verification runs its line. `--tricks tests/gate/test_later_tricks.py` runs these tests in their
place; a test's id works, too. A mutant with which all findings stay is "harmless"; the others are
printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sizeguard.builds.build_record import Build
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_build
from tests.soak.mutants.room_mutants import ROOMS, modules_of
from tests.soak.mutants.verdict_mutants import DECIDING, RECORDED, Mutant, mutants, probes
from tests.soak.verifier.leaks import BUILDS, made
from tests.support.leaks.all_leaks import ALL_LEAKS, CONTROL, COVERING
from tests.support.leaks.leak_bench import LeakBench, findings_of
from tests.support.mutant_outcomes import KILLED, LEFT, Outcomes, outcomes_in
from tests.support.mutant_runs import Change, Functions, Line, Session, collected, in_child
from tests.support.places import ROOT

HARMLESS = "harmless"


def survivors(outcomes: Path, only: Sequence[str]) -> Iterator[Mutant]:
    """List the mutants that the outcomes have as judged and not killed."""
    known = outcomes_in(outcomes)
    places = {key.rpartition(" ")[0].split(" ")[0] for key in known}
    drawn = (module for room in ROOMS for module in modules_of(room))
    for module in only or dict.fromkeys((*DECIDING, *RECORDED, *drawn)):
        if any(place.startswith(f"{module}.") for place in places):
            yield from (each for each in mutants(module) if known.get(each.key, KILLED) != KILLED)


class Leaks:
    """Linked leaks, and the lines that verifying each of them runs."""

    def __init__(self, bench: LeakBench, names: Sequence[str], changes: Sequence[Change]) -> None:
        form, folder = "macho" if bench.is_macho else "elf", bench.folder.parent
        decided = [ALL_LEAKS[name] for name in names if ALL_LEAKS[name].is_decided(form, "")]
        leaks = [CONTROL, *decided]
        self.builds = {leak.name: bench.link(leak.name, leak.make(bench)) for leak in leaks}
        self._folder = folder
        self._changes = changes
        self._functions = Functions({change.path for change in changes})
        self._of_line: dict[Line, list[str]] = defaultdict(list)
        for name, build in self.builds.items():
            found = in_child(folder, partial(self._traced, build))
            assert found, f"{name} cannot be verified"
            assert bool(found[0]) == (name != CONTROL.name), f"{name}: {found[0]}"
            for path, number in found[1]:
                self._of_line[path, number].append(name)

    def _traced(self, build: Build) -> tuple[Sequence[str], list[Line]]:
        ran: set[Line] = set()
        for change in self._changes:
            self._functions.apply(change, ran.add)
        return findings(build), [*ran]

    def judge(self, mutant: Mutant) -> str:
        """Return HARMLESS, or the leak that the mutant does not find."""
        names = dict.fromkeys(name for line in mutant.lines for name in self._of_line[line])
        for name in names:
            found = in_child(self._folder, partial(self._changed, mutant.change(), name))
            # A process that ends by an error gives no verdict, and never exit code 0
            if found == [] and name != CONTROL.name:
                return f"passes {name}"
        return f"{HARMLESS} for {len(names)} leaks"

    def _changed(self, change: Change, name: str) -> Sequence[str]:
        self._functions.apply(change)
        return findings(self.builds[name])


def findings(build: Build) -> Sequence[str]:
    """List what a verification finds besides passes."""
    return findings_of(verify_build(ROOT, build, RequestedClaims())).findings


def judge_by_tests(session: Session, mutant: Mutant) -> str:
    """Return HARMLESS, or the test of a trick that fails."""
    tests = session.tests_of(mutant.lines)
    killer = session.killer(mutant.change(), tests)
    return f"fails {killer}" if killer else f"{HARMLESS} for {len(tests)} tests"


def main(arguments: list[str]) -> int:
    """Judge the survivors until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outcomes", type=Path, required=True)
    parser.add_argument("--module", action="append", default=[])
    parser.add_argument("--leak", action="append", choices=ALL_LEAKS, metavar="NAME")
    parser.add_argument("--build", choices=BUILDS, default="gcc")
    parser.add_argument("--tricks", action="append")
    parser.add_argument("--minutes", type=float, default=10_000)
    parser.add_argument("--judged", type=Path, default=Path(os.devnull))
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    every = list(survivors(chosen.outcomes, chosen.module))
    judged = Outcomes(chosen.judged, chosen.minutes)
    left = [mutant for mutant in every if mutant.key not in judged.known]
    print(f"{len(every)} survivors, {len(left)} not judged", flush=True)

    def work(judge: Any) -> None:
        for mutant in left:
            judged.of(mutant, partial(judge, mutant))

    if left and chosen.tricks:

        def with_tests(session: Session) -> None:
            session.trace(range(len(session.items)))
            work(partial(judge_by_tests, session))

        collected(chosen.tricks, probes(left), with_tests, marks="")
    elif left:
        with tempfile.TemporaryDirectory() as folder:
            builds = (made(chosen.build, kind) for kind in ("vision", "full"))
            bench = LeakBench(*builds, Path(folder) / "leaks")
            work(Leaks(bench, chosen.leak or COVERING, probes(left)).judge)
    counts = Counter(judged.known.get(mutant.key, LEFT).split(" ")[0] for mutant in every)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return int(any(word not in (HARMLESS, LEFT) for word in counts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
