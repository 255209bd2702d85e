"""Find the owners of registration tables' entries and of the functions that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from sizeguard.attribution.owners.cuts import Cut, apart, span_end, with_cuts
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int32
from sizeguard.formats.elf import Elf
from sizeguard.formats.elf.layout import signed
from sizeguard.formats.elf.unwind import header_table, read_frames
from sizeguard.ledger.kinds import ANALYZER
from sizeguard.ledger.ledger import NONE, Ledger
from sizeguard.ledger.partition import Partition
from sizeguard.names.registered import Registration


@dataclass(frozen=True, slots=True)
class Served:
    """Ledger with separate owners for registered entries and functions.

    operator: by owner of the ledger, index into `operators`, or NONE
    """

    ledger: Ledger
    operator: Int32
    operators: tuple[str, ...]


def serve(image: Elf, ledger: Ledger, registrations: tuple[Registration, ...]) -> Served:
    """Assign registered entries and functions to their operators.

    Entries and functions without a symbol get new owners; those with a symbol keep their row. A
    function ends where its unwind entry ends. Several operators that share a function are named
    together.
    """
    labels = _operators_of_functions(registrations)
    operators = tuple(sorted(set(labels.values())))
    number = {label: i for i, label in enumerate(operators)}
    operator = np.full(len(ledger.owners), NONE, np.int32)
    found: list[Cut] = []
    for address, size, label in _wanted(image, registrations, labels):
        start = _offset(image, address, size)
        if start is None:
            continue
        owner, end = _span_at(ledger.file, start)
        if owner < 0:
            continue
        if ledger.owners.symbol[owner] != NONE:
            if size == 1 or address in labels:
                operator[owner] = number[label]
        elif size > 1 and start + size <= end:
            found.append(Cut(start, start + size, owner, label))
    cuts = apart(found)
    of_cuts = np.array([number[cut.label] for cut in cuts], np.int32)
    by_relocations = with_cuts(ledger, cuts, ANALYZER["relocation"])
    return Served(by_relocations, np.concatenate([operator, of_cuts]), operators)


def _operators_of_functions(registrations: Iterable[Registration]) -> dict[int, str]:
    """Map the address of each registered function to its operators: "a, b"."""
    found: dict[int, set[str]] = {}
    for entry in registrations:
        found.setdefault(entry.function, set()).add(entry.name)
    return {function: ", ".join(sorted(names)) for function, names in found.items()}


def _wanted(
    image: Elf, registrations: Iterable[Registration], labels: dict[int, str]
) -> Iterator[tuple[int, int, str]]:
    """Yield address, size in bytes and operators of all entries and functions.

    For a function without an unwind entry the size is one byte, which is enough to find a named
    owner.
    """
    sizes = _function_sizes(image)
    for entry in registrations:
        yield entry.address, entry.size, labels[entry.function]
    for function, label in labels.items():
        if function in sizes:
            yield function, sizes[function], label
    for function, label in labels.items():
        if function not in sizes:
            yield function, 1, label


def _span_at(file: Partition, place: int) -> tuple[int, int]:
    """Return the owner and the end of the span that contains a byte of the file."""
    span = int(np.searchsorted(file.start, place, side="right")) - 1
    return int(file.owner[span]), span_end(file, span)


def _function_sizes(image: Elf) -> dict[int, int]:
    """Map the address of each function that has an unwind entry to its size."""
    frame = image.section(".eh_frame")
    header = image.section(".eh_frame_hdr")
    if frame is None or not frame.load_size:
        return {}
    frames = read_frames(
        image,
        frame,
        header_table(image, header) if header is not None and header.load_size else None,
    )
    rows = np.flatnonzero(frames.extent > 0)
    function, size = frames.function[rows], frames.extent[rows]
    order = np.argsort(function)
    function, size = function[order], size[order]
    ok = function + size <= np.append(function[1:], np.iinfo(np.int64).max)
    return dict(zip(function[ok].tolist(), size[ok].tolist(), strict=True))


def _offset(image: Elf, address: int, size: int) -> int | None:
    for section in image.sections:
        if (
            section.load_size
            and signed(section.address) <= address
            and address + size <= signed(section.address) + section.load_size
        ):
            return section.offset + address - signed(section.address)
    return None
