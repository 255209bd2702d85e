"""Run all sample and random models, both forms, under ASan and UBSan.

Every case must pass.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sizeguard.projects.root import project_root
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant, default_folder
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.script import Tally, options_of


def main() -> int:
    options_of(__doc__).parse_args()
    root = project_root()
    toolchain = find_toolchain("gcc", None)
    variant = checked_variant(
        root, Variant("full", "", None, dtypes=True, optimize="s", sanitize="address,undefined")
    )
    runner = build(root, variant, toolchain, default_folder(root, variant, toolchain)).image
    models = sorted((root / "native" / "models").glob("*/model*.pt2"))
    models += sorted((root / "tests" / "data" / "random_models").glob("*/model.pt2"))
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        for model in models:
            numbers = sorted(
                {file.name.split("_")[0] for file in model.parent.glob("case*_input0.npy")}
            )
            cases = [sorted(model.parent.glob(f"{number}_input*.npy")) for number in numbers]
            program = Path(name) / "model.sgp"
            write_program(
                import_model(model, default_library(), "model", cases, False).program, program
            )
            for case in range(len(cases)):
                command = [
                    str(runner),
                    "--program",
                    str(program),
                    "--case",
                    str(case),
                    "--output-dir",
                    name,
                ]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                tally.check(
                    done.returncode == 0,
                    f"{model.parent.name}/{model.name} case {case}: {done.stderr.strip()[:400]}",
                )
    return tally.close(f"{len(models)} models")


if __name__ == "__main__":
    sys.exit(main())
