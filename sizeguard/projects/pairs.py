"""Build apps for targets; failed builds are returned, and the others go on."""

from __future__ import annotations

from collections.abc import Iterable

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_record import Build
from sizeguard.projects.head_builds import HeadBuild, HeadBuilds
from sizeguard.projects.project import App, Target
from sizeguard.runtimes.runtime import BuildOptions, Runtime, SourceTree
from sizeguard.toolchains.recipe import Recipe
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain


@dataclass(frozen=True, slots=True)
class Pair:
    """An app built for a target.

    toolchain: None unless the build is of a known runtime
    full: None for such a build, and for a target that does not run models
    head: the build, if it is not of a known runtime
    """

    app: App
    target: Target
    toolchain: Toolchain | None
    full: Build | None
    selective: Build
    head: HeadBuild | None = None


@dataclass(frozen=True, slots=True)
class FailedPair:
    """A build that failed. app: empty if the target's tools or its full build failed."""

    error: BuildError
    app: str
    target: str


def build_pairs(
    tree: SourceTree | None, pairs: Iterable[tuple[App, Target]], heads: HeadBuilds
) -> tuple[list[Pair], list[FailedPair]]:
    """Build all apps for all their targets, target by target.

    tree: None for a project without apps of a known runtime
    """
    built: list[Pair] = []
    failed: list[FailedPair] = []
    fulls: dict[str, Build] = {}
    broken: set[str] = set()
    for app, target in pairs:
        if not app.is_selective or tree is None:
            try:
                head = heads.build(app, target.name)
                built.append(Pair(app, target, None, None, head.build, head))
            except BuildError as error:
                failed.append(FailedPair(error, app.name, target.name))
            continue
        if target.name in broken:
            continue
        try:
            toolchain = find_toolchain(target.compiler, target.linker, target.machine)
            if target.run and target.name not in fulls:
                fulls[target.name] = tree.build_full(options_of(target, toolchain))
        except BuildError as error:
            # Without its tools or its full build, no app of the target can be judged.
            broken.add(target.name)
            failed.append(FailedPair(error, "", target.name))
            continue
        try:
            selective = build_app(tree, app, target, toolchain)
            built.append(Pair(app, target, toolchain, fulls.get(target.name), selective))
        except BuildError as error:
            failed.append(FailedPair(error, app.name, target.name))
    return built, failed


def build_app(tree: SourceTree, app: App, target: Target, toolchain: Toolchain) -> Build:
    """Build an app's selection for a target. Raises BuildError."""
    return tree.build_app(app.name, app.selection, options_of(target, toolchain))


def options_of(target: Target, toolchain: Toolchain) -> BuildOptions:
    """Return the build options of a target in sizeguard.yaml."""
    return BuildOptions(toolchain, target.optimize, target.link, target.lto)


def recipe_of(runtime: Runtime, toolchain: Toolchain, app: str, target: Target) -> Recipe:
    """Return the recipe for commits. Raises InputError for a runtime that cannot be built here."""
    recipe = runtime.recipe(toolchain, app, "selective", target.optimize, target.name)
    if recipe is None:
        raise InputError(f"apps of {runtime.name} cannot be built here")
    return recipe


def recipe_of_commits(
    runtime: Runtime, toolchain: Toolchain, app: App, target: Target
) -> Recipe | None:
    """Return the recipe for other commits of an app for a target.

    None if the link also depends on files outside of the commit.
    """
    if target.link != "executable" or target.lto:
        return None
    return recipe_of(runtime, toolchain, app.name, target)
