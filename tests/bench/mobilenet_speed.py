"""Compare the run time of MobileNetV2 at 224 × 224, by run_program at -O2, with PyTorch's.

PyTorch runs the model in eager mode, on one thread.

    python -m tests.bench.mobilenet_speed --torch-python PYTHON [--rounds N] [--limit RATIO]

PYTHON is one that has torch 2.13; it exports the model (width 1.0, random weights) and runs it in a
process of its own. Each round times both, one after the other: PyTorch's forward call alone,
run_program from start to exit, loading included. Fails if the median of the rounds' ratios is above
the limit, or the results differ.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from sizeguard.projects.root import project_root
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.script import Tally, options_of

# PyTorch's side. Writes model.pt2, input.npy and expected.npy to the folder, then runs the model
# once for each line it reads, and answers with the seconds.
WORKER = """
import sys, time
import numpy, torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
folder = sys.argv[1]


def layer(inputs, outputs, size=3, stride=1, groups=1):
    convolution = nn.Conv2d(
        inputs, outputs, size, stride, (size - 1) // 2, groups=groups, bias=False
    )
    return [convolution, nn.BatchNorm2d(outputs), nn.ReLU6()]


class Bottleneck(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        width = inputs * expansion
        layers = layer(inputs, width, 1) if expansion != 1 else []
        layers += layer(width, width, stride=stride, groups=width)
        layers += [nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        layers, width = layer(3, 32, stride=2), 32
        for expansion, outputs, count, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1),
        ):
            for i in range(count):
                layers.append(Bottleneck(width, outputs, stride if i == 0 else 1, expansion))
                width = outputs
        self.features = nn.Sequential(*layers, *layer(width, 1280, 1))
        self.classifier = nn.Linear(1280, 1000)

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


model, x = MobileNetV2().eval(), torch.randn(1, 3, 224, 224)
torch.export.save(torch.export.export(model, (x,)), folder + "/model.pt2")
with torch.no_grad():
    numpy.save(folder + "/input.npy", x.numpy())
    numpy.save(folder + "/expected.npy", model(x).numpy())
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        model(x)
        print(time.perf_counter() - start, flush=True)
"""


def has_torch(python: str) -> bool:
    try:
        done = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def compare(python: str, rounds: int, folder: Path) -> list[tuple[float, float]]:
    """Return the seconds of PyTorch and of run_program, for each round after a warm-up."""
    worker = subprocess.Popen(
        [python, "-c", WORKER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert worker.stdin is not None and worker.stdout is not None
    if worker.stdout.readline() != "ready\n":
        raise SystemExit("error: PyTorch could not export the model")
    imported = import_model(folder / "model.pt2", default_library(), "mobilenet_v2")
    write_program(imported.program, folder / "model.sgp")
    root = project_root()
    variant = checked_variant(
        root, Variant("full", "", None, dtypes=True, optimize="2", sanitize="")
    )
    runtime = build(
        root, variant, find_toolchain("gcc", None), root / "build" / "soak" / "gcc-2-full", None
    ).shipped
    command = [
        runtime,
        "--program",
        folder / "model.sgp",
        "--input",
        folder / "input.npy",
        "--output-dir",
        folder,
    ]
    times = []
    for _ in range(rounds + 1):
        worker.stdin.write("run\n")
        worker.stdin.flush()
        eager = float(worker.stdout.readline())
        start = time.perf_counter()
        subprocess.run(command, check=True)
        times.append((eager, time.perf_counter() - start))
    worker.stdin.close()
    worker.wait()
    return times[1:]


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--limit", type=float, default=8.0)
    options = parser.parse_args()
    if not has_torch(options.torch_python):
        print(
            f"error: {options.torch_python}: has no torch; give a Python that has torch 2.13 with"
            " --torch-python",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        times = compare(options.torch_python, options.rounds, folder)
        same = np.allclose(
            np.load(folder / "output0.npy"),
            np.load(folder / "expected.npy"),
            rtol=1.3e-6,
            atol=1e-5,
        )
    ratio = median(ours / eager for eager, ours in times)
    print(f"MobileNetV2 1.0, 224 × 224, one thread, median of {len(times)} rounds")
    print(f"  PyTorch eager       {1000 * median(eager for eager, _ in times):7.1f} ms")
    print(
        f"  run_program at -O2  {1000 * median(ours for _, ours in times):7.1f} ms, loading"
        " included"
    )
    print(
        f"  ratio               {ratio:7.2f}   limit {options.limit:g}   results"
        f" {'agree' if same else 'differ'}"
    )
    tally = Tally()
    tally.check(ratio <= options.limit, f"the ratio is above {options.limit:g}")
    tally.check(same, "the results differ")
    return tally.close(f"ratio {ratio:.2f}")


if __name__ == "__main__":
    sys.exit(main())
