"""Write a gate's result as JSON, and read such JSON from untrusted files.

Checks, models and savings are separate lists, each row with its app and target; everything else
about an app is in `apps`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.plain_data import MOST, Json, decode, encode, parse
from sizeguard.claims.verdict import NOT_APPLICABLE
from sizeguard.gate.gate_result import AppResult, GateResult

SCHEMA_VERSION = 1
LARGEST = 16 << 20  # limit of a result in bytes; one with 6 builds has 400 KB
_MOST_TOKENS = 4 * MOST  # commas and brackets, including commas in names
_LISTS = {"checks": "checks", "models": "models", "savings": "saved"}
_VERDICTS = ("pass", "fail", "inconclusive")


def gate_json(result: GateResult) -> dict[str, Json]:
    """Make the JSON document."""
    apps, lists = [], {name: list[Json]() for name in _LISTS.values()}
    for app in result.apps:
        content = _table(encode(app))
        for key, name in _LISTS.items():
            rows = [_table(row) for row in _list(content.pop(key))]
            lists[name] += [
                {"app": app.app, "target": app.target, **row, **_saved(row, name)} for row in rows
            ]
        apps.append(content)
    whole = _table(encode(result)) | {"apps": apps}
    return {"schema_version": SCHEMA_VERSION, "exit_code": result.exit_code, **whole, **lists}


def _saved(row: dict[str, Any], name: str) -> dict[str, Json]:
    return {"saved": row["full"] - row["selective"]} if name == "saved" else {}


def _table(value: Json) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("no table")
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError("no list")
    return value


def read_gate_json(path: Path) -> GateResult:
    """Read a result from a file, and trust no type, size or depth in it.

    Raises InputError, in one line, for a file that is not a result of `sizeguard gate`.
    """
    try:
        if not path.is_file():
            path.stat()
            raise InputError(f"{path}: cannot read: not a regular file")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise cannot_read(path, error) from error
    if len(data) > LARGEST:
        raise InputError(f"{path}: larger than {LARGEST:,} bytes")
    return result_of(data, str(path))


def result_of(data: bytes, where: str) -> GateResult:
    """Read a result from bytes; `where` begins the message of the InputError.

    Too many values are an error before the content is walked: 16 MB of empty rows took 97 s.
    """
    if sum(map(data.count, (b",", b"{", b"["))) > _MOST_TOKENS:
        raise InputError(f"{where}: more than {MOST:,} values")
    try:
        document = parse(data, where)
    except InputError as error:
        raise InputError(f"{error}; sizeguard gate --format json writes a result") from error
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"{where}: is not a result of `sizeguard gate --format json`, version {SCHEMA_VERSION}"
        )
    apps = _rows(document, "apps", where)
    for key, name in _LISTS.items():
        rows = _by_build(_rows(document, name, where))
        named = [_build(app) for app in apps]
        for app, build in zip(apps, named, strict=True):
            app[key] = rows.get(build, [])
        if len({*named}) != len(named) or not rows.keys() <= {*named}:
            raise InputError(
                f"{where}: {name} has rows of builds that are not in apps, or apps has a build "
                f"twice"
            )
    result = decode(GateResult, {**document, "apps": list[Json](apps)}, where)
    for verdict in (result.verdict, *(app.verdict for app in result.apps), *_verdicts(result)):
        if verdict not in (*_VERDICTS, "not_run"):
            raise InputError(f"{where}: '{verdict[:40]}' is not a verdict")
    if result.verdict not in _VERDICTS:
        raise InputError(f"{where}: '{result.verdict}' is not a verdict of a gate")
    return result


def _verdicts(result: GateResult) -> list[str]:
    parts: list[Any] = [*result.selection, *result.waivers, *result.policy_changes]
    for app in result.apps:
        parts += [*app.checks, *app.models, *_claims(app)]
    return [part.verdict for part in parts]


def _claims(app: AppResult) -> list[Any]:
    """List the claims that apply; the others have a separate verdict."""
    claims = app.verification.verdicts if app.verification else ()
    return [claim for claim in claims if claim.verdict != NOT_APPLICABLE]


def _build(row: dict[str, Any]) -> tuple[str, str]:
    """Return the app and target of a row; values that are not strings are an error later."""
    return str(row.get("app")), str(row.get("target"))


def _by_build(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(_build(row), []).append(row)
    return found


def _rows(document: dict[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    rows = document.get(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            f"{where}: {name} is not a list of tables, as `sizeguard gate --format json` writes it"
        )
    if name == "apps" and len(rows) > 1000:
        raise InputError(f"{where}: more than 1,000 builds")
    return [dict(row) for row in rows]
