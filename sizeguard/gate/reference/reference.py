"""Find the sizes that growth and creep are counted from, or the reason for their absence.

Growth is counted from the merge base's measurement, so that growth already on the base is not
charged to the change. On the base's own branch, it is counted from the first parent's measurement.
Both are built with the present tools, so no baseline for these tools is needed. Growth is counted
from the reviewed baseline if the change has a new one, or if the commit's own size cannot be known:
there is no such commit, it does not build, or builds read files that are neither in the commit nor
installed. A measurement is never its own reference, unless all inputs are equal.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from sizeguard.attribution.analysis import Analysis
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_inputs import BuildInputs, input_changes, project_hashes
from sizeguard.builds.build_record import Build
from sizeguard.gate.gate_result import MEASURED, NOT_RUN, PARENT, REVIEWED, Base
from sizeguard.gate.policy.baselines import (
    baseline_path,
    has_baseline,
    made_otherwise,
    measurement_of_baseline,
    other_toolchains,
    parse_baseline,
    read_baseline,
    toolchain_key,
)
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.base_branch import how_to_fetch
from sizeguard.gate.reference.history import History, counts_from_parent
from sizeguard.gate.reference.tree_inputs import differing_inputs
from sizeguard.measurement.measured_analysis import measurement_of, sizes_of
from sizeguard.measurement.measured_commits import TOOLS, find_measured, keep_measured
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

    metrics: of limits
    toolchain, tree: the tools and the sources of a known runtime; None for any other build
    recipe: builds other commits; None if the link depends on other files, too, and for an image
              that is measured as found
    head: for any other build, the checked-out commit, whose files are the only inputs; empty if the
              image is measured as found
    in_place: it was built in the checkout, so at another path than other commits
    """

    app: App
    target: str
    build: Build
    toolchain: Toolchain | None
    now: Measurement
    metrics: tuple[str, ...]
    tree: SourceTree | None
    recipe: Recipe | None
    head: str = ""
    in_place: bool = False


def growth_reference(
    root: Path, history: History, base: Base | None, subject: MeasuredApp
) -> tuple[SizeReference, str]:
    """Find the measurement that growth is counted from.

    The second value is its source: MEASURED, PARENT, REVIEWED, or empty if there is none.
    """
    reviewed = reviewed_reference(root, subject)
    judged_by_it = reviewed, REVIEWED if reviewed.measured is not None else ""
    commit, recipe = counted_from(history, base, subject), subject.recipe
    if not commit or base is None or recipe is None:
        if cut := _cut_off(history, base, subject):
            return cut, ""
        if reviewed.measured is None:
            return _first_of_all(root, history, base, subject, reviewed), ""
        return judged_by_it
    source = MEASURED if commit == base.commit else PARENT
    text = f"{source} {commit[:7]}"
    if reviewed.measured is None:
        text += f" (no baseline for {toolchain_key(subject.build)})"
    elif not _is_reviewed_at(root, history, commit, subject):
        return judged_by_it
    if elsewhere := _reads_elsewhere(root, commit, subject):
        why = f"the {text} is not built as this is: the build reads {elsewhere}"
        return _with_reason(reviewed, why), judged_by_it[1]
    is_equal = not subject.in_place and not differs_from(history, commit, subject)
    if subject.in_place:
        text += ", built at another path"
    if is_equal and find_measured(history.place, commit, history.key(commit, recipe)) is None:
        return SizeReference(text, subject.now), source  # equal inputs make equal images
    try:
        analysis = history.measure(commit, recipe, subject.build.tools).analysis
    except (DoesNotBuildError, ReadsElsewhereError) as error:  # the reviewed size is still known
        why = _without_app(history, commit, source, subject) or _without_size(text, error)
        return _with_reason(reviewed, why), judged_by_it[1]
    except BuildError as error:
        return SizeReference(text, None, f"the {text} could not be measured: {error}"), ""
    if analysis is None:
        return SizeReference(text, None, f"the {text} could not be measured"), ""
    return SizeReference(text, measured_as(analysis, subject)), source


def measured_as(analysis: Analysis, subject: MeasuredApp) -> Measurement:
    """Measure another commit's image as that of an app."""
    if analysis is subject.now.analysis:  # equal images have one snapshot in the store
        return replace(subject.now, sizes=sizes_of(analysis))
    return measurement_of(analysis, subject.metrics, rules=subject.build.rules)


def _without_app(history: History, commit: str, source: str, subject: MeasuredApp) -> str:
    """Say that a commit has no such app; empty if it has one."""
    name = subject.app.name
    is_new = history.lacks_app(commit, name)
    return f"the {source} {commit[:7]} has no app {name}" if is_new else ""


def _without_size(text: str, error: BuildError) -> str:
    again = " (sizeguard gate --again builds it once more)"
    return f"the {text} has no size: {error}{again * isinstance(error, DoesNotBuildError)}"


def _is_reviewed_at(root: Path, history: History, commit: str, subject: MeasuredApp) -> bool:
    """Return whether a commit has the same baseline, whatever its comments are."""
    path = baseline_path(root, subject.build)
    if history.has_bytes(commit, _shown(root, path), path.read_bytes()):
        return True
    text = history.text_at(commit, _shown(root, path))
    if text is None:
        return False
    try:
        return parse_baseline(text, path) == read_baseline(path)
    except InputError:
        return False


def counted_from(history: History, base: Base | None, subject: MeasuredApp) -> str:
    """Return the commit that growth is counted from: the merge base, or HEAD's first parent.

    It is the parent if the merge base is HEAD, as on the branch that changes are merged into,
    unless the checkout has changes of its own. Empty without such a commit.
    """
    is_known = bool(subject.head) or _read(subject) is not None
    if base is None or not base.commit or history.head is None or not is_known:
        return ""
    is_equal = history.head.id == base.commit and not differs_from(history, base.commit, subject)
    if counts_from_parent(history, base, is_equal=is_equal):
        return history.first_parent(base.commit)
    return base.commit


def _cut_off(history: History, base: Base | None, subject: MeasuredApp) -> SizeReference | None:
    """Return a reference without sizes if HEAD is the base, and a shallow clone lacks its parents.

    The reviewed baseline may be a part of the change, so it cannot stand for the parent.
    """
    if base is None or not base.commit or subject.recipe is None:
        return None
    if history.head is None or history.head.id != base.commit:
        return None
    if not history.lacks_parents(base.commit):
        return None
    why = f"{base.commit[:7]} is the base itself, and this clone lacks its parents"
    return SizeReference(PARENT, None, f"{why}; {how_to_fetch(history.root)}")


def differs_from(history: History, commit: str, subject: MeasuredApp) -> bool:
    """Return whether a commit builds otherwise, or lacks a file that the build read."""
    recipe = subject.recipe
    if subject.head and recipe is not None:
        return history.key(commit, recipe) != history.key(subject.head, recipe)
    if recipe is not None and history.recipe_at(commit, recipe) != recipe:
        return True
    read = _read(subject)
    return read is None or bool(differing_inputs(history.root, commit, [read]))


def _reads_elsewhere(root: Path, commit: str, subject: MeasuredApp) -> str:
    """Name a file of a commit's build that is neither in the commit nor installed; else empty."""
    read, tree = _read(subject), subject.tree
    if subject.head or read is None or tree is None:
        return ""
    generated = (each for each in differing_inputs(root, commit, [read]) if tree.generates(each))
    return next(iter(foreign_inputs(read, root)), "") or next(generated, "")


def _with_reason(reviewed: SizeReference, why: str) -> SizeReference:
    """Say of a missing baseline why the base was not measured instead."""
    return reviewed if reviewed.measured else replace(reviewed, why=f"{why}; {reviewed.why}")


def _first_of_all(
    root: Path, history: History, base: Base | None, subject: MeasuredApp, reviewed: SizeReference
) -> SizeReference:
    """Mark growth checks as not run if there is no earlier commit and no baseline of the app.

    Then absolute limits decide.
    """
    if baseline_path(root, subject.build).is_file() or other_toolchains(root, subject.build):
        return reviewed
    head = history.head
    if head is not None and (
        base is None
        or base.commit != head.id
        or counted_from(history, base, subject)
        or history.first_parent(head.id)
        or history.lacks_parents(head.id)
    ):
        return reviewed
    if history.may_have_commits:
        return replace(reviewed, why=f"this is {history.why_no_head}, and {reviewed.why}")
    what = "there is no earlier commit" if head is not None else history.why_no_head
    return replace(reviewed, verdict=NOT_RUN, why=f"{what}, and {reviewed.why}")


def _read(subject: MeasuredApp) -> BuildInputs | None:
    return subject.build.inputs


def reviewed_reference(root: Path, subject: MeasuredApp) -> SizeReference:
    """Read the baseline for these tools, or return the reason for its absence."""
    build = subject.build
    path = baseline_path(root, build)
    update = (
        f"review and keep this build's sizes: sizeguard baseline update --app {subject.app.name}"
        f" --target {subject.target}"
    )
    if not path.is_file() and not has_baseline(root, subject.app.name):
        update = update.removesuffix(f" --target {subject.target}")
        return SizeReference(REVIEWED, None, f"{subject.app.name} has no baseline; {update}")
    if not path.is_file():
        others = ", ".join(other_toolchains(root, build))
        none = f"there is no baseline {_shown(root, path)}"
        why = (
            f"the baselines are for {others}, but this is {toolchain_key(build)}"
            if others
            else none
        )
        return SizeReference(REVIEWED, None, f"{why}; {update}")
    baseline = read_baseline(path)
    if why := made_otherwise(baseline, subject.toolchain, build):
        return SizeReference(REVIEWED, None, f"the baseline {why}; {update}")
    return SizeReference(REVIEWED, measurement_of_baseline(baseline))


def creep_reference(
    root: Path, history: History, since: str, subject: MeasuredApp
) -> SizeReference:
    """Measure a release, or read its reviewed baseline if it no longer builds."""
    recipe = subject.recipe
    fetch = (
        f"fetch it with git fetch --tags --unshallow, or name another in {subject.app.name}'s"
        " limits"
    )
    if history.head is None or recipe is None:
        if recipe is not None:
            what = history.why_no_head
        elif subject.tree is None:
            what = "the image is measured as found, without a build command"
        elif subject.build.link != "executable" or subject.build.lto:
            what = "other commits are built only as executables without LTO"
        else:
            what = "the runtime's sources are not part of this project's commits"
        return SizeReference(since, None, f"{since} cannot be measured: {what}")
    try:
        commit = history.commit(since)
    except InputError:
        return SizeReference(since, None, f"this clone has no {since}: {fetch}")
    try:
        analysis = history.measure(commit.id, recipe, subject.build.tools).analysis
    except (DoesNotBuildError, ReadsElsewhereError) as error:
        return _reviewed_then(root, history, since, commit.id, subject, str(error))
    except BuildError as error:
        return SizeReference(since, None, f"{since} could not be measured: {error}")
    if analysis is None:
        return SizeReference(since, None, f"{since} could not be measured")
    return SizeReference(since, measured_as(analysis, subject))


def _reviewed_then(
    root: Path, history: History, since: str, commit: str, subject: MeasuredApp, why: str
) -> SizeReference:
    path = baseline_path(root, subject.build)
    text = history.text_at(commit, _shown(root, path))
    if text is None:
        return SizeReference(since, None, f"{why}, and it has no baseline {_shown(root, path)}")
    baseline = parse_baseline(text, f"{commit[:10]}:{_shown(root, path)}")
    if other := made_otherwise(baseline, subject.toolchain, subject.build):
        return SizeReference(since, None, f"{why}, and its baseline {other}")
    return SizeReference(f"baseline of {since}", measurement_of_baseline(baseline))


def keep_as_head(history: History, subject: MeasuredApp) -> None:
    """Store this measurement for the checked-out commit, if no input differs from the commit.

    A later change that starts from the commit then need not build it.
    """
    recipe = subject.recipe
    if history.head is None or recipe is None or subject.now.analysis is None:
        return
    if subject.in_place:
        return
    commit = subject.head or history.head.id
    config = _content(history.root / CONFIG)
    if not subject.head and history.text_at(commit, CONFIG) != config:
        return
    if history.place.store.facts(history.key(commit, recipe)) is not None:
        return  # asked first: the checks below take a third of a warm gate's time
    if not subject.head and not _is_committed(history, commit, subject, recipe):
        return
    sizes, tools = asdict(subject.now.sizes), subject.build.tools
    facts = {"commit": commit, "sizes": sizes, TOOLS: tools}
    keep_measured(history.place, commit, recipe, facts, subject.now.analysis)


def _is_committed(history: History, head: str, subject: MeasuredApp, recipe: Recipe) -> bool:
    """Return whether all files that a build read are those of the checked-out commit."""
    read, root = _read(subject), history.root
    if read is None or foreign_inputs(read, root):
        return False
    if recipe.left_out(root, head, read):
        return False  # other commits have the same key
    if differing_inputs(root, head, [read]):
        return False
    # else a file changed after the build
    return not input_changes(read, project_hashes(root), recorded_environment())


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
