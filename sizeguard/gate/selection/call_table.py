"""Check that op_deps.yaml lists the calls of the full builds that the gate made."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sizeguard.base.errors import listed
from sizeguard.claims.verdict import FAIL
from sizeguard.gate.gate_result import SelectionFinding
from sizeguard.gate.selection.review_record import shown_path
from sizeguard.predict.full_build import FullBuild
from sizeguard.runtimes.runtime import CallTable
from sizeguard.selection.op_deps import OpDeps

STALE = "stale"
# The builds that the file is written from; other compilers may inline a function so that its tag is
# lost.
WRITTEN_FROM = "x86_64-linux"


def check_call_table(
    root: Path, table: CallTable | None, fulls: Mapping[str, FullBuild]
) -> Iterator[SelectionFinding]:
    """Find calls that the file lacks, and calls in the file that no build has.

    Selective builds keep the callees in the file, so builds with a stale file can fail when they
    run.

    fulls: target → its full build. Without the build of WRITTEN_FROM, removed calls are not looked
           for.
    """
    if table is None or not fulls:
        return
    built = functools.reduce(OpDeps.union, (full.op_deps for full in fulls.values()))
    missing = _beyond(built, table.deps)
    gone = _beyond(table.deps, built) if WRITTEN_FROM in fulls else []
    if missing or gone:
        parts = [f"{listed(missing)} missing"] if missing else []
        parts += [f"{listed(gone)} in no build"] if gone else []
        file = shown_path(root, table.path)
        yield SelectionFinding(
            "",
            STALE,
            table.path.name,
            FAIL,
            f"{file} is not of these kernels: {'; '.join(parts)}",
            f"sizeguard select static --op-deps {file}",
            file,
        )


def _beyond(some: OpDeps, others: OpDeps) -> list[str]:
    """List entries that only the first table has, in readable form."""
    found = sorted(set(some.calls) - set(others.calls))
    found += [f"{name} at load" for name in sorted(some.at_load - others.at_load)]
    for name in sorted(set(some.calls) & set(others.calls)):
        found += _each(name, "→", some.calls[name], others.calls[name])
        found += _each(name, "tag", some.tags.get(name, ()), others.tags.get(name, ()))
        unknown = some.unknown.get(name, ()), others.unknown.get(name, ())
        found += _each(name, "calls without a constant name in", *unknown)
    return found


def _each(name: str, word: str, some: Iterable[str], others: Iterable[str]) -> list[str]:
    return [f"{name} {word} {each}" for each in sorted(set(some) - set(others))]
