"""Apply every defect of tests/defects to a copy of the runtime.

`sizeguard gate` must fail, and the verifier must give the reason.

python -m tests.soak.verifier.defects [--no-gate] [NAME …]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sizeguard.projects.root import project_root
from sizeguard.toolchains.targets import host_target
from tests.support.places import SIZEGUARD
from tests.support.refactorings.defective_runtime import DEFECTS, Runtime
from tests.support.script import Tally, options_of


def gate(runtime: Runtime) -> int:
    """Return the exit code of the gate in the copy."""
    command = [
        str(SIZEGUARD),
        "gate",
        "--app",
        runtime.app.name,
        "--target",
        host_target(),
    ]
    return subprocess.run(command, cwd=runtime.root, capture_output=True, check=False).returncode


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--no-gate", action="store_true", help="build and verify alone")
    arguments = parser.parse_args()
    patches = sorted(DEFECTS.glob("*.patch")) + sorted((DEFECTS / "further").glob("*.patch"))
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        runtime = Runtime(project_root(), Path(folder))
        clean = runtime.outcome(None)
        if not tally.check(not clean.is_caught, f"without a defect: {clean}"):
            return tally.close()
        code = 0 if arguments.no_gate else gate(runtime)
        if not tally.check(code == 0, f"without a defect: the gate ends with {code}"):
            return tally.close()
        for patch in patches:
            if arguments.names and patch.stem not in arguments.names:
                continue
            with runtime.patched(patch):
                outcome = runtime.judged()
                code = None if arguments.no_gate else gate(runtime)
            caught = outcome.is_caught and code != 0
            verdict = f"caught by {outcome.caught_by}" if caught else "MISSED"
            print(f"{patch.stem:<32} {verdict:<18} gate {code}  {len(outcome.findings)} findings")
            print(
                "".join(f"      {finding[:160]}\n" for finding in outcome.findings[:2]),
                end="",
                flush=True,
            )
            tally.check(caught, f"{patch.stem} is missed")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
