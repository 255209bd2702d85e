"""Separate causes that change the size from bytes that only moved to another operator."""

from __future__ import annotations

from sizeguard.gate.gate_result import MOVED, AppResult, Cause

_PARTS = 3  # names of moved code to show


def changed(app: AppResult) -> tuple[Cause, ...]:
    """Select the causes that change the size; the others only moved to another operator."""
    return tuple(cause for cause in app.causes if cause.kind != MOVED)


def moved_lines(app: AppResult) -> list[tuple[str, str]]:
    """Write the bytes that moved between operators: source, destination and the largest parts."""
    sums: dict[tuple[str, str], list[Cause]] = {}
    for cause in app.causes:
        if cause.kind == MOVED and cause.operator:
            sums.setdefault((cause.origin, cause.operator), []).append(cause)
    lines = []
    for (origin, operator), causes in sums.items():
        names = [cause.symbol for cause in causes if cause.symbol]
        more = f" and {len(names) - _PARTS} more" if len(names) > _PARTS else ""
        size = sum(cause.new for cause in causes)
        parts = f": {', '.join(names[:_PARTS])}{more}" if names else ""
        lines.append((f"{size:,}", f"{origin} → {operator}{parts}"))
    return lines
