"""All ways that code is retained × all compilers × all linkers: every verdict against the marker in the stripped file."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from retention_programs import CASES, COMPILERS, LINKERS, build, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", action="append", choices=tuple(COMPILERS))
    parser.add_argument("--linker", action="append", choices=tuple(LINKERS))
    parser.add_argument("--optimize", action="append", choices=("-O0", "-O2", "-Os"))
    options = parser.parse_args()
    found: Counter[tuple[str, str]] = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for compiler in options.compiler or COMPILERS:
            for linker in options.linker or LINKERS:
                for case in CASES:
                    for optimize in ("-O2", "-Os") if "-O0" not in case.compile else ("-O0",):
                        if options.optimize and optimize not in options.optimize:
                            continue
                        name = f"{case.name} {compiler} {linker} {optimize}"
                        program = build(case, compiler, linker, Path(folder) / name.replace(" ", "-"), optimize)
                        problem = wrong(case, program)
                        found["kept" if program.kept else "gone", "wrong" if problem else "right"] += 1
                        if problem or (case.kept is not None and case.kept != program.kept):
                            failures.append(f"{name}: {problem or 'the case says otherwise'}")
            print(f"{compiler}: {dict(found)}", flush=True)
    for failure in failures:
        print(f"WRONG {failure}")
    print(f"retention: {sum(found.values())} programs, {len(failures)} wrong verdicts")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
