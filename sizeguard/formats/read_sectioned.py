"""Read a PE, COFF or WebAssembly file as parts with named ranges."""

from __future__ import annotations

from pathlib import Path

from sizeguard.formats.magics import WASM
from sizeguard.formats.sectioned import SectionedImage


def read_sectioned(path: Path, format_: str) -> SectionedImage:
    """Read a PE, COFF or WebAssembly file. Raises InputError for a damaged file."""
    # Imported on use, because a command reads files of one of the formats
    if format_ == WASM:
        from sizeguard.formats.wasm.reader import read_wasm

        return read_wasm(path)
    from sizeguard.formats.pe.reader import read_pe

    return read_pe(path)
