"""Write the findings of sizeguard init, as lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from sizeguard.proposals.proposal import Proposal, ProposedImage
from sizeguard.report.writers.printable import plain_text

_SHOWN = 8  # omitted images to name


def proposal_lines(proposal: Proposal) -> str:
    """Write the images with their sizes, the commands, missing flags and omitted images."""
    return plain_text(_lines(proposal))


def _lines(proposal: Proposal) -> Iterator[str]:
    folder = os.path.relpath(proposal.folder, proposal.root)
    yield f"{proposal.system} build in {folder}, for {proposal.target}"
    if proposal.setup:
        yield f"  setup: {proposal.setup}"
    if proposal.build:
        yield f"  build: {proposal.build}"
    many = len(proposal.images) > 1
    for image in proposal.images:
        yield from _image(image, f"{proposal.app}.{image.name}" if many else proposal.app)
    for name in proposal.selections:
        yield f"{name} selects operators"
    yield from _left_out(proposal.left_out)
    for note in proposal.notes:
        yield f"note: {note}"


def _image(image: ProposedImage, name: str) -> Iterator[str]:
    yield f"{name}: {image.image}, load {image.sizes.load:,} B, ram {image.sizes.ram:,} B"
    for key, value in (("map", image.map), ("debug", image.debug), ("shipped", image.shipped)):
        if value:
            yield f"  {key}: {value}"
    for pattern in image.objects:
        yield f"  objects: {pattern}"
    for what, change in image.missing:
        yield f"  no {what}: {change}"


def _left_out(left_out: Sequence[tuple[str, str]]) -> Iterator[str]:
    for path, why in left_out[:_SHOWN]:
        yield f"left out: {path} ({why})"
    if len(left_out) > _SHOWN:
        yield f"left out: {len(left_out) - _SHOWN} more"
