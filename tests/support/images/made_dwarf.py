"""Hand-made DWARF units, and images that contain them."""

from __future__ import annotations

from pathlib import Path

from tests.support.links.map_links import run


def unit_of(entries: bytes, offset: int = 0) -> bytes:
    """Make a DWARF 4 unit."""
    body = (4).to_bytes(2, "little") + offset.to_bytes(4, "little") + b"\x08" + entries
    return len(body).to_bytes(4, "little") + body


def abbreviation(
    code: int, tag: int, *attributes: tuple[int, int], children: bool = False
) -> bytes:
    return bytes((code, tag, children)) + b"".join(bytes(pair) for pair in attributes) + b"\0\0"


def hostile(
    folder: Path, image: Path, info: bytes, abbreviations: bytes, **sections: bytes
) -> Path:
    """Return the image with other debug information."""
    made = folder / "hostile"
    command: list[str | Path] = ["objcopy", "--strip-debug"]
    for name, content in {"info": info, "abbrev": abbreviations, **sections}.items():
        (folder / f"{name}.bin").write_bytes(content)
        command += ["--add-section", f".debug_{name}={folder / name}.bin"]
    run(*command, image, made, cwd=folder)
    return made
