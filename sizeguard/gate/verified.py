"""Turns a build into the verification of a selection's claims, kept by all that it is read from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sizeguard.attribution.store import Store
from sizeguard.build.fingerprint import sources_hash
from sizeguard.build.record import Build
from sizeguard.gate.keys import code_hash, file_hash, files_key, kept
from sizeguard.verify.result import Step, Verdict, Verification
from sizeguard.verify.verify import Claims, verify_build


def verified(root: Path, build: Build, selection: Path, store: Store | None) -> Verification:
    """Verify the build against the selection file: 1.2 s, unless the same files were verified by the same code before.

    Raises InconclusiveError where evidence is missing; that is never kept.
    """
    return kept(
        store,
        lambda: _inputs(root, build, selection),
        lambda: verify_build(root, build, Claims(selection=selection)),
        dataclasses.asdict,
        _read,
    )


def _inputs(root: Path, build: Build, selection: Path) -> Mapping[str, object]:
    files = [build.image, build.shipped, build.map, build.gc_log, build.selection, *build.objects, *build.lto_inputs]
    files += [path for path in (build.link_command,) if path is not None]
    debug = sorted(path for path in build.debug.rglob("*") if path.is_file()) if build.debug else []
    return {
        "kind": "verification",
        "code": code_hash(),
        "files": files_key(files),
        "names": [path.name for path in files],
        "folder": str(build.image.parent),  # objects and the map are named relative to it
        "selection": file_hash(selection),
        "against": str(selection),
        "sources": sources_hash(root),
        "debug": files_key(debug),
    }


def _read(known: Mapping[str, Any]) -> Verification:
    verdicts = tuple(
        Verdict(**{**each, "evidence": tuple(each["evidence"]), "chain": tuple(Step(**step) for step in each["chain"])})
        for each in known["verdicts"]
    )
    return Verification(**{**known, "verdicts": verdicts, "gaps": tuple(known["gaps"]), "canary_notes": tuple(known["canary_notes"])})
