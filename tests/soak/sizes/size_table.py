"""Print the loaded bytes of all sample models × compilers × optimizations, and check limits.

    python -m tests.soak.sizes.size_table [--compilers gcc,clang] [--optimize s,2]
                                    [--forms model,model_core]

Must hold: a selection with dtypes is never larger than without; what a model adds to the core is at
most a quarter of what all operators add; with gcc -Os, the limits below.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from sizeguard.operators.library import read_operator_libraries
from sizeguard.projects.root import project_root
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.tracing import trace
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain
from tests.support.script import Tally, options_of

# Loaded bytes by operators and dtypes, ATen form, gcc -Os.
LIMITS = {"mobilenet_v2": 42_000, "mlp": 32_000, "encoder": 56_000}
CORE_LIMIT = {"gcc": 22_000, "clang": 25_000}  # -Os
BYTES_PER_OPERATOR = 2_300  # gcc -Os
MODEL_SHARE = 0.25


def selections(forms: list[str], folder: Path) -> dict[str, Path]:
    """Trace every sample model; return selections by name."""
    root = project_root()
    traced = {}
    for source in sorted(path for path in (root / "native" / "models").iterdir() if path.is_dir()):
        numbers = sorted({file.name.split("_")[0] for file in source.glob("case*_input0.npy")})
        cases = [sorted(source.glob(f"{number}_input*.npy")) for number in numbers]
        for form in forms:
            name = source.name + ("" if form == "model" else " (core)")
            program = folder / f"{source.name}_{form}.sgp"
            write_program(
                import_model(
                    source / f"{form}.pt2", default_library(), source.name, cases, False
                ).program,
                program,
            )
            traced[name] = folder / f"{source.name}_{form}.yaml"
            trace(root, (program,), traced[name], executed_only=False)
    return traced


def loaded_bytes(
    toolchain: Toolchain,
    optimize: str,
    variant: str,
    selection: Path | None = None,
    dtypes: bool = True,
) -> int:
    """Build a variant in a separate folder; return its loaded bytes."""
    root = project_root()
    what = checked_variant(
        root, Variant(variant, "", selection, dtypes=dtypes, optimize=optimize, sanitize="")
    )
    name = f"{toolchain.compiler}-{optimize}-{variant}{'' if dtypes else '-operators'}"
    return build(root, what, toolchain, root / "build" / "soak" / name, None).sizes.load


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--compilers", default="gcc,clang")
    parser.add_argument("--optimize", default="s,2")
    parser.add_argument("--forms", default="model")
    options = parser.parse_args()
    root = project_root()
    operators = len(read_operator_libraries(sorted((root / "native").glob("*/operators.yaml"))))
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        traced = selections(options.forms.split(","), folder)
        for compiler in options.compilers.split(","):
            toolchain = find_toolchain(compiler, None)
            for optimize in options.optimize.split(","):
                where = f"{compiler} -O{optimize}"

                load = partial(loaded_bytes, toolchain, optimize)
                core = load("core")
                full = load("full")
                each = (full - core) / operators
                print(
                    f"\n{where}: core {core:,}, full {full:,} = {each:,.0f} an operator over core"
                    f" ({operators})"
                )
                print(f"  {'':24}{'operators':>12}{'and dtypes':>12}{'of full - core':>16}")
                if optimize == "s":
                    tally.check(
                        core <= CORE_LIMIT[compiler],
                        f"{where}: core {core:,} > {CORE_LIMIT[compiler]:,}",
                    )
                if where == "gcc -Os":
                    tally.check(
                        each <= BYTES_PER_OPERATOR,
                        f"{where}: {each:,.0f} bytes an operator > {BYTES_PER_OPERATOR:,}",
                    )
                for model, selection in traced.items():
                    # One path for all models, so that only changed files are compiled again.
                    current = folder / "selected_operators.yaml"
                    shutil.copyfile(selection, current)
                    by_operators = load("selective", current, dtypes=False)
                    by_dtypes = load("selective", current)
                    share = (by_dtypes - core) / (full - core)
                    print(f"  {model:24}{by_operators:12,}{by_dtypes:12,}{share:16.1%}", flush=True)
                    tally.check(
                        by_dtypes <= by_operators,
                        f"{where}: {model} grows by {by_dtypes - by_operators:,} when dtypes are"
                        " selected",
                    )
                    if where == "gcc -Os":
                        most = LIMITS.get(model, by_dtypes)
                        tally.check(
                            share <= MODEL_SHARE,
                            f"{where}: {model} takes {share:.1%} of all operators' bytes",
                        )
                        tally.check(by_dtypes <= most, f"{where}: {model} {by_dtypes:,} > {most:,}")
    return tally.close(f"{len(traced)} models")


if __name__ == "__main__":
    sys.exit(main())
