"""Byte ranges inside symbols whose owner is known only from the objects of the link.

An example is an entry of a registration table.
"""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of an object's input section that have an owner, whatever symbols contain them."""

    object: str
    input: str
    offset: int
    size: int
    owner: str
