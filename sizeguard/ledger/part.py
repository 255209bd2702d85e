"""Turns what only the objects of a link tell into bytes that belong to someone: an entry of a registration table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of an input section of an object that belong to someone, whatever symbol they lie in."""

    object: str
    input: str
    offset: int
    size: int
    owner: str
