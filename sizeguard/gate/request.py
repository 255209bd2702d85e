"""What the gate is asked to look at: a source tree with its configuration, which apps and targets, counted from where."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from sizeguard.errors import InputError
from sizeguard.gate.config import App, Config, Target, chosen_apps, chosen_targets
from sizeguard.gate.history import History
from sizeguard.gate.metric_names import MetricNames
from sizeguard.gate.models import TIMEOUT


def _today() -> datetime.date:
    return datetime.datetime.now(tz=datetime.UTC).date()


@dataclass(frozen=True)
class Request:
    """apps, targets: names; all if empty. base: a branch or commit to count growth from; the usual one if empty.

    compiler, linker: instead of what targets say, but for those of macOS
    again: do the work even if nothing changed since it passed
    timeout: seconds for one bundled input of a model
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

    @cached_property
    def history(self) -> History:
        return History(self.root)

    @cached_property
    def names(self) -> MetricNames:
        return MetricNames(self.root)

    @property
    def is_whole(self) -> bool:
        return not self.apps and not self.targets

    def pairs(self) -> list[tuple[App, Target]]:
        """Apps with the targets that they are for."""
        targets = [self._with_tools(target) for target in chosen_targets(self.config, self.targets)]
        found = [(app, target) for app in chosen_apps(self.config, self.apps) for target in targets if target.name in app.targets]
        if not found:
            raise InputError(f"no app that was asked for is for target {', '.join(self.targets)}")
        return found

    def _with_tools(self, target: Target) -> Target:
        if target.machine.endswith("-macos") or not (self.compiler or self.linker):
            return target
        return replace(target, compiler=self.compiler or target.compiler, linker=self.linker or (None if self.compiler else target.linker))
