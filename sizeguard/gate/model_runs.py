"""Run a model on two builds and check that both give the same results, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.gate_result import NOT_RUN, ModelResult
from sizeguard.runtimes.runtime import ModelRun, Models
from sizeguard.snapshots.store import Store, content_key
from sizeguard.toolchains.targets import run_prefix

KIND = "model-run"
TIMEOUT = 600  # seconds for one case


# More than 6 parameters: a model, two builds and how to run them; nothing else takes all of them.
# More than 40 lines: each reason to stop early has its own message.
def compare_model(
    models: Models,
    program: Path,
    app: str,
    full: Build,
    selective: Build,
    *,
    store: Store | None = None,
    timeout: float = TIMEOUT,
    expected: Sequence[Mapping[int, Path]] = (),
) -> ModelResult:
    """Run every bundled input of the program on both builds.

    A run that succeeded before with equal inputs is not repeated. A failed run is always repeated.

    store: keeps the outputs of successful runs
    timeout: seconds for one case
    expected: by case, the files of expected outputs; the full build's outputs must equal them
        within tolerances
    """
    name, target = program.stem, selective.target
    cases = models.case_count(program)
    if run_prefix(target) is None:
        return ModelResult(name, app, NOT_RUN, cases, (), f"{target} does not run here", target)

    def failed(case: int, message: str, missing: tuple[str, ...] = ()) -> ModelResult:
        return ModelResult(name, app, FAIL, case, missing, message, target)

    if cases == 0:
        return failed(0, "has no bundled inputs, so that nothing was compared")
    runs = []
    for case in range(cases):
        pair = []
        files = expected[case] if case < len(expected) else {}
        for build, where, wanted in ((full, "full", files), (selective, app, {})):
            run = _kept_run(models, build, (program, case, wanted), store, timeout)
            if not run.outputs:
                return failed(case, f"case {case} on {where}: {run.message}", run.missing)
            pair.append(run)
        if pair[0].outputs != pair[1].outputs:
            return failed(case, f"case {case}: {app} gives other results than full")
        runs += pair
    return ModelResult(name, app, PASS, cases, (), "", target, all(run.cached for run in runs))


def _kept_run(
    models: Models,
    build: Build,
    what: tuple[Path, int, Mapping[int, Path]],
    store: Store | None,
    timeout: float,
) -> ModelRun:
    """Run one bundled input unless it succeeded before with equal inputs.

    what: program, case, and files with expected outputs
    """
    program, case, expected = what
    if store is None:
        return models.run(build, program, case, timeout, expected)
    # version: of the facts that are kept
    inputs = models.run_inputs(build, program, case, expected)
    key = content_key({"kind": KIND, **inputs, "version": 2})
    known = (store.facts(key) or {}).get("outputs")
    if isinstance(known, str) and known:
        return ModelRun(known, cached=True)
    run = models.run(build, program, case, timeout, expected)
    if run.outputs:
        store.put(key, {"outputs": run.outputs})
    return run
