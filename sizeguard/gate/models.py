"""Turns a model and two builds into whether both give the same results, bit for bit."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.store import Store, content_key
from sizeguard.build.bounded import run_bounded
from sizeguard.build.machine import machine_files, processor, run_environment
from sizeguard.build.record import Build
from sizeguard.build.targets import run_prefix
from sizeguard.gate.keys import file_hash, files_key
from sizeguard.gate.result import FAIL, NOT_RUN, PASS, ModelResult
from sizeguard.model_import.program_file import read_program

KIND = "model-run"
TIMEOUT = 600  # seconds for one case

_MISSING = re.compile(r"(?:operator|class) (\S+) is not in this build")


@dataclass(frozen=True, slots=True)
class _Run:
    """outputs: the hash of all that was written; empty if the program failed, which message then tells."""

    outputs: str
    message: str = ""
    missing: tuple[str, ...] = ()
    cached: bool = False


def compare_model(
    program: Path, app: str, full: Build, selective: Build, *, store: Store | None = None, timeout: float = TIMEOUT
) -> ModelResult:
    """Run every bundled input of the program on both builds, but for runs that succeeded before with all the same.

    store: where the outputs of successful runs are kept. A run that failed is never believed again: it runs again.
    """
    name, target = program.stem, selective.target
    cases = _cases(program, file_hash(program))
    if run_prefix(target) is None:
        return ModelResult(name, app, NOT_RUN, cases, (), f"{target} does not run here", target)

    def failed(case: int, message: str, missing: tuple[str, ...] = ()) -> ModelResult:
        return ModelResult(name, app, FAIL, case, missing, message, target)

    if cases == 0:
        return failed(0, "has no bundled inputs, so that nothing was compared")
    runs = []
    for case in range(cases):
        pair = []
        for build, where in ((full, "full"), (selective, app)):
            run = run_case(build, program, case, store=store, timeout=timeout)
            if not run.outputs:
                return failed(case, f"case {case} on {where}: {run.message}", run.missing)
            pair.append(run)
        if pair[0].outputs != pair[1].outputs:
            return failed(case, f"case {case}: {app} gives other results than full")
        runs += pair
    return ModelResult(name, app, PASS, cases, (), "", target, all(run.cached for run in runs))


def run_case(build: Build, program: Path, case: int, *, store: Store | None, timeout: float) -> _Run:
    """One bundled input on one build."""
    if store is None:
        return _run(build, program, case, timeout)
    key = _key(build, program, case)
    known = (store.facts(key) or {}).get("outputs")
    if isinstance(known, str) and known:
        return _Run(known, cached=True)
    run = _run(build, program, case, timeout)
    if run.outputs:
        store.put(key, {"outputs": run.outputs})
    return run


def _key(build: Build, program: Path, case: int) -> str:
    """All that the outputs depend on: what is run, on what, and what the loader, the emulator and the processor add."""
    return content_key(
        {
            "kind": KIND,
            "image": file_hash(build.shipped),
            "program": file_hash(program),
            "case": case,
            "prefix": (run_prefix(build.target) or [])[1:],
            "files": _files(build.shipped, file_hash(build.shipped), build.target, os.environ.get("LD_LIBRARY_PATH", "")),
            "processor": processor(),
            "version": 1,  # of what is kept
        }
    )


@functools.lru_cache(maxsize=256)
def _cases(program: Path, content: str) -> int:
    """Of a program of that content. 11 programs take 0.1 s, and each runs in many builds."""
    return len(read_program(program).cases)


@functools.lru_cache(maxsize=256)
def _files(image: Path, content: str, target: str, path: str) -> list[str]:
    """Hashes of what an image of that content loads: 12 ms, 40 in an emulator, and 16 runs ask for each."""
    return files_key(machine_files(image, target))


def _run(build: Build, program: Path, case: int, timeout: float) -> _Run:
    with tempfile.TemporaryDirectory() as folder:
        command = [*(run_prefix(build.target) or []), str(build.shipped), "--program", str(program)]
        done = run_bounded([*command, "--case", str(case), "--output-dir", folder], timeout, env=run_environment())
        if done.trouble or done.code != 0:
            lines = [line.removeprefix("error: ") for line in done.said.split("\n") if line]
            message = done.trouble or (lines[0] if lines else f"ended with {done.code}")
            return _Run("", message, tuple(_MISSING.findall(done.said)))
        outputs = sorted(Path(folder).glob("output*.npy"))
        if not outputs:
            return _Run("", "wrote no output")
        digest = hashlib.sha256()
        for path in outputs:
            digest.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
        return _Run(digest.hexdigest())
