"""Turns baselines/waivers.yaml and the trailers of commits into waivers, and a waiver into either."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from sizeguard.errors import InputError
from sizeguard.files import write_atomic
from sizeguard.gate.baselines import FOLDER, WAIVERS, locked_baselines
from sizeguard.gate.config import Config
from sizeguard.gate.limits import LARGEST
from sizeguard.gate.metric_names import MetricNames, is_family
from sizeguard.gate.result import Waiver
from sizeguard.yaml_nodes import Listing, Node, Scalar, Table, read_nodes

TRAILER = "Size-Waiver"
_FIELDS = ("metric", "app", "target", "bytes", "reason", "owner", "expires")
_OPTIONAL = ("app", "target")
_HEADER = "# Growth that was accepted for a time. `sizeguard waive` adds entries; remove those that are spent or expired.\n"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST = 2000  # characters of a reason


def waivers_path(root: Path) -> Path:
    return root / FOLDER / WAIVERS


def read_waivers(root: Path, config: Config, names: MetricNames) -> tuple[Waiver, ...]:
    """Raises InputError, with file, line and column, for what is wrong: a waiver that cannot be read allows nothing and stops the gate."""
    path = waivers_path(root)
    if not path.exists() and not path.is_symlink():
        return ()
    shown = f"{FOLDER}/{WAIVERS}"
    nodes = read_nodes(path, "list of waivers")
    if isinstance(nodes, Scalar) and nodes.kind == "null":
        return ()
    if not isinstance(nodes, Listing):
        raise InputError(f"{shown}:{nodes.line}:{nodes.column}: expected a list of waivers")
    return tuple(_entry(shown, node, config, names) for node in nodes.items)


def _entry(shown: str, node: Node, config: Config, names: MetricNames) -> Waiver:
    place = f"{shown}:{node.line}"
    if not isinstance(node, Table):
        raise InputError(f"{place}:{node.column}: a waiver is a table with {', '.join(_FIELDS)}")
    fields: dict[str, str] = {}
    for key, value in node.pairs:
        where = f"{shown}:{key.line}:{key.column}: '{key.text}'"
        if key.text not in _FIELDS:
            raise InputError(f"{where} is none of {', '.join(_FIELDS)}")
        if key.text in fields or not isinstance(value, Scalar):
            raise InputError(f"{where} {'is there twice' if key.text in fields else 'is no text'}")
        fields[key.text] = value.text
    return make_waiver(fields, place, place, config, names)


def make_waiver(fields: Mapping[str, str], source: str, place: str, config: Config, names: MetricNames) -> Waiver:
    """Check the fields. Raises InputError that begins with the place."""
    for name in _FIELDS:
        if name not in _OPTIONAL and not fields.get(name, "").strip():
            raise InputError(f"{place}: a waiver needs {name}")
    metric = fields["metric"]
    problem = names.problem(metric) or (f"'{metric}' is more than one metric; waive each by its name" if is_family(metric) else "")
    if problem:
        raise InputError(f"{place}: {problem}")
    for name, known in (("app", [app.name for app in config.apps]), ("target", [target.name for target in config.targets])):
        given = fields.get(name, "")
        if given and given not in known:
            raise InputError(f"{place}: there is no {name} {given}; there are {', '.join(known)}")
    amount = fields["bytes"].replace(",", "")
    if not (amount.isascii() and amount.isdigit() and len(amount) < 17 and 0 < int(amount) <= LARGEST):
        raise InputError(f"{place}: bytes is a whole number, not '{fields['bytes']}'")
    if len(fields["reason"]) > _LONGEST:
        raise InputError(f"{place}: a reason has at most {_LONGEST} characters")
    texts = {name: " ".join(fields[name].split()) for name in ("reason", "owner")}
    expires = _day(fields["expires"], place)
    return Waiver(metric, fields.get("app", ""), fields.get("target", ""), int(amount), texts["reason"], texts["owner"], expires, source)


def _day(text: str, place: str) -> str:
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise InputError(f"{place}: expires is a day such as 2027-01-31, not '{text}'") from error


def add_waiver(root: Path, waiver: Waiver) -> Path:
    """Append an entry; what is there stays as it is, comments too. Two at once both stay."""
    path = waivers_path(root)
    with locked_baselines(root):
        try:
            old = path.read_text(encoding="utf-8") if path.exists() else _HEADER
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot read: {error}") from error
        write_atomic(path, old + ("" if old.endswith("\n") else "\n") + _yaml(waiver))
    return path


def _yaml(waiver: Waiver) -> str:
    texts = {"metric": waiver.metric, "app": waiver.app, "target": waiver.target}
    lines = [f"{name}: {_quoted(value)}" for name, value in texts.items() if value] + [f"bytes: {waiver.bytes}"]
    lines += [f"reason: {_quoted(waiver.reason)}", f"owner: {_quoted(waiver.owner)}", f"expires: {waiver.expires}"]
    return "- " + "\n  ".join(lines) + "\n"


def _quoted(text: str) -> str:
    """As YAML's double quotes have it, if single ones do not do."""
    if all(character.isprintable() for character in text):
        doubled = text.replace("'", "''")
        return f"'{doubled}'"
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{escaped}"'


def trailer_text(waiver: Waiver) -> str:
    """The line of a commit message that says the same."""
    words = [waiver.metric, "--bytes", str(waiver.bytes)]
    for name, value in (("app", waiver.app), ("target", waiver.target), ("owner", waiver.owner), ("expires", waiver.expires)):
        words += [f"--{name}", value] if value else []
    return f"{TRAILER}: {shlex.join([*words, '--reason', waiver.reason])}"


def parse_trailer(text: str, commit: str, config: Config, names: MetricNames) -> Waiver:
    """What stands after `Size-Waiver:`. Raises InputError that names the commit."""
    place = f"commit {commit[:10]}: {TRAILER}"
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"{place}: {error}; write it with sizeguard waive --trailer") from error
    fields = {"metric": words[0] if words else ""}
    rest = iter(words[1:])
    for option in rest:
        name, value = option.removeprefix("--"), next(rest, None)
        if not option.startswith("--") or name not in _FIELDS or name in fields or value is None:
            raise InputError(f"{place}: '{option}' is not understood; write it with sizeguard waive --trailer")
        fields[name] = value
    return make_waiver(fields, f"commit {commit[:10]}", place, config, names)
