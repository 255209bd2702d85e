"""Turns a build and its history into what growth and creep are counted from, or into why that cannot be said and what to do.

Growth is counted from the merge base's measurement, so that nobody pays for what others left below a tolerance. It is counted from the
reviewed baseline if the change brings a new one, if there is no merge base, or if nothing lies between it and what is here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from sizeguard.build.recipes import DoesNotBuildError, RuntimeRecipe
from sizeguard.build.record import Build
from sizeguard.build.toolchain import Toolchain
from sizeguard.errors import BuildError, InputError
from sizeguard.gate.baselines import baseline_path, other_toolchains, parse_baseline, read_baseline, toolchain_key, tools_text
from sizeguard.gate.checks import Reference
from sizeguard.gate.config import CONFIG, App
from sizeguard.gate.history import History, is_generator, is_input
from sizeguard.gate.measure import Measurement, measurement_of, measurement_of_baseline
from sizeguard.gate.result import MEASURED, REVIEWED, Base


@dataclass(frozen=True, slots=True)
class Measured:
    """One app for one target, built and measured. patterns: of symbols that limits name."""

    app: App
    target: str
    build: Build
    toolchain: Toolchain
    now: Measurement
    patterns: tuple[str, ...]

    @property
    def recipe(self) -> RuntimeRecipe | None:
        """How another commit of it is built; None for links that are not of this checkout alone."""
        if self.build.link != "executable" or self.build.lto:
            return None
        return RuntimeRecipe(self.toolchain, self.app.name, optimize=self.build.optimize)


def growth_reference(root: Path, history: History, base: Base | None, subject: Measured) -> tuple[Reference, str]:
    """And where it is from: MEASURED, REVIEWED, or empty if there is none."""
    reviewed = reviewed_reference(root, subject)
    if reviewed.measured is None:
        return reviewed, ""
    path = baseline_path(root, subject.build)
    selection = _shown(root, subject.app.selection)
    recipe = subject.recipe
    if base is None or not base.commit or history.head is None or recipe is None:
        return reviewed, REVIEWED
    changed = history.changed(base.commit)
    if _shown(root, path) in changed and history.text_at(base.commit, _shown(root, path)) != path.read_bytes():
        return reviewed, REVIEWED
    inputs = [each for each in changed if is_input(each, selection)]
    if any(is_generator(each) for each in inputs) or (not inputs and history.head.id == base.commit):
        return reviewed, REVIEWED
    text = f"{MEASURED} {base.commit[:7]}"
    if not inputs:
        return Reference(text, subject.now), MEASURED
    try:
        analysis = history.measure(base.commit, recipe).analysis
    except DoesNotBuildError:
        return reviewed, REVIEWED  # what the merge base weighed nobody can say; what was reviewed does not depend on it
    except BuildError as error:
        return Reference(text, None, f"the {text} could not be measured: {error}"), ""
    if analysis is None:
        return Reference(text, None, f"the {text} could not be measured"), ""
    return Reference(text, measurement_of(analysis, subject.patterns)), MEASURED


def reviewed_reference(root: Path, subject: Measured) -> Reference:
    """The baseline. There has to be one, of this toolchain, whatever growth is counted from."""
    build = subject.build
    path = baseline_path(root, build)
    update = f"review and keep this build's sizes: sizeguard baseline update --app {subject.app.name} --target {subject.target}"
    if not path.is_file():
        others = ", ".join(other_toolchains(root, build))
        none = f"there is no baseline {_shown(root, path)}"
        why = f"the baselines are of {others}, this is {toolchain_key(build)}" if others else none
        return Reference(REVIEWED, None, f"{why}; {update}")
    baseline = read_baseline(path)
    tools = tools_text(subject.toolchain)
    if baseline.tools not in ("", tools):
        why = f"the baseline is of {baseline.tools}, this is {tools}: what the compiler did cannot be told from what the change did"
        return Reference(REVIEWED, None, f"{why}; {update}")
    return Reference(REVIEWED, measurement_of_baseline(baseline))


def creep_reference(root: Path, history: History, since: str, subject: Measured) -> Reference:
    """The measurement of a release; if that does not build any more, its reviewed baseline."""
    recipe = subject.recipe
    fetch = f"fetch it with git fetch --tags --unshallow, or name another in {subject.app.name}'s limits"
    if history.head is None or recipe is None:
        what = "this is not the root of a git repository" if recipe else "only executables without LTO are built of other commits"
        return Reference(since, None, f"{since} cannot be measured: {what}")
    try:
        commit = history.commit(since)
    except InputError:
        return Reference(since, None, f"there is no {since} here: {fetch}")
    try:
        analysis = history.measure(commit.id, recipe).analysis
    except DoesNotBuildError as error:
        return _reviewed_then(root, history, since, commit.id, subject, str(error))
    except BuildError as error:
        return Reference(since, None, f"{since} could not be measured: {error}")
    if analysis is None:
        return Reference(since, None, f"{since} could not be measured")
    return Reference(since, measurement_of(analysis, subject.patterns))


def _reviewed_then(root: Path, history: History, since: str, commit: str, subject: Measured, why: str) -> Reference:
    path = baseline_path(root, subject.build)
    text = history.text_at(commit, _shown(root, path))
    if text is None:
        return Reference(since, None, f"{why}, and it has no baseline {_shown(root, path)}")
    baseline = parse_baseline(text, f"{commit[:10]}:{_shown(root, path)}")
    if baseline.tools not in ("", tools_text(subject.toolchain)):
        return Reference(since, None, f"{why}, and its baseline is of {baseline.tools}")
    return Reference(f"baseline of {since}", measurement_of_baseline(baseline))


def keep_as_head(history: History, subject: Measured) -> None:
    """Store this measurement as the checked out commit's, if it is: who starts from it need not build it."""
    recipe = subject.recipe
    if history.head is None or recipe is None or subject.now.analysis is None:
        return
    selection = recipe.selection(history.root, history.head.id)
    changed = history.changed(history.head.id)
    if CONFIG in changed or any(is_input(path, selection) for path in changed):
        return
    key = history.key(history.head.id, recipe)
    if history.place.store.facts(key) is None:
        facts = {"commit": history.head.id, "sizes": asdict(subject.now.sizes)}
        history.place.store.put(key, facts, subject.now.analysis)


def symbol_patterns(metrics: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({metric.removeprefix("symbol/") for metric in metrics if metric.startswith("symbol/")}))


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
