"""Turns every sample model, in both forms, into a run on a build with AddressSanitizer and UndefinedBehaviorSanitizer.

    python tests/soak/sanitized_models.py [--compiler gcc|clang]

Fails if a sanitizer reports anything or a model does not run. The results are compared elsewhere (tests/test_models.py).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from sizeguard.build.driver import build
from sizeguard.build.programs import program_of
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import Variant, default_folder
from sizeguard.model_import.program_file import read_program
from sizeguard.project import project_root


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="clang")
    options = parser.parse_args()
    root = project_root()
    toolchain = find_toolchain(options.compiler, None)
    variant = Variant("full", sanitize="address,undefined")
    image = build(root, variant, toolchain, default_folder(root, variant, toolchain)).image
    failed = 0
    for model in sorted((root / "native" / "models").glob("*/model*.pt2")):
        program = program_of(model, root / "build" / "programs")
        for case in range(len(read_program(program).cases)):
            with tempfile.TemporaryDirectory() as folder:
                command = [str(image), "--program", str(program), "--case", str(case), "--output-dir", folder]
                # run_program leaves what it holds until its end to the end.
                environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
                done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            verdict = "ok" if done.returncode == 0 and not done.stderr else f"failed: {done.stderr.strip()[:2000]}"
            failed += verdict != "ok"
            print(f"{program.stem:<24} case {case}  {verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
