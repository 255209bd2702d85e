"""Change one expression of a deciding module at a time; a test must fail.

    python -m tests.soak.mutants.verdict_mutants [--module NAME]… [--deciding N] [--count N]
        [--seed N] [--minutes N] [--outcomes FILE] [--list]

Mutants swap comparisons, verdicts, `and` with `or`, minima with maxima, signs and small numbers,
and negate conditions. All that decide are run in the modules of DECIDING; the rest, and all those
of the modules of RECORDED, are drawn. Tests are collected once. Probes find the tests that run
each line; those of its line judge a mutant, in a process that forks from the collection. Those in
files that import its module come first; the others run if a mutant is left, and native ones at
last. A survivor is printed with its line. FILE is as that of room_mutants. Exit code 1 if one that
decides survives in a module of DECIDING.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import random
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import CodeType
from zlib import crc32

from tests.support.mutant_outcomes import KILLED, LEFT, Outcomes
from tests.support.mutant_runs import RAN, Change, Line, Session, collected
from tests.support.places import ROOT, files_of_tests

# Modules that give verdicts, compare limits or compare terms.
DECIDING = (
    "sizeguard.builds.second_reader",
    "sizeguard.builds.unknown_sections",
    "sizeguard.claims.verdict",
    "sizeguard.gate.changed_terms",
    "sizeguard.gate.contradictions",
    "sizeguard.gate.elimination",
    "sizeguard.gate.fail_if",
    "sizeguard.gate.gate_result",
    "sizeguard.gate.judged_app",
    "sizeguard.gate.model_runs",
    "sizeguard.gate.policy.baselines",
    "sizeguard.gate.policy.checks",
    "sizeguard.gate.policy.file_growth",
    "sizeguard.gate.policy.changes.limit_changes",
    "sizeguard.gate.policy.limits",
    "sizeguard.gate.policy.needed",
    "sizeguard.gate.policy.changes.policy_changes",
    "sizeguard.gate.policy.read_limits",
    "sizeguard.gate.policy.changes.reviewed_changes",
    "sizeguard.gate.policy.terms",
    "sizeguard.gate.policy.terms_result",
    "sizeguard.gate.policy.waiver_use",
    "sizeguard.gate.policy.waivers",
    "sizeguard.gate.policy.changes.widened_selection",
    "sizeguard.gate.reference.base_branch",
    "sizeguard.gate.reference.base_growth",
    "sizeguard.gate.reference.creep",
    "sizeguard.gate.reference.given_snapshot",
    "sizeguard.gate.reference.moved_bytes",
    "sizeguard.gate.reference.not_measured",
    "sizeguard.gate.reference.other_tools",
    "sizeguard.gate.run",
    "sizeguard.gate.verified_builds",
    "sizeguard.verify.branches.bodies",
    "sizeguard.verify.branches.branch_verdicts",
    "sizeguard.verify.canaries",
    "sizeguard.verify.code_presence",
    "sizeguard.verify.features.external_calls",
    "sizeguard.verify.features.feature_marks",
    "sizeguard.verify.features.feature_verdicts",
    "sizeguard.verify.judge_claims",
    "sizeguard.verify.named_symbols",
    "sizeguard.verify.registrations",
    "sizeguard.verify.returns",
    "sizeguard.verify.startup",
    "sizeguard.verify.verification",
)
# Modules that find the evidence, references and metrics for them.
RECORDED = (
    "sizeguard.attribution.teams.code_owners",
    "sizeguard.gate.cache.any_run_key",
    "sizeguard.gate.cache.build_records",
    "sizeguard.gate.cache.kept_verification",
    "sizeguard.gate.cache.whole_run",
    "sizeguard.gate.policy.changes.names_changes",
    "sizeguard.gate.reference.ci_event",
    "sizeguard.gate.reference.history",
    "sizeguard.gate.reference.reference",
    "sizeguard.gate.reference.tree_inputs",
    "sizeguard.gate.reference.used_waivers",
    "sizeguard.gate.request",
    "sizeguard.gate.selection.check",
    "sizeguard.gate.selection.selection_case",
    "sizeguard.gate.selection.model_needs",
    "sizeguard.measurement.metric",
    "sizeguard.measurement.metric_names",
    "sizeguard.projects.any_build",
    "sizeguard.projects.rules.own_rules",
    "sizeguard.runtimes.sizeguard.claims.build_claims",
    "sizeguard.verify.branches.dtype_arguments",
    "sizeguard.verify.branches.kernel_users",
    "sizeguard.verify.branches.noted_code",
    "sizeguard.verify.branches.references",
    "sizeguard.verify.build_names",
    "sizeguard.verify.evidence.code_search",
    "sizeguard.verify.evidence.evidence",
    "sizeguard.verify.evidence.gather_evidence",
    "sizeguard.verify.evidence.image_presence",
    "sizeguard.verify.evidence.link_graph",
    "sizeguard.verify.evidence.linker_log",
    "sizeguard.verify.evidence.macho",
    "sizeguard.verify.evidence.macho_objects",
    "sizeguard.verify.evidence.macho_placement",
    "sizeguard.verify.evidence.object_evidence",
    "sizeguard.verify.evidence.object_registrations",
    "sizeguard.verify.evidence.placement",
    "sizeguard.verify.evidence.tables",
    "sizeguard.verify.evidence.ways",
    "sizeguard.verify.known_names",
    "sizeguard.verify.leaks.code_windows",
    "sizeguard.verify.leaks.constants",
    "sizeguard.verify.leaks.deselected_code",
    "sizeguard.verify.leaks.explained_bytes",
    "sizeguard.verify.leaks.foreign_code",
    "sizeguard.verify.leaks.hidden_code",
    "sizeguard.verify.leaks.text_references",
    "sizeguard.verify.leaks.toolchain_files",
    "sizeguard.verify.leaks.written_names",
)
# Tests on recorded objects and measurements, and whole gates of small repositories.
TESTS = (
    "advice", "any_builds", "any_recipes", "baseline_files", "baseline_log", "baseline_names",
    "branch_verdicts", "build_config", "canaries", "ci_events", "ci_events_read",
    "claimed_programs", "claims_by_name", "code_windows", "comment_writer", "compared_limits",
    "compared_models", "compared_terms", "constants", "contradictions", "creep_references",
    "creep_shares", "deselected_code", "doubted_absence", "dtype_bodies", "evidence_parts",
    "explained_bytes", "external_calls", "fail_if", "feature_marks", "feature_verdicts",
    "file_growth", "foreign_code", "found_images", "gate", "gate_base", "gate_config",
    "gate_decisions", "gate_edges", "gate_skip", "gate_waivers", "gated_projects", "gathered_files",
    "given_full_build", "given_snapshots", "growth_history", "growth_references", "handler_units",
    "handler_verdicts", "hidden_bytes", "image_kinds", "image_presence", "inlined_bodies",
    "joined_results", "judge", "judged_app", "judged_claims", "judged_edges", "judged_images",
    "judged_models", "kept_names", "kernel_users", "leak_verdicts", "limit_texts", "link_evidence",
    "linked_debug_files", "listed_claims", "many_apps", "mapped_sections", "merged_waivers",
    "metric_values", "metrics", "moved_bytes", "named_claims", "names_changes", "noreturn",
    "object_evidence", "one_moment", "other_tools", "own_selections", "placed_code",
    "policy_changes", "policy_files", "policy_in_commits", "project_root", "recipe_steps",
    "recorded_gate", "recorded_macho", "recorded_references", "recorded_verify", "reference_paths",
    "regions", "remade_advice", "requests", "reviewed_changes", "run_keys", "second_reader",
    "selection_check", "selection_records", "shared_apps", "shipped_libraries", "size_checks",
    "startup", "store_in_ci", "store_limits", "stripped_functions", "symbol_metrics",
    "unknown_sections", "unloaded_bytes", "verify_evidence", "waiver_list", "whole_run",
    "widened_selection", "written_names", "written_waivers",
)  # fmt: skip
_Named = tuple[str, ast.FunctionDef]
_Spanned = tuple[ast.AST, tuple[int, int]]  # with the first and last line of its statement
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_VERDICTS = {"FAIL": "PASS", "INCONCLUSIVE": "PASS", "NOT_RUN": "PASS", "PASS": "FAIL",
             "BROKEN": "OK", "OK": "BROKEN", "ABSENT": "PRESENT", "PRESENT": "ABSENT"}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A place in a function of a module, and which of its edits.

    decides: the expression is a verdict, a comparison or a condition. lines: of its statement.
    key: names it in later runs, until its function changes.
    """

    module: str
    path: str
    function: int
    node: int
    edit: int
    line: int
    what: str
    decides: bool
    lines: tuple[Line, ...]
    key: str

    @property
    def place(self) -> str:
        """Name module, line and edit."""
        return f"{self.module}:{self.line}: {self.what}"

    def change(self) -> Change:
        """Compile the function with the edit."""
        name, original = _functions(_tree(self.path))[self.function]
        function = copy.deepcopy(original)
        node, _ = [*_inside(function)][self.node]
        _apply(node, self.edit)
        return _compiled(self.path, name, function)

    def probe(self) -> Change:
        """Compile the function with a call of RAN before each statement."""
        name, original = _functions(_tree(self.path))[self.function]
        function = copy.deepcopy(original)
        for node in [*ast.walk(function)]:
            for field in ("body", "orelse", "finalbody"):
                statements = getattr(node, field, None)
                if isinstance(statements, list):
                    with_calls = [[_ran(self.path, each.lineno), each] for each in statements]
                    setattr(node, field, [each for pair in with_calls for each in pair])
        return _compiled(self.path, name, function)


def mutants(module: str) -> Iterator[Mutant]:
    """List every mutant of a module's functions."""
    path = importlib.import_module(module).__file__
    assert path is not None
    for which, (name, function) in enumerate(_functions(_tree(path))):
        text = crc32(ast.dump(function).encode())
        for i, (node, (first, last)) in enumerate(_inside(function)):
            for j, (what, decides) in enumerate(_edits(node)):
                line = getattr(node, "lineno", first)
                lines = tuple((path, number) for number in range(first, last + 1))
                key = f"{module}.{name} {text:08x} {i}.{j}"
                yield Mutant(module, path, which, i, j, line, what, decides, lines, key)


def probes(drawn: Iterable[Mutant]) -> list[Change]:
    """Compile each function of some mutants so that it records the lines that run."""
    one_of_each = {(each.path, each.function): each for each in drawn}
    return [each.probe() for each in one_of_each.values()]


def _ran(path: str, line: int) -> ast.stmt:
    place = ast.Tuple([ast.Constant(path), ast.Constant(line)], ast.Load())
    return ast.Expr(ast.Call(ast.Name(RAN, ast.Load()), [place], []))


def _compiled(path: str, name: str, function: ast.FunctionDef) -> Change:
    """Compile a changed function where it stood, without its decorators."""
    first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    function.decorator_list = []
    body: ast.stmt = function
    for owner in reversed(name.split(".")[:-1]):
        body = ast.ClassDef(owner, bases=[], keywords=[], body=[body], decorator_list=[])
    tree = ast.fix_missing_locations(ast.Module([body], []))
    code = compile(tree, path, "exec", flags=annotations.compiler_flag)
    return Change(path, name, first, _named(code, name))


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def _functions(owner: ast.Module | ast.ClassDef, prefix: str = "") -> list[_Named]:
    """List functions and methods with qualified names; those inside of others belong to them."""
    found: list[_Named] = []
    for node in owner.body:
        if isinstance(node, ast.FunctionDef):
            found.append((prefix + node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += _functions(node, f"{prefix}{node.name}.")
    return found


def _named(code: CodeType, name: str) -> CodeType:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_qualname == name:
                return each
            if name.startswith(f"{each.co_qualname}."):
                return _named(each, name)
    raise AssertionError(f"{name} is not compiled")


def _inside(function: ast.FunctionDef) -> Iterator[_Spanned]:
    """Walk the body with the lines of each statement, without annotations and messages."""
    pending: list[tuple[ast.AST, tuple[int, int]]] = [
        (each, _lines(each)) for each in function.body
    ]
    while pending:
        node, span = pending.pop(0)
        if isinstance(node, ast.JoinedStr):
            continue
        yield node, span
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "args", "decorator_list") or (
                name == "args" and isinstance(node, ast.Call)
            ):
                each = value if isinstance(value, list) else [value]
                pending += [
                    (child, _lines(child) if isinstance(child, ast.stmt) else span)
                    for child in each
                    if isinstance(child, ast.AST)
                ]


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement, or of its head."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return statement.lineno, max(last, statement.lineno)


def _edits(node: ast.AST) -> list[tuple[str, bool]]:
    """Yield the possible changes of a node, and whether it decides."""
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


def _judge(session: Session, mutant: Mutant, among: Collection[int]) -> str:
    """Return KILLED, "survives" or "no test". among: the tests that have not run yet."""
    tests = session.tests_of(mutant.lines)
    if not tests:
        return "no test"
    left = [test for test in tests if test in among]
    return KILLED if left and session.killer(mutant.change(), left) else "survives"


def _steps(session: Session, mutants: Iterable[Mutant]) -> list[set[int]]:
    """Group the tests: those in files that import a mutant's module, other units, native ones."""
    modules = {mutant.module for mutant in mutants}
    texts = {path: path.read_text(encoding="utf-8") for path in {i.path for i in session.items}}
    near = {path for path, text in texts.items() if modules & imported(text)}
    steps: list[set[int]] = [set(), set(), set()]
    for at, item in enumerate(session.items):
        is_unit = item.get_closest_marker("native") is None
        steps[2 if not is_unit else 0 if item.path in near else 1].add(at)
    return steps


def imported(text: str) -> set[str]:
    """Return the modules that a text imports, also by `from package import module`."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found


def main(arguments: list[str]) -> int:
    """Run the drawn mutants; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", action="append", help="Any module, in place of the usual ones.")
    parser.add_argument("--count", type=int, default=1500, help="Of the rest.")
    parser.add_argument("--deciding", type=int, default=10_000, help="Of those that decide.")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--minutes", type=float, default=10_000)
    parser.add_argument("--outcomes", type=Path, default=Path(os.devnull))
    parser.add_argument("--tests", action="append", help="Names in place of the usual ones.")
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    chance = random.Random(chosen.seed)
    modules = chosen.module or (*DECIDING, *RECORDED)
    every = [mutant for module in modules for mutant in mutants(module)]
    decide = [mutant for mutant in every if mutant.decides and mutant.module in DECIDING]
    rest = [mutant for mutant in every if not (mutant.decides and mutant.module in DECIDING)]
    drawn = chance.sample(decide, min(chosen.deciding, len(decide)))
    drawn += chance.sample(rest, min(chosen.count, len(rest)))
    print(f"{len(every)} mutants, {len(decide)} of them decide; {len(drawn)} are run", flush=True)
    if chosen.list:
        return 0
    outcomes = Outcomes(chosen.outcomes, chosen.minutes)
    left = [mutant for mutant in drawn if mutant.key not in outcomes.known]

    def work(session: Session) -> None:
        # 84 mutants of three modules took 2 min with 347 near tests; with all, 94 took 20 min.
        steps = _steps(session, left)
        for i, tests in enumerate(steps):
            if all(mutant.key in outcomes.known for mutant in left):
                break
            session.trace(sorted(tests))
            seconds = sum(session.seconds[test] for test in tests)
            print(f"{len(tests)} tests, {seconds:.0f} s", flush=True)
            for mutant in left:
                judge = partial(_judge, session, mutant, tests)
                outcomes.of(mutant, judge, is_last=i == len(steps) - 1)

    wanted = {f"test_{name}" for name in chosen.tests or TESTS}
    files = [path.relative_to(ROOT).as_posix() for path in files_of_tests() if path.stem in wanted]
    if left:
        collected(files, probes(left), work, marks="")
    counts: dict[str, Counter[str]] = {words: Counter() for words in ("that decide", "of the rest")}
    for mutant in drawn:
        decides = mutant.decides and mutant.module in DECIDING
        kind = "that decide" if decides else "of the rest"
        counts[kind][outcomes.known.get(mutant.key, LEFT)] += 1
    for kind, found in counts.items():
        print(f"{kind}: {', '.join(f'{count} {word}' for word, count in sorted(found.items()))}")
    return int(any(word not in (KILLED, LEFT) for word in counts["that decide"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
