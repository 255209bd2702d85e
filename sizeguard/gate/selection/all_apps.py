"""Check the selections of all apps of sizeguard.yaml against a full build."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.errors import SizeguardError
from sizeguard.base.fingerprint import code_hash, file_hash, files_key
from sizeguard.base.progress import Progress
from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.cache.calls import kernel_calls
from sizeguard.gate.cache.traces import Tracer, read_model
from sizeguard.gate.gate_result import Problem, SelectionFinding
from sizeguard.gate.selection.call_table import check_call_table
from sizeguard.gate.selection.check import check_selection
from sizeguard.gate.selection.review_record import shown_path
from sizeguard.gate.selection.selection_case import LINT, read_subject
from sizeguard.gate.selection.surplus import Prices, surplus_findings
from sizeguard.projects.project import NOTE, App
from sizeguard.runtimes.known import source_tree
from sizeguard.runtimes.runtime import BuildOptions, SourceTree
from sizeguard.selection.finding import Level
from sizeguard.selection.lint_rules import lint as lint_selections
from sizeguard.selection.read import SelectionFile
from sizeguard.snapshots.kept import kept
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.toolchain import find_toolchain

# Lint checks that surplus findings replace, with bytes.
_SURPLUS = ("unreachable-tag", "missing-case")


# More than 40 lines: findings and problems of all apps are collected side by side.
# More than 6 parameters: the configuration, the builds, and what to check them with.
def check_selections(
    root: Path,
    apps: Sequence[App],
    builds: Sequence[Build],
    store: Store | None,
    tracer: Tracer | None = None,
    source: Path | None = None,
    surplus: str = NOTE,
) -> tuple[tuple[SelectionFinding, ...], tuple[Problem, ...]]:
    """Check every app's selection.

    A selection that cannot be checked becomes a problem; no app is left out.

    surplus: whether parts that no model needs are noted, or fail

    builds: full builds for any targets; apps are checked with the calls of the first, or of one
            for this machine. Builds with LTO, which inlines kernels into others, are left out
    source: the folder with the runtime's sources, if that is not the root
    """
    tracer = tracer or Tracer(root, store, source=source)
    tree = source_tree(root, source)[1]
    found: list[SelectionFinding] = []
    builds = [build for build in builds if not build.lto]
    problems = []
    try:
        builds = builds or [full_build(tree)]
    except SizeguardError as error:
        return (), tuple(Problem.of(error, app.name, "") for app in apps)
    prices = Prices(builds[0], store)  # reading a full build takes 0.2 s, and the apps share it
    with Progress("checking selections", "names, calls, traces") as progress:
        for i, app in enumerate(apps):
            try:
                calls = kernel_calls(builds[0], store)
                models = (read_model(root, model, store, source) for model in app.models)
                subject = read_subject(root, app, models, calls)
                lint = lint_findings(root, tree, app, subject.file, store)
                own = tree.translated(subject.file.selection)
                subject = replace(subject, file=replace(subject.file, selection=own))
                find = functools.partial(surplus_findings, prices=prices, mode=surplus)
                found += check_selection(subject, tracer, lint, find)
            except SizeguardError as error:
                problems.append(Problem.of(error, app.name, ""))
            progress.step(i + 1, len(apps), app.name)
    try:
        fulls = {build.target: kernel_calls(build, store) for build in builds}
        found += check_call_table(root, tree.call_table(), fulls)
        found += _stale(root, tree, apps, builds[0], store, source)
    except SizeguardError as error:
        problems.append(Problem.of(error, "", ""))
    return tuple(found), tuple(problems)


def _stale(
    root: Path,
    tree: SourceTree,
    apps: Sequence[App],
    full: Build,
    store: Store | None,
    source: Path | None,
) -> Iterator[SelectionFinding]:
    """Find differences between the stored names and the full build's.

    Differences in operators, classes and features fail. Other names do not matter for claims, which
    use the full build's.
    """
    file = tree.names_file()
    if not apps:
        return
    found = kept(
        store,
        lambda: {
            "kind": "stale names",
            "code": code_hash(),
            "sources": tree.key(),
            "names": files_key([file, full.image]),
        },
        lambda: _stale_names(root, source, full),
        lambda said: {"findings": said},
        lambda known: tuple((str(said), bool(fails)) for said, fails in known["findings"]),
    )
    for said, fails in found:
        place = shown_path(root, file)
        message = f"names of the full build are stale: {said}"
        verdict = FAIL if fails else PASS
        advice = "sizeguard select names"
        yield SelectionFinding(apps[0].name, LINT, "names", verdict, message, advice, place)


def _stale_names(root: Path, source: Path | None, full: Build) -> tuple[tuple[str, bool], ...]:
    # Takes 90 ms with the verifier; a run without a new full build does without it.
    from sizeguard.gate.selection.full_names import stale_names

    return stale_names(root, source, full)


def full_build(tree: SourceTree) -> Build:
    """Make a full build for this machine, to read calls and names from."""
    return tree.build_full(BuildOptions(find_toolchain(None, None)))


def lint_findings(
    root: Path, tree: SourceTree, app: App, file: SelectionFile, store: Store | None
) -> tuple[SelectionFinding, ...]:
    """Lint an app's selection file.

    Errors fail; warnings are shown.
    """
    rows = kept(
        store,
        lambda: {
            "kind": "lint",
            "code": code_hash(),
            "sources": tree.key(),
            "selection": file_hash(app.selection),
            "file": file.name,
        },
        lambda: _linted(tree, file),
        lambda found: {"findings": found},
        lambda known: [
            _KeptFinding(str(check), bool(is_error), str(message), int(line))
            for check, is_error, message, line in known["findings"]
        ],
    )
    return tuple(_lint(root, app, row) for row in rows)


class _KeptFinding(NamedTuple):
    """A finding as it is kept between runs."""

    check: str
    is_error: bool
    message: str
    line: int


def _linted(tree: SourceTree, file: SelectionFile) -> list[_KeptFinding]:
    return [
        _KeptFinding(each.check, each.level is Level.ERROR, each.message, each.line)
        for each in lint_selections([file], tree.selectable(), tree.switches())
        if each.check not in _SURPLUS
    ]


def _lint(root: Path, app: App, found: _KeptFinding) -> SelectionFinding:
    file = shown_path(root, app.selection)
    advice = f"sizeguard select lint {file}" if found.is_error else ""
    return SelectionFinding(
        app.name,
        LINT,
        found.check,
        FAIL if found.is_error else PASS,
        found.message,
        advice,
        f"{file}:{found.line}" if found.line else file,
    )
