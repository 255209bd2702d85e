"""Read and write waivers, in baselines/waivers.yaml and in trailers of commits."""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read, write_atomic
from sizeguard.base.input_files import readable
from sizeguard.base.nearest import did_you_mean, nearest_is
from sizeguard.base.yaml.nodes import Listing, Node, Scalar, YamlTable, parse_nodes, read_nodes
from sizeguard.base.yaml.text import single_quoted
from sizeguard.gate.policy.baselines import FOLDER, WAIVERS, locked_baselines
from sizeguard.gate.policy.limits import LARGEST
from sizeguard.gate.policy.terms_result import NONE_NEAR, Waiver
from sizeguard.measurement.metric_names import MetricNames, is_family
from sizeguard.projects.project import Config, no_one_app

TRAILER = "Size-Waiver"
COMMAND_LINE = "waive"  # the place of a waiver from the command line
_WHAT = "list of waivers"
_FIELDS = ("metric", "app", "target", "bytes", "reason", "owner", "expires")
_NEEDED = {
    "metric": "a metric",
    "bytes": "a number of bytes",
    "reason": "a reason",
    "owner": "an owner",
    "expires": "a day when it ends",
}
_HEADER = (
    "# Growth that is accepted for a time. `sizeguard waive` adds entries; remove spent and "
    "expired ones.\n"
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LATEST = "9999-12-31"
_LONGEST = 2000  # characters of a reason


def waivers_path(root: Path) -> Path:
    """Return the path of the file of waivers."""
    return root / FOLDER / WAIVERS


def read_waivers(root: Path, config: Config, names: MetricNames) -> tuple[Waiver, ...]:
    """Read the file of waivers.

    Raises InputError, with file, line and column: a waiver that cannot be read allows nothing and
    stops the gate.
    """
    path = waivers_path(root)
    if not path.exists() and not path.is_symlink():
        return ()
    return _waivers(read_nodes(path, _WHAT, may_be_empty=True), config, names)


def parse_waivers(data: bytes, config: Config, names: MetricNames) -> tuple[Waiver, ...]:
    """Parse the text of a waivers file; raises the errors of read_waivers."""
    nodes = parse_nodes(data, f"{FOLDER}/{WAIVERS}", _WHAT, may_be_empty=True)
    return _waivers(nodes, config, names)


def ending(
    waivers: Iterable[Waiver], today: datetime.date, within: int | None
) -> tuple[Waiver, ...]:
    """Sort waivers by their last day.

    within: only waivers that have ended or end within this number of days; None for all
    """
    last = _LATEST if within is None else (today + datetime.timedelta(within)).isoformat()
    kept = (each for each in waivers if each.expires <= last)
    return tuple(sorted(kept, key=lambda each: (each.expires, each.metric, each.app, each.target)))


def _waivers(nodes: Node, config: Config, names: MetricNames) -> tuple[Waiver, ...]:
    shown = f"{FOLDER}/{WAIVERS}"
    if isinstance(nodes, Scalar) and nodes.kind == "null":
        return ()
    if not isinstance(nodes, Listing):
        raise InputError(f"{shown}:{nodes.line}:{nodes.column}: expected a list of waivers")
    return tuple(_entry(shown, node, config, names) for node in nodes.items)


def _entry(shown: str, node: Node, config: Config, names: MetricNames) -> Waiver:
    place = f"{shown}:{node.line}"
    if not isinstance(node, YamlTable):
        raise InputError(f"{place}:{node.column}: a waiver is a table with {', '.join(_FIELDS)}")
    fields: dict[str, str] = {}
    for key, value in node.pairs:
        where = f"{shown}:{key.line}:{key.column}: '{key.text}'"
        if key.text not in _FIELDS:
            raise InputError(f"{where} is no key of a waiver{nearest_is(key.text, _FIELDS)}")
        if key.text in fields or not isinstance(value, Scalar):
            raise InputError(
                f"{where} {'is given twice' if key.text in fields else 'is not a text'}"
            )
        fields[key.text] = value.text
    return make_waiver(fields, place, place, config, names)


def make_waiver(
    fields: Mapping[str, str], source: str, place: str, config: Config, names: MetricNames
) -> Waiver:
    """Check the fields and make a waiver.

    Raises InputError that begins with the place.
    """
    for name, needed in _NEEDED.items():
        if not fields.get(name, "").strip():
            raise InputError(f"{_at(place, name)}: a waiver needs {needed}")
    metric = fields["metric"]
    nearest = names.nearest_of_unknown(metric)
    problem = "" if nearest is not None else names.problem(metric)
    if is_family(metric):
        problem = problem or f"'{metric}' matches several metrics; waive each by its name"
    if problem:
        raise InputError(f"{place}: {problem}")
    for name, known in (
        ("app", [app.name for app in config.apps]),
        ("target", [target.name for target in config.targets]),
    ):
        given = fields.get(name, "")
        if given and given not in known:
            why = f"there is no {name} '{given}'{did_you_mean(given, known)}"
            why = no_one_app(config, given) if name == "app" else why
            raise InputError(f"{_at(place, name)}: {why}")
    amount = _amount(fields["bytes"], place)
    if len(fields["reason"]) > _LONGEST:
        raise InputError(f"{place}: a reason has at most {_LONGEST} characters")
    reason, owner = (" ".join(fields[name].split()) for name in ("reason", "owner"))
    expires = _day(fields["expires"], place)
    app, target = fields.get("app", ""), fields.get("target", "")
    unknown = "" if nearest is None else nearest or NONE_NEAR
    return Waiver(metric, app, target, amount, reason, owner, expires, source, unknown)


def _at(place: str, field: str) -> str:
    """Name a field: the option of the command line, or its place in a file."""
    return f"--{field}" if place == COMMAND_LINE else f"{place}: {field}"


def _amount(text: str, place: str) -> int:
    digits = text.replace(",", "")
    if digits.isascii() and digits.isdigit() and len(digits) < 17 and 0 < int(digits) <= LARGEST:
        return int(digits)
    raise InputError(f"{_at(place, 'bytes')} is a whole number, not '{text}'; for example 2048")


def _day(text: str, place: str) -> str:
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise InputError(
            f"{_at(place, 'expires')} is a date (YYYY-MM-DD) such as 2027-01-31, not '{text}'"
        ) from error


def add_waiver(root: Path, waiver: Waiver) -> Path:
    """Append an entry to the file; existing entries and comments stay as they are.

    If two processes add entries at the same time, both entries are kept.
    """
    path = waivers_path(root)
    with locked_baselines(root):
        try:
            old = readable(path).read_text(encoding="utf-8") if path.exists() else _HEADER
        except (OSError, UnicodeDecodeError) as error:
            raise cannot_read(path, error) from error
        write_atomic(path, old + ("" if old.endswith("\n") else "\n") + _yaml(waiver))
    return path


def _yaml(waiver: Waiver) -> str:
    texts = {"metric": waiver.metric, "app": waiver.app, "target": waiver.target}
    lines = [f"{name}: {single_quoted(value)}" for name, value in texts.items() if value] + [
        f"bytes: {waiver.bytes}"
    ]
    lines += [
        f"reason: {single_quoted(waiver.reason)}",
        f"owner: {single_quoted(waiver.owner)}",
        f"expires: {waiver.expires}",
    ]
    return "- " + "\n  ".join(lines) + "\n"


def trailer_text(waiver: Waiver) -> str:
    """Format the waiver as a trailer of a commit message."""
    words = [waiver.metric, "--bytes", str(waiver.bytes)]
    for name, value in (
        ("app", waiver.app),
        ("target", waiver.target),
        ("owner", waiver.owner),
        ("expires", waiver.expires),
    ):
        words += [f"--{name}", value] if value else []
    return f"{TRAILER}: {shlex.join([*words, '--reason', waiver.reason])}"


def parse_trailer(text: str, commit: str, config: Config, names: MetricNames) -> Waiver:
    """Parse the text after `Size-Waiver:`.

    Raises InputError that names the commit.
    """
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
            raise InputError(
                f"{place}: cannot parse '{option}'; write it with sizeguard waive --trailer"
            )
        fields[name] = value
    return make_waiver(fields, f"commit {commit[:10]}", place, config, names)
