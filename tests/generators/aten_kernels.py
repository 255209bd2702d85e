"""Write the functions of at::native whose names do not identify their operator.

The source is PyTorch's native_functions.yaml.

    python -m tests.generators.aten_kernels
    SITE_PACKAGES/torchgen/packaged/ATen/native/native_functions.yaml \\
        > sizeguard/runtimes/aten/kernels.txt

A line is an operator and its functions, including torchgen's wrappers: wrapper_CPU__softmax belongs
to _softmax, which is structured, and wrapper_CPU__stack belongs to stack. Functions that serve
several operators are left out. Names are judged without the file that this script writes.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

from sizeguard import runtimes
from sizeguard.names.operator_words import OperatorNames

STRUCTURED_KEYS = ("CPU", "CUDA", "MPS", "Meta", "CompositeExplicitAutogradNonFunctional")

RUNTIMES = Path(runtimes.__file__).parent


def main() -> int:
    preset = yaml.safe_load((RUNTIMES / "aten/names.yaml").read_text())
    known = [
        line
        for line in (RUNTIMES / "aten_operators.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    names = OperatorNames(known, preset["words"]["first"], preset["words"]["last"])
    by_rule = {
        rule["identifier"]
        for rule in preset["rules"]
        if "identifier" in rule and "operator" in rule
    }
    lines: dict[str, list[str]] = defaultdict(list)
    entries = yaml.safe_load(Path(sys.argv[1]).read_text())
    for kernel, operators in sorted((registered(entries) | structured_wrappers(entries)).items()):
        plain = {operator.rstrip("_") for operator in operators}
        if (
            len(plain) == 1
            and kernel not in by_rule
            and names.find(kernel).rstrip("_") not in plain
        ):
            lines[min(operators)].append(kernel)
    print(
        "# Functions of PyTorch 2.13's at::native whose names do not say for which operator"
        " native_functions.yaml registers them."
    )
    for operator, kernels in sorted(lines.items()):
        print(operator, *kernels)
    return 0


def registered(entries: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Map functions of at::native to the operators that they are registered for.

    Without `dispatch` the function has the operator's name.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        name, operator, _ = named(entry)
        for kernel in entry.get("dispatch", {"": name}).values():
            if re.fullmatch(r"\w+", kernel):
                found[kernel].add(operator)
    return found


def structured_wrappers(entries: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Map the names wrapper_KEY_NAME_OVERLOAD to structured operators.

    It is ambiguous whether an underscore in such a name belongs to the operator.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        name, operator, overload = named(entry)
        if name.startswith("_") and ("structured" in entry or "structured_delegate" in entry):
            out = "_out" if "structured" in entry else ""
            for key in STRUCTURED_KEYS:
                found["_".join(filter(None, [f"wrapper_{key}_{name}{out}", overload]))].add(
                    operator
                )
    return found


def named(entry: dict[str, Any]) -> tuple[str, str, str]:
    """Return name, operator and overload of an entry."""
    name, _, overload = entry["func"].partition("(")[0].partition(".")
    return name, name if "::" in name else f"aten::{name}", overload


if __name__ == "__main__":
    sys.exit(main())
