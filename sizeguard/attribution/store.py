"""Turns a content key into a saved measurement: a snapshot, and facts about it as JSON.

The one store of snapshots, measurements, the gate and bisect. A key is the hash of all that was measured (see content_key), so an entry
never changes, and of two writers of one key it does not matter who comes last. Layout, in the store's folder:

    facts/KEY.json            the facts, with the hash of the snapshot that belongs to them, if one does
    snapshots/HASH.snapshot   named by its content: commits of one size share it

Facts are written after their snapshot, each file whole or not at all: who finds facts finds their snapshot. An entry that is damaged,
or whose snapshot is, is removed and is a miss.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sizeguard.attribution.analysis import Analysis
from sizeguard.build.fingerprint import fingerprint
from sizeguard.errors import InputError
from sizeguard.files import write_atomic

FOLDER_VARIABLE = "SIZEGUARD_STORE"
_VERSION = 1
_MOST_FACTS = 16 << 20  # bytes; those of a measurement have under 1,000

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stored:
    """analysis: None if facts alone were stored."""

    facts: Facts
    analysis: Analysis | None


def default_store(root: Path) -> Store:
    """$SIZEGUARD_STORE, else .sizeguard/store under the project's root."""
    return Store(Path(os.environ.get(FOLDER_VARIABLE) or root / ".sizeguard" / "store"))


def content_key(inputs: Mapping[str, object]) -> str:
    """The key of what was made from these inputs: equal inputs, equal bytes."""
    return fingerprint({"store": _VERSION, **inputs})


class Store:
    """A folder of measurements. It is made when first written to; reading creates nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def facts(self, key: str) -> Facts | None:
        """The facts alone; their snapshot is not looked at."""
        read = self._read(key)
        return read[0] if read is not None else None

    def get(self, key: str) -> Stored | None:
        read = self._read(key)
        if read is None:
            return None
        facts, digest = read
        if digest is None:
            return Stored(facts, None)
        analysis = self._snapshot(digest)
        if analysis is None:
            self._facts_path(key).unlink(missing_ok=True)
            return None
        return Stored(facts, analysis)

    def put(self, key: str, facts: Facts, analysis: Analysis | None = None) -> Stored:
        """Keep facts, and what was measured; an entry of that key is replaced. Raises InputError if the folder cannot be written."""
        from sizeguard.attribution.snapshot import snapshot_bytes

        return self.put_snapshot(key, facts, None if analysis is None else snapshot_bytes(analysis))

    def put_snapshot(self, key: str, facts: Facts, snapshot: bytes | None) -> Stored:
        """The same of an analysis that was made elsewhere, as snapshot_bytes."""
        digest = None if snapshot is None else hashlib.sha256(snapshot).hexdigest()
        analysis: Analysis | None = None
        if snapshot is not None and digest is not None:
            path = self._snapshot_path(digest)
            if not path.is_file() or path.stat().st_size != len(snapshot):
                write_atomic(path, snapshot)
            analysis = self._snapshot(digest)
            if analysis is None:  # what lay there was damaged
                write_atomic(path, snapshot)
                analysis = self._snapshot(digest)
            if analysis is None:
                raise InputError(f"{path}: is damaged as soon as it is written: check the disk")
        text = json.dumps({"schema_version": _VERSION, "key": key, "snapshot": digest, "facts": dict(facts)}, sort_keys=True)
        write_atomic(self._facts_path(key), text + "\n")
        return Stored(facts, analysis)

    def _facts_path(self, key: str) -> Path:
        return self.folder / "facts" / f"{key}.json"

    def _snapshot_path(self, digest: str) -> Path:
        return self.folder / "snapshots" / f"{digest}.snapshot"

    def _read(self, key: str) -> tuple[Facts, str | None] | None:
        path = self._facts_path(key)
        try:
            with path.open("rb") as file:
                data = file.read(_MOST_FACTS + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{path}: cannot read: {error.strerror}") from error
        entry = _entry(data, key)
        if entry is None:
            path.unlink(missing_ok=True)
        return entry

    def _snapshot(self, digest: str) -> Analysis | None:
        from sizeguard.attribution.snapshot import read_snapshot

        path = self._snapshot_path(digest)
        try:
            return read_snapshot(path)  # it checks its own checksum
        except InputError:
            path.unlink(missing_ok=True)
            return None


def _entry(data: bytes, key: str) -> tuple[Facts, str | None] | None:
    """None for what this module did not write."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("schema_version") != _VERSION or content.get("key") != key:
        return None
    facts, digest = content.get("facts"), content.get("snapshot")
    if not isinstance(facts, dict) or not (digest is None or (isinstance(digest, str) and len(digest) == 64 and digest.isalnum())):
        return None
    return facts, digest
