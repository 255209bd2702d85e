"""Store results under a key of everything that they depend on, so that equal inputs reuse them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from sizeguard.base.kept.moment import ask_again
from sizeguard.snapshots.store import Facts, Store, content_key

T = TypeVar("T")


def kept(
    store: Store | None,
    key: Callable[[], Mapping[str, object]],
    make: Callable[[], T],
    write: Callable[[T], Facts],
    read: Callable[[Facts], T],
) -> T:
    """Return the stored result for the same inputs, else make and store it.

    Without a store it is always made. An unreadable result, such as one from another version, is
    made again. A result is not stored if its inputs changed while it was made.
    """
    return make() if store is None else kept_as(store, key, make, write, read)[1]


def kept_as(
    store: Store,
    key: Callable[[], Mapping[str, object]],
    make: Callable[[], T],
    write: Callable[[T], Facts],
    read: Callable[[Facts], T],
) -> tuple[str, T]:
    """Return a result as kept() does, after the key of its entry in the store."""
    name = content_key(key())
    known = store.facts(name)
    if known is not None:
        try:
            return name, read(known)
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
    found = make()
    ask_again()
    if content_key(key()) == name:
        store.put(name, write(found))
    return name, found
