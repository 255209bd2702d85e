"""Turns the sample models' programs into a corpus, and fuzzes the loader and the interpreter with it.

    python tests/soak/fuzz.py [--runs N] [--seed N]

Fails if libFuzzer, AddressSanitizer or UndefinedBehaviorSanitizer finds anything. What it finds stays in build/fuzz.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from sizeguard.build.programs import program_of
from sizeguard.project import project_root

MAXIMUM_INPUT = 1 << 16  # bytes: larger programs are mostly weights, which teach the fuzzer nothing


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    root = project_root()
    folder = root / "build" / "fuzz"
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for model in sorted((root / "native" / "models").glob("*/model*.pt2")):
        program = program_of(model, root / "build" / "programs")
        if program.stat().st_size <= MAXIMUM_INPUT:
            shutil.copy(program, corpus)
    sizeguard = Path(sys.executable).parent / "sizeguard"
    configure = ["cmake", "-S", str(root / "native"), "-B", str(folder), "-G", "Ninja", "-DSG_FUZZ=ON", "-DSG_SANITIZE=address,undefined"]
    compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", f"-DSIZEGUARD={sizeguard}"]
    subprocess.run([*configure, *compilers], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(folder), "fuzz_program"], check=True, stdout=subprocess.DEVNULL)
    limits = [f"-runs={options.runs}", f"-seed={options.seed}", f"-max_len={MAXIMUM_INPUT}", "-timeout=20", "-rss_limit_mb=4096"]
    found = subprocess.run([str(folder / "fuzz_program"), *limits, "-print_final_stats=1", str(corpus)], cwd=folder, check=False)
    return found.returncode


if __name__ == "__main__":
    sys.exit(main())
