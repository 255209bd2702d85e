"""Turns all sample models and random models, both forms, into runs under ASan and UBSan: every case must pass."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sizeguard.build.driver import build
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import default_folder, make_variant
from sizeguard.model_import.importer import default_library, import_model
from sizeguard.model_import.program_file import write_program
from sizeguard.project import project_root


def main() -> int:
    root = project_root()
    toolchain = find_toolchain("gcc", None)
    variant = make_variant(root, "full", "", None, dtypes=True, optimize="s", sanitize="address,undefined")
    runner = build(root, variant, toolchain, default_folder(root, variant, toolchain)).image
    models = sorted((root / "native" / "models").glob("*/model*.pt2"))
    models += sorted((root / "tests" / "data" / "random_models").glob("*/model.pt2"))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for model in models:
            numbers = sorted({file.name.split("_")[0] for file in model.parent.glob("case*_input0.npy")})
            cases = [sorted(model.parent.glob(f"{number}_input*.npy")) for number in numbers]
            program = Path(name) / "model.sgp"
            write_program(import_model(model, default_library(), "model", cases, False).program, program)
            for case in range(len(cases)):
                command = [str(runner), "--program", str(program), "--case", str(case), "--output-dir", name]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                passed += done.returncode == 0
                failed += done.returncode != 0
                if done.returncode:
                    print(f"FAIL {model.parent.name}/{model.name} case {case}: {done.stderr.strip()[:400]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
