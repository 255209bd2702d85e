"""A store of measurements by content key: facts as JSON, and a snapshot if there is one.

Snapshots, measurements, the gate and bisect share it. A key is the hash of everything that was
measured (see content_key), so an entry never changes. If two processes write the same key, either
may win. Layout of the store's folder:

    facts/KEY.json            the facts, and the hash of the snapshot that belongs to them
    snapshots/HASH.snapshot   named by its content: commits of one size share it
    files/KIND.json           facts about files of this machine by their states; see stored_facts
    users/PID.lock            held by a process that uses the store; see store_users

Facts are written after their snapshot, each file atomically, so facts always have their snapshot. A
damaged entry, or one with a damaged snapshot, is removed and counts as a miss.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read, write_atomic
from sizeguard.base.fingerprint import fingerprint
from sizeguard.base.input_files import readable
from sizeguard.snapshots.store_users import note_use

if TYPE_CHECKING:
    from sizeguard.attribution.analysis import Analysis

# The functions that read and write snapshots import that module themselves, since it takes 100 ms
# with numpy and facts do not need it.

FOLDER_VARIABLE = "SIZEGUARD_STORE"
_VERSION = 1
_MOST_FACTS = 16 << 20  # bytes; those of a measurement are below 1,000

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry; analysis is None if only facts were stored."""

    facts: Facts
    analysis: Analysis | None


def content_key(inputs: Mapping[str, object]) -> str:
    """Return the key for results of these inputs; equal inputs give equal results."""
    return fingerprint({"store": _VERSION, **inputs})


class Store:
    """A folder of measurements, created on the first write."""

    def __init__(self, folder: Path) -> None:
        """Use a folder."""
        self.folder = folder
        # Snapshots that are still in use: a gate compares equal images with each other.
        self._in_use: WeakValueDictionary[str, Analysis] = WeakValueDictionary()

    def facts(self, key: str) -> Facts | None:
        """Return the facts of an entry without reading its snapshot; None for a miss."""
        read = self._read(key)
        return read[0] if read is not None else None

    def get(self, key: str) -> Stored | None:
        """Return an entry with its analysis; None for a miss."""
        read = self._read(key)
        if read is None:
            return None
        facts, digest = read
        if digest is None:
            return Stored(facts, None)
        analysis = self._in_use.get(digest) or self._snapshot(digest)
        if analysis is None:
            self._facts_path(key).unlink(missing_ok=True)
            return None
        return Stored(facts, analysis)

    def put(self, key: str, facts: Facts, analysis: Analysis | None = None) -> Stored:
        """Store facts and an analysis, replacing an entry with that key.

        Raises InputError if the folder cannot be written.
        """
        if analysis is None:
            return self.put_snapshot(key, facts, None)
        from sizeguard.snapshots.snapshot import snapshot_bytes

        return self.put_snapshot(key, facts, snapshot_bytes(analysis))

    def put_snapshot(self, key: str, facts: Facts, snapshot: bytes | None) -> Stored:
        """Store facts and an analysis that is already packed by snapshot_bytes."""
        digest = None if snapshot is None else hashlib.sha256(snapshot).hexdigest()
        analysis: Analysis | None = None
        if snapshot is not None and digest is not None:
            file = self._snapshot_path(digest)
            if not file.is_file() or file.stat().st_size != len(snapshot):
                write_atomic(file, snapshot)
            note_use(self.folder, file)
            analysis = self._snapshot(digest)
            if analysis is None:  # the existing file is damaged
                write_atomic(file, snapshot)
                analysis = self._snapshot(digest)
            if analysis is None:
                raise InputError(f"{file}: is damaged right after it was written: check the disk")
        self._write(key, facts, digest)
        return Stored(facts, analysis)

    def copy(self, key: str, other: str) -> None:
        """Store an entry under another key, too; nothing for a miss."""
        read = self._read(key)
        if read is not None:
            self._write(other, *read)

    def _write(self, key: str, facts: Facts, digest: str | None) -> None:
        """Write the facts of an entry, and the hash of its snapshot."""
        text = json.dumps(
            {"schema_version": _VERSION, "key": key, "snapshot": digest, "facts": dict(facts)},
            sort_keys=True,
        )
        path = self._facts_path(key)
        note_use(self.folder, path)
        write_atomic(path, text + "\n")

    def _facts_path(self, key: str) -> Path:
        """Return the file of an entry's facts."""
        return self.folder / "facts" / f"{key}.json"

    def _snapshot_path(self, digest: str) -> Path:
        """Return the file of a snapshot."""
        return self.folder / "snapshots" / f"{digest}.snapshot"

    def _read(self, key: str) -> tuple[Facts, str | None] | None:
        """Read an entry's facts and its snapshot's hash; remove a damaged entry."""
        path = self._facts_path(key)
        try:
            with readable(path).open("rb") as file:
                data = file.read(_MOST_FACTS + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise cannot_read(path, error) from error
        entry = _entry(data, key)
        if entry is None:
            path.unlink(missing_ok=True)
        else:
            note_use(self.folder, path)
        return entry

    def _snapshot(self, digest: str) -> Analysis | None:
        """Read a snapshot; remove a damaged one."""
        from sizeguard.snapshots.snapshot import read_snapshot

        path = self._snapshot_path(digest)
        try:
            analysis = read_snapshot(path)  # this verifies the checksum
        except InputError:
            path.unlink(missing_ok=True)
            return None
        return self._in_use.setdefault(digest, analysis)


def _entry(data: bytes, key: str) -> tuple[Facts, str | None] | None:
    """Parse an entry; None for bytes that this module did not write."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(content, dict)
        or content.get("schema_version") != _VERSION
        or content.get("key") != key
    ):
        return None
    facts, digest = content.get("facts"), content.get("snapshot")
    if not isinstance(facts, dict) or not (
        digest is None or (isinstance(digest, str) and len(digest) == 64 and digest.isalnum())
    ):
        return None
    return facts, digest
