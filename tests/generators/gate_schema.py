"""Print the JSON Schema of `sizeguard gate --format json`, made from the result's types.

python -m tests.generators.gate_schema > sizeguard/report/schemas/gate.schema.json
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from sizeguard.base.plain_data import LARGEST, LONGEST
from sizeguard.gate.gate_result import AppResult, Check, GateResult, ModelResult, Saving

VERDICTS = ["pass", "fail", "inconclusive"]
LISTS = {"checks": Check, "models": ModelResult, "savings": Saving}


def schema_of(kind: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is str:
        return {"type": "string", "maxLength": LONGEST}
    if kind is int:
        return {"type": "integer", "minimum": -LARGEST, "maximum": LARGEST}
    if kind is bool:
        return {"type": "boolean"}
    if origin is types.UnionType:
        (inner,) = [each for each in arguments if each is not type(None)]
        return {"anyOf": [{"type": "null"}, schema_of(inner)]}
    if origin is tuple:
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    assert dataclasses.is_dataclass(kind), kind
    return {"$ref": f"#/$defs/{kind.__name__}"}


def definition(kind: Any, without: typing.Iterable[str] = ()) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind) if field.name not in without]
    properties = {name: schema_of(hints[name]) for name in names}
    if "verdict" in properties:
        properties["verdict"] = {
            "enum": VERDICTS
            + ["not_run"] * (kind.__name__ in ("ModelResult", "AppResult", "Check"))
            + ["not_applicable"] * (kind.__name__ == "Verdict")
        }
    text = inspect.cleandoc(kind.__doc__ or "")
    described = {} if text.startswith(f"{kind.__name__}(") else {"description": text}
    return {"type": "object", **described, "properties": properties, "required": names}


def used(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Return all dataclasses that a type contains, by name."""
    if dataclasses.is_dataclass(kind) and kind.__name__ not in found:
        found[kind.__name__] = kind
        for hint in typing.get_type_hints(kind).values():
            used(hint, found)
    for argument in typing.get_args(kind):
        used(argument, found)
    return found


def schema() -> dict[str, Any]:
    kinds = used(GateResult, {})
    del kinds["GateResult"]
    definitions = {
        name: definition(kind, LISTS if kind is AppResult else ())
        for name, kind in sorted(kinds.items())
    }
    for kind in (Check, ModelResult, Saving):
        rows = definitions[kind.__name__]
        for name in ("app", "target"):
            rows["properties"].setdefault(name, schema_of(str))
            rows["required"] = list(dict.fromkeys([*rows["required"], name]))
    definitions["Saving"]["properties"]["saved"] = schema_of(int)
    whole = definition(GateResult)
    lists = {"checks": "Check", "models": "ModelResult", "saved": "Saving"}
    whole["properties"] = {
        "schema_version": {"const": 1},
        "exit_code": {"enum": [0, 1, 2, 3, 4]},
        **whole["properties"],
        **{
            name: {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}}
            for name, kind in lists.items()
        },
    }
    whole["properties"]["apps"]["maxItems"] = 1000
    whole["required"] = list(whole["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "sizeguard/gate.schema.json",
        "title": "What `sizeguard gate --format json` prints",
        **whole,
        "$defs": definitions,
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
