"""Sample models and models of features, and their import."""

from __future__ import annotations

from pathlib import Path

from sizeguard.operators.library import Operator
from sizeguard.runtimes.sizeguard.importing.importer import Imported, default_library, import_model
from tests.support.places import ROOT

SAMPLES = sorted((ROOT / "native" / "models").glob("*/*.pt2"))
FEATURES = ROOT / "tests" / "data" / "exported_models"
FEATURE_MODELS = [
    path
    for path in sorted(FEATURES.glob("*/*.pt2"))
    if path.parent.name not in ("unsupported", "complex_weight")
]
LIBRARY = default_library()


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def imported(
    path: Path,
    cases: list[list[Path]] | None = None,
    prepack: bool = False,
    library: dict[str, Operator] = LIBRARY,
) -> Imported:
    return import_model(path, library, path.stem, cases or [], prepack)


def cases_of(path: Path) -> list[list[Path]]:
    """Return the inputs of each case in the model's folder."""
    folder = path.parent
    count = len(list(folder.glob("case*_input0.npy")))
    return [sorted(folder.glob(f"case{i}_input*.npy")) for i in range(count)]
