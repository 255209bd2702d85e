"""Change one expression of a module that decides at a time; unit tests must notice.

    python -m tests.soak.verdict_mutants [--module NAME]… [--count N] [--seed N] [--list]

Mutants swap comparisons, verdicts, `and` with `or`, minima with maxima, signs and small numbers,
and negate conditions. Each is run in a process that forks after the imports. A survivor is printed
with its line; one that decides may turn a failure into a pass. Exit code 1 if one that decides
survives.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import io
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.places import ROOT

_DECISIONS = ("tests/test_gate_decisions.py",)
_TERMS = ("tests/test_policy_changes.py",)
_RECORDED = ("tests/test_recorded_gate.py",)
_NEEDED = ("tests/test_shipped_libraries.py",)
# Modules that decide, each with the tests that run on recorded objects.
MODULES = {
    "sizeguard.gate.policy.checks": (*_RECORDED, "tests/test_gate.py"),
    "sizeguard.gate.policy.limits": (*_RECORDED, "tests/test_gate_config.py"),
    "sizeguard.gate.policy.file_growth": ("tests/test_file_growth.py",),
    "sizeguard.gate.policy.needed": _NEEDED,
    "sizeguard.gate.policy.waiver_use": ("tests/test_gate_waivers.py",),
    "sizeguard.gate.policy.limit_changes": _TERMS,
    "sizeguard.gate.policy.policy_changes": _TERMS,
    "sizeguard.gate.policy.reviewed_changes": (*_TERMS, *_NEEDED),
    "sizeguard.gate.policy.widened_selection": _TERMS,
    "sizeguard.gate.elimination": _DECISIONS,
    "sizeguard.gate.gate_result": _DECISIONS,
    "sizeguard.verify.code_presence": ("tests/test_recorded_verify.py",),
    "sizeguard.verify.registrations": ("tests/test_recorded_verify.py",),
    "sizeguard.verify.canaries": ("tests/test_recorded_verify.py",),
    "sizeguard.verify.bodies": ("tests/test_recorded_verify.py",),
}
_DESELECTED = "not two_steps and not in_two_steps"  # repositories, for which others are kept
_SECONDS = 120  # of a run; a mutant may loop
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_VERDICTS = {"FAIL": "PASS", "INCONCLUSIVE": "PASS", "NOT_RUN": "PASS", "PASS": "FAIL",
             "BROKEN": "OK", "OK": "BROKEN", "ABSENT": "PRESENT", "PRESENT": "ABSENT"}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A changed module. decides: its expression is a verdict, a comparison or a condition."""

    module: str
    line: int
    what: str
    source: ast.Module
    decides: bool


def mutants(module: str) -> Iterator[Mutant]:
    """Make every mutant of a module's functions."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    nodes = [node for function in _functions(tree) for node in _inside(function)]
    for i, node in enumerate(nodes):
        for j, (what, decides) in enumerate(_edits(node)):
            changed = copy.deepcopy(tree)
            twin = [each for function in _functions(changed) for each in _inside(function)][i]
            _apply(twin, j)
            yield Mutant(module, getattr(node, "lineno", 0), what, changed, decides)


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Walk the body, without annotations, docstrings and functions inside."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.FunctionDef | ast.JoinedStr):
            continue
        yield node
        for name, value in ast.iter_fields(node):
            if name != "annotation":
                each = value if isinstance(value, list) else [value]
                pending += [child for child in each if isinstance(child, ast.AST)]


def _edits(node: ast.AST) -> list[tuple[str, bool]]:
    """Say what can be changed of a node, and whether it decides."""
    if isinstance(node, ast.Compare):
        return [(f"{type(op).__name__} swapped", True) for op in node.ops]
    if isinstance(node, ast.BoolOp):
        return [("and/or swapped", True)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [("not dropped", True)]
    if isinstance(node, ast.If | ast.IfExp):
        return [("condition is true", True), ("condition is false", True)]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _VERDICTS:
        return [(f"{node.id} is {_VERDICTS[node.id]}", True)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        return [(f"{node.func.id} is {_CALLS[node.func.id]}", True)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return [("+/- swapped", False)]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [("number + 1", False)]
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        return [("flag negated", True)]
    return []


def _apply(node: ast.AST, which: int) -> None:
    if isinstance(node, ast.Compare):
        node.ops[which] = _COMPARISONS[type(node.ops[which])]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd()
        node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.Constant(which == 0)
    elif isinstance(node, ast.Name):
        # Names may not be imported where they are put
        node.id = _VERDICTS[node.id]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        node.func.id = _CALLS[node.func.id]
    elif isinstance(node, ast.BinOp):
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif isinstance(node, ast.Constant):
        node.value = not node.value if type(node.value) is bool else int(str(node.value)) + 1
    ast.fix_missing_locations(node)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed tree."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        tree = ast.fix_missing_locations(self.mutant.source)
        # Verdicts that are put in may not be imported
        for name, value in (("PASS", "pass"), ("FAIL", "fail"), ("OK", "ok"),
                            ("BROKEN", "broken"), ("ABSENT", "absent"),
                            ("PRESENT", "present")):  # fmt: skip
            module.__dict__.setdefault(name, value)
        exec(compile(tree, self.mutant.module, "exec"), module.__dict__)


def _run_tests(mutant: Mutant | None, tests: Sequence[str]) -> int:
    """Run tests on a mutant in this process, which ends with them."""
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    for name in list(sys.modules):
        if name.startswith(("sizeguard.gate", "sizeguard.report", "sizeguard.verify", "tests.")):
            del sys.modules[name]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        options = ["-x", "-q", "-p", "no:cacheprovider", "-k", _DESELECTED, *tests]
        return int(pytest.main(options))


def run(mutant: Mutant | None, tests: Sequence[str]) -> bool:
    """Return whether the tests pass on a mutant, in a process of its own."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            code = _run_tests(mutant, tests)
        finally:
            os._exit(code)
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


def main(arguments: list[str]) -> int:
    """Run the mutants that are drawn; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", action="append", choices=MODULES)
    parser.add_argument("--count", type=int, default=1500, help="Of those that do not decide.")
    parser.add_argument("--deciding", type=int, default=10_000, help="Of those that decide.")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    chance = random.Random(chosen.seed)
    every = [mutant for module in chosen.module or MODULES for mutant in mutants(module)]
    decide = [mutant for mutant in every if mutant.decides]
    rest = [mutant for mutant in every if not mutant.decides]
    drawn = chance.sample(decide, min(chosen.deciding, len(decide)))
    drawn += chance.sample(rest, min(chosen.count, len(rest)))
    print(f"{len(every)} mutants, {len(decide)} of them decide; {len(drawn)} are run", flush=True)
    if chosen.list:
        return 0
    for module in chosen.module or MODULES:
        assert run(None, MODULES[module]), f"the tests of {module} fail without a mutant"
    alive: list[Mutant] = []
    for mutant in drawn:
        if run(mutant, MODULES[mutant.module]):
            alive.append(mutant)
            kind = "decides" if mutant.decides else "does not decide"
            print(f"survives: {mutant.module}:{mutant.line}: {mutant.what} ({kind})", flush=True)
    print(f"{len(drawn)} mutants, {len(drawn) - len(alive)} killed, {len(alive)} survive")
    return int(any(mutant.decides for mutant in alive))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
