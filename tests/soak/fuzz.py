"""Turns the sample models and recorded operator cases into seeds, and runs libFuzzer on the loader and the interpreter.

    python tests/soak/fuzz.py [--runs 200000] [--seeds 0,1,2]

Needs clang-19. Finds nothing or fails: a crash, a leak, undefined behaviour, a hang of 25 seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from vectors import make_program, operators, read_vectors, vector_files  # noqa: E402

from sizeguard.errors import InputError  # noqa: E402
from sizeguard.model_import.importer import default_library, import_model  # noqa: E402
from sizeguard.model_import.program_file import write_program  # noqa: E402

LARGEST_SEED = 60_000  # bytes: a mutation of a larger one changes weights only


def build_fuzzer(folder: Path) -> Path:
    """fuzz_program with the sanitizers, by plain CMake."""
    options = ["-DSG_FUZZ=ON", "-DSG_SANITIZE=address,undefined", "-DSG_OPTIMIZE=-O1"]
    environment = {**os.environ, "CC": "clang-19", "CXX": "clang++-19"}
    with (folder.parent / "fuzz.log").open("w") as log:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for command in (
            ["cmake", "-S", str(ROOT / "native"), "-B", str(folder), "-G", "Ninja", *options],
            ["ninja", "-C", str(folder), "fuzz_program"],
        ):
            subprocess.run(command, env=environment, check=True, stdout=log, stderr=log)
    return folder / "fuzz_program"


def write_seeds(folder: Path) -> int:
    """Programs of every model at hand and of every eighth recorded case of every operator; how many."""
    folder.mkdir()
    library = default_library()
    count = 0
    models = [ROOT / "native" / "models", ROOT / "tests" / "data" / "exported_models", ROOT / "tests" / "data" / "random_models"]
    for source in (path for parent in models for path in sorted(parent.glob("*/model.pt2"))):
        cases = [sorted(source.parent.glob("case0_input*.npy"))]
        try:
            program = import_model(source, library, "seed", cases if cases[0] else [], False).program
        except InputError:
            continue  # models that must be refused are among them
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


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    fuzzer = build_fuzzer(ROOT / "build" / "fuzz")
    failed = 0
    for seed in options.seeds.split(","):
        with tempfile.TemporaryDirectory() as name:
            corpus = Path(name) / "corpus"
            count = write_seeds(corpus)
            command = [str(fuzzer), str(corpus), f"-runs={options.runs}", f"-seed={int(seed) + 1}", "-max_len=20000", "-timeout=25"]
            environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1"}
            done = subprocess.run(command, cwd=name, env=environment, capture_output=True, text=True, check=False)
            lines = [line for line in done.stderr.splitlines() if "DONE" in line or "SUMMARY" in line or "runtime error" in line]
            print(f"seed {seed}: {count} programs to start from, exit {done.returncode}: {'; '.join(lines)}", flush=True)
            for crash in Path(name).glob("*-*"):
                kept = ROOT / "build" / crash.name
                kept.write_bytes(crash.read_bytes())
                print(f"  kept {kept}")
            failed += done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
