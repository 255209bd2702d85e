"""Read sizeguard.yaml into a Config.

Errors are one line with the place and the nearest valid name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import check_no_outputs
from sizeguard.base.nearest import nearest_is
from sizeguard.base.yaml.nodes import Node, parse_nodes, read_nodes, value_of
from sizeguard.projects.app_reader import AppReader, check_target_name, limits_of
from sizeguard.projects.config_nodes import (
    flag_of,
    is_empty,
    key_node,
    one_of,
    place_of,
    table_of,
    text_of,
    with_whole_calls,
)
from sizeguard.projects.project import (
    CONFIG,
    MODES,
    NOTE,
    App,
    Config,
    LimitEntry,
    StoreEntry,
    Target,
    with_twins,
)
from sizeguard.projects.rules.own_rules import read_own_rules, with_own_rules
from sizeguard.runtimes.runtime import LINKS, LTO, OPTIMIZATIONS
from sizeguard.toolchains.targets import TARGETS, find_target, host_target
from sizeguard.toolchains.toolchain import COMPILERS, LINKERS

_TOP = (
    "base",
    "policy_changes",
    "surplus",
    "store",
    "rules",
    "targets",
    "limits",
    "growth",
    "apps",
)
_INIT = "; sizeguard init writes them for an existing build"
_TARGET = ("machine", "compiler", "linker", "optimize", "link", "lto", "run", "limits")


def read_config(root: Path) -> Config:
    """Read the configuration of a project's folder.

    Raises InputError, with file, line and column, for any error in it, and OutputError if the
    command will replace a file that it measures.
    """
    node = read_nodes(root / CONFIG, "configuration")
    config = with_twins(with_own_rules(root, _ProjectReader(root).read(with_whole_calls(node))))
    check_no_outputs(_measured_files(root, config))
    return config


def _measured_files(root: Path, config: Config) -> Iterator[Path]:
    """Yield the files that the steps of apps name, as they are in the checkout."""
    for app in config.apps:
        for steps in app.steps.values():
            for files in steps.images.values():
                one = (files.image, files.map, files.debug, files.shipped)
                yield from (root / name for name in one if name)
                for pattern in (*files.objects, *files.also):
                    yield from root.glob(pattern)


def parse_config(root: Path, data: bytes) -> Config:
    """Parse a configuration that is not a file, such as that of a commit; paths are below `root`.

    Raises InputError as read_config does.
    """
    node = parse_nodes(data, CONFIG, "configuration")
    return _ProjectReader(root).read(with_whole_calls(node))


def parse_base(data: bytes) -> str:
    """Read only `base:` from a configuration; empty if it has none."""
    top = parse_nodes(data, CONFIG, "configuration")
    base = value_of(top, "base")
    return _base(base) if base is not None else ""


class _ProjectReader:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.machines: dict[str, str] = {}  # places of the targets' machines, by target

    def read(self, document: Node) -> Config:
        top = table_of(document, _TOP, "expected a table")
        if "apps" not in top:
            raise InputError(f"{CONFIG}:1:1: names no apps{_INIT}")
        limits: list[LimitEntry] = []
        targets = tuple(self._targets(top.get("targets"), limits))
        apps, more = self._apps(top["apps"], targets, limits)
        targets = (*targets, *more)
        if "limits" in top:
            limits += limits_of(top["limits"])
        if "growth" in top:
            limits += limits_of(top["growth"], growth_only=True)
        base = _base(top["base"]) if "base" in top else ""
        policy, surplus = (
            one_of(top.get(key), MODES) or NOTE for key in ("policy_changes", "surplus")
        )
        store = _store(top["store"]) if "store" in top else StoreEntry()
        rules, file = read_own_rules(top["rules"]) if "rules" in top else ("", "")
        return Config(
            tuple(apps), targets, tuple(limits), base, policy, surplus, store, rules, file
        )

    def _apps(
        self, node: Node, targets: Iterable[Target], limits: list[LimitEntry]
    ) -> tuple[list[App], list[Target]]:
        """Read the apps, and the targets that only they name.

        Only apps of a known runtime need known machines.
        """
        reader = AppReader(self.root, targets)
        apps: list[App] = []
        for name, value in table_of(node, None, "apps is a table of apps by name").items():
            apps += reader.read(name, value, place_of(key_node(node, name)))
        if not apps:
            raise InputError(f"{place_of(node)}: names no apps{_INIT}")
        twice = next((name for name, n in Counter(app.name for app in apps).items() if n > 1), "")
        if twice:
            raise InputError(f"{place_of(node)}: two apps or images are called '{twice}'")
        _check_file_names(node, apps)
        limits += reader.limits
        for target in targets:
            if any(app.is_selective and target.name in app.targets for app in apps):
                _check_machine(target.machine, self.machines[target.name])
        return apps, reader.more

    def _targets(self, node: Node | None, limits: list[LimitEntry]) -> Iterable[Target]:
        """Read the targets; by default this machine."""
        if node is None:
            self.machines[host_target()] = ""
            yield Target(host_target(), host_target())
            return
        entries = table_of(node, None, "targets is a table of targets by name")
        if not entries:
            raise InputError(
                f"{place_of(node)}: names no targets; remove the key to use this machine"
            )
        for name, value in entries.items():
            fields = (
                {}
                if is_empty(value)
                else table_of(value, _TARGET, "a target is a table, or nothing")
            )
            place = place_of(key_node(node, name))
            check_target_name(name, place)
            machine = text_of(fields["machine"]) if "machine" in fields else name
            self.machines[name] = place_of(fields["machine"]) if "machine" in fields else place
            if "limits" in fields:
                limits += limits_of(fields["limits"], target=name)
            yield Target(
                name,
                machine,
                compiler=one_of(fields.get("compiler"), COMPILERS),
                linker=one_of(fields.get("linker"), LINKERS),
                optimize=one_of(fields.get("optimize"), OPTIMIZATIONS) or "s",
                link=one_of(fields.get("link"), LINKS) or "executable",
                lto=one_of(fields.get("lto"), LTO) or "",
                run=flag_of(fields.get("run"), True),
                place=place,
            )


def _check_file_names(node: Node, apps: Iterable[App]) -> None:
    """Raise InputError if two builds would have one folder and one baseline: APP.TARGET."""
    seen: dict[str, str] = {}
    for app in apps:
        for target in app.targets:
            build = f"{app.name} for {target}"
            other = seen.setdefault(f"{app.name}.{target}", build)
            if other != build:
                raise InputError(
                    f"{place_of(node)}: {other} and {build} would have the same files, because"
                    " names are joined by dots; rename one"
                )


def _base(node: Node) -> str:
    base = text_of(node)
    if base.startswith("-"):
        raise InputError(f"{place_of(node)}: '{base}' is not a branch or commit")
    return base


def _store(node: Node) -> StoreEntry:
    given = table_of(node, ("max_size", "max_age"), "store is a table with max_size and max_age")
    return StoreEntry(
        **{name: text_of(value) for name, value in given.items()}, place=place_of(node)
    )


def _check_machine(machine: str, place: str) -> None:
    try:
        find_target(machine)
    except InputError as error:
        known = (*TARGETS, host_target())
        raise InputError(
            f"{place}: unknown target '{machine}'{nearest_is(machine, known)}"
        ) from error
