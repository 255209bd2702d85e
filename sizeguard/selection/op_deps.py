"""Write which operators each operator calls as op_deps.yaml.

The format is that of PyTorch's former code analyzer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from sizeguard.base.files import write_if_changed
from sizeguard.selection.write import word

# PyTorch's name for the operators that every build needs.
BASE = "__BASE__"


def write_op_deps(
    path: Path,
    calls: Mapping[str, Collection[str]],
    at_load: Collection[str],
    unknown: Iterable[tuple[str, str]],
) -> bool:
    """Write the file, unless it has this content already.

    True if it was written.
    """
    return write_if_changed(path, format_op_deps(calls, at_load, unknown))


def format_op_deps(
    calls: Mapping[str, Collection[str]],
    at_load: Collection[str],
    unknown: Iterable[tuple[str, str]],
) -> str:
    """List all operators, sorted, with those that they call.

    unknown: pairs of an operator and a function; they become comments
    """
    lines = [
        f"# {_line(owner) or 'at load'} may call more: {_line(function)} hands over a name that is"
        " not constant"
        for owner, function in unknown
    ]
    if at_load:
        lines += _entry(BASE, at_load)
    for name in sorted(calls):
        lines += _entry(name, calls[name])
    return "\n".join(lines or ["[]"]) + "\n"


def _entry(name: str, called: Collection[str]) -> list[str]:
    lines = [f"- name: {word(name)}"]
    if called:
        lines += ["  depends:", *(f"  - name: {word(other)}" for other in sorted(called))]
    return lines


def _line(text: str) -> str:
    """Escape a symbol: symbols of damaged objects may have any characters."""
    return text if text.isprintable() and text.isascii() else ascii(text)
