"""The apps, targets and limits that sizeguard.yaml names, as values."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.nearest import did_you_mean
from sizeguard.builds import SHIPS as SHIPS
from sizeguard.projects import CONFIG as CONFIG

if TYPE_CHECKING:
    from sizeguard.base.yaml.nodes import Node


# Modes for a change that loosens the policy, and for a surplus of a selection: note it, or fail.
NOTE, FAIL = "note", "fail"
MODES = (NOTE, FAIL)


@dataclass(frozen=True, slots=True)
class Target:
    """A machine with a toolchain.

    name:     as in sizeguard.yaml; machine: such as x86_64-linux, by default the name
    compiler, linker: None for the target's default tools
    run:      whether models run; otherwise they are not_run, and everything else is checked
    place:    sizeguard.yaml:3:3
    """

    name: str
    machine: str
    compiler: str | None = None
    linker: str | None = None
    optimize: str = "s"
    link: str = "executable"
    lto: str = ""
    run: bool = True
    place: str = ""


@dataclass(frozen=True, slots=True)
class LimitEntry:
    """An unparsed limit of sizeguard.yaml; gate.policy.read_limits parses it.

    node:        a size, or a table with max, growth and creep
    app, target: empty for all
    place:       where the metric's name is
    growth_only: the entry is under `growth`, so its node is a growth limit
    """

    metric: str
    node: Node
    app: str
    target: str
    place: str
    growth_only: bool = False


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """The files of one image, from the root of the project.

    image:   with symbols, if any
    map:     written by the linker; empty for none
    objects: globs of the linked objects and archives
    debug:   a separate file or folder with symbols or debug information
    shipped: the stripped twin of the image, if the build makes one
    strip:   the program that makes the twin; empty for the default one, NO_STRIP for none
    also:    globs of libraries and programs that ship with the image
    may_lack: those of `also` that another commit does not name, so it may have no such file
    selection: the selection file of the image; empty for none
    """

    image: str
    map: str = ""
    objects: tuple[str, ...] = ()
    debug: str = ""
    shipped: str = ""
    strip: str = ""
    also: tuple[str, ...] = ()
    may_lack: tuple[str, ...] = ()
    selection: str = ""


NO_STRIP = "false"
BUILD_TIMEOUT = 30 * 60  # seconds


@dataclass(frozen=True, slots=True)
class BuildSteps:
    """Build steps of an app for a target: shell commands that run in the project's root.

    build:    empty for files that are measured as found
    setup:    runs before it, once a worktree
    clean:    makes the build start from scratch in a kept worktree; if empty, worktrees are not
              kept
    run:      has to exit with 0 after the build
    timeout:  seconds for all of them
    env:      variables, each with a value, or None for the caller's value
    inputs, ignore: the files of a commit that the commands read; all if empty
    images:   by name; the name is empty if the app has one image
    absent, present: symbols that the images must not have, or must have
    shared_kernels: whether images with selections are linked from the same kernels
    rules:    text of the project's own rules for components, from the checkout
    """

    images: Mapping[str, ImageFiles]
    build: str = ""
    setup: str = ""
    clean: str = ""
    run: str = ""
    timeout: float = BUILD_TIMEOUT
    env: Mapping[str, str | None] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    shared_kernels: bool = False
    rules: str = ""

    def shared_with(self, image: str) -> tuple[str, ...]:
        """Return the selections of the other images on the kernels of an image."""
        if not self.shared_kernels:
            return ()
        others = (files.selection for name, files in self.images.items() if name != image)
        return tuple(filter(None, others))

    def other_images(self, image: str) -> tuple[str, ...]:
        """List the paths of the other images. image: a name among them."""
        return tuple(files.image for name, files in self.images.items() if name != image)

    @property
    def commands(self) -> tuple[object, ...]:
        """Everything that decides what a build makes: equal commands are built once."""
        variables = tuple(sorted(self.env.items(), key=str))
        scope = (tuple(sorted(self.inputs)), tuple(sorted(self.ignore)))
        return (self.setup, self.build, self.clean, self.run, self.timeout, variables, scope)


@dataclass(frozen=True, slots=True)
class App:
    """An app with its targets.

    An app of a known runtime has a selection, and models that it must run. In any other build, each
    image is an app.

    selection_file: None for an app of another build
    steps:          by target; empty for an app of a known runtime
    image:          name among the images of the steps
    group:          the name in sizeguard.yaml, if the entry has several images
    twins:          apps of other names that the same commands build for some target
    """

    name: str
    selection_file: Path | None
    models: tuple[Path, ...]
    targets: tuple[str, ...] = ()
    place: str = ""
    steps: Mapping[str, BuildSteps] = field(default_factory=dict)
    image: str = ""
    group: str = ""
    twins: tuple[App, ...] = field(default=(), compare=False)

    def twins_for(self, target: str) -> Sequence[App]:
        """List the apps that the build of this one for a target makes, too."""
        mine = self.steps[target].commands
        return [t for t in self.twins if target in t.steps and t.steps[target].commands == mine]

    def other_images(self, target: str) -> tuple[str, ...]:
        """List the paths of the other images that the same commands make."""
        own = self.steps[target].other_images(self.image)
        twins = self.twins_for(target)
        return (*own, *(twin.steps[target].images[twin.image].image for twin in twins))

    def left_out(self, target: str) -> tuple[str, ...]:
        """List the other images that `also` matches in packages, but that have their own sizes."""
        patterns = [each.replace("**/", "*") for each in self.steps[target].images[self.image].also]
        return tuple(
            image
            for image in self.other_images(target)
            if "!" in image and any(fnmatch.fnmatchcase(image, each) for each in patterns)
        )

    @property
    def selection(self) -> Path:
        """The selection of an app of a known runtime."""
        if self.selection_file is None:
            raise ValueError(f"app {self.name} has no selection")
        return self.selection_file

    @property
    def is_selective(self) -> bool:
        """Return whether the app is a selective build of a known runtime."""
        return self.selection_file is not None and not self.steps

    def claimed(self, target: str) -> str:
        """Return the selection of an image of another build; empty for none."""
        steps = self.steps.get(target)
        return steps.images[self.image].selection if steps is not None else ""

    @property
    def needs_sources(self) -> bool:
        """Return whether the sources of a known runtime say what there is to select from."""
        return self.is_selective or any(self.claimed(target) for target in self.steps)


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """Unparsed limits of the store in sizeguard.yaml; the command clean parses them.

    max_size, max_age: empty if not given; place: of the entry
    """

    max_size: str = ""
    max_age: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """Contents of sizeguard.yaml.

    base: the branch that growth is counted from; empty for the default branch
    policy_changes: one of MODES, for changes based on this commit
    surplus: one of MODES, for parts of selections that no model needs
    store: limits of the store of measurements
    rules: text of the project's own rules for components; rules_file: a file with them instead
    """

    apps: tuple[App, ...]
    targets: tuple[Target, ...]
    limits: tuple[LimitEntry, ...]
    base: str = ""
    policy_changes: str = NOTE
    surplus: str = NOTE
    store: StoreEntry = StoreEntry()
    rules: str = ""
    rules_file: str = ""

    def target(self, name: str) -> Target:
        """Return the target of that name."""
        return next(target for target in self.targets if target.name == name)


def with_twins(config: Config) -> Config:
    """Tell each app which apps of other names are built by the same commands."""
    by_commands: dict[tuple[object, ...], list[App]] = {}
    for app in config.apps:
        for target, steps in app.steps.items():
            if steps.build:
                by_commands.setdefault((target, *steps.commands), []).append(app)

    def twins(app: App) -> tuple[App, ...]:
        keys = [(target, *steps.commands) for target, steps in app.steps.items()]
        found = {each.name: each for key in keys for each in by_commands.get(key, ())}
        is_same = {app.name} | {each.name for each in found.values() if _is_one(app, each)}
        return tuple(each for name, each in found.items() if name not in is_same)

    return replace(config, apps=tuple(replace(app, twins=twins(app)) for app in config.apps))


def _is_one(app: App, other: App) -> bool:
    """Return whether two apps are images of one entry."""
    return bool(app.group) and app.group == other.group


def chosen_apps(config: Config, only: Sequence[str]) -> tuple[App, ...]:
    """Select the apps of these names or groups; all if no name is given.

    Raises InputError for an unknown name.
    """
    known = [app.name for app in config.apps]
    groups = {app.group for app in config.apps if app.group}
    for name in only:
        if name not in known and name not in groups:
            hint = _again("--app", name) or did_you_mean(name, (*known, *sorted(groups)))
            raise InputError(f"--app: {CONFIG} has no app '{name}'{hint}")
    return tuple(app for app in config.apps if not only or app.name in only or app.group in only)


def no_one_app(config: Config, name: str) -> str:
    """Say why a name is not of one app: it is of several images, or unknown."""
    images = [app.name for app in config.apps if app.group == name]
    if images:
        return f"'{name}' has several images: name one of {', '.join(images)}"
    known = [app.name for app in config.apps]
    return f"{CONFIG} has no app '{name}'{did_you_mean(name, known)}"


def _again(option: str, name: str) -> str:
    """Say how to give several names that were given with commas."""
    names = [each.strip() for each in name.split(",") if each.strip()]
    repeated = " ".join(f"{option} {each}" for each in names)
    return f"; write {repeated}" if len(names) > 1 else ""


def chosen_targets(config: Config, only: Sequence[str]) -> tuple[Target, ...]:
    """Select the targets of these names; all if no name is given.

    Raises InputError for an unknown name.
    """
    known = {target.name: target for target in config.targets}
    for name in only:
        if name not in known:
            hint = _again("--target", name) or did_you_mean(name, known)
            raise InputError(f"--target: {CONFIG} has no target '{name}'{hint}")
    return tuple(target for target in config.targets if not only or target.name in only)
