"""Turns sizeguard.yaml into a Config, or into one line that says where it is wrong and which valid name is nearest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.build.targets import TARGETS, find_target, host_target
from sizeguard.build.toolchain import COMPILERS, LINKERS
from sizeguard.build.variants import LINKS, LTO, OPTIMIZATIONS, VARIANTS
from sizeguard.errors import InputError
from sizeguard.gate.config import CONFIG, App, Config, Limit, Target
from sizeguard.gate.limits import GrowthLimit, parse_creep, parse_limit, parse_size
from sizeguard.gate.metric_names import MetricNames
from sizeguard.gate.result import ABSOLUTE, CREEP, GROWTH
from sizeguard.yaml_nodes import Listing, Node, Scalar, Table, read_nodes

_TOP = ("base", "targets", "limits", "growth", "apps")
_TARGET = ("machine", "compiler", "linker", "optimize", "link", "lto", "run", "limits")
_APP = ("selection", "models", "targets", "limits")
_OF_APP_ON_TARGET = ("limits",)
_LIMIT = ("max", "growth", "creep")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def read_config(root: Path) -> Config:
    """Raises InputError, with file, line and column, for what is wrong in it."""
    return _Reader(root).read()


class _Reader:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.names = MetricNames(root)

    def read(self) -> Config:
        top = _table(read_nodes(self.root / CONFIG, "configuration"), _TOP, "expected a table")
        if "apps" not in top:
            raise InputError(f"{CONFIG}:1:1: names no apps")
        limits: list[Limit] = []
        targets = tuple(self._targets(top.get("targets"), limits))
        apps = []
        for name, node in _table(top["apps"], None, "apps is a table of apps by name").items():
            apps.append(self._app(name, node, targets, limits))
        if not apps:
            raise InputError(f"{_place(top['apps'])}: names no apps")
        if "limits" in top:
            limits += self._limits(top["limits"])
        if "growth" in top:
            for metric, node in self._metrics(top["growth"]):
                limits.append(Limit(metric, GROWTH, parse_limit(_text(node), _place(node)), place=_place(node)))
        _refuse_twice(limits)
        base = _text(top["base"]) if "base" in top else ""
        if base.startswith("-"):
            raise InputError(f"{_place(top['base'])}: '{base}' is no branch or commit")
        return Config(tuple(apps), targets, tuple(limits), base)

    def _targets(self, node: Node | None, limits: list[Limit]) -> Iterable[Target]:
        """This machine if none is named."""
        if node is None:
            yield Target(host_target(), host_target())
            return
        entries = _table(node, None, "targets is a table of targets by name")
        if not entries:
            raise InputError(f"{_place(node)}: names no targets; leave it out for this machine's own")
        for name, value in entries.items():
            fields = {} if _is_empty(value) else _table(value, _TARGET, "a target is a table, or nothing")
            place = _place(node_key(node, name))
            if not _NAME.fullmatch(name):
                raise InputError(f"{place}: '{name}' is no name of a target: letters, digits, '.', '-' and '_'")
            machine = _text(fields["machine"]) if "machine" in fields else name
            _check_machine(machine, _place(fields["machine"]) if "machine" in fields else place)
            if "limits" in fields:
                limits += self._limits(fields["limits"], target=name)
            yield Target(
                name,
                machine,
                compiler=_one_of(fields.get("compiler"), COMPILERS),
                linker=_one_of(fields.get("linker"), LINKERS),
                optimize=_one_of(fields.get("optimize"), OPTIMIZATIONS) or "s",
                link=_one_of(fields.get("link"), LINKS) or "executable",
                lto=_one_of(fields.get("lto"), LTO) or "",
                run=_flag(fields.get("run"), True),
                place=place,
            )

    def _app(self, name: str, node: Node, targets: tuple[Target, ...], limits: list[Limit]) -> App:
        place = _place(node)
        if not _NAME.fullmatch(name) or name in VARIANTS:
            raise InputError(
                f"{place}: '{name}' is no name of an app: letters, digits, '.', '-' and '_', and none of {', '.join(VARIANTS)}"
            )
        fields = _table(node, _APP, "an app is a table")
        for required in ("selection", "models"):
            if required not in fields:
                raise InputError(f"{place}: app {name} needs {required}")
        models = fields["models"]
        if not isinstance(models, Listing):
            raise InputError(f"{_place(models)}: models is a list")
        if "limits" in fields:
            limits += self._limits(fields["limits"], app=name)
        return App(
            name,
            self.root / _path(fields["selection"]),
            tuple(self.root / _path(model) for model in models.items),
            tuple(self._targets_of_app(name, fields.get("targets"), targets, limits)),
            place,
        )

    def _targets_of_app(self, app: str, node: Node | None, targets: tuple[Target, ...], limits: list[Limit]) -> Iterable[str]:
        known = [target.name for target in targets]
        if node is None:
            yield from known
        elif isinstance(node, Listing):
            chosen = [_one_of(item, known) or "" for item in node.items]
            if len({*chosen}) != len(chosen) or not chosen:
                raise InputError(f"{_place(node)}: targets of app {app}: each once, and one at least")
            yield from chosen
        else:
            entries = _table(node, tuple(known), "targets of an app are a list of names, or a table with limits")
            for name, value in entries.items():
                fields = {} if _is_empty(value) else _table(value, _OF_APP_ON_TARGET, "expected limits")
                if "limits" in fields:
                    limits += self._limits(fields["limits"], app=app, target=name)
                yield name

    def _limits(self, node: Node, app: str = "", target: str = "") -> list[Limit]:
        found = []
        for metric, value in self._metrics(node):
            found += [Limit(metric, kind, amount, since, app, target, place) for kind, amount, since, place in _limit(value)]
        return found

    def _metrics(self, node: Node) -> Iterable[tuple[str, Node]]:
        for metric, value in _table(node, None, "limits is a table of metrics").items():
            problem = self.names.problem(metric)
            if problem:
                raise InputError(f"{_place(node_key(node, metric))}: {problem}")
            yield metric, value


def _limit(node: Node) -> Iterable[tuple[str, GrowthLimit, str, str]]:
    """Kind, amount, since when and place: of `41,000 B`, which is the most, or of a table with max, growth and creep."""
    if isinstance(node, Scalar):
        yield _absolute(node)
        return
    fields = _table(node, _LIMIT, "a limit is a size, or a table with max, growth and creep")
    if not fields:
        raise InputError(f"{_place(node)}: a limit has max, growth or creep")
    for key, value in fields.items():
        place = _place(value)
        if key == "max":
            yield _absolute(value)
        elif key == "growth":
            yield GROWTH, parse_limit(_text(value), place), "", place
        else:
            amount, since = parse_creep(_text(value), place)
            yield CREEP, amount, since, place


def _absolute(node: Node) -> tuple[str, GrowthLimit, str, str]:
    text, place = _text(node), _place(node)
    return ABSOLUTE, GrowthLimit(text, 0, parse_size(text, place)), "", place


def _refuse_twice(limits: Iterable[Limit]) -> None:
    """growth: and limits: may say the same thing of a metric only once."""
    seen: dict[tuple[str, ...], str] = {}
    for limit in limits:
        key = (limit.metric, limit.kind, limit.app, limit.target, limit.since)
        if key in seen:
            raise InputError(f"{limit.place}: {limit.kind} of {limit.metric} is limited at {seen[key]}, too; keep one of them")
        seen[key] = limit.place


def _check_machine(machine: str, place: str) -> None:
    try:
        find_target(machine)
    except InputError as error:
        known = (*TARGETS, host_target())
        raise InputError(f"{place}: unknown target '{machine}'; nearest is '{_nearest(machine, known)}'") from error


def _table(node: Node, known: tuple[str, ...] | None, expected: str) -> Mapping[str, Node]:
    if not isinstance(node, Table):
        raise InputError(f"{_place(node)}: {expected}")
    table: dict[str, Node] = {}
    for key, value in node.pairs:
        if known is not None and key.text not in known:
            raise InputError(f"{_place(key)}: unknown key '{key.text}'; nearest is '{_nearest(key.text, known)}'")
        if key.text in table:
            raise InputError(f"{_place(key)}: '{key.text}' is there twice")
        table[key.text] = value
    return table


def node_key(node: Node, name: str) -> Node:
    """The key of that name in a table."""
    return next(key for key, _ in node.pairs if key.text == name) if isinstance(node, Table) else node


def _nearest(name: str, known: Iterable[str]) -> str:
    return max(known, key=lambda each: (each.startswith(name), difflib.SequenceMatcher(None, name, each).ratio()))


def _one_of(node: Node | None, known: Iterable[str]) -> str | None:
    if node is None:
        return None
    text = _text(node)
    if text not in known:
        raise InputError(f"{_place(node)}: unknown '{text}'; nearest is '{_nearest(text, known)}'; there are {', '.join(known)}")
    return text


def _flag(node: Node | None, default: bool) -> bool:
    if node is None:
        return default
    if not isinstance(node, Scalar) or node.kind != "bool":
        raise InputError(f"{_place(node)}: expected true or false")
    return node.text.lower() in ("true", "yes", "on")


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind == "null"


def _text(node: Node) -> str:
    if not isinstance(node, Scalar) or not node.text or node.kind == "null":
        raise InputError(f"{_place(node)}: expected text")
    return node.text


def _path(node: Node) -> str:
    text = _text(node)
    if Path(text).is_absolute() or ".." in Path(text).parts or "\0" in text:
        raise InputError(f"{_place(node)}: '{text}' is no path inside of the source tree")
    return text


def _place(node: Node) -> str:
    return f"{CONFIG}:{node.line}:{node.column}"
