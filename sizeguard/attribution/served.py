"""Turns the registration tables of an image into owners of their bytes: entries, and the functions that they name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sizeguard.attribution.registrations import Registration
from sizeguard.formats.elf import Elf
from sizeguard.formats.elf.layout import signed
from sizeguard.formats.elf.unwind import FDE, header_table, read_frames
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, Int32, Ledger, Owners
from sizeguard.ledger.partition import Partition
from sizeguard.ledger.sums import ColumnSums


@dataclass(frozen=True, slots=True)
class Served:
    """operator: for each owner of the ledger the number of its text in `operators`, or NONE."""

    ledger: Ledger
    operator: Int32
    operators: tuple[str, ...]


def serve(image: Elf, ledger: Ledger, registrations: tuple[Registration, ...]) -> Served:
    """Entries and functions that no symbol names become owners of their own; those that one names keep their row.

    A function ends where its unwind entry says. Several operators that share one are named together.
    """
    of_function: dict[int, set[str]] = {}
    for entry in registrations:
        of_function.setdefault(entry.function, set()).add(entry.operator)
    labels = {function: ", ".join(sorted(names)) for function, names in of_function.items()}
    sizes = _function_sizes(image)
    wanted = [(entry.address, entry.size, labels[entry.function]) for entry in registrations]
    wanted += [(function, sizes[function], label) for function, label in labels.items() if function in sizes]
    # Without an unwind entry, and with a symbol: one byte finds the row.
    wanted += [(function, 1, label) for function, label in labels.items() if function not in sizes]
    operators = tuple(sorted(set(labels.values())))
    number = {label: i for i, label in enumerate(operators)}
    operator = np.full(len(ledger.owners), NONE, np.int32)
    cuts: list[tuple[int, int, int, str]] = []  # start, end, owner, operator
    for address, size, label in wanted:
        start = _offset(image, address, size)
        if start is None:
            continue
        span = int(np.searchsorted(ledger.file.start, start, side="right")) - 1
        owner = int(ledger.file.owner[span])
        span_end = int(ledger.file.start[span + 1]) if span + 1 < len(ledger.file.start) else ledger.file.size
        if owner < 0:
            continue
        if ledger.owners.symbol[owner] != NONE and size > 1 and address in labels:
            operator[owner] = number[label]
        elif size > 1 and start + size <= span_end and ledger.owners.symbol[owner] == NONE:
            cuts.append((start, start + size, owner, label))
        elif size == 1 and ledger.owners.symbol[owner] != NONE:
            operator[owner] = number[label]
    cuts = apart(cuts)
    added = np.array([number[label] for _, _, _, label in cuts], np.int32)
    return Served(cut(ledger, cuts, ANALYZER["relocation"]), np.concatenate([operator, added]), operators)


def apart(cuts: list[tuple[int, int, int, str]]) -> list[tuple[int, int, int, str]]:
    """Those that do not overlap one before them."""
    kept: list[tuple[int, int, int, str]] = []
    for cut in sorted(set(cuts)):
        if not kept or cut[0] >= kept[-1][1]:
            kept.append(cut)
    return kept


def cut(ledger: Ledger, cuts: list[tuple[int, int, int, str]], analyzer: int | None = None) -> Ledger:
    """The ledger with an owner more for each cut (start, end, owner, …), behind all others, which takes its bytes from another."""
    if not cuts:
        return ledger
    rows = len(ledger.owners)
    start, end, owner = (np.array([cut[k] for cut in cuts], np.int64) for k in range(3))
    new = np.arange(rows, rows + len(cuts))
    columns = {name: np.concatenate([(column := getattr(ledger.owners, name)), column[owner]]) for name in Owners.COLUMNS}
    if analyzer is not None:
        columns["analyzer"][rows:] = analyzer
    is_code = columns["kind"][rows:] == KIND["unattributed"]
    columns["kind"][rows:] = np.where(is_code, KIND["code"], columns["kind"][rows:])
    size = end - start
    sums = {"count": np.concatenate([ledger.count, np.ones(len(cuts), np.int64)])}
    for what, column in (("file", ledger.file_bytes), ("load", ledger.load), ("ram", ledger.ram)):
        moved = size if what == "file" else np.where(column[owner] > 0, size, 0)
        sums[what] = np.concatenate([column, moved])
        np.subtract.at(sums[what], owner, moved)
    edges = np.concatenate([ledger.file.start, start, end])
    owners = np.concatenate([ledger.file.owner, new, owner])
    order = np.argsort(edges, kind="stable")
    edges, owners = edges[order], owners[order]
    # At one place the last one counts: what begins there, not what ends.
    rank = np.concatenate([np.zeros(len(ledger.file.start)), np.full(len(cuts), 2), np.ones(len(cuts))])[order]
    order = np.lexsort((rank, edges))
    edges, owners, rank = edges[order], owners[order], rank[order]
    keep = np.append(edges[1:] != edges[:-1], True)
    # A cut that ends where the next span begins leaves that span's owner.
    back = (rank == 1) & np.isin(edges, ledger.file.start)
    owners[back] = ledger.file.owner[np.searchsorted(ledger.file.start, edges[back])]
    file = Partition(edges[keep], owners[keep], ledger.file.size)
    return replace(ledger, owners=Owners.of(columns), make_file=lambda: file, sums=ColumnSums(sums))


def _function_sizes(image: Elf) -> dict[int, int]:
    """Address → size of each function that has an unwind entry."""
    frame = image.section(".eh_frame")
    header = image.section(".eh_frame_hdr")
    if frame is None or not frame.load_size:
        return {}
    frames = read_frames(image, frame, header_table(image, header) if header is not None and header.load_size else None)
    content = image.view(frame)
    rows = np.flatnonzero((frames.kind == FDE) & (frames.function_at >= 0) & (frames.function_at + 8 <= len(content)))
    at = frames.function_at[rows] + 4  # pc-relative 32-bit addresses, as linkers write them; the size follows
    raw = np.stack([content[at + i] for i in range(4)], axis=1) if len(rows) else np.zeros((0, 4), np.uint8)
    size = np.ascontiguousarray(raw).reshape(-1).view(image.layout.half).astype(np.int64)
    function = frames.function[rows]
    order = np.argsort(function)
    function, size = function[order], size[order]
    ok = (size > 0) & (function + size <= np.append(function[1:], np.iinfo(np.int64).max))
    return dict(zip(function[ok].tolist(), size[ok].tolist(), strict=True))


def _offset(image: Elf, address: int, size: int) -> int | None:
    for section in image.sections:
        if section.load_size and signed(section.address) <= address and address + size <= signed(section.address) + section.load_size:
            return section.offset + address - signed(section.address)
    return None
