"""Loaded objects of a link and the definitions of its symbols, as data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.linkgraph.inputs.link_inputs import LinkInputs
from sizeguard.linkgraph.inputs.objects import Object


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Objects of a link in order, and its symbols by number.

    machine:     machine of all objects
    numbers:     name → number
    global_ids:  by object, the numbers of its `globals`
    definition:  number → (object, index into its symbol table); (-1, -1) if no object defines it
    in_shared:   number → whether a shared library defines it
    from_shared: number → whether a shared library requests it
    discarded:   by object, the sections left out because an earlier object has the group
    providers:   name → the library that defines it, and the version there
    """

    inputs: LinkInputs
    machine: str
    objects: tuple[Object, ...]
    numbers: dict[bytes, int]
    global_ids: tuple[npt.NDArray[np.int32], ...]
    definition: npt.NDArray[np.int32]
    in_shared: npt.NDArray[np.bool_]
    from_shared: npt.NDArray[np.bool_]
    discarded: tuple[frozenset[int], ...]
    providers: dict[bytes, tuple[str, str]]
