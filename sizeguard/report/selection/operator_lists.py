"""List the operators of models, or those of the runtime."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from sizeguard.models.operator_info import OperatorInfo
from sizeguard.operators.library import Operator
from sizeguard.report.writers.table import format_table

SCHEMA_VERSION = 1


def model_operators_text(models: Sequence[OperatorInfo], format_: str) -> str:
    """List each operator with the dtypes at its calls and the models that name it."""
    names = sorted({name for info in models for name in info.operators})
    dtypes = {
        name: sorted(set().union(*(info.operators.get(name, ()) for info in models)))
        for name in names
    }
    users = {name: [info.model for info in models if name in info.operators] for name in names}
    if format_ == "json":
        keys = {
            name: sorted({key for info in models for key in info.kernel_keys.get(name, ())})
            for name in names
        }
        operators = [
            {"name": name, "dtypes": dtypes[name], "models": users[name], "kernel_keys": keys[name]}
            for name in names
        ]
        classes = sorted({name for info in models for name in info.classes})
        result = {
            "schema_version": SCHEMA_VERSION,
            "models": [info.model for info in models],
            "operators": operators,
            "classes": classes,
        }
        return json.dumps(result, indent=2)
    rows = [(name, " ".join(dtypes[name]) or "?", " ".join(users[name])) for name in names]
    return format_table(("operator", "dtypes", "models"), rows, format_)


def library_text(operators: Iterable[Operator], format_: str, width: int | None = None) -> str:
    """List each operator with its kind, its dispatch key and the library that has it."""
    rows = [
        (operator.name, operator.kind, operator.dispatch, operator.library)
        for operator in sorted(operators, key=lambda o: o.name)
    ]
    if format_ == "json":
        keys = ("name", "kind", "dispatch", "library")
        result = {
            "schema_version": SCHEMA_VERSION,
            "operators": [dict(zip(keys, row, strict=True)) for row in rows],
        }
        return json.dumps(result, indent=2)
    return format_table(("operator", "kind", "dispatch", "library"), rows, format_, width)
