"""Turns the options that bisect and bisect-step share into what is built of a commit, and where."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sizeguard.attribution.commits import Place
    from sizeguard.attribution.metrics import Metric
    from sizeguard.build.recipes import Recipe


@dataclass(frozen=True, slots=True)
class CommitBuild:
    """What the command line says about how a commit is built."""

    metric: str
    build_command: str | None
    image: str
    map: str
    inputs: tuple[str, ...]
    ignore: tuple[str, ...]
    app: str
    variant: str
    compiler: str | None
    linker: str | None
    target: str | None
    optimize: str
    compilers: int | None
    timeout: float | None
    again: bool

    def recipe(self, repository: Path) -> Recipe:
        """Our own build in a source tree of ours, unless there is a command. Raises InputError for what does not go together."""
        from sizeguard.build.commit_inputs import Scope
        from sizeguard.build.recipes import CommandRecipe, RuntimeRecipe, check_command
        from sizeguard.build.toolchain import find_toolchain, require
        from sizeguard.errors import InputError

        if self.build_command is not None:
            if self.app or self.variant or self.compiler or self.linker or self.target:
                raise InputError(
                    "--build-command builds all there is: --app, --variant, --compiler, --linker and --target are for our own build"
                )
            check_command(self.build_command, self.image)
            return CommandRecipe(self.build_command, self.image, self.map, Scope(self.inputs, self.ignore))
        if self.image or self.map or self.inputs or self.ignore:
            raise InputError("--image, --map, --inputs and --ignore are for --build-command")
        if not (repository / "native" / "CMakeLists.txt").is_file():
            raise InputError(f"{repository}: no sizeguard source tree: say how to build it with --build-command and --image")
        if self.app and self.variant not in ("", "selective"):
            raise InputError(f"--app is a selective build, not {self.variant}")
        if self.variant not in ("", "full", "core", "selective") or (self.variant == "selective" and not self.app):
            raise InputError(f"--variant {self.variant}: there are full, core, and selective with --app NAME")
        if self.optimize not in ("s", "2"):
            raise InputError(f"unknown optimization -O{self.optimize}; there are -Os and -O2")
        require("cmake", "ninja", "flatc")
        toolchain = find_toolchain(self.compiler, self.linker, self.target)
        return RuntimeRecipe(toolchain, self.app, "selective" if self.app else self.variant or "full", self.optimize)

    def place(self, repository: Path) -> Place:
        """Beside the project where git ignores .sizeguard, else in the .git folder: nothing is added to what a person works on."""
        from sizeguard.attribution.commits import Place
        from sizeguard.attribution.store import FOLDER_VARIABLE, Store
        from sizeguard.build.recipes import Limits

        home = home_of(repository)
        store = Store(Path(os.environ.get(FOLDER_VARIABLE) or home / "store"))
        return Place(repository, home / "worktrees", store, Limits(self.compilers, self.timeout), self.again)

    def parsed_metric(self) -> Metric:
        from sizeguard.attribution.metrics import parse_metric

        return parse_metric(self.metric, "--metric")


def home_of(repository: Path) -> Path:
    """Where work trees and measurements of a repository are."""
    from sizeguard.build.git import common_folder, git
    from sizeguard.errors import InputError

    try:
        git(repository, "check-ignore", "--quiet", ".sizeguard/")
    except InputError:
        return common_folder(repository) / "sizeguard"
    return repository / ".sizeguard"


def commit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of how a commit is built and what is measured of it, handed over as one CommitBuild."""

    @functools.wraps(function)
    def with_build(
        metric: str,
        build_command: str | None,
        image: str,
        map_: str,
        inputs: tuple[str, ...],
        ignore: tuple[str, ...],
        app: str,
        variant: str,
        compiler: str | None,
        linker: str | None,
        target: str | None,
        optimize: str,
        compilers: int | None,
        timeout: float | None,
        again: bool,
        **others: Any,
    ) -> Any:
        given = CommitBuild(
            metric, build_command, image, map_, inputs, ignore, app, variant, compiler, linker, target, optimize, compilers, timeout, again
        )
        return function(build=given, **others)

    options = (
        click.option(
            "--metric",
            default="load",
            show_default=True,
            metavar="PATH",
            help="load, ram, file, page_slack, or operator/, kernel/, dtype/, component/, section/NAME, symbol/GLOB.",
        ),
        click.option("--build-command", metavar="COMMAND", help="Build any project: run in the root of a work tree, by /bin/sh."),
        click.option("--image", default="", metavar="PATH", help="The binary that the build command makes, from the root."),
        click.option("--map", "map_", default="", metavar="PATH", help="The linker map that it makes, from the root."),
        click.option(
            "--inputs", multiple=True, metavar="PATH", help="What the build command reads; all files unless given. May be repeated."
        ),
        click.option("--ignore", multiple=True, metavar="GLOB", help="Files that it does not read, such as '*.md'. May be repeated."),
        click.option("--app", default="", metavar="NAME", help="Of our own runtime: an app's selective build; full if left out."),
        click.option("--variant", default="", metavar="full|core", help="Of our own runtime: another variant."),
        click.option("--compiler", metavar="gcc|clang", help="As for sizeguard build; so are the next three."),
        click.option("--linker", metavar="bfd|gold|lld|mold"),
        click.option("--target", metavar="TARGET"),
        click.option("-O", "optimize", default="s", metavar="s|2"),
        click.option(
            "-j", "compilers", type=click.IntRange(min=1), metavar="N", help="Compilers at once in a build; all cores if left out."
        ),
        click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Of one build; then the run ends."),
        click.option(
            "--build-failed-again", "again", is_flag=True, help="Build commits again of which it is known that they do not build."
        ),
    )
    result: Callable[..., Any] = with_build
    for option in reversed(options):
        result = option(result)
    return result
