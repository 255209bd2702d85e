"""Turns the evidence of an image into labels for each of its owners of bytes."""

from __future__ import annotations

import numpy as np

from sizeguard.attribution.analysis import LEVELS, Aliases, Label
from sizeguard.attribution.attribute import Evidence, owner_values
from sizeguard.errors import InputError
from sizeguard.formats.texts import Int, Texts
from sizeguard.ledger.image import Owner, Part, image_spans
from sizeguard.ledger.ledger import ImageInfo

ENTRY_SIZE = 16


class SpanAnalysis:
    """An Analysis of the spans of an ELF image."""

    def __init__(self, evidence: Evidence) -> None:
        self._reached = evidence.reached
        entries = evidence.reached.entries if evidence.reached is not None else ()
        parts = [Part(entry.object, entry.section, entry.offset, ENTRY_SIZE, entry.operator) for entry in entries]
        sums: dict[Owner, list[int]] = {}
        for span in image_spans(evidence.image, evidence.names, evidence.inputs, parts):
            row = sums.setdefault(span.owner, [0, 0, 0])
            row[0] += span.size
            row[1] += span.load
            row[2] += 1
        ram = {owner: 0 for owner in sums}
        for section in evidence.image.sections:
            if section.is_allocated and section.is_writable and section.name != ".relro_padding":
                rows = [owner for owner in sums if owner.section == section.name]
                for owner in rows:
                    ram[owner] = sums[owner][1]
                rest = section.size - sum(ram[owner] for owner in rows)
                if rest:
                    blank = Owner(section.name, "data", loaded=True)
                    sums.setdefault(blank, [0, 0, 1])
                    ram[blank] = ram.get(blank, 0) + rest
        self._owners = list(sums)
        table = np.array([[*sums[owner], ram[owner]] for owner in self._owners], np.int64).reshape(-1, 4)
        self.file: Int = table[:, 0].copy()
        self.load: Int = table[:, 1].copy()
        self.count: Int = table[:, 2].copy()
        self.ram: Int = table[:, 3].copy()
        image = evidence.image
        totals = image.size, int(self.load.sum()), image.ram
        self.image = ImageInfo(str(image.path), evidence.title, "elf", image.machine, image.build_id, *totals)
        self._labels: dict[str, Label] = {}

    def label(self, level: str) -> Label:
        if level not in LEVELS:
            raise InputError(f"unknown level {level}; there are {', '.join(LEVELS)}")
        if level not in self._labels:
            self._labels[level] = label_of([owner_values(owner, self._reached)[level] for owner in self._owners])
        return self._labels[level]

    def aliases(self) -> Aliases | None:
        return None


def label_of(values: list[str]) -> Label:
    """One value a row, each text kept once."""
    ids: dict[str, int] = {}
    column = np.array([ids.setdefault(value, len(ids)) for value in values], np.int32)
    return Label(column, Texts.of(ids))
