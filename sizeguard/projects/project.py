"""The apps, targets and limits that sizeguard.yaml names, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.yaml_nodes import Node

CONFIG = "sizeguard.yaml"

# What is done with a change that loosens the policy, and with a surplus of a selection: it is
# noted, or the gate fails.
NOTE, FAIL = "note", "fail"
MODES = (NOTE, FAIL)


@dataclass(frozen=True, slots=True)
class Target:
    """A machine with a toolchain.

    name:     as in sizeguard.yaml; machine: x86_64-linux, the name itself unless told
    compiler, linker: None for the target's usual ones
    run:      whether models run; if not they are not_run, and all else is gated
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
    """A limit as it stands in sizeguard.yaml; gate.policy.read_limits reads it.

    node:        a size, or a table with max, growth and creep
    app, target: empty for all
    place:       of the metric's name
    growth_only: the entry stands under `growth`, and its node is a growth limit
    """

    metric: str
    node: Node
    app: str
    target: str
    place: str
    growth_only: bool = False


@dataclass(frozen=True, slots=True)
class App:
    """An app: its selection, the models that it must run, and the names of its targets."""

    name: str
    selection: Path
    models: tuple[Path, ...]
    targets: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """What sizeguard.yaml says.

    base: the branch that growth is counted against; empty for the repository's usual one
    policy_changes: one of MODES, for changes that start from here
    surplus: one of MODES, for parts of selections that no model needs
    """

    apps: tuple[App, ...]
    targets: tuple[Target, ...]
    limits: tuple[LimitEntry, ...]
    base: str = ""
    policy_changes: str = NOTE
    surplus: str = NOTE

    def target(self, name: str) -> Target:
        """Return the target of that name."""
        return next(target for target in self.targets if target.name == name)


def chosen_apps(config: Config, only: Sequence[str]) -> tuple[App, ...]:
    """Select the apps of those names; all if there are none.

    Raises InputError for an unknown name.
    """
    known = {app.name: app for app in config.apps}
    for name in only:
        if name not in known:
            raise InputError(f"{CONFIG} has no app {name}; there are {', '.join(known)}")
    return tuple(app for app in config.apps if not only or app.name in only)


def chosen_targets(config: Config, only: Sequence[str]) -> tuple[Target, ...]:
    """Select the targets of those names; all if there are none.

    Raises InputError for an unknown name.
    """
    known = {target.name: target for target in config.targets}
    for name in only:
        if name not in known:
            raise InputError(f"{CONFIG} has no target {name}; there are {', '.join(known)}")
    return tuple(target for target in config.targets if not only or target.name in only)
