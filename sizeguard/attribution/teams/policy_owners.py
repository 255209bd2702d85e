"""Owners of policy files: whether CODEOWNERS lists a waiver's owner, and who reviews the files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sizeguard.attribution.teams.code_owners import NOBODY, CodeOwners

_NAME = re.compile(r"[^\s<>(),;]+")


def is_known_owner(owners: CodeOwners, text: str) -> bool:
    """Return whether a rule lists a person or team: `ann`, `@ann`, `@org/size`, `ann@example.org`.

    text: as written in a waiver, such as `Ann <ann@example.org>`; one known name is enough. A
          team may be named without its organization.
    """
    known = {name for _, listed in owners.rules for name in _names(listed)}
    known |= {name.rpartition("/")[2] for name in known if "/" in name}
    return bool(known & set(_names(text)))


def without_owner(owners: CodeOwners, paths: Iterable[str]) -> list[str]:
    """List the paths, relative to the root, for which no rule names an owner."""
    return [path for path in paths if owners.of(path) in ("", NOBODY)]


def _names(text: str) -> list[str]:
    return [name.lstrip("@").lower() for name in _NAME.findall(text)]
