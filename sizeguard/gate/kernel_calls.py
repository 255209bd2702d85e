"""Turns a full build into who calls which operator and who runs which dtype switch, kept by the content of its objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sizeguard.attribution.static_selection import FullBuild, read_full_build
from sizeguard.attribution.store import Store
from sizeguard.build.record import Build
from sizeguard.gate.keys import code_hash, files_key, kept
from sizeguard.linkgraph.closure import Dependencies, Unknown

KIND = "kernel-calls"


def kernel_calls(full: Build, store: Store | None) -> FullBuild:
    """What read_full_build says, 0.4 s if it is not known yet. Raises InconclusiveError for builds that it cannot be read of."""
    link = [full.link_command] if full.link_command is not None else []
    return kept(
        store,
        lambda: {
            "kind": KIND,
            "code": code_hash(),
            "target": full.target,
            "linked": full.link,
            "objects": files_key([*full.objects, *full.lto_inputs]),
            "link": files_key(link),
            "switches": files_key([full.selection.parent / "kernel_tags.json"]),
        },
        lambda: read_full_build(full.image.parent),
        _written,
        _read,
    )


def _written(full: FullBuild) -> dict[str, Any]:
    found = full.dependencies
    return {
        "calls": _plain(found.calls),
        "at_load": sorted(found.at_load),
        "unknown": {owner: [[where.function, where.object] for where in places] for owner, places in found.unknown.items()},
        "operators": sorted(full.operators),
        "classes": sorted(full.classes),
        "tags": _plain(full.tags),
    }


def _read(known: Mapping[str, Any]) -> FullBuild:
    unknown = {owner: tuple(Unknown(function, where) for function, where in places) for owner, places in known["unknown"].items()}
    return FullBuild(
        Dependencies(_sets(known["calls"]), frozenset(known["at_load"]), unknown),
        frozenset(known["operators"]),
        frozenset(known["classes"]),
        _sets(known["tags"]),
    )


def _plain(table: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    return {name: sorted(names) for name, names in table.items()}


def _sets(table: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(names) for name, names in table.items()}
