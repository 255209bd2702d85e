"""Separate causes that change the size from moved bytes; name files and dependencies that grew."""

from __future__ import annotations

from sizeguard.gate.causes.growth_result import MOVED, Cause, DependencyGrowth, FileGrowth
from sizeguard.gate.gate_result import AppResult
from sizeguard.report.screen.grid import RowName, distinct

_PARTS = 3  # names of moved code to show


def changed(app: AppResult) -> tuple[Cause, ...]:
    """Select the causes that change the size; the others only moved to another operator."""
    return tuple(cause for cause in app.causes if cause.kind != MOVED)


def moved_lines(app: AppResult, room: int) -> list[tuple[str, str]]:
    """Write the bytes that moved between operators: source, destination and the largest parts.

    room: characters of each name; 0 for no limit
    """
    sums: dict[tuple[str, str], list[Cause]] = {}
    for cause in app.causes:
        if cause.kind == MOVED and cause.operator:
            sums.setdefault((cause.origin, cause.operator), []).append(cause)
    lines = []
    for (origin, operator), causes in sums.items():
        names = [cause.symbol for cause in causes if cause.symbol]
        more = f" and {len(names) - _PARTS} more" if len(names) > _PARTS else ""
        size = sum(cause.new for cause in causes)
        largest = [RowName(name, is_symbol=True) for name in names[:_PARTS]]
        texts = distinct(largest, room) if room else [name.text for name in largest]
        parts = f": {', '.join(texts)}{more}" if texts else ""
        lines.append((f"{size:,}", f"{origin} → {operator}{parts}"))
    return lines


def file_text(row: FileGrowth) -> str:
    """Name a source file that grew: src/scanner.cpp, or src/scanner.h (not in the change)."""
    if not row.file:
        return "tables, padding and code of no known file"
    return row.file if row.changed else f"{row.file} (not in the change)"


def dependency_text(row: DependencyGrowth) -> str:
    """Name a dependency, its versions and its bytes: fmt 9.1.0 → 10.2.1: 14,208 → 15,016."""
    old, new = row.old_version or "none", row.new_version or "none"
    return f"{row.name} {old} → {new}: {row.old:,} → {row.new:,}"
