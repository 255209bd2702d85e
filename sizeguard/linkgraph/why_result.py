"""What is said of why a subject is there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a chain. how: by what the one before keeps it; frees: the bytes that go if that one link is cut."""

    node: int
    section: str
    symbol: str
    object: str
    how: str
    frees: int


@dataclass(frozen=True, slots=True)
class Chain:
    """root_kind: why the first step stays by itself. The last step is, or is part of, the subject."""

    root_kind: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """size: bytes of the subject that are live. frees: bytes that would go with it. chains: one a root, the shortest first.

    roots: how many roots reach it; chains may be fewer. coarse: objects whose functions stay or go together, which blurs every chain.
    """

    subject: str
    live: bool
    size: int
    frees: int
    roots: int
    chains: tuple[Chain, ...]
    coarse: tuple[str, ...] = ()
