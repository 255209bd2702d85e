"""Write a proposal as a commented sizeguard.yaml."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.base.yaml.text import double_quoted, escaped_controls, yaml_command
from sizeguard.proposals.proposal import Proposal, ProposedImage

# Room for an image to grow, less than the room at which the gate suggests a tighter limit.
_ROOM_PERCENT, _ROOM_BYTES = 8, 512
_STEP = 256  # limits in bytes are multiples of it
_IN_KIB = 100 << 10  # larger limits are written in KiB


def config_text(proposal: Proposal) -> str:
    """Write the file."""
    return "".join(f"{line}\n" for line in _lines(proposal))


def limit_of(bytes_: int) -> str:
    """Propose a load limit for an image: today's size and some room."""
    limit = bytes_ + max(bytes_ * _ROOM_PERCENT // 100, _ROOM_BYTES)
    if limit >= _IN_KIB:
        return f'"{-(-limit // 1024):,} KiB"'
    return f'"{limit + -limit % _STEP:,} B"'


def _lines(proposal: Proposal) -> Iterator[str]:
    yield f"# Written by sizeguard init for a build by {proposal.system}."
    place = "" if proposal.is_git else " --in-place"
    yield (
        f"# Next: sizeguard init --check, sizeguard baseline update{place}, sizeguard gate{place}."
    )
    yield "targets:"
    yield f"  {yaml_command(proposal.target)}:"
    yield "limits:  # growth is counted from the merge base"
    yield "  load: {growth: 512 B}"
    yield "  ram: {growth: 512 B}"
    yield "apps:"
    yield f"  {yaml_command(proposal.app)}:"
    for note in proposal.notes:
        yield f"    # {escaped_controls(note)}"
    for name in proposal.selections:
        yield f"    # selects operators: {escaped_controls(name)}"
    if proposal.setup:
        yield f"    setup: {yaml_command(proposal.setup)}"
    if proposal.build:
        yield f"    build: {yaml_command(proposal.build)}"
        if proposal.ignore:
            names = ", ".join(map(double_quoted, proposal.ignore))
            yield f"    ignore: [{names}]  # the build does not read these"
    else:
        yield "    # without build: the image is measured as found"
    if len(proposal.images) == 1:
        yield from _image(proposal.images[0], "    ")
        return
    yield "    images:"
    for image in proposal.images:
        yield f"      {yaml_command(image.name)}:"
        yield from _image(image, "        ")


def _image(image: ProposedImage, indent: str) -> Iterator[str]:
    yield f"{indent}image: {yaml_command(image.image)}"
    for key, value in (("map", image.map), ("debug", image.debug), ("shipped", image.shipped)):
        if value:
            yield f"{indent}{key}: {yaml_command(value)}"
    if image.objects:
        yield f"{indent}objects: [{', '.join(map(double_quoted, image.objects))}]"
    for what, change in image.missing:
        yield f"{indent}# no {what}: {escaped_controls(change)}"
    yield f"{indent}limits:"
    load, ram = image.sizes.load, image.sizes.ram
    yield f"{indent}  load: {{max: {limit_of(load)}}}  # {load:,} B today"
    if ram:
        yield f"{indent}  ram: {{max: {limit_of(ram)}}}  # {ram:,} B today"
