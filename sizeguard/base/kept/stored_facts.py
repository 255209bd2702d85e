"""Store facts about files by their states on disk, so that the next command need not read them.

A gate of 100 apps asks 15,000 files of builds whether they are linked, and hashes 1,500 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sizeguard.base.kept.hash_cache import HashCache, State, state_of

_Find = Callable[[str], str]
_StateOf = Callable[[str], State | None]


class _StoredFacts:
    """A file of facts for each kind, read when the first file is asked for."""

    def __init__(self, folder: Path) -> None:
        """Store facts in a folder."""
        self._folder = folder
        self._kinds: dict[str, HashCache] = {}

    def of(self, kind: str, path: str, state: State | None, find: _Find) -> str:
        """Return the fact that belongs to a file's present state."""
        if kind not in self._kinds:
            self._kinds[kind] = HashCache(self._folder / f"{kind}.json", find)
        return self._kinds[kind].of(path, state, find)

    def save(self) -> None:
        for each in self._kinds.values():
            each.save()


_facts: _StoredFacts | None = None


@contextmanager
def facts_stored_in(folder: Path) -> Iterator[None]:
    """Store facts in a folder until the block ends."""
    global _facts
    outer, _facts = _facts, (facts := _StoredFacts(folder))
    try:
        yield
    finally:
        _facts = outer
        facts.save()


def stored_fact(kind: str, path: str, find: _Find, state: _StateOf = state_of) -> str:
    """Return the fact that is stored for a file's state, else find it; elsewhere, always find it.

    kind:  names the question
    find:  answers it for a path, from the file's content alone
    state: unread_state for a question that is also asked of files that the command will replace
    """
    return find(path) if _facts is None else _facts.of(kind, path, state(path), find)
