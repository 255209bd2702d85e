"""What `sizeguard.yaml` says: the apps that the gate watches, for which targets, and what they may weigh. How it is read is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.errors import InputError
from sizeguard.gate.limits import GrowthLimit

CONFIG = "sizeguard.yaml"


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
class Limit:
    """What a metric may weigh or gain.

    metric:    a metric path; with * one limit for each thing of that name: operator/aten::*. symbol/GLOB is one sum
    kind:      absolute, growth or creep, as in result.CHECK_KINDS
    allowance: absolute: bytes of it are the most; growth and creep: what may come
    since:     of creep: a tag or commit
    app, target: empty for all
    """

    metric: str
    kind: str
    allowance: GrowthLimit
    since: str = ""
    app: str = ""
    target: str = ""
    place: str = ""


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
    """base: the branch that growth is counted against; empty for the repository's usual one."""

    apps: tuple[App, ...]
    targets: tuple[Target, ...]
    limits: tuple[Limit, ...]
    base: str = ""

    def target(self, name: str) -> Target:
        return next(target for target in self.targets if target.name == name)


def chosen_apps(config: Config, only: Sequence[str]) -> tuple[App, ...]:
    """The apps of that name; all if none is named."""
    known = {app.name: app for app in config.apps}
    for name in only:
        if name not in known:
            raise InputError(f"{CONFIG} has no app {name}; there are {', '.join(known)}")
    return tuple(app for app in config.apps if not only or app.name in only)


def chosen_targets(config: Config, only: Sequence[str]) -> tuple[Target, ...]:
    """The targets of that name; all if none is named."""
    known = {target.name: target for target in config.targets}
    for name in only:
        if name not in known:
            raise InputError(f"{CONFIG} has no target {name}; there are {', '.join(known)}")
    return tuple(target for target in config.targets if not only or target.name in only)
