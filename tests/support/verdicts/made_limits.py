"""Limits from texts as a configuration has them."""

from __future__ import annotations

from sizeguard.gate.policy.limits import GrowthLimit, Limit, parse_creep, parse_limit, parse_size


def limit(metric: str, kind: str, text: str, app: str = "", target: str = "") -> Limit:
    if kind == "creep":
        allowance, since = parse_creep(text, "x")
    else:
        allowance, since = (
            (
                GrowthLimit(text, 0, parse_size(text, "x"))
                if kind == "absolute"
                else parse_limit(text, "x")
            ),
            "",
        )
    return Limit(metric, kind, allowance, since, app, target, "sizeguard.yaml:1:1")
