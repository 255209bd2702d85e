"""Turns baselines into what `sizeguard baseline` prints."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sizeguard.gate.result import Baseline, Update


def update_text(updates: Sequence[Update]) -> str:
    return "\n".join(_update(update) for update in updates)


def _update(update: Update) -> str:
    new, old = update.new, update.old
    change = "new" if old is None else "unchanged" if old == new else f"{new.load - old.load:+,} since the last"
    return f"{new.app:<12} {new.toolchain:<24} load {new.load:>9,}  {change}  {update.path.parent.name}/{update.path.name}"


def baselines_text(baselines: Sequence[Baseline], format_: str) -> str:
    if format_ == "json":
        rows = [
            {
                "app": b.app,
                "target": b.target,
                "toolchain": b.toolchain,
                "load": b.load,
                "ram": b.ram,
                "file": b.file,
                "operators": dict(b.operators),
            }
            for b in baselines
        ]
        return json.dumps({"schema_version": 1, "baselines": rows}, indent=1)
    if not baselines:
        return "there are no baselines; make them with: sizeguard baseline update"
    lines = [f"{'app':<12} {'target':<14} {'toolchain':<24} {'load':>9} {'ram':>7} {'file':>9} {'rows':>5}"]
    lines += [
        f"{b.app:<12} {b.target:<14} {b.toolchain:<24} {b.load:>9,} {b.ram:>7,} {b.file:>9,} {len(b.operators):>5}" for b in baselines
    ]
    return "\n".join(lines)
