"""Every defect of tests/defects, applied to a copy of the runtime: `sizeguard gate` must not hold, and the verifier must say why.

python tests/soak/defects.py [--no-gate] [NAME …]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from defective_runtime import DEFECTS, Runtime

from sizeguard.build.targets import host_target
from sizeguard.project import project_root


def gate(runtime: Runtime) -> int:
    """The exit code of the gate in the copy."""
    command = [str(Path(sys.executable).parent / "sizeguard"), "gate", "--app", runtime.app.name, "--target", host_target()]
    return subprocess.run(command, cwd=runtime.root, capture_output=True, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--no-gate", action="store_true", help="build and verify alone")
    arguments = parser.parse_args()
    patches = sorted(DEFECTS.glob("*.patch")) + sorted((DEFECTS / "further").glob("*.patch"))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        runtime = Runtime(project_root(), Path(folder))
        if (clean := runtime.outcome(None)).is_caught:
            print(f"WRONG without a defect: {clean}")
            return 1
        if not arguments.no_gate and (code := gate(runtime)) != 0:
            print(f"WRONG without a defect: the gate ends with {code}")
            return 1
        for patch in patches:
            if arguments.names and patch.stem not in arguments.names:
                continue
            with runtime.patched(patch):
                outcome = runtime.judged()
                code = None if arguments.no_gate else gate(runtime)
            caught = outcome.is_caught and code != 0
            verdict = f"caught by {outcome.caught_by}" if caught else "MISSED"
            print(f"{patch.stem:<32} {verdict:<18} gate {code}  {len(outcome.findings)} findings")
            print("".join(f"      {finding[:160]}\n" for finding in outcome.findings[:2]), end="", flush=True)
            if not caught:
                missed.append(patch.stem)
    print(f"defects: {len(missed)} missed {' '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
