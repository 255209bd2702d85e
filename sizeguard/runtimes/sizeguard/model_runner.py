"""Run bundled inputs of a program on a build and hash the outputs."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sizeguard.base.fingerprint import file_hash, files_key
from sizeguard.builds.build_record import Build
from sizeguard.runtimes.runtime import ModelRun
from sizeguard.toolchains.bounded import run_bounded
from sizeguard.toolchains.host import machine_files, processor, run_environment
from sizeguard.toolchains.targets import run_prefix

_MISSING = re.compile(r"(?:operator|class) (\S+) is not in this build")


def run_case(
    build: Build, program: Path, case: int, timeout: float, expected: Mapping[int, Path]
) -> ModelRun:
    """Run one bundled input on one build. timeout: seconds."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*(run_prefix(build.target) or []), str(build.shipped), "--program", str(program)]
        done = run_bounded(
            [*command, "--case", str(case), "--output-dir", folder], timeout, env=run_environment()
        )
        if done.trouble or done.code != 0:
            lines = [line.removeprefix("error: ") for line in done.said.split("\n") if line]
            message = done.trouble or (lines[0] if lines else f"ended with {done.code}")
            return ModelRun("", message, tuple(_MISSING.findall(done.said)))
        outputs = sorted(Path(folder).glob("output*.npy"))
        if not outputs:
            return ModelRun("", "wrote no output")
        wrong = _unexpected(Path(folder), expected)
        if wrong:
            return ModelRun("", wrong)
        digest = hashlib.sha256()
        for path in outputs:
            digest.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
        return ModelRun(digest.hexdigest())


def _unexpected(folder: Path, expected: Mapping[int, Path]) -> str:
    """Return how the outputs in a folder differ from the expected ones; empty if they do not.

    Raises InputError for an expected output that is not an array.
    """
    if not expected:
        return ""
    from sizeguard.models.array_difference import difference  # see case_count
    from sizeguard.models.npy import read_npy

    for number, file in sorted(expected.items()):
        output = folder / f"output{number}.npy"
        if not output.is_file():
            return f"wrote no output {number}, which {file.name} expects"
        wrong = difference(read_npy(output), read_npy(file))
        if wrong is not None:
            return f"output {number} is not {file.name}: {wrong}"
    return ""


def run_inputs(
    build: Build, program: Path, case: int, expected: Mapping[int, Path]
) -> Mapping[str, object]:
    """Return everything that the outputs depend on.

    These are the image, the program, the loader's files, the emulator and the processor.
    """
    return {
        "image": file_hash(build.shipped),
        "program": file_hash(program),
        "case": case,
        "expected": {str(number): file_hash(path) for number, path in sorted(expected.items())},
        "prefix": (run_prefix(build.target) or [])[1:],
        "files": _files(
            build.shipped,
            file_hash(build.shipped),
            build.target,
            os.environ.get("LD_LIBRARY_PATH", ""),
        ),
        "processor": processor(),
    }


def case_count(program: Path) -> int:
    """Return the number of bundled inputs of a program."""
    return _case_count(program, file_hash(program))


@functools.lru_cache(maxsize=256)
def _case_count(program: Path, content: str) -> int:
    """Count the cases of a program of that content.

    Cached, because reading 11 programs takes 0.1 s, and each runs in many builds.
    """
    # numpy takes 45 ms to import; a gate without changes does without it.
    from sizeguard.runtimes.sizeguard.program.program_file import read_program

    return len(read_program(program).cases)


@functools.lru_cache(maxsize=256)
def _files(image: Path, content: str, target: str, path: str) -> list[str]:
    """Hash the libraries that an image of this content loads.

    Cached, because it takes 12 ms, 40 ms in an emulator, and 16 runs need it.
    """
    return files_key(machine_files(image, target))
