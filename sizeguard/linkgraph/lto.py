"""Turns a link with LTO into the link of what LTO made of its inputs, where the linker kept that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.errors import InconclusiveError
from sizeguard.formats.elf import read_bytes
from sizeguard.linkgraph.inputs import Input, LinkInputs
from sizeguard.linkgraph.objects import is_lto


def without_lto(inputs: LinkInputs, kept: Sequence[Path] = ()) -> LinkInputs:
    """Put what the linker kept (given, or found beside the output) in the place of LTO's inputs.

    Raises InconclusiveError if there are such inputs and nothing was kept: no other object holds the code of the image.
    """
    is_input = [file.kind == "bitcode" or (file.kind in ("object", "archive") and is_lto(read_bytes(file.path))) for file in inputs.files]
    if not any(is_input):
        return inputs
    objects = tuple(kept) or _beside(inputs.output)
    if not objects:
        first = next(file.path for file, lto in zip(inputs.files, is_input, strict=True) if lto)
        raise InconclusiveError(f"{first}: made for LTO, and the linker kept no objects; link with -Wl,--save-temps or gcc's -save-temps")
    files: list[Input] = []
    for file, lto in zip(inputs.files, is_input, strict=True):
        if not lto:
            files.append(file)
        elif objects:
            files += [Input(path, "object") for path in objects]
            objects = ()
    return replace(inputs, files=tuple(files))


def _beside(output: Path | None) -> tuple[Path, ...]:
    if output is None:
        return ()
    patterns = (f"{output.name}.lto*.o", f"{output.name}.ltrans*.ltrans.o", f"{output.name}.lto/*.o")
    return tuple(sorted(path for pattern in patterns for path in output.parent.glob(pattern)))
