"""The terms that a change is judged by, as one value, read from a commit or from the worktree.

Terms are sizeguard.yaml with its limits, the baselines, the waivers, the apps' selections and
models, the reviewed trace records of selections, and the names that claims are checked with.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.fingerprint import fingerprint
from sizeguard.gate.policy.baselines import FOLDER, WAIVERS, parse_baseline
from sizeguard.gate.policy.limits import Limit
from sizeguard.gate.policy.read_limits import read_limits
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.review_result import Baseline
from sizeguard.gate.selection.review_record import FOLDER as RECORDS
from sizeguard.git.file_versions import FileVersions
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.projects.project import CONFIG, App, Config

if TYPE_CHECKING:
    from sizeguard.claims.listed_names import BuildNames
    from sizeguard.selection.selection import Selection


@dataclass(frozen=True, slots=True)
class ModelTerms:
    """A model of an app.

    identity: a content id, empty if the model is missing; inputs, expected: content ids by path of
        the inputs and of the expected outputs next to it.
    """

    identity: str
    inputs: Mapping[str, str]
    expected: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AppTerms:
    """Terms of an app.

    selections: by target, or by "" for an app of a known runtime; None for one that is missing or
        cannot be read
    """

    selections: Mapping[str, Selection | None]
    models: Mapping[str, ModelTerms]


@dataclass(frozen=True, slots=True)
class Terms:
    """All terms of one state of the project.

    baselines: by path; None for one that cannot be read
    records:   content ids of the trace records of selections, by path
    apps:      by name
    rules:     content id of the project's own rules; empty if it has none
    names:     of the sources' full build; None for a missing or damaged file
    names_file: its path; empty if the project has no sources of a known runtime
    """

    config: Config
    limits: tuple[Limit, ...]
    waivers: tuple[Waiver, ...]
    baselines: Mapping[str, Baseline | None]
    records: Mapping[str, str]
    apps: Mapping[str, AppTerms]
    rules: str = ""
    names: BuildNames | None = None
    names_file: str = ""

    def pairs(self) -> Sequence[tuple[str, str]]:
        """List each app with each of its targets."""
        return [(app.name, target) for app in self.config.apps for target in app.targets]


class AnyMetricNames(MetricNames):
    """Accepts every metric name of a commit, because the commit's own gate has checked them."""

    def problem(self, path: str) -> str:
        """Return no error: every path is accepted."""
        return ""


@dataclass(frozen=True, slots=True)
class TermsReader:
    """Reads terms below the root of a project.

    case_role: returns what a file of that name next to a model is: input, expected output or empty
    names_file: path of the names of the full build; empty without sources of a known runtime
    """

    files: FileVersions
    root: Path
    case_role: Callable[[str], str]
    names_file: str = ""

    def read(self, config: Config) -> Terms:
        """Read the terms of a configuration with metrics that were checked before.

        Raises InputError for limits or waivers that cannot be read.
        """
        from sizeguard.gate.policy.waivers import parse_waivers

        names = AnyMetricNames(None)
        text = self.files.text(f"{FOLDER}/{WAIVERS}")
        return Terms(
            config,
            read_limits(config, names),
            parse_waivers(text, config, names) if text else (),
            self._baselines(),
            self._records(),
            {app.name: self._app(app) for app in config.apps},
            self._rules(config),
            self._names(),
            self.names_file,
        )

    def identities(self, config: Config) -> Mapping[str, str]:
        """Return the content ids of all files with terms, by path."""
        paths = [CONFIG]
        for folder in (FOLDER, RECORDS.as_posix()):
            paths += [f"{folder}/{name}" for name in self.files.names(folder)]
        paths += [config.rules_file, self.names_file]
        for app in config.apps:
            paths += self._selections(app).values()
            for model in (self._path(model) for model in app.models):
                paths += [model, *self._cases(model)]
        return self.files.identities(paths)

    def _baselines(self) -> Mapping[str, Baseline | None]:
        paths = [
            f"{FOLDER}/{name}"
            for name in self.files.names(FOLDER)
            if name.endswith(".yaml") and name != WAIVERS
        ]
        return {path: self._baseline(path) for path in paths}

    def _baseline(self, path: str) -> Baseline | None:
        try:
            return parse_baseline(self.files.text(path) or b"", path)
        except InputError:
            return None  # the check of the app's selection reports it

    def _rules(self, config: Config) -> str:
        if config.rules_file:
            return dict(self.files.identities([config.rules_file])).get(config.rules_file, "")
        return fingerprint({"rules": config.rules}) if config.rules else ""

    def _names(self) -> BuildNames | None:
        # Imported on call, as in _selection.
        from sizeguard.claims.names_file import parse_names

        text = self.files.text(self.names_file) if self.names_file else None
        try:
            return parse_names(text.decode(), self.names_file) if text is not None else None
        except (InputError, UnicodeDecodeError):
            return None  # the check of the full build's names reports it

    def _records(self) -> Mapping[str, str]:
        folder = RECORDS.as_posix()
        return self.files.identities(f"{folder}/{name}" for name in self.files.names(folder))

    def _app(self, app: App) -> AppTerms:
        models = (self._path(model) for model in app.models)
        selections = {
            target: self._selection(path) for target, path in self._selections(app).items()
        }
        return AppTerms(selections, {model: self._model(model) for model in models})

    def _selection(self, path: str) -> Selection | None:
        # Imported on call, 5 ms: comparing identities needs no selection.
        from sizeguard.selection.read import parse_selection

        text = self.files.text(path)
        try:
            return parse_selection(text, path).selection if text is not None else None
        except InputError:
            return None

    def _selections(self, app: App) -> Mapping[str, str]:
        """Map targets to the selections that an app is built of, or is verified against.

        An app of a known runtime has one for all targets, by "".
        """
        if app.is_selective:
            return {"": self._path(app.selection)}
        return {target: app.claimed(target) for target in app.steps if app.claimed(target)}

    def _model(self, model: str) -> ModelTerms:
        roles = self._cases(model)
        found = self.files.identities([model, *roles])
        inputs, expected = (
            {path: id_ for path, id_ in found.items() if roles.get(path) == role}
            for role in ("input", "expected output")
        )
        return ModelTerms(found.get(model, ""), inputs, expected)

    def _cases(self, model: str) -> Mapping[str, str]:
        """Return the roles of the files of a model's cases, by path."""
        folder = posixpath.dirname(model)
        names = {name: self.case_role(name) for name in self.files.names(folder)}
        return {posixpath.join(folder, name): role for name, role in names.items() if role}

    def _path(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()
