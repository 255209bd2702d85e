"""Read sizeguard.yaml into a Config.

An error is one line with the place and the nearest valid name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.yaml_nodes import Listing, Node, YamlTable, parse_nodes, read_nodes
from sizeguard.projects.config_nodes import (
    flag_of,
    is_empty,
    key_node,
    nearest,
    one_of,
    path_of,
    place_of,
    table_of,
    text_of,
)
from sizeguard.projects.project import (
    CONFIG,
    MODES,
    NOTE,
    App,
    Config,
    LimitEntry,
    Target,
)
from sizeguard.runtimes.runtime import LINKS, LTO, OPTIMIZATIONS, VARIANTS
from sizeguard.toolchains.targets import TARGETS, find_target, host_target
from sizeguard.toolchains.toolchain import COMPILERS, LINKERS

_TOP = ("base", "policy_changes", "surplus", "targets", "limits", "growth", "apps")
_TARGET = ("machine", "compiler", "linker", "optimize", "link", "lto", "run", "limits")
_APP = ("selection", "models", "targets", "limits")
_OF_APP_ON_TARGET = ("limits",)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def read_config(root: Path) -> Config:
    """Read the configuration of a project's folder.

    Raises InputError, with file, line and column, for anything that is wrong in it.
    """
    return _ProjectReader(root).read(read_nodes(root / CONFIG, "configuration"))


def parse_config(root: Path, data: bytes) -> Config:
    """Parse a configuration that is no file, such as that of a commit; paths are below `root`.

    Raises InputError as read_config does.
    """
    return _ProjectReader(root).read(parse_nodes(data, CONFIG, "configuration"))


def parse_base(data: bytes) -> str:
    """Read `base:` alone of a configuration, whatever else stands in it; empty if it has none."""
    top = parse_nodes(data, CONFIG, "configuration")
    pairs = top.pairs if isinstance(top, YamlTable) else []
    return next((_base(node) for key, node in pairs if key.text == "base"), "")


class _ProjectReader:
    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, document: Node) -> Config:
        top = table_of(document, _TOP, "expected a table")
        if "apps" not in top:
            raise InputError(f"{CONFIG}:1:1: names no apps")
        limits: list[LimitEntry] = []
        targets = tuple(self._targets(top.get("targets"), limits))
        apps = []
        for name, node in table_of(top["apps"], None, "apps is a table of apps by name").items():
            apps.append(self._app(name, node, targets, limits))
        if not apps:
            raise InputError(f"{place_of(top['apps'])}: names no apps")
        if "limits" in top:
            limits += self._limits(top["limits"])
        if "growth" in top:
            limits += self._limits(top["growth"], growth_only=True)
        base = _base(top["base"]) if "base" in top else ""
        modes = (one_of(top.get(key), MODES) or NOTE for key in ("policy_changes", "surplus"))
        return Config(tuple(apps), targets, tuple(limits), base, *modes)

    def _targets(self, node: Node | None, limits: list[LimitEntry]) -> Iterable[Target]:
        """Read the targets; this machine if none is named."""
        if node is None:
            yield Target(host_target(), host_target())
            return
        entries = table_of(node, None, "targets is a table of targets by name")
        if not entries:
            raise InputError(
                f"{place_of(node)}: names no targets; leave it out for this machine's own"
            )
        for name, value in entries.items():
            fields = (
                {}
                if is_empty(value)
                else table_of(value, _TARGET, "a target is a table, or nothing")
            )
            place = place_of(key_node(node, name))
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"{place}: '{name}' is no name of a target: letters, digits, '.', '-' and '_'"
                )
            machine = text_of(fields["machine"]) if "machine" in fields else name
            _check_machine(machine, place_of(fields["machine"]) if "machine" in fields else place)
            if "limits" in fields:
                limits += self._limits(fields["limits"], target=name)
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

    def _app(
        self, name: str, node: Node, targets: tuple[Target, ...], limits: list[LimitEntry]
    ) -> App:
        place = place_of(node)
        if not _NAME.fullmatch(name) or name in VARIANTS:
            raise InputError(
                f"{place}: '{name}' is no name of an app: letters, digits, '.', '-' and '_', and"
                f" none of {', '.join(VARIANTS)}"
            )
        fields = table_of(node, _APP, "an app is a table")
        for required in ("selection", "models"):
            if required not in fields:
                raise InputError(f"{place}: app {name} needs {required}")
        models = fields["models"]
        if not isinstance(models, Listing):
            raise InputError(f"{place_of(models)}: models is a list")
        if "limits" in fields:
            limits += self._limits(fields["limits"], app=name)
        return App(
            name,
            self.root / path_of(fields["selection"]),
            tuple(self.root / path_of(model) for model in models.items),
            tuple(self._targets_of_app(name, fields.get("targets"), targets, limits)),
            place,
        )

    def _targets_of_app(
        self, app: str, node: Node | None, targets: tuple[Target, ...], limits: list[LimitEntry]
    ) -> Iterable[str]:
        known = [target.name for target in targets]
        if node is None:
            yield from known
        elif isinstance(node, Listing):
            chosen = [one_of(item, known) or "" for item in node.items]
            if len({*chosen}) != len(chosen) or not chosen:
                raise InputError(
                    f"{place_of(node)}: targets of app {app}: each once, and one at least"
                )
            yield from chosen
        else:
            entries = table_of(
                node, tuple(known), "targets of an app are a list of names, or a table with limits"
            )
            for name, value in entries.items():
                fields = (
                    {} if is_empty(value) else table_of(value, _OF_APP_ON_TARGET, "expected limits")
                )
                if "limits" in fields:
                    limits += self._limits(fields["limits"], app=app, target=name)
                yield name

    def _limits(
        self, node: Node, app: str = "", target: str = "", *, growth_only: bool = False
    ) -> Iterable[LimitEntry]:
        for metric, value in table_of(node, None, "limits is a table of metrics").items():
            place = place_of(key_node(node, metric))
            yield LimitEntry(metric, value, app, target, place, growth_only)


def _base(node: Node) -> str:
    base = text_of(node)
    if base.startswith("-"):
        raise InputError(f"{place_of(node)}: '{base}' is no branch or commit")
    return base


def _check_machine(machine: str, place: str) -> None:
    try:
        find_target(machine)
    except InputError as error:
        known = (*TARGETS, host_target())
        raise InputError(
            f"{place}: unknown target '{machine}'; nearest is '{nearest(machine, known)}'"
        ) from error
