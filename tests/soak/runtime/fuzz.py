"""Run libFuzzer on the loader and the interpreter, and on calls of every operator.

    python -m tests.soak.runtime.fuzz [--runs 200000] [--seeds 0,1,2] [--only fuzz_operators]
        [--defects]

fuzz_program mutates programs of models and of recorded cases; fuzz_operators constructs calls with
odd shapes, dtypes, strides and values. Needs clang-19. Finds nothing or fails: a crash, a leak,
undefined behaviour, a hang of 25 seconds. --defects checks the fuzzer itself: each patch in
fuzz_defects brings an old defect back, which fuzz_operators must find within --runs.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from tests.support.builds.vectors import make_program, operators, read_vectors, vector_files
from tests.support.places import DATA, ROOT, SIZEGUARD
from tests.support.script import Tally, options_of

DEFECTS = ROOT / "tests" / "soak" / "runtime" / "fuzz_defects"
LARGEST_SEED = 60_000  # bytes: a mutation of a larger one changes weights only


def build_fuzzer(name: str, folder: Path, sources: Path) -> Path:
    """Build a fuzzer with the sanitizers, by plain CMake."""
    options = ["-DSG_FUZZ=ON", "-DSG_SANITIZE=address,undefined", "-DSG_OPTIMIZE=-O1"]
    environment = {**os.environ, "CC": "clang-19", "CXX": "clang++-19"}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "fuzz.log").open("w") as log:
        for step in (
            [
                "cmake",
                "-S",
                sources,
                "-B",
                folder,
                "-G",
                "Ninja",
                f"-DSIZEGUARD={SIZEGUARD}",
                *options,
            ],
            ["ninja", "-C", folder, name],
        ):
            subprocess.run(step, env=environment, check=True, stdout=log, stderr=log)
    return folder / name


def write_calls(folder: Path) -> int:
    """Write six calls of every operator, its number and random choices; return their number."""
    folder.mkdir()
    draw = random.Random(0)
    numbers = range(len(default_library()))
    for number in numbers:
        for i in range(6):
            content = bytes([0, number % 256, number // 256]) + draw.randbytes(200)
            (folder / f"{number}_{i}").write_bytes(content)
    return 6 * len(numbers)


def write_programs(folder: Path) -> int:
    """Write programs of every model and of every eighth recorded case; return their number."""
    folder.mkdir()
    library = default_library()
    count = 0
    models = [
        ROOT / "native" / "models",
        DATA / "exported_models",
        DATA / "random_models",
    ]
    for source in (path for parent in models for path in sorted(parent.glob("*/model.pt2"))):
        cases = [sorted(source.parent.glob("case0_input*.npy"))]
        try:
            program = import_model(
                source, library, "seed", cases if cases[0] else [], False
            ).program
        except InputError:
            continue  # they include models that must be refused
        write_program(program, folder / f"{source.parent.name}.sgp")
        count += 1
    known = operators()
    for file in vector_files():
        recorded = read_vectors(file)
        for i, case in enumerate(recorded.cases[::8]):
            write_program(make_program(recorded, [case], known), folder / f"{file.stem}_{i}.sgp")
            count += 1
    for file in folder.iterdir():
        if file.stat().st_size > LARGEST_SEED:
            file.unlink()
            count -= 1
    return count


SEEDS = {"fuzz_program": write_programs, "fuzz_operators": write_calls}


def run_fuzzer(fuzzer: Path, runs: int, seed: int) -> tuple[int, str]:
    """Run a fuzzer; return its exit code and findings. Crashing inputs are kept in build/."""
    with tempfile.TemporaryDirectory() as name:
        corpus = Path(name) / "corpus"
        SEEDS[fuzzer.name](corpus)
        options = [f"-runs={runs}", f"-seed={seed + 1}", "-max_len=20000", "-timeout=25"]
        sanitizer = {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1"}
        done = subprocess.run(
            [fuzzer, corpus, *options],
            cwd=name,
            env={**os.environ, **sanitizer},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        words = ("DONE", "SUMMARY", "runtime error", "ERROR", "operators:", "never returned")
        lines = [line for line in done.stderr.splitlines() if any(word in line for word in words)]
        for crash in Path(name).glob("*-*"):
            shutil.copy(crash, ROOT / "build" / crash.name)
            lines.append(f"kept build/{crash.name}")
        return done.returncode, "; ".join(lines)


def check_defects(tally: Tally, runs: int) -> None:
    """Restore each old defect in a copy of the sources; the fuzzer must find it."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(ROOT / "native", Path(name) / "native")
        for defect in sorted(DEFECTS.glob("*.patch")):
            patch = ["patch", "-p1", "-s", "-i", str(defect)]
            subprocess.run(patch, cwd=name, check=True)
            folder = Path(name) / "build" / "fuzz"  # only patched files are compiled again
            fuzzer = build_fuzzer("fuzz_operators", folder, Path(name) / "native")
            code, found = run_fuzzer(fuzzer, runs, 0)
            subprocess.run([*patch, "-R"], cwd=name, check=True)
            print(f"{defect.stem}: exit {code}: {found[:300]}", flush=True)
            tally.check(code != 0, f"{defect.stem} was not found in {runs:,} runs")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--only", choices=sorted(SEEDS))
    parser.add_argument("--defects", action="store_true", help="check the fuzzer, not the runtime")
    options = parser.parse_args()
    tally = Tally()
    if options.defects:
        check_defects(tally, options.runs)
        return tally.close(f"{options.runs:,} runs each")
    for name in [options.only] if options.only else SEEDS:
        fuzzer = build_fuzzer(name, ROOT / "build" / "fuzz", ROOT / "native")
        for seed in options.seeds.split(","):
            code, found = run_fuzzer(fuzzer, options.runs, int(seed))
            print(f"{name}, seed {seed}: exit {code}: {found}", flush=True)
            tally.check(code == 0, f"{name}, seed {seed} ended with {code}")
    return tally.close(f"{options.runs:,} runs each")


if __name__ == "__main__":
    sys.exit(main())
