"""Compare the live set with every linker's own log.

The full product of compilers, levels, linkers, modes and programs.

Prints a table of differences by linker and mode; exit code 1 if there is any.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.support.links.link_cases import (
    COMPILERS,
    LEVELS,
    LINKERS,
    MODES,
    NAMES,
    Case,
    Linked,
    link_case,
)
from tests.support.script import Tally, options_of


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--fixture", action="append", help="only these")
    parser.add_argument("--linker", action="append", help="only these")
    parser.add_argument("--mode", action="append", help="only these")
    options = parser.parse_args()
    started = time.monotonic()
    cases: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    tally = Tally()
    refused: list[tuple[Case, str]] = []
    product = itertools.product(
        options.fixture or NAMES,
        COMPILERS,
        LEVELS,
        options.mode or MODES,
        options.linker or LINKERS,
    )
    with tempfile.TemporaryDirectory() as folder:
        for fixture, compiler, level, mode, linker in product:
            case = Case(fixture, compiler, level, linker, mode)
            linked = link_case(case, Path(folder))
            if not isinstance(linked, Linked):
                refused.append((case, linked.strip().splitlines()[0]))
                continue
            linked.output.unlink()
            cases[linker, mode] += 1
            log_only, model_only = linked.differences
            if not tally.check(not log_only and not model_only, f"{case}: they differ"):
                wrong[linker, mode] += 1
                for what, found in (
                    ("removed, model says kept", log_only),
                    ("kept, model says removed", model_only),
                ):
                    for (file, section), count in list(found.items())[:5]:
                        print(f"{case}: {what}: {Path(file).name} {section} x{count}", flush=True)
    print(f"{'linker':8}", *(f"{mode:>16}" for mode in MODES))
    for linker in LINKERS:
        print(
            f"{linker:8}",
            *(f"{wrong[linker, mode]:>8} of {cases[linker, mode]:4}" for mode in MODES),
        )
    for (linker, fixture), count in Counter(
        (case.linker, case.fixture) for case, _ in refused
    ).items():
        reason = next(
            text for case, text in refused if (case.linker, case.fixture) == (linker, fixture)
        )
        print(f"refused by {linker}: {fixture} x{count}: {reason}")
    return tally.close(f"{len(refused)} links refused, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
