"""Replace the inputs of an LTO link by the objects that the linker generated and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.archive import map_file
from sizeguard.linkgraph.inputs.link_inputs import LinkInput, LinkInputs
from sizeguard.linkgraph.inputs.objects import is_lto


def lto_inputs(inputs: LinkInputs) -> list[LinkInput]:
    """List the inputs that the linker compiles: LTO objects, bitcode, archives with either."""
    searched = {file.content for file in inputs.files if file.kind in ("object", "archive")}
    found = {path for path in searched if is_lto(map_file(path))}
    return [file for file in inputs.files if file.kind == "bitcode" or file.content in found]


def without_lto(inputs: LinkInputs, kept: Sequence[Path] = ()) -> LinkInputs:
    """Replace LTO inputs by the generated objects, from `kept` or next to the output.

    Raises InconclusiveError if there are LTO inputs but no generated objects, since no other object
    contains the image's code.
    """
    found = set(lto_inputs(inputs))
    is_input = [file in found for file in inputs.files]
    if not any(is_input):
        return inputs
    objects = (
        tuple(LinkInput(path, "object") for path in kept)
        or inputs.lto
        or tuple(LinkInput(path, "object") for path in _beside(inputs.output))
    )
    if not objects:
        first = next(file.path for file, lto in zip(inputs.files, is_input, strict=True) if lto)
        raise InconclusiveError(
            f"{first}: made for LTO, and the linker kept no objects; record the build with"
            " sizeguard record, or link with -Wl,--save-temps or gcc's -save-temps"
        )
    files: list[LinkInput] = []
    for file, lto in zip(inputs.files, is_input, strict=True):
        if not lto:
            files.append(file)
        elif objects:
            files += objects
            objects = ()
    return replace(inputs, files=tuple(files))


def _beside(output: Path | None) -> tuple[Path, ...]:
    if output is None:
        return ()
    patterns = (
        f"{output.name}.lto*.o",
        f"{output.name}.ltrans*.ltrans.o",
        f"{output.name}.lto/*.o",
    )
    return tuple(sorted(path for pattern in patterns for path in output.parent.glob(pattern)))
