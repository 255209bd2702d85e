"""Write the result of a gate as facts of the store, and read it back.

A verification has 600 claims. The store has it already, so a result only names its entry, and a
result of 100 apps on 3 targets has 6 MB instead of 50 MB.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from sizeguard.base.errors import InputError
from sizeguard.base.plain_data import decode, encode
from sizeguard.claims.verdict import Verification
from sizeguard.gate.gate_result import AppResult, GateResult
from sizeguard.snapshots.store import Facts, Store

_WHERE = "the store"
# Verifications that are in the store, by the keys of their entries, as long as they are in use.
_stored: WeakValueDictionary[str, Verification] = WeakValueDictionary()


def note_stored(entry: str, found: Verification) -> None:
    """Note that the store has a verification as an entry."""
    _stored[entry] = found


def facts_of(result: GateResult) -> Facts:
    """Return facts that result_of() reads; the claims that the store has are left out."""
    stored = {id(found): entry for entry, found in _stored.items()}
    entries = [stored.get(id(app.verification), "") for app in result.apps]
    apps = [
        replace(app, verification=None) if entry else app
        for app, entry in zip(result.apps, entries, strict=True)
    ]
    return {"gate": encode(replace(result, apps=())), "apps": encode(apps), "claims": entries}


def result_of(facts: Facts, store: Store) -> GateResult | None:
    """Read a result; None if the store lacks a part of it, or has one of another version."""
    parts, entries = facts.get("apps"), facts.get("claims")
    if not isinstance(parts, list) or not isinstance(entries, list) or len(parts) != len(entries):
        return None
    try:
        apps = tuple(_apps(zip(parts, entries, strict=True), store))
        return replace(decode(GateResult, facts.get("gate"), _WHERE), apps=apps)
    except InputError:
        return None


def _apps(rows: Iterable[tuple[Any, Any]], store: Store) -> Iterable[AppResult]:
    """Read one app after the other; together they have more values than decode() takes."""
    for part, entry in rows:
        app = decode(AppResult, part, _WHERE)
        if entry:
            claims = decode(Verification, dict(store.facts(str(entry)) or {}), _WHERE)
            app = replace(app, verification=claims)
        yield app
