"""Run libFuzzer on the loader and the interpreter, from models and recorded cases.

    python -m tests.soak.fuzz [--runs 200000] [--seeds 0,1,2]

Needs clang-19. Finds nothing or fails: a crash, a leak, undefined behaviour, a hang of 25 seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.runtimes.sizeguard.importing.importer import (
    default_library,
    import_model,
)
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from tests.support.places import DATA, ROOT
from tests.support.script import Tally, options_of
from tests.support.vectors import make_program, operators, read_vectors, vector_files

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
    """Write programs of every model and of every eighth recorded case; their number."""
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
    parser = options_of(__doc__)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    fuzzer = build_fuzzer(ROOT / "build" / "fuzz")
    tally = Tally()
    for seed in options.seeds.split(","):
        with tempfile.TemporaryDirectory() as name:
            corpus = Path(name) / "corpus"
            count = write_seeds(corpus)
            command = [
                str(fuzzer),
                str(corpus),
                f"-runs={options.runs}",
                f"-seed={int(seed) + 1}",
                "-max_len=20000",
                "-timeout=25",
            ]
            environment = {
                **os.environ,
                "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1",
            }
            done = subprocess.run(
                command, cwd=name, env=environment, capture_output=True, text=True, check=False
            )
            lines = [
                line
                for line in done.stderr.splitlines()
                if "DONE" in line or "SUMMARY" in line or "runtime error" in line
            ]
            print(
                f"seed {seed}: {count} programs to start from, exit {done.returncode}:"
                f" {'; '.join(lines)}",
                flush=True,
            )
            for crash in Path(name).glob("*-*"):
                kept = ROOT / "build" / crash.name
                kept.write_bytes(crash.read_bytes())
                print(f"  kept {kept}")
            tally.check(done.returncode == 0, f"seed {seed} ended with {done.returncode}")
    return tally.close(f"{options.runs:,} runs each")


if __name__ == "__main__":
    sys.exit(main())
