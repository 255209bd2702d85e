"""Record cases with PyTorch's results for each operator of operators.yaml.

    python -m tests.generators.operator_vectors [OPERATOR …]

Run it with a Python that has torch 2.13 and pyyaml; its output, tests/data/vectors, is committed.
"""

from __future__ import annotations

import importlib
import sys
import warnings

import torch
import yaml

from tests.generators.vector_cases.recorder import GENERATORS, Recorder
from tests.support.places import DATA, ROOT

OUTPUT = DATA / "vectors"
FAMILIES = (
    "pointwise", "in_place", "unary", "reductions", "matrices", "attention", "convolutions",
    "pooling", "normalization", "views", "copies", "lookups", "quantization", "primitives",
)  # fmt: skip


def operator_names() -> list[str]:
    """Return the operators of the portable library."""
    entries = yaml.safe_load((ROOT / "native" / "operators" / "operators.yaml").read_text())
    return [entry["func"].partition("(")[0] for entry in entries]


def main(arguments: list[str]) -> None:
    torch.set_num_threads(1)  # so that the order of sums is the same on all machines
    # oneDNN and fused attention have other 16-bit intermediate results, and are only used on
    # some processors.
    torch.backends.mkldnn.enabled = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    for family in FAMILIES:
        importlib.import_module(f"tests.generators.vector_cases.{family}")
    names = operator_names()
    missing = sorted(set(names) - GENERATORS.keys())
    extra = sorted(GENERATORS.keys() - set(names))
    if missing or extra:
        raise SystemExit(f"no cases for {missing}; not in operators.yaml: {extra}")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    total = 0
    for name in arguments or names:
        recorder = Recorder(name)
        GENERATORS[name](recorder)
        data = recorder.file()
        (OUTPUT / f"{name.replace('::', '.')}.zip").write_bytes(data)
        total += len(data)
        print(
            f"{name}: {len(recorder.cases)} cases, {len(recorder.refusals)} refusals, {len(data)}"
            " bytes",
            flush=True,
        )
    print(f"{total} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
