"""Check all ways to retain code with all compilers and linkers.

Every verdict is compared with the marker in the stripped file.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.support.links.retention_programs import CASES, COMPILERS, LINKERS, build, wrong
from tests.support.script import Tally, options_of


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--compiler", action="append", choices=tuple(COMPILERS))
    parser.add_argument("--linker", action="append", choices=tuple(LINKERS))
    parser.add_argument("--optimize", action="append", choices=("-O0", "-O2", "-Os"))
    options = parser.parse_args()
    found: Counter[tuple[str, str]] = Counter()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for compiler in options.compiler or COMPILERS:
            for linker in options.linker or LINKERS:
                for case in CASES:
                    for optimize in ("-O2", "-Os") if "-O0" not in case.compile else ("-O0",):
                        if options.optimize and optimize not in options.optimize:
                            continue
                        name = f"{case.name} {compiler} {linker} {optimize}"
                        program = build(
                            case, compiler, linker, Path(folder) / name.replace(" ", "-"), optimize
                        )
                        problem = wrong(case, program)
                        found[
                            "kept" if program.kept else "gone", "wrong" if problem else "right"
                        ] += 1
                        told = case.kept is None or case.kept == program.kept
                        tally.check(
                            not problem and told, f"{name}: {problem or 'the case says otherwise'}"
                        )
            print(f"{compiler}: {dict(found)}", flush=True)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
