"""Hold an app's selection together with everything that it is checked against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import PASS
from sizeguard.gate.cache.traces import Model
from sizeguard.gate.gate_result import SelectionFinding
from sizeguard.gate.selection.model_needs import Needed, needed_by
from sizeguard.gate.selection.review_record import (
    SelectionRecord,
    kept_kernels,
    kernel_of,
    read_record,
    record_path,
    shown_path,
)
from sizeguard.predict.full_build import FullBuild
from sizeguard.projects.project import App
from sizeguard.selection.read import SelectionFile, read_selection
from sizeguard.selection.selection import Selection

# Kinds of findings.
OPERATOR, DTYPE, CLASS, FEATURE = "operator", "dtype", "class", "feature"
CLOSURE, TRACE, EXPORT, LINT, COVERED = "closure", "trace", "export", "lint", "covered"
SURPLUS = "surplus"


@dataclass(frozen=True)
class SelectionCase:
    """An app's selection, and everything that it is checked against.

    full:   calls in the full build
    record: of the last trace; None if there is none
    """

    root: Path
    app: App
    file: SelectionFile
    models: tuple[Model, ...]
    full: FullBuild
    record: SelectionRecord | None

    @property
    def selection(self) -> Selection:
        """The selection in the file."""
        return self.file.selection

    @property
    def advice(self) -> str:
        """The command that updates the selection and its record."""
        return f"sizeguard select update --app {self.app.name}"

    @property
    def name(self) -> str:
        """The selection's name in messages."""
        return f"the selection of app {self.app.name}"

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Operators and classes that the selection keeps."""
        return kept_kernels(self.selection, self.full)

    @cached_property
    def gained(self) -> dict[str, frozenset[str]]:
        """Operators that each kernel calls now and did not when the models were traced."""
        return self._gained("calls")

    @cached_property
    def gained_switches(self) -> dict[str, frozenset[str]]:
        """Dtype switches that each kernel runs now and did not when the models were traced."""
        return self._gained("switches")

    def _gained(self, what: str) -> dict[str, frozenset[str]]:
        if self.record is None:
            return {}
        recorded = self.record.kernels
        now = {
            name: getattr(kernel_of(self.full, name), what)
            for name in self.kernels
            if name in recorded
        }
        new = {name: names - getattr(recorded[name], what) for name, names in now.items()}
        return {name: names for name, names in new.items() if names}

    def needed(self, traces: Mapping[str, Selection]) -> Needed:
        """Combine the needs of all models.

        traces: model → its new trace; for other models, the record of the last trace is used
        """
        found = Needed()
        for model in self.models:
            recorded = self.selection.provenance.get(model.program.name)
            trace = traces.get(model.name)
            found = found.union(needed_by(self.full, model.info, trace, recorded))
            if trace is None and recorded is None:
                # Only a trace shows features, and the record does not have them.
                found = found.union(Needed(features=self.selection.build_features))
        return found

    def finding(
        self, kind: str, name: str, verdict: str, message: str, advice: str = ""
    ) -> SelectionFinding:
        """Make a finding about this selection, with its place in the file."""
        if not advice and verdict != PASS:
            advice = self.advice
        key = {
            OPERATOR: "operators",
            CLOSURE: "operators",
            DTYPE: "kernel_metadata",
            CLASS: "custom_classes",
            FEATURE: "build_features",
        }
        place = self.place(key.get(kind, ""), name.partition(" ")[0])
        return SelectionFinding(self.app.name, kind, name, verdict, message, advice, place)

    def place(self, key: str, name: str) -> str:
        """Return the place of an entry in the selection; the file for an entry without a place."""
        file = shown_path(self.root, self.app.selection)
        line = self.file.line(key, name) if key else 0
        return f"{file}:{line}" if line else file


def read_subject(root: Path, app: App, models: Iterable[Model], full: FullBuild) -> SelectionCase:
    """Read an app's selection and record.

    Raises InputError for a selection or a record that cannot be read, and for models of one name.
    """
    return SelectionCase(
        root,
        app,
        read_selection(app.selection),
        distinct_models(app, models),
        full,
        read_record(record_path(root, app)),
    )


def distinct_models(app: App, models: Iterable[Model]) -> tuple[Model, ...]:
    """Return an app's models; raise InputError for two of one name.

    Their programs have one path, so the last one that was imported would be traced for both.
    """
    found: dict[Path, Model] = {}
    for model in models:
        other = found.setdefault(model.program, model)
        if other is not model:
            raise InputError(
                f"app {app.name}: {other.path} and {model.path} are both called {model.name};"
                " rename the folder of one"
            )
    return tuple(found.values())
