"""Remove old and excess entries from a store, except those that a running process may use."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.dataclass import dataclass
from sizeguard.snapshots.cleaning_result import Cleaning, StorePart
from sizeguard.snapshots.store_users import StoreUsers, running_users

USUAL_SIZE, USUAL_AGE = 2 << 30, 180 * 86400  # bytes and seconds
_SECOND = 1_000_000_000  # nanoseconds


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Limits of a store. max_size: bytes; max_age: seconds; place: where they are configured."""

    max_size: int = USUAL_SIZE
    max_age: int = USUAL_AGE
    place: str = ""


@dataclass(frozen=True, slots=True)
class _StoreEntry:
    """A file of facts. size: without its snapshot, a digest; used: time of last use, in ns."""

    path: Path
    size: int
    snapshot: str
    used: int


class _FreedEntry(NamedTuple):
    """An entry to remove, and the bytes that this frees."""

    entry: _StoreEntry
    freed: int


def clean_store(folder: Path, limits: StoreLimits, *, is_dry: bool) -> Cleaning:
    """Remove old entries, then the least recently used ones until the rest fits the size limit."""
    users = running_users(folder)
    entries = sorted(_entries(folder), key=lambda entry: (entry.used, entry.path.name))
    snapshots = {path.stem: path for path in (folder / "snapshots").glob("*.snapshot")}
    sizes = {name: _size(path) for name, path in snapshots.items()}
    surplus = _surplus(entries, sizes, limits, users)
    lost = _lost(snapshots, entries, users)
    if not is_dry:
        _remove([each.entry for each in (*surplus.old, *surplus.over)], users)
        _unlink([*(snapshots[name] for name in surplus.snapshots if name in snapshots), *lost])
    return Cleaning(
        folder=str(folder),
        held=surplus.held,
        max_size=limits.max_size,
        max_age=limits.max_age,
        place=limits.place,
        old=_part(surplus.old),
        over=_part(surplus.over),
        lost=StorePart(len(lost), sum(sizes[path.stem] for path in lost)),
        in_use=StorePart(
            len(surplus.busy),
            sum(entry.size + sizes.get(entry.snapshot, 0) for entry in surplus.busy),
        ),
        users=users.count,
        is_dry=is_dry,
    )


@dataclass(frozen=True, slots=True)
class _Surplus:
    """The entries that exceed the limits.

    held:      all entries, with their snapshots
    old, over: entries to remove, because of their age or of the size of the whole
    busy:      entries that a running command may use
    snapshots: the snapshots that only removed entries have
    """

    held: StorePart
    old: list[_FreedEntry]
    over: list[_FreedEntry]
    busy: list[_StoreEntry]
    snapshots: set[str]


def _surplus(
    entries: Sequence[_StoreEntry], sizes: Mapping[str, int], limits: StoreLimits, users: StoreUsers
) -> _Surplus:
    """Choose the entries to remove, from the least recently used.

    sizes: bytes of each snapshot
    """
    owners = Counter(entry.snapshot for entry in entries if entry.snapshot)
    oldest = time.time_ns() - limits.max_age * _SECOND
    total = sum(entry.size for entry in entries) + sum(
        sizes[name] for name in owners if name in sizes
    )
    held = StorePart(len(entries), total)
    old: list[_FreedEntry] = []
    over: list[_FreedEntry] = []
    busy: list[_StoreEntry] = []
    for entry in entries:
        is_old, is_over = entry.used < oldest, total > limits.max_size
        if not is_old and not is_over:
            continue
        if _may_be_used(users, entry.used):
            busy.append(entry)
            continue
        owners[entry.snapshot] -= 1
        freed = entry.size + (sizes.get(entry.snapshot, 0) if not owners[entry.snapshot] else 0)
        total -= freed
        (old if is_old else over).append(_FreedEntry(entry, freed))
    gone = {each.entry.snapshot for each in (*old, *over)}
    unused = {name for name, left in owners.items() if not left}
    return _Surplus(held, old, over, busy, gone & unused)


def _lost(
    snapshots: Mapping[str, Path], entries: Iterable[_StoreEntry], users: StoreUsers
) -> list[Path]:
    """List the snapshots that no entry names and that no running command may be writing."""
    known = {entry.snapshot for entry in entries}
    return [
        path
        for name, path in snapshots.items()
        if name not in known and not _may_be_used(users, _modified(path))
    ]


def _part(taken: Sequence[_FreedEntry]) -> StorePart:
    return StorePart(len(taken), sum(each.freed for each in taken))


def _may_be_used(users: StoreUsers, used: int) -> bool:
    """Return whether something was used or written since the oldest running user began."""
    return users.since is not None and used >= users.since


def _entries(folder: Path) -> Iterable[_StoreEntry]:
    for path in (folder / "facts").glob("*.json"):
        if not path.is_file():
            continue
        try:
            digest = json.loads(path.read_bytes()).get("snapshot")
            stat = path.stat()
        except (OSError, ValueError, AttributeError, RecursionError):
            digest, stat = None, None
        if stat is None:
            yield _StoreEntry(path, _size(path), "", 0)  # damaged, so it has no use
        else:
            yield _StoreEntry(
                path, stat.st_size, digest if isinstance(digest, str) else "", stat.st_mtime_ns
            )


def _remove(entries: Iterable[_StoreEntry], users: StoreUsers) -> None:
    """Remove entries, except those that a process has begun to use in the meantime."""
    _unlink(
        entry.path
        for entry in entries
        if _modified(entry.path) == entry.used or not _may_be_used(users, _modified(entry.path))
    )


def _unlink(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
