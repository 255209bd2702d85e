"""Turns a binary or a build into the rows of a report: each byte once, by whatever levels are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.names import demangled, dtype_of, kernel_of, short_name
from sizeguard.attribution.reach import ENTRY_SIZE, Reached, reach
from sizeguard.attribution.result import CORE, LEVELS, OUTSIDE, SHARED, Report, Row
from sizeguard.errors import InputError
from sizeguard.formats.elf import Elf, read_elf
from sizeguard.formats.linkmap import read_map
from sizeguard.formats.linkmap.row import InputSection
from sizeguard.ledger.image import Owner, Part, Span, image_spans

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


def attribute(evidence: Evidence, by: Sequence[str]) -> Report:
    """Rows by the levels, the largest load first. Raises InputError for an unknown level."""
    for level in by:
        if level not in LEVELS:
            raise InputError(f"unknown level {level}; there are {', '.join(LEVELS)}")
    entries = evidence.reached.entries if evidence.reached is not None else ()
    parts = [Part(entry.object, entry.section, entry.offset, ENTRY_SIZE, entry.operator) for entry in entries]
    spans = image_spans(evidence.image, evidence.names, evidence.inputs, parts)
    sums: dict[tuple[str, ...], list[int]] = {}
    known: dict[Owner, Mapping[str, str]] = {}
    for span in spans:
        values = known.get(span.owner)
        if values is None:
            values = known[span.owner] = owner_values(span.owner, evidence.reached)
        row = sums.setdefault(tuple(values[level] for level in by), [0, 0, 0])
        row[0] += span.size
        row[1] += span.load
        row[2] += 1
    rows = [Row(keys, file, load, count) for keys, (file, load, count) in sums.items()]
    return Report(
        path=evidence.image.path,
        title=evidence.title,
        arch=evidence.image.machine,
        id=evidence.image.build_id,
        file=evidence.image.size,
        load=_load(spans),
        ram=evidence.image.ram,
        by=tuple(by),
        rows=tuple(sorted(rows, key=lambda row: (-row.load, -row.file, row.keys))),
    )


def _load(spans: Iterable[Span]) -> int:
    return sum(span.load for span in spans)


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
