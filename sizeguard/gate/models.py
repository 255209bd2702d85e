"""Turns a model and two builds into whether both give the same results, bit for bit."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sizeguard.build.record import Build
from sizeguard.gate.result import FAIL, PASS, ModelResult
from sizeguard.model_import.program_file import read_program

_MISSING = re.compile(r"(?:operator|class) (\S+) is not in this build")
TIMEOUT = 600  # seconds for one case


@dataclass(frozen=True, slots=True)
class _Run:
    exit_code: int
    message: str
    missing: tuple[str, ...]
    outputs: tuple[tuple[str, bytes], ...]


def compare_model(program: Path, app: str, full: Build, selective: Build) -> ModelResult:
    """Run every bundled input of the program on both builds."""
    name = program.stem
    cases = len(read_program(program).cases)
    if cases == 0:
        return ModelResult(name, app, FAIL, 0, (), "has no bundled inputs, so that nothing was compared")
    for case in range(cases):
        expected = _run(full, program, case)
        if expected.exit_code != 0:
            return ModelResult(name, app, FAIL, case, expected.missing, f"case {case} on full: {expected.message}")
        actual = _run(selective, program, case)
        if actual.exit_code != 0:
            return ModelResult(name, app, FAIL, case, actual.missing, f"case {case} on {app}: {actual.message}")
        if actual.outputs != expected.outputs:
            return ModelResult(name, app, FAIL, case, (), f"case {case}: {app} gives other results than full")
    return ModelResult(name, app, PASS, cases, (), "")


def _run(build: Build, program: Path, case: int) -> _Run:
    with tempfile.TemporaryDirectory() as folder:
        command = [str(build.shipped), "--program", str(program), "--case", str(case), "--output-dir", folder]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return _Run(-1, f"did not end within {TIMEOUT} s", (), ())
        outputs = tuple((path.name, path.read_bytes()) for path in sorted(Path(folder).glob("output*.npy")))
    lines = [line.removeprefix("error: ") for line in done.stderr.strip().split("\n") if line]
    message = lines[0] if lines else f"ended with {done.returncode}"
    if done.returncode == 0 and not outputs:
        return _Run(-1, "wrote no output", (), ())
    return _Run(done.returncode, message, tuple(_MISSING.findall(done.stderr)), outputs)
