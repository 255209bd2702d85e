"""Cache the verification of a selection's claims, by the content of everything that it reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sizeguard.base.fingerprint import code_hash, file_hash, files_key
from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import ChainStep, Verdict, Verification
from sizeguard.gate.verified_builds import RequestedClaims, full_beside, verify_build
from sizeguard.runtimes.known import source_tree
from sizeguard.snapshots.kept import kept
from sizeguard.snapshots.store import Store


def verified(
    root: Path, build: Build, selection: Path, store: Store | None, full: Build | None = None
) -> Verification:
    """Verify the build against the selection file.

    full: a full build, which has everything that can be selected; None for the one beside the build

    Takes 1.2 s, unless the same code verified the same files before.

    Raises InconclusiveError if evidence is missing; such results are never cached.
    """
    return kept(
        store,
        lambda: _inputs(root, build, selection, full or full_beside(build)),
        lambda: verify_build(root, build, RequestedClaims(selection=selection, full=full)),
        dataclasses.asdict,
        _read,
    )


def _inputs(root: Path, build: Build, selection: Path, full: Build | None) -> Mapping[str, object]:
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
        "selection": file_hash(selection),
        "against": str(selection),
        "sources": source_tree(root)[1].key(),
        "debug": files_key(debug),
        "names": files_key([source_tree(root)[1].names_file()]),
        "full": files_key([full.image, *filter(None, [full.map]), *full.objects]) if full else "",
    }


def _read(known: Mapping[str, Any]) -> Verification:
    verdicts = tuple(
        Verdict(
            **{
                **each,
                "evidence": tuple(each["evidence"]),
                "chain": tuple(ChainStep(**step) for step in each["chain"]),
            }
        )
        for each in known["verdicts"]
    )
    return Verification(
        **{
            **known,
            "verdicts": verdicts,
            "gaps": tuple(known["gaps"]),
            "canary_notes": tuple(known["canary_notes"]),
        }
    )
