"""Turns sizeguard.yaml into the apps that the gate watches and what they may grow."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from sizeguard.errors import InputError
from sizeguard.gate.limits import GrowthLimit, parse_limit

CONFIG = "sizeguard.yaml"
METRICS = ("load", "ram", "file")


@dataclass(frozen=True, slots=True)
class App:
    """An app: its selection, and the models that it must run."""

    name: str
    selection: Path
    models: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """limits: metric → growth since the baseline."""

    apps: tuple[App, ...]
    limits: Mapping[str, GrowthLimit]


def read_config(root: Path) -> Config:
    """Raises InputError, with file and line, for what is wrong in it."""
    file = root / CONFIG
    try:
        node = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise InputError(f"{file}: cannot read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 text (byte {error.start})") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{file}:{line}: not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{file}: not YAML: {str(error).splitlines()[0]}") from error
    top = _table(node, file, ("apps", "growth"))
    if "apps" not in top:
        raise InputError(f"{file}:1: names no apps")
    apps = tuple(_app(root, file, name, entry) for name, entry in _table(top["apps"], file, None).items())
    limits = {}
    if "growth" in top:
        for metric, value in _table(top["growth"], file, METRICS).items():
            limits[metric] = parse_limit(_text(value, file), f"{file}:{value.start_mark.line + 1}")
    return Config(apps, limits)


def _app(root: Path, file: Path, name: str, node: yaml.Node) -> App:
    fields = _table(node, file, ("selection", "models"))
    for required in ("selection", "models"):
        if required not in fields:
            raise InputError(f"{_place(node, file)}: app {name} needs {required}")
    models = fields["models"]
    if not isinstance(models, yaml.SequenceNode):
        raise InputError(f"{_place(models, file)}: models is a list")
    return App(name, root / _text(fields["selection"], file), tuple(root / _text(model, file) for model in models.value))


def _table(node: yaml.Node | None, file: Path, known: tuple[str, ...] | None) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise InputError(f"{_place(node, file)}: expected a table")
    table: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name = _text(key, file)
        if known is not None and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"nearest is '{near[0]}'" if near else f"there are {', '.join(known)}"
            raise InputError(f"{_place(key, file)}: unknown key '{name}'; {hint}")
        if name in table:
            raise InputError(f"{_place(key, file)}: '{name}' is there twice")
        table[name] = value
    return table


def _text(node: yaml.Node, file: Path) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value:
        raise InputError(f"{_place(node, file)}: expected text")
    return str(node.value)


def _place(node: yaml.Node | None, file: Path) -> str:
    return f"{file}:{node.start_mark.line + 1}:{node.start_mark.column + 1}" if node is not None else f"{file}:1"
