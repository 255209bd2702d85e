"""Cache the operators and dtype switches that each kernel of a full build uses.

The key is the content of the build's objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sizeguard.base.fingerprint import code_hash, files_key
from sizeguard.builds.build_record import Build
from sizeguard.predict.call_closure import Dependencies
from sizeguard.predict.full_build import FullBuild, read_full_build
from sizeguard.predict.reach_result import Unknown
from sizeguard.runtimes.known import facts_files
from sizeguard.snapshots.kept import kept
from sizeguard.snapshots.store import Store

KIND = "kernel-calls"


def kernel_calls(full: Build, store: Store | None) -> FullBuild:
    """Read the calls of a full build; 0.4 s if they are not in the store.

    Raises InconclusiveError for a build whose calls cannot be read.
    """
    return kept(
        store,
        lambda: {"kind": KIND, "code": code_hash(), **objects_key(full)},
        lambda: read_full_build(full.image.parent),
        _written,
        _read,
    )


def objects_key(full: Build) -> Mapping[str, object]:
    """Identify a full build by its objects, its link and the facts that its sources give."""
    link = [full.link_command] if full.link_command is not None else []
    return {
        "target": full.target,
        "linked": full.link,
        "objects": files_key([*full.objects, *full.lto_inputs]),
        "link": files_key(link),
        "switches": files_key(facts_files(full)),
    }


def _written(full: FullBuild) -> dict[str, Any]:
    found = full.dependencies
    return {
        "calls": _plain(found.calls),
        "at_load": sorted(found.at_load),
        "unknown": {
            owner: [[where.function, where.object] for where in places]
            for owner, places in found.unknown.items()
        },
        "operators": sorted(full.operators),
        "classes": sorted(full.classes),
        "tags": _plain(full.tags),
    }


def _read(known: Mapping[str, Any]) -> FullBuild:
    unknown = {
        owner: tuple(Unknown(function, where) for function, where in places)
        for owner, places in known["unknown"].items()
    }
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
