"""Selections of a few operators, with what they call."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sizeguard.selection.op_deps import read_op_deps
from tests.support.places import ROOT

_OPERATORS = ROOT / "native" / "operators"
_FLAGS = "{is_root_operator: true, is_used_for_training: false, include_all_overloads: false}"


def selection_text(operators: Iterable[str]) -> str:
    """Write a selection of operators, all operators that they call, and all of their dtypes."""
    dtypes = json.loads((_OPERATORS / "names.json").read_text())["dtypes"]
    calls = read_op_deps(_OPERATORS / "op_deps.yaml")
    called = sorted(calls.callers(operators))
    # A selection without any dtype is refused, so one without switches keeps another's.
    tags = sorted({tag for name in called for tag in calls.tags.get(name, ())}) or ["copy"]
    return "\n".join(
        [
            "include_all_operators: false",
            "include_all_non_op_selectives: false",
            "operators:",
            *(f"  {name}: {_FLAGS}" for name in called),
            "build_features: []",
            "custom_classes: []",
            "kernel_metadata:",
            *(f"  {tag}: [{', '.join(dtypes.get(tag, '').split())}]" for tag in tags),
            "",
        ]
    )
