"""Read the apps of sizeguard.yaml, of a known runtime or of any build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.yaml.nodes import Listing, Node
from sizeguard.projects.config_nodes import (
    is_empty,
    key_node,
    one_of,
    path_of,
    place_of,
    table_of,
)
from sizeguard.projects.project import App, BuildSteps, LimitEntry, Target
from sizeguard.projects.steps.steps_reader import (
    IMAGE,
    IMAGES,
    NAME,
    SELECTION,
    STEPS,
    image_limits,
    read_steps,
)
from sizeguard.runtimes.runtime import VARIANTS

_NAME_RULE = "at most 64 letters, digits, '.', '-' and '_'"
_SELECTIVE = ("selection", "models", "targets", "limits")
_ANY_BUILD = (*STEPS, SELECTION, "targets", "limits")


class AppReader:
    """Reads apps and their limits, for the targets of a file.

    more: targets that only apps of other builds name
    """

    def __init__(self, root: Path, targets: Iterable[Target]) -> None:
        """Read paths relative to `root`, for these targets."""
        self.root = root
        self.targets = {target.name: target for target in targets}
        self.more: list[Target] = []
        self.limits: list[LimitEntry] = []

    def read(self, name: str, node: Node, key_place: str = "") -> Iterable[App]:
        """Read the apps under one name: one for each image. key_place: the place of the name.

        Raises InputError, with file, line and column.
        """
        place = place_of(node)
        check_app_name(name, key_place or place)
        all_known = tuple(dict.fromkeys((*_SELECTIVE, *_ANY_BUILD)))
        fields = table_of(node, all_known, "an app is a table")
        is_any = any(key in fields for key in STEPS)
        known = _ANY_BUILD if is_any else _SELECTIVE
        for key in fields:
            if key not in known:
                raise InputError(
                    f"{place_of(key_node(node, key))}: {key} is for apps of a known runtime, but "
                    f"this app is built by commands or measured as found"
                )
        return self._any_build(name, fields, place) if is_any else [self._app(name, fields, place)]

    def _app(self, name: str, fields: Mapping[str, Node], place: str) -> App:
        for required in ("selection", "models"):
            if required not in fields:
                what = f", or {IMAGE} for any other build" if len(fields) < 2 else ""
                raise InputError(f"{place}: app {name} needs {required}{what}")
        models = fields["models"]
        if not isinstance(models, Listing):
            raise InputError(f"{place_of(models)}: models is a list")
        if "limits" in fields:
            self.limits += limits_of(fields["limits"], app=name)
        targets = {}
        for target, own in self._targets(name, fields.get("targets"), ("limits",)).items():
            if "limits" in own:
                self.limits += limits_of(own["limits"], app=name, target=target)
            targets[target] = own
        return App(
            name,
            self.root / path_of(fields["selection"]),
            tuple(self.root / path_of(model) for model in models.items),
            tuple(targets),
            place,
        )

    def _any_build(self, name: str, fields: Mapping[str, Node], place: str) -> list[App]:
        """Read an app for each image of a build."""
        steps: dict[str, BuildSteps] = {}
        more = (*STEPS, SELECTION, "limits")
        by_target = self._targets(name, fields.get("targets"), more, can_add=True)
        for target, own in by_target.items():
            steps[target] = read_steps(_overridden(fields, own), place)
        images = list(dict.fromkeys(image for each in steps.values() for image in each.images))
        apps = []
        for image in images:
            full = f"{name}.{image}" if image else name
            mine = {target: each for target, each in steps.items() if image in each.images}
            group = name if image else ""
            apps.append(App(full, None, (), tuple(mine), place, mine, image, group))
            self._limits_of_image(full, image, fields, "")
            for target in mine:
                self._limits_of_image(full, image, by_target[target], target)
        return apps

    def _limits_of_image(
        self, app: str, image: str, fields: Mapping[str, Node], target: str
    ) -> None:
        """Read an image's own limits, and those of its app for all other metrics."""
        own = next((node for name, node in image_limits(fields) if name == image), None)
        mine = list(limits_of(own, app=app, target=target)) if own is not None else []
        named = {entry.metric for entry in mine}
        shared = fields.get("limits")
        if shared is not None:
            entries = limits_of(shared, app=app, target=target)
            mine += [entry for entry in entries if entry.metric not in named]
        self.limits += mine

    def _targets(
        self, app: str, node: Node | None, known_fields: tuple[str, ...], *, can_add: bool = False
    ) -> Mapping[str, Mapping[str, Node]]:
        """Read the fields that an app has for each of its targets.

        can_add: names that are not targets of the file become new targets. If all names are new,
                 the app is for the file's targets as well.
        """
        known = list(self.targets)
        if node is None:
            return {name: {} for name in known}
        if isinstance(node, Listing):
            chosen = [one_of(item, known) or "" for item in node.items]
            if len({*chosen}) != len(chosen) or not chosen:
                raise InputError(
                    f"{place_of(node)}: targets of app {app}: name at least one, and each only once"
                )
            return {name: {} for name in chosen}
        expected = "targets of an app are a list of names, or a table with limits"
        entries = table_of(node, None if can_add else tuple(known), expected)
        added = [name for name in entries if name not in known]
        found: dict[str, Mapping[str, Node]] = {}
        if len(added) == len(entries):
            found = {name: {} for name in known}
        for name in added:
            self._add(name, place_of(key_node(node, name)))
        for name, value in entries.items():
            found[name] = (
                {} if is_empty(value) else table_of(value, known_fields, "expected limits")
            )
        return found

    def _add(self, name: str, place: str) -> None:
        check_target_name(name, place)
        self.targets[name] = Target(name, name, place=place)
        self.more.append(self.targets[name])


def check_target_name(name: str, place: str) -> None:
    """Raise InputError for a name that no target can have; `place` begins its message."""
    if not NAME.fullmatch(name):
        raise InputError(f"{place}: '{name}' is not a target name: {_NAME_RULE}")


def check_app_name(name: str, place: str) -> None:
    """Raise InputError for a name that no app can have; `place` begins its message."""
    if not NAME.fullmatch(name) or name in VARIANTS:
        raise InputError(
            f"{place}: '{name}' is not an app name: {_NAME_RULE}, and none of {', '.join(VARIANTS)}"
        )


def _overridden(fields: Mapping[str, Node], own: Mapping[str, Node]) -> Mapping[str, Node]:
    """Replace the app's fields by the target's own; image and images replace each other."""
    left_out = {IMAGE, IMAGES} if {IMAGE, IMAGES} & {*own} else set()
    kept = {name: node for name, node in fields.items() if name not in left_out}
    return {**kept, **own}


def limits_of(
    node: Node, app: str = "", target: str = "", *, growth_only: bool = False
) -> Iterable[LimitEntry]:
    """Read a table of limits."""
    for metric, value in table_of(node, None, "limits is a table of metrics").items():
        place = place_of(key_node(node, metric))
        yield LimitEntry(metric, value, app, target, place, growth_only)
