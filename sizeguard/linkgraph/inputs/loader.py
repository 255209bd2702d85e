"""Find the objects that a link loads, and the definition of each symbol."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sizeguard.base.errors import InconclusiveError
from sizeguard.linkgraph.inputs.link_inputs import LinkInputs
from sizeguard.linkgraph.inputs.link_state import LinkState
from sizeguard.linkgraph.inputs.loaded import Loaded
from sizeguard.linkgraph.inputs.objects import Object
from sizeguard.linkgraph.inputs.search_orders import load_like_gnu, load_like_lld, load_like_mold

_ORDERS = {"mold": load_like_mold, "lld": load_like_lld}


def load(inputs: LinkInputs) -> Loaded:
    """Find the objects that the link loads; archives are searched in the linker's order.

    Raises InputError for unusable files, InconclusiveError for LTO objects.
    """
    bitcode = next((file.path for file in inputs.files if file.kind == "bitcode"), None)
    if bitcode is not None:
        raise InconclusiveError(
            f"{bitcode}: LLVM bitcode; link with -Wl,--save-temps and give the objects that it"
            " keeps"
        )
    link = LinkState(inputs)
    _ORDERS.get(inputs.linker.family, load_like_gnu)(link)
    return link.result()


def as_placed(
    objects: Sequence[Object], placed: Sequence[Collection[int]], inputs: LinkInputs
) -> Loaded:
    """Describe a link without its command line, from the sections in its image.

    objects: in link order
    placed:  for each object, its sections in the image

    A group belongs to the object whose copy is in the image, else to the first that has it.
    """
    link = LinkState(inputs, objects=list(objects))
    link.machine = objects[0].elf.machine if objects else ""
    winner: dict[bytes, int] = {}
    for is_certain in (True, False):
        for number, (found, there) in enumerate(zip(objects, placed, strict=True)):
            for group in found.groups:
                if group.signature and (
                    not is_certain or any(member in there for member in group.members)
                ):
                    winner.setdefault(group.signature, number)
    for number, found in enumerate(objects):
        lost = {
            m
            for group in found.groups
            if winner.get(group.signature, number) != number
            for m in group.members
        }
        link.discarded.append(frozenset(lost))
    return link.result()
