"""Make the ledger of a universal binary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sizeguard.columns.sums import ColumnSums
from sizeguard.formats.macho.reader import FatFile
from sizeguard.ledger.claimed_ranges import ClaimList, OwnerTable
from sizeguard.ledger.ledger import ImageInfo, Ledger, MemoryPartition
from sizeguard.ledger.macho.claim_columns import SECTION
from sizeguard.ledger.partition import Partition, partition


def fat_ledger(fat: FatFile, title: str = "") -> Ledger:
    """Make the ledger of a universal binary, with rows for its header, its images and the gaps.

    Only one image is ever loaded, so the file has no memory of its own. load and ram of each image
    are in its row, and their sums in `image`.
    """
    table = OwnerTable()
    file, loads, rams = _fat_claims(fat, table)
    blank = np.zeros(len(table) - len(loads), np.int64)
    load, ram = (np.concatenate([np.array(column, np.int64), blank]) for column in (loads, rams))
    arch = "+".join(image.arch for image in fat.images)
    ids = ",".join(image.uuid for image in fat.images)
    sizes = fat.size, int(load.sum()), int(ram.sum())
    kind = "+".join(sorted({image.kind for image in fat.images}))
    info = ImageInfo(str(fat.path), title, "macho", arch, ids, *sizes, kind=kind)
    nothing = np.zeros(0, np.int64)
    count = np.bincount(file.owner, minlength=len(table)).astype(np.int64)
    everything = np.ones(len(table), np.bool_)
    sums = {"file": file.bytes_by_owner(len(table))[:-1], "load": load, "ram": ram, "count": count}
    memory = MemoryPartition(nothing, nothing, nothing)
    return table.ledger(info, everything, file, memory, ColumnSums(sums))


class _FatClaims(NamedTuple):
    """The partition of a universal binary. loads, rams: of the header's row and of each image."""

    file: Partition
    loads: list[int]
    rams: list[int]


def _fat_claims(fat: FatFile, table: OwnerTable) -> _FatClaims:
    """Partition the file among its header, its images and the gaps."""
    claims = ClaimList()
    header = table.row("(fat header)", "", "header", "header")
    claims.add(0, fat.header_size, header, SECTION)
    loads, rams = [0], [0]
    for image in fat.images:
        owner = table.row(f"({image.arch})", "", "other", "header", part=image.arch.encode())
        if owner == len(loads):
            loads.append(0)
            rams.append(0)
        loads[owner] += image.load
        rams[owner] += image.ram
        claims.add(image.offset, image.offset + image.size, owner, SECTION)
    for start, end in claims.gaps(0, fat.size):
        gap = table.row("(section gap)", "", "section gap", "section gap")
        claims.add(start, end, gap, SECTION)
    return _FatClaims(partition(claims.claims(), fat.size), loads, rams)
