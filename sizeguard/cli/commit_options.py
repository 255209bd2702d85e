"""Options shared by bisect and bisect-step: how a commit is built, and where."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.base import OWN_FOLDER
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.cli import candidates
from sizeguard.cli.option_groups import Seconds, option_group
from sizeguard.cli.project_options import COMPILER, LINKER, OPTIMIZATION, TARGET
from sizeguard.measurement.metric_kinds import NAMED, TOTALS

if TYPE_CHECKING:
    from sizeguard.measurement.measured_commits import MeasurementPlace
    from sizeguard.measurement.metric import Metric
    from sizeguard.toolchains.recipe import Recipe


@dataclass(frozen=True, slots=True)
class CommitBuild:
    """The command-line options for building a commit."""

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
        """Choose the user's build command, else our own build in a tree with the runtime's sources.

        Raises InputError for options that cannot be combined.
        """
        if self.build_command is not None:
            return self._command_recipe()
        return self._recipe_of_app(repository) or self._runtime_recipe(repository)

    def _recipe_of_app(self, repository: Path) -> Recipe | None:
        """Choose the commands of sizeguard.yaml that build the app, or the only one it has."""
        from sizeguard.projects.any_build import recipe_of_app
        from sizeguard.projects.project import CONFIG
        from sizeguard.projects.reader import read_config

        if not (repository / CONFIG).is_file():
            return None
        every = read_config(repository).apps
        name = self.app or (every[0].name if len(every) == 1 and not self.variant else "")
        app = next((each for each in every if each.name == name and not each.is_selective), None)
        if app is None:
            return None
        target = self.target or app.targets[0]
        if target not in app.targets:
            raise InputError(f"{CONFIG}: {app.name} is for {', '.join(app.targets)}, not {target}")
        recipe = recipe_of_app(app, target, self.place(repository).store.folder)
        if recipe is None:
            raise InputError(f"{app.place}: {app.name} has no build: its commits cannot be built")
        return recipe.as_known

    def _command_recipe(self) -> Recipe:
        # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
        from sizeguard.git.trees import Scope
        from sizeguard.projects.command import CommandRecipe, check_command

        if self.app or self.variant or self.compiler or self.linker or self.target:
            raise InputError(
                "--build-command cannot be combined with --app, --variant, --compiler, --linker "
                "or --target"
            )
        command = self.build_command or ""
        check_command(command, self.image)
        return CommandRecipe(command, self.image, self.map, Scope(self.inputs, self.ignore))

    def _runtime_recipe(self, repository: Path) -> Recipe:
        from sizeguard.runtimes.known import runtimes
        from sizeguard.toolchains.toolchain import find_toolchain, require

        if self.image or self.map or self.inputs or self.ignore:
            raise InputError("--image, --map, --inputs and --ignore need --build-command")
        building = [
            each for each in runtimes() if each.source_tree(repository, repository) is not None
        ]
        if not building:
            raise InputError(self._without_runtime(repository))
        self._check_variant()
        self._check_app(repository)
        require("cmake", "ninja", "flatc")
        toolchain = find_toolchain(self.compiler, self.linker, self.target)
        variant = "selective" if self.app else self.variant or "full"
        recipe = building[0].recipe(toolchain, self.app, variant, self.optimize)
        if recipe is None:
            raise InputError(f"{repository}: {building[0].name} is not built here")
        return recipe

    def _without_runtime(self, repository: Path) -> str:
        """Say which build to name in a repository that does not contain a runtime."""
        from sizeguard.projects.project import CONFIG, no_one_app
        from sizeguard.projects.reader import read_config

        if not (repository / CONFIG).is_file():
            return (
                f"{repository}: not a sizeguard source tree; name the build with --build-command "
                f"and --image"
            )
        config = read_config(repository)
        if self.app:
            return f"--app: {no_one_app(config, self.app)}"
        names = [app.name for app in config.apps if not app.is_selective]
        return f"--app is missing: {CONFIG} has {', '.join(names)}"

    def _check_app(self, repository: Path) -> None:
        """Raise InputError for an app that the checkout does not have; its name may be misspelt."""
        from sizeguard.base.nearest import did_you_mean
        from sizeguard.projects.project import CONFIG
        from sizeguard.projects.reader import read_config
        from sizeguard.runtimes.known import source_tree

        if not self.app or source_tree(repository)[1].usual_selection(self.app).is_file():
            return
        has_file = (repository / CONFIG).is_file()
        names = [app.name for app in read_config(repository).apps] if has_file else []
        if self.app not in names:
            hint = did_you_mean(self.app, names)
            raise InputError(f"--app: the checkout has no app '{self.app}'{hint}")

    def _check_variant(self) -> None:
        from sizeguard.runtimes.runtime import OPTIMIZATIONS

        if self.app and self.variant not in ("", "selective"):
            raise InputError(f"--app is a selective build, not {self.variant}")
        if self.variant not in ("", "full", "core", "selective") or (
            self.variant == "selective" and not self.app
        ):
            raise InputError(
                f"--variant {self.variant}: there are full, core, and selective with --app NAME"
            )
        if self.optimize not in OPTIMIZATIONS:
            names = " and ".join(f"-O{each}" for each in OPTIMIZATIONS)
            raise InputError(f"unknown optimization -O{self.optimize}; there are {names}")

    def place(self, repository: Path) -> MeasurementPlace:
        """Choose the folder of worktrees and measurements.

        It is in the project if git ignores .sizeguard there, else in the .git folder, so that no
        untracked files appear in the worktree.
        """
        from sizeguard.measurement.measured_commits import MeasurementPlace
        from sizeguard.measurement.store_place import store_at
        from sizeguard.toolchains.recipe import Limits

        home = home_of(repository)
        store = store_at(repository, home / "store")
        return MeasurementPlace(
            repository, home / "worktrees", store, Limits(self.compilers, self.timeout), self.again
        )

    def parsed_metric(self) -> Metric:
        """Parse --metric.

        Raises InputError if it is not a metric.
        """
        from sizeguard.measurement.metric import parse_metric

        return parse_metric(self.metric, "--metric")


def home_of(repository: Path) -> Path:
    """Choose the folder that holds worktrees and measurements of a repository."""
    from sizeguard.git.git import common_folder, git

    own = repository / OWN_FOLDER
    if (own / ".gitignore").is_file():
        return own  # the gate's own folder, which has a .gitignore
    try:
        git(repository, "check-ignore", "--quiet", f"{OWN_FOLDER}/")
    except InputError:
        return common_folder(repository) / "sizeguard"
    return own


# Options for a commit's build and the metric; the command gets one CommitBuild.
commit_options = option_group(
    "build",
    CommitBuild,
    click.option(
        "--metric",
        default="load",
        show_default=True,
        metavar="PATH",
        help=(
            f"{', '.join(TOTALS)}, or KIND/NAME for the bytes of a name; KIND is one of"
            f" {', '.join(NAMED)}."
        ),
        shell_complete=candidates.metrics,
    ),
    click.option(
        "--build-command",
        metavar="COMMAND",
        help="Shell command that builds a project, run in the root of a worktree.",
    ),
    click.option(
        "--image",
        default="",
        metavar="PATH",
        help="The binary that the build command makes, relative to the root.",
    ),
    click.option(
        "--map",
        default="",
        metavar="PATH",
        help="The linker map that it makes, relative to the root.",
    ),
    click.option(
        "--inputs",
        multiple=True,
        metavar="PATH",
        help="Files that the build command reads. Default: all.",
    ),
    click.option(
        "--ignore",
        multiple=True,
        metavar="GLOB",
        help="Files that it does not read, such as '*.md'.",
    ),
    click.option(
        "--app",
        default="",
        metavar="NAME",
        help="Build this app of sizeguard.yaml. Default: its only one, else the full runtime.",
        shell_complete=candidates.one_of(candidates.apps),
    ),
    click.option(
        "--variant",
        default="",
        metavar="full|core",
        help="Build another variant of the runtime.",
        type=candidates.OneOf(candidates.variants, "variant"),
    ),
    COMPILER,
    LINKER,
    TARGET,
    OPTIMIZATION,
    click.option(
        "-j",
        "compilers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Parallel compiler jobs of a build. Default: all cores.",
    ),
    click.option(
        "--timeout",
        type=Seconds(),
        metavar="SECONDS",
        help="Time limit of one build, in seconds. The run ends if a build takes longer.",
    ),
    click.option(
        "--build-failed-again",
        "again",
        is_flag=True,
        help="Retry commits that are known not to build.",
    ),
)
