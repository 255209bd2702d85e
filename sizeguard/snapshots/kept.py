"""Keep results under a key of all that they depend on: equal keys, equal results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from sizeguard.snapshots.store import Facts, Store, content_key

T = TypeVar("T")


def kept(
    store: Store | None,
    key: Callable[[], Mapping[str, object]],
    make: Callable[[], T],
    write: Callable[[T], Facts],
    read: Callable[[Facts], T],
) -> T:
    """Return the kept result of the same inputs, else make it and keep it.

    Without a store it is made. A kept result that cannot be read, from another version or by
    somebody else, is made again.
    """
    if store is None:
        return make()
    name = content_key(key())
    known = store.facts(name)
    if known is not None:
        try:
            return read(known)
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
    found = make()
    store.put(name, write(found))
    return found
