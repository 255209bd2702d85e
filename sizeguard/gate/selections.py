"""Turns the apps of sizeguard.yaml and a full build into the findings of all their selections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sizeguard.attribution.store import Store
from sizeguard.build.driver import build
from sizeguard.build.fingerprint import sources_hash
from sizeguard.build.record import Build
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import Variant, default_folder
from sizeguard.codegen.tags import scan_tags
from sizeguard.errors import SizeguardError
from sizeguard.gate.config import App
from sizeguard.gate.kernel_calls import kernel_calls
from sizeguard.gate.keys import code_hash, file_hash, kept
from sizeguard.gate.result import FAIL, PASS, Problem, SelectionFinding
from sizeguard.gate.selection_check import LINT, check_selection, read_subject
from sizeguard.gate.selection_record import shown_path
from sizeguard.gate.traced import Tracer, read_model
from sizeguard.operator_library import read_operator_libraries
from sizeguard.progress import Progress
from sizeguard.selection.finding import Level
from sizeguard.selection.lint import lint
from sizeguard.selection.yaml_reader import SelectionFile


def check_selections(
    root: Path, apps: Sequence[App], builds: Iterable[Build], store: Store | None, tracer: Tracer | None = None
) -> tuple[tuple[SelectionFinding, ...], tuple[Problem, ...]]:
    """builds: full ones, for any targets; one of them says who calls whom. What cannot be checked is a problem, and no app is left out."""
    tracer = tracer or Tracer(root, store)
    found: list[SelectionFinding] = []
    problems = []
    with Progress("checking selections", "names, calls, traces") as progress:
        for i, app in enumerate(apps):
            try:
                calls = kernel_calls(full_build(root, builds), store)
                subject = read_subject(root, app, (read_model(root, model, store) for model in app.models), calls)
                found += check_selection(subject, tracer, lint_findings(root, app, subject.file, store))
            except SizeguardError as error:
                problems.append(Problem.of(error, app.name, ""))
            progress.step(i + 1, len(apps), app.name)
    return tuple(found), tuple(problems)


def full_build(root: Path, builds: Iterable[Build]) -> Build:
    """The one that the calls are read of: the first, else this machine's."""
    given = next(iter(builds), None)
    if given is not None:
        return given
    toolchain = find_toolchain(None, None)
    variant = Variant("full")
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


def lint_findings(root: Path, app: App, file: SelectionFile, store: Store | None) -> tuple[SelectionFinding, ...]:
    """Errors fail; warnings are shown."""
    rows = kept(
        store,
        lambda: {
            "kind": "lint", "code": code_hash(), "sources": sources_hash(root), "selection": file_hash(app.selection), "file": file.name,
        },
        lambda: _linted(root, file),
        lambda found: {"findings": found},
        lambda known: [(str(check), bool(is_error), str(message), int(line)) for check, is_error, message, line in known["findings"]],
    )  # fmt: skip
    return tuple(_lint(root, app, *row) for row in rows)


def _linted(root: Path, file: SelectionFile) -> list[tuple[str, bool, str, int]]:
    native = root / "native"
    operators = read_operator_libraries(sorted(native.glob("*/operators.yaml")))
    switches = scan_tags([native / "operators", native / "prepacked"])
    return [(each.check, each.level is Level.ERROR, each.message, each.line) for each in lint([file], operators, switches)]


def _lint(root: Path, app: App, check: str, is_error: bool, message: str, line: int) -> SelectionFinding:
    file = shown_path(root, app.selection)
    advice = f"sizeguard select lint {file}" if is_error else ""
    return SelectionFinding(app.name, LINT, check, FAIL if is_error else PASS, message, advice, f"{file}:{line}" if line else file)
