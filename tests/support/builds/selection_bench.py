"""Judge selections of an app like the gate, with builds and traces that are made once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import FAIL
from sizeguard.gate.cache.calls import kernel_calls
from sizeguard.gate.cache.traces import Model, Tracer, read_model
from sizeguard.gate.gate_result import SelectionFinding
from sizeguard.gate.selection.all_apps import lint_findings
from sizeguard.gate.selection.check import check_selection
from sizeguard.gate.selection.review_record import record_of
from sizeguard.gate.selection.selection_case import SelectionCase, read_subject
from sizeguard.gate.selection.surplus import Prices, surplus_findings
from sizeguard.predict.full_build import FullBuild
from sizeguard.projects.project import NOTE, App
from sizeguard.projects.reader import read_config
from sizeguard.runtimes.known import source_tree
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.write import write_selection
from sizeguard.snapshots.store import Store

# Kinds of findings that are not about the selection if they pass.
_QUIET = ("covered", "trace", "export")


@dataclass(frozen=True)
class SelectionBench:
    """The apps of a source tree. folder: for files and traces."""

    root: Path
    folder: Path
    full: Build
    instrumented: Build

    @cached_property
    def calls(self) -> FullBuild:
        return kernel_calls(self.full, None)

    @cached_property
    def tracer(self) -> Tracer:
        return Tracer(self.root, Store(self.folder / "store"), lambda _: self.instrumented)

    @cached_property
    def _prices(self) -> Prices:
        return Prices(self.full)

    @functools.cached_property
    def _models(self) -> dict[Path, Model]:
        return {}

    def model(self, path: Path) -> Model:
        if path not in self._models:
            self._models[path] = read_model(self.root, path, None)
        return self._models[path]

    def app(self, name: str) -> App:
        return next(app for app in read_config(self.root).apps if app.name == name)

    def edited(
        self, name: str, edit: Callable[[str], str], mode: str = NOTE
    ) -> list[tuple[str, str]]:
        """Judge an app's selection after an edit of its text; return verdict and message."""
        app = self.app(name)
        path = self.folder / f"{name}.yaml"
        text = app.selection.read_text(encoding="utf-8")
        path.write_text(edit(text), encoding="utf-8")
        changed = replace(app, selection_file=path)
        models = [self.model(model) for model in app.models]
        try:
            case = read_subject(self.root, changed, models, self.calls)
        except InputError as error:
            return [(FAIL, str(error))]
        return self._found(case, mode)

    def judged(
        self, selection: Selection, models: Sequence[Model], *, traced: bool
    ) -> list[tuple[str, str]]:
        """Judge a selection of an app with these models, with its record or traced again."""
        path = self.folder / "shop.yaml"
        write_selection(path, selection)
        app = App("shop", path, tuple(model.path for model in models), ("x86_64-linux",))
        file = read_selection(path)
        record = record_of(self.root, app, file.selection, self.calls)
        if traced:
            record = replace(record, selection="0" * 16)
        case = SelectionCase(self.root, app, file, tuple(models), self.calls, record)
        return self._found(case, NOTE)

    def _found(self, case: SelectionCase, mode: str) -> list[tuple[str, str]]:
        tree = source_tree(self.root)[1]
        lint = lint_findings(self.root, tree, case.app, case.file, None)
        own = tree.translated(case.selection)
        case = replace(case, file=replace(case.file, selection=own))
        find = functools.partial(surplus_findings, prices=self._prices, mode=mode)
        found = check_selection(case, self.tracer, lint, find)
        return [(each.verdict, each.message) for each in found if not _is_quiet(each)]


def _is_quiet(finding: SelectionFinding) -> bool:
    return finding.kind in _QUIET and finding.verdict == "pass"
