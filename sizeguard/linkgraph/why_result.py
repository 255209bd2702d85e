"""The reasons why something is in an image, as data."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WhyStep:
    """Node of a chain.

    node:    number in the section graph
    section, symbol, object: where its bytes come from; symbol is mangled
    how:     how the previous step keeps it
    frees:   bytes that removing this reference would free
    """

    node: int
    section: str
    symbol: str
    object: str
    how: str
    frees: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Shortest chain from one root to the subject, or to a part of it.

    root_kind: why the linker keeps the first step
    """

    root_kind: str
    steps: tuple[WhyStep, ...]


@dataclass(frozen=True, slots=True)
class Why:
    """The reasons why a subject is in the image.

    live:    whether a root reaches any of it
    size:    live bytes of the subject
    frees:   bytes that removing it would free
    roots:   number of roots that reach it; there may be fewer chains
    chains:  one for each root, the shortest first
    coarse:  objects compiled without -ffunction-sections; their functions are kept or removed
        together, so a chain through one is less exact
    aliases: other names of the subject's code or data, mangled
    is_root:     whether the linker keeps a part of it without a reference
    is_referred: whether something else in the image refers to it
    """

    subject: str
    live: bool
    size: int
    frees: int
    roots: int
    chains: tuple[Chain, ...]
    coarse: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    is_root: bool = False
    is_referred: bool = False
