"""Cache the verification of a selection's claims, by the content of everything that it reads."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sizeguard.base.fingerprint import code_hash, files_key
from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import ChainStep, Verdict, Verification
from sizeguard.gate.cache.requested_claims import RequestedClaims, full_beside
from sizeguard.gate.cache.stored_result import note_stored
from sizeguard.runtimes.known import source_tree
from sizeguard.snapshots.kept import kept_as
from sizeguard.snapshots.store import Facts, Store


def verified(
    root: Path,
    build: Build,
    selection: Path,
    store: Store | None,
    requested: RequestedClaims | None = None,
) -> Verification:
    """Verify the build against the selection file.

    requested: what else is claimed, and the full build, which says what there is to select from;
               if that is None, the one beside the build

    Takes 1.2 s, unless the same code verified the same files before.

    Raises InconclusiveError if evidence is missing; such results are never cached.
    """
    claims = replace(requested or RequestedClaims(), selection=selection)

    def make() -> Verification:
        # Takes 90 ms, which a run without new builds saves.
        from sizeguard.gate.verified_builds import verify_build

        return verify_build(root, build, claims)

    if store is None:
        return make()
    inputs = functools.partial(_inputs, root, build, selection, claims)
    entry, found = kept_as(store, inputs, make, _written, _read)
    note_stored(entry, found)
    return found


def _inputs(
    root: Path, build: Build, selection: Path, claims: RequestedClaims
) -> Mapping[str, object]:
    full = claims.full or full_beside(build)
    files = [build.image, build.shipped, *build.objects, *build.lto_inputs]
    told = (build.map, build.gc_log, build.selection, build.link_command)
    files += [path for path in told if path is not None]
    debug = sorted(path for path in build.debug.rglob("*") if path.is_file()) if build.debug else []
    return {
        "kind": "verification",
        "code": code_hash(),
        "files": files_key(files),
        "file_names": [path.name for path in files],
        "folder": str(build.image.parent),  # the record names objects and the map relative to it
        "selection": files_key([selection]),
        "against": str(selection),
        "named": [*claims.absent, "", *claims.present],
        "shared_with": [*map(str, claims.shared_with), *files_key(claims.shared_with)],
        "sources": source_tree(root)[1].key(),
        "debug": files_key(debug),
        "names": files_key([source_tree(root)[1].names_file()]),
        "full": files_key([full.image, *filter(None, [full.map]), *full.objects]) if full else "",
    }


def _written(found: Verification) -> Facts:
    """Write verdicts that differ in their name alone once: a build has 626 of 50 to 70 kinds."""
    alike: dict[Verdict, int] = {}
    rows = [alike.setdefault(replace(each, name=""), len(alike)) for each in found.verdicts]
    plain = dataclasses.asdict(replace(found, verdicts=tuple(alike)))
    return {**plain, "names": [each.name for each in found.verdicts], "alike": rows}


def _read(known: Mapping[str, Any]) -> Verification:
    given = dict(known)
    names, rows = given.pop("names"), given.pop("alike")
    alike = [_fields(each) for each in given["verdicts"]]
    given["verdicts"] = tuple(
        Verdict(alike[row][0], name, *alike[row][1:]) for row, name in zip(rows, names, strict=True)
    )
    for listed in ("gaps", "canary_notes"):
        given[listed] = tuple(given[listed])
    return Verification(**given)


def _fields(known: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the fields of a verdict without its name, in order."""
    chain = tuple(ChainStep(**step) for step in known["chain"])
    read = Verdict(**{**known, "evidence": tuple(known["evidence"]), "chain": chain})
    return tuple(getattr(read, field.name) for field in fields(Verdict) if field.name != "name")
