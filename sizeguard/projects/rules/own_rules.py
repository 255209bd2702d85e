"""Read a project's own rules in sizeguard.yaml: a list, or the path of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.base.nearest import nearest_file
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, parse_nodes, value_of
from sizeguard.projects.config_nodes import path_of
from sizeguard.projects.project import CONFIG, App, Config


def read_own_rules(node: Node) -> tuple[str, str]:
    """Return the text of the rules in the configuration, or the path of their file.

    Raises InputError, with the line, for any other value.
    """
    if isinstance(node, Scalar) and node.kind != "null":
        return "", path_of(node)
    from sizeguard.names.rules_reader import check_rules  # takes 8 ms, and few projects need it

    check_rules(node, Path(CONFIG))
    return json.dumps({"rules": _plain(node)}), ""


def with_own_rules(root: Path, config: Config) -> Config:
    """Add the rules to apps that are built by commands or measured as found.

    Raises InputError if the file is missing or has no rules, or if no app can use them.
    """
    if not (config.rules or config.rules_file):
        return config
    text = config.rules or _text_of_file(root, config.rules_file)
    if not any(app.steps for app in config.apps):
        raise InputError(
            f"{CONFIG}: rules are for apps of other builds than the runtime's, but there is no "
            f"such app"
        )
    return replace(config, rules=text, apps=tuple(_with_rules(app, text) for app in config.apps))


def rules_for_report(folder: Path) -> str:
    """Return the rules of the project in a folder, even if its configuration has other errors."""
    top = parse_nodes(readable(folder / CONFIG).read_bytes(), CONFIG, "configuration")
    rules = value_of(top, "rules")
    if rules is None:
        return ""
    text, file = read_own_rules(rules)
    return text or _text_of_file(folder, file)


def _with_rules(app: App, text: str) -> App:
    steps = {name: replace(each, rules=text) for name, each in app.steps.items()}
    return replace(app, steps=steps)


def _text_of_file(root: Path, path: str) -> str:
    from sizeguard.names.rules_reader import read_preset

    if not (root / path).exists():
        raise InputError(f"{CONFIG}: rules: {path}: no such file{nearest_file(root / path)}")
    read_preset(root / path)
    return readable(root / path).read_text(encoding="utf-8")


def _plain(node: Node) -> object:
    """Return a checked list of rules as lists, tables and strings."""
    if isinstance(node, Listing):
        return [_plain(item) for item in node.items]
    if isinstance(node, YamlTable):
        found: Mapping[str, object] = {key.text: _plain(value) for key, value in node.pairs}
        return found
    return node.text
