"""Turns a binary or a build into the evidence of a report, and owners of bytes into a value for each level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.names import demangled, dtype_of, kernel_of, short_name
from sizeguard.attribution.reach import Reached, reach
from sizeguard.attribution.result import CORE, OUTSIDE, SHARED
from sizeguard.formats.elf import Elf, read_elf
from sizeguard.formats.linkmap import read_map
from sizeguard.formats.linkmap.row import InputSection
from sizeguard.ledger.image import Owner

# Kinds that belong to the image, not to a part of the program.
TABLES = frozenset({"symbol table", "string table", "dynamic", "import", "note", "header", "padding"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a report is made from: the image whose bytes count, one with symbols, and the link that made them."""

    image: Elf
    names: Elf
    inputs: tuple[InputSection, ...]
    reached: Reached | None
    title: str


def evidence_of_build(image: Path, shipped: Path, map_: Path, objects: Iterable[Path], title: str) -> Evidence:
    """A build: the shipped file's bytes, explained by its twin with symbols, the map and the objects."""
    return Evidence(read_elf(shipped), read_elf(image), read_map(map_), reach(objects, image.parent), title)


def evidence_of_file(path: Path) -> Evidence:
    """A binary alone: symbols are all that is known."""
    image = read_elf(path)
    return Evidence(image, image, (), None, path.name)


def owner_values(owner: Owner, reached: Reached | None) -> Mapping[str, str]:
    """A value for each level."""
    operator = _operator(owner, reached)
    kernel = kernel_of(owner.symbol)
    if not kernel and reached is not None:
        kernel = reached.kernels.get(operator, "")
    return {
        "operator": operator,
        "kernel": kernel,
        "dtype": dtype_of(owner.symbol) if owner.symbol else "",
        "component": "",
        "kind": owner.kind,
        "segment": "",
        "analyzer": "",
        "section": owner.section,
        "symbol": short_name(owner.symbol) or (f"({owner.input})" if owner.input else f"({owner.section.strip('()')})"),
        "object": owner.object,
    }


def _operator(owner: Owner, reached: Reached | None) -> str:
    if owner.part:
        return owner.part
    if not owner.loaded or owner.kind in TABLES or not (owner.symbol or owner.object):
        return OUTSIDE
    if reached is not None:
        return reached.owners.get((owner.object, owner.input), CORE)
    kernel = kernel_of(owner.symbol)
    if kernel:
        return f"kernel {kernel}"
    return SHARED if demangled(owner.symbol).startswith("sg::kernels::") else CORE
