"""Find the sizes that growth and creep are counted from, or say why there are none.

Growth is counted from the merge base's measurement, so that growth already on the base is not
charged to the change; on the base's own branch from that of the first parent. Both are built by
the tools that are here, so no baseline has to be of these tools. It is counted from the reviewed
baseline if the change brings a new one, or if the commit's own size cannot be known: there is no
such commit, it does not build, or builds read what is neither the commit's nor installed. What is
measured is never its own reference, unless all that was read is equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_inputs import BuildInputs, input_changes, project_hashes
from sizeguard.builds.build_record import Build
from sizeguard.gate.gate_result import MEASURED, NOT_RUN, PARENT, REVIEWED, Base
from sizeguard.gate.policy.baselines import (
    baseline_path,
    measurement_of_baseline,
    other_toolchains,
    parse_baseline,
    read_baseline,
    toolchain_key,
    tools_text,
)
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.history import History
from sizeguard.gate.reference.tree_inputs import differing_inputs
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measured_commits import find_measured, keep_measured
from sizeguard.measurement.measurement import Measurement
from sizeguard.projects.project import CONFIG, App
from sizeguard.runtimes.runtime import SourceTree
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.installed import foreign_inputs
from sizeguard.toolchains.recipe import DoesNotBuildError, ReadsElsewhereError, Recipe
from sizeguard.toolchains.toolchain import Toolchain


@dataclass(frozen=True, slots=True)
class MeasuredApp:
    """One app for one target, built and measured.

    patterns: globs of symbols that limits name
    toolchain, tree: None for any other build than that of a known runtime; tree has the sources
    recipe:   the recipe for its other commits; None for a link that other files decide, too, and
              for an image that is measured as found
    head:     of any other build: the commit of the files that are checked out, which alone are
              read; empty if it is measured as found
    in_place: it was built in the checkout, at another path than other commits, by whatever was
              there
    """

    app: App
    target: str
    build: Build
    toolchain: Toolchain | None
    now: Measurement
    patterns: tuple[str, ...]
    tree: SourceTree | None
    recipe: Recipe | None
    head: str = ""
    in_place: bool = False


def growth_reference(
    root: Path, history: History, base: Base | None, subject: MeasuredApp
) -> tuple[SizeReference, str]:
    """Find what growth is counted from.

    The second value is its source: MEASURED, PARENT, REVIEWED, or empty if there is none.
    """
    reviewed = reviewed_reference(root, subject)
    judged_by_it = reviewed, REVIEWED if reviewed.measured is not None else ""
    commit, recipe = counted_from(history, base, subject), subject.recipe
    if not commit or base is None or recipe is None:
        if reviewed.measured is None:
            return _first_of_all(root, history, base, subject, reviewed), ""
        return judged_by_it
    source = MEASURED if commit == base.commit else PARENT
    text = f"{source} {commit[:7]}"
    if reviewed.measured is None:
        text += f" (no baseline is of {toolchain_key(subject.build)})"
    elif history.text_at(commit, _shown(root, baseline_path(root, subject.build))) != (
        baseline_path(root, subject.build).read_bytes()
    ):
        return judged_by_it
    if _reads_elsewhere(root, commit, subject):
        return judged_by_it
    is_equal = not subject.in_place and not differs_from(history, commit, subject)
    if subject.in_place:
        text += ", built at another path"
    if is_equal and find_measured(history.place, commit, history.key(commit, recipe)) is None:
        return SizeReference(text, subject.now), source  # equal inputs make equal images
    try:
        analysis = history.measure(commit, recipe).analysis
    except (DoesNotBuildError, ReadsElsewhereError):
        # The commit has no size of its own; the reviewed one does not depend on it
        return judged_by_it
    except BuildError as error:
        return SizeReference(text, None, f"the {text} could not be measured: {error}"), ""
    if analysis is None:
        return SizeReference(text, None, f"the {text} could not be measured"), ""
    return SizeReference(text, measurement_of(analysis, subject.patterns)), source


def counted_from(history: History, base: Base | None, subject: MeasuredApp) -> str:
    """Return the commit that growth is counted from: the merge base, or HEAD's first parent.

    The parent is it if the merge base is HEAD and the files are those of HEAD: on the branch that
    changes are merged into. Empty if there is none.
    """
    is_known = bool(subject.head) or _read(subject) is not None
    if base is None or not base.commit or history.head is None or not is_known:
        return ""
    is_head = history.head.id == base.commit
    if is_head and not differs_from(history, base.commit, subject):
        return history.first_parent(base.commit)
    return base.commit


def differs_from(history: History, commit: str, subject: MeasuredApp) -> bool:
    """Return whether the build read anything that a commit has not, or has otherwise."""
    if subject.head and subject.recipe is not None:
        return history.key(commit, subject.recipe) != history.key(subject.head, subject.recipe)
    read = _read(subject)
    return read is None or bool(differing_inputs(history.root, commit, [read]))


def _reads_elsewhere(root: Path, commit: str, subject: MeasuredApp) -> bool:
    """Return whether a commit's build reads files that are neither in it nor installed."""
    read, tree = _read(subject), subject.tree
    if subject.head or read is None or tree is None:
        return False
    if foreign_inputs(read, root):
        return True
    return any(tree.generates(each) for each in differing_inputs(root, commit, [read]))


def _first_of_all(
    root: Path, history: History, base: Base | None, subject: MeasuredApp, reviewed: SizeReference
) -> SizeReference:
    """Say that growth is not run if nothing was before: no commit, and no baseline of the app.

    Absolute limits decide then.
    """
    if baseline_path(root, subject.build).is_file() or other_toolchains(root, subject.build):
        return reviewed
    if history.head is not None and (base is None or counted_from(history, base, subject)):
        return reviewed
    if history.head is not None and base is not None and base.commit != history.head.id:
        return reviewed
    what = "there is no commit before" if history.head is not None else "this is not git"
    return replace(reviewed, verdict=NOT_RUN, why=f"{what}, and {reviewed.why}")


def _read(subject: MeasuredApp) -> BuildInputs | None:
    return subject.build.inputs


def reviewed_reference(root: Path, subject: MeasuredApp) -> SizeReference:
    """Read the baseline of these tools, or say why there is none."""
    build = subject.build
    path = baseline_path(root, build)
    update = (
        f"review and keep this build's sizes: sizeguard baseline update --app {subject.app.name}"
        f" --target {subject.target}"
    )
    if not path.is_file():
        others = ", ".join(other_toolchains(root, build))
        none = f"there is no baseline {_shown(root, path)}"
        why = f"the baselines are of {others}, this is {toolchain_key(build)}" if others else none
        return SizeReference(REVIEWED, None, f"{why}; {update}")
    baseline = read_baseline(path)
    tools = tools_text(subject.toolchain, build)
    if baseline.tools not in ("", tools):
        why = (
            f"the baseline is of {baseline.tools}, this is {tools}: what the compiler did cannot be"
            " told from what the change did"
        )
        return SizeReference(REVIEWED, None, f"{why}; {update}")
    return SizeReference(REVIEWED, measurement_of_baseline(baseline))


def creep_reference(
    root: Path, history: History, since: str, subject: MeasuredApp
) -> SizeReference:
    """Measure a release; if it does not build any more, read its reviewed baseline."""
    recipe = subject.recipe
    fetch = (
        f"fetch it with git fetch --tags --unshallow, or name another in {subject.app.name}'s"
        " limits"
    )
    if history.head is None or recipe is None:
        if recipe is not None:
            what = "this is not the root of a git repository"
        elif subject.tree is None:
            what = "the image is measured as found, and nothing says how to build it"
        elif subject.build.link != "executable" or subject.build.lto:
            what = "only executables without LTO are built of other commits"
        else:
            what = "the runtime's sources are not in this project, so its commits do not have them"
        return SizeReference(since, None, f"{since} cannot be measured: {what}")
    try:
        commit = history.commit(since)
    except InputError:
        return SizeReference(since, None, f"there is no {since} here: {fetch}")
    try:
        analysis = history.measure(commit.id, recipe).analysis
    except DoesNotBuildError as error:
        return _reviewed_then(root, history, since, commit.id, subject, str(error))
    except BuildError as error:
        return SizeReference(since, None, f"{since} could not be measured: {error}")
    if analysis is None:
        return SizeReference(since, None, f"{since} could not be measured")
    return SizeReference(since, measurement_of(analysis, subject.patterns))


def _reviewed_then(
    root: Path, history: History, since: str, commit: str, subject: MeasuredApp, why: str
) -> SizeReference:
    path = baseline_path(root, subject.build)
    text = history.text_at(commit, _shown(root, path))
    if text is None:
        return SizeReference(since, None, f"{why}, and it has no baseline {_shown(root, path)}")
    baseline = parse_baseline(text, f"{commit[:10]}:{_shown(root, path)}")
    if baseline.tools not in ("", tools_text(subject.toolchain, subject.build)):
        return SizeReference(since, None, f"{why}, and its baseline is of {baseline.tools}")
    return SizeReference(f"baseline of {since}", measurement_of_baseline(baseline))


def keep_as_head(history: History, subject: MeasuredApp) -> None:
    """Store this measurement as the checked out commit's, if nothing differs from the commit.

    A later change that starts from the commit need not build it.
    """
    recipe = subject.recipe
    if history.head is None or recipe is None or subject.now.analysis is None:
        return
    if subject.in_place:
        return
    read = _read(subject)
    if subject.head:
        _keep(history, subject, subject.head)
        return
    if read is None or foreign_inputs(read, history.root):
        return
    config = _content(history.root / CONFIG)
    if history.text_at(history.head.id, CONFIG) != config:
        return
    if differing_inputs(history.root, history.head.id, [read]):
        return
    if input_changes(read, project_hashes(history.root), recorded_environment()):
        return  # a file changed after it was built
    _keep(history, subject, history.head.id)


def _keep(history: History, subject: MeasuredApp, commit: str) -> None:
    """Store the measurement as that of a commit, unless there is one."""
    if subject.recipe is None:
        return
    key = history.key(commit, subject.recipe)
    if history.place.store.facts(key) is None:
        facts = {"commit": commit, "sizes": asdict(subject.now.sizes)}
        keep_measured(history.place, commit, subject.recipe, facts, subject.now.analysis)


def symbol_patterns(metrics: Iterable[str]) -> tuple[str, ...]:
    """List the globs of the metrics symbol/GLOB, sorted."""
    return tuple(
        sorted(
            {metric.removeprefix("symbol/") for metric in metrics if metric.startswith("symbol/")}
        )
    )


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
