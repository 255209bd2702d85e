"""Compare predictions with builds, for all sample models.

It covers operators only, traced operators, and operators with dtypes.

Holds if operators are within 0.5 %, dtypes within 3 %, and both within the margin that the
prediction states. Exit code 1 otherwise.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from sizeguard.predict.what_if import kept_by, predictor_of
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.tracing import trace
from sizeguard.runtimes.sizeguard.building.variants import OPTIMIZATIONS, Variant, default_folder
from sizeguard.selection.read import read_selection
from sizeguard.selection.write import format_selection
from sizeguard.toolchains.toolchain import COMPILERS, find_toolchain
from tests.support.places import ROOT
from tests.support.script import Tally, options_of

LIMITS = {"operators alone": 0.005, "operators": 0.005, "dtypes": 0.03}


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "predict-truth")
    parser.add_argument("--compiler", choices=COMPILERS, default="gcc")
    parser.add_argument("--optimize", choices=OPTIMIZATIONS, default="s")
    parser.add_argument("--model", action="append", help="only these")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    toolchain = find_toolchain(options.compiler, None)
    whole = Variant("full", optimize=options.optimize)
    full = build(ROOT, whole, toolchain, default_folder(ROOT, whole, toolchain))
    predictor = predictor_of(full.image.parent)
    tally = Tally()
    models = options.model or sorted(
        path.name for path in (ROOT / "native" / "models").iterdir() if path.is_dir()
    )
    print(f"{toolchain.name} -O{options.optimize}; columns: built, predicted, difference, margin")
    print(f"{'model':16}", *(f"{kind:>40}" for kind in LIMITS))
    rows: dict[str, list[str]] = {model: [] for model in models}
    for kind, limit in LIMITS.items():
        for model in models:
            traced = options.folder / f"{model}.yaml"
            if not traced.is_file():
                trace(
                    ROOT,
                    [ROOT / "native" / "models" / model / "model.pt2"],
                    traced,
                    executed_only=False,
                )
            selection = read_selection(traced).selection
            if kind == "operators alone":
                selection = replace(
                    selection, include_all_non_op_selectives=True, kernel_metadata={}
                )
            # One file and one folder for all models: only what a selection changes is compiled
            # again.
            current = options.folder / f"current-{kind.replace(' ', '-')}.yaml"
            current.write_text(format_selection(selection))
            variant = Variant(
                "selective",
                "predicted",
                current,
                dtypes=kind == "dtypes",
                optimize=options.optimize,
            )
            folder = (
                options.folder / f"{options.compiler}-O{options.optimize}-{kind.replace(' ', '-')}"
            )
            built = build(ROOT, variant, toolchain, folder).sizes.load
            size = predictor.size(kept_by(selection, predictor, dtypes=kind == "dtypes"))
            error = (size.load - built) / built
            beyond = abs(size.load - built) > max(size.margin, limit * built)
            tally.check(
                abs(error) <= limit and not beyond,
                f"{model}, {kind}: built {built:,}, predicted {size.load:,}",
            )
            rows[model].append(
                f"{built:8,} {size.load:8,} {size.load - built:+6,} {100 * error:+6.2f}%"
                f" {size.margin:7,}"
            )
    for model, cells in rows.items():
        print(f"{model:16}", *(f"{cell:>40}" for cell in cells))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
