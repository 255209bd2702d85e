"""The request to the gate: source tree, configuration, apps, targets and base."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.nearest import did_you_mean
from sizeguard.gate.model_runs import TIMEOUT
from sizeguard.gate.policy.limits import Limit
from sizeguard.gate.policy.read_limits import read_limits, store_limits
from sizeguard.gate.reference.history import History
from sizeguard.measurement.measured_commits import MeasurementPlace
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.projects.head_builds import HeadBuilds
from sizeguard.projects.project import CONFIG, App, Config, Target, chosen_apps, chosen_targets
from sizeguard.runtimes.known import models_of, source_tree
from sizeguard.runtimes.runtime import Models, Runtime, SourceTree
from sizeguard.toolchains.targets import find_target

if TYPE_CHECKING:
    from sizeguard.measurement.measurers import Measurer


def _names(app: App, target: str) -> tuple[str, ...]:
    """List the names for an app on a target, the most exact last."""
    return "", app.name, f"{app.name}/{target}"


def _today() -> datetime.date:
    return datetime.datetime.now(tz=datetime.UTC).date()


@dataclass(frozen=True)
class Request:
    """A request to the gate.

    apps, targets: names; all if empty
    base: a branch or commit to count growth from; the default base if empty
    compiler, linker: override the targets' tools (not for macOS, iOS and Android)
    again: run even if nothing changed since the last pass, and build failed commits once more
    timeout: seconds for one bundled input of a model
    source: the folder with the runtime's sources, if that is not the root
    in_place: measure images of other builds as they are in the checkout
    measurer: builds several images in parallel before they are judged; None builds one by one
    base_snapshots: files to count growth from, by APP or APP/TARGET, or by "" for the only image
    """

    root: Path
    config: Config
    apps: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    base: str = ""
    compiler: str | None = None
    linker: str | None = None
    again: bool = False
    timeout: float = TIMEOUT
    today: datetime.date = field(default_factory=_today)
    source: Path | None = None
    in_place: bool = False
    base_snapshots: Mapping[str, Path] = field(default_factory=dict)
    measurer: Callable[[MeasurementPlace], Measurer] | None = None

    @property
    def is_repeatable(self) -> bool:
        """True if the result of an earlier run with the same inputs is valid for this one."""
        if self.base_snapshots:
            return False
        if all(app.is_selective for app, _ in self.pairs()):
            return True
        return not self.in_place and self.history.head is not None

    def check_snapshots(self) -> None:
        """Check that each snapshot is for one image.

        Raises InputError for a name that no app has, and for a snapshot of several images.
        """
        names = {name for app, target in self.pairs() for name in _names(app, target.name)}
        for name in self.base_snapshots:
            if name not in names:
                hint = did_you_mean(
                    name, sorted(each for each in names if each and ("/" in each) >= ("/" in name))
                )
                what = "app and target" if "/" in name else "app"
                raise InputError(f"--base-snapshot: {CONFIG} has no {what} '{name}'{hint}")
            images = sum(name in _names(app, target.name) for app, target in self.pairs())
            if images > 1:
                raise InputError(
                    "--base-snapshot: there are several images; give each its own as"
                    " APP/TARGET=FILE"
                )

    def snapshot_of(self, app: App, target: str) -> Path | None:
        """Return the given base snapshot of an app for a target."""
        return next(
            (
                self.base_snapshots[name]
                for name in reversed(_names(app, target))
                if name in self.base_snapshots
            ),
            None,
        )

    @property
    def is_selective(self) -> bool:
        """True if the project has apps of a known runtime."""
        return any(app.is_selective for app in self.config.apps)

    @cached_property
    def heads(self) -> HeadBuilds:
        """The builds of apps that are not of a known runtime."""
        history = self.history
        return HeadBuilds(
            self.root,
            history.head is not None or history.is_new,
            self.in_place,
            history.place.store.folder,
        )

    @property
    def has_own_sources(self) -> bool:
        """True if the project has the runtime's sources, so that its commits can be built."""
        return self.source in (None, self.root)

    @cached_property
    def history(self) -> History:
        """The history of the source tree's repository."""
        return History(self.root, again=self.again)

    @cached_property
    def names(self) -> MetricNames:
        """The names of metrics in this source tree."""
        return MetricNames((self.source or self.root) if self.is_selective else None)

    @cached_property
    def _sources(self) -> tuple[Runtime, SourceTree]:
        return source_tree(self.root, self.source)

    @property
    def runtime(self) -> Runtime:
        """The runtime of the project's sources."""
        return self._sources[0]

    @property
    def tree(self) -> SourceTree:
        """The sources that the apps are built from."""
        return self._sources[1]

    @cached_property
    def models(self) -> Models:
        """The runner of the apps' models."""
        return models_of(self.root, self.source)

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The limits of sizeguard.yaml.

        Raises InputError for a limit of an unknown metric.
        """
        return read_limits(self.config, self.names)

    def check_limits(self) -> None:
        """Read the limits, so that their errors are reported before anything is built.

        Raises InputError for a limit of an unknown metric.
        """
        store_limits(self.config.store)  # else only `sizeguard clean` would report its errors
        _ = self.limits

    def selective_pairs(self) -> list[tuple[App, Target]]:
        """List the pairs of apps of a known runtime."""
        return [(app, target) for app, target in self.pairs() if app.is_selective]

    def other_pairs(self) -> list[tuple[App, Target]]:
        """List the pairs of apps of any other build."""
        return [(app, target) for app, target in self.pairs() if not app.is_selective]

    @property
    def is_whole(self) -> bool:
        """True if all apps are judged for all targets."""
        return not self.apps and not self.targets

    def pairs(self) -> list[tuple[App, Target]]:
        """Pair apps with their targets.

        Raises InputError for unknown names, and if no pair is left.
        """
        targets = chosen_targets(self.config, self.targets)
        found = [
            (app, self._with_tools(target) if app.is_selective else target)
            for app in chosen_apps(self.config, self.apps)
            for target in targets
            if target.name in app.targets
        ]
        if not found:
            raise InputError(f"no requested app is for target {', '.join(self.targets)}")
        if (self.compiler or self.linker) and not any(app.is_selective for app, _ in found):
            raise InputError(
                "--compiler and --linker are for apps of a known runtime; for other apps, change "
                f"the commands of their targets in {CONFIG}"
            )
        return found

    def _with_tools(self, target: Target) -> Target:
        if not (self.compiler or self.linker) or find_target(target.machine).is_llvm_only:
            return target
        return replace(
            target,
            compiler=self.compiler or target.compiler,
            linker=self.linker,  # the target's own may not be for that compiler
        )
