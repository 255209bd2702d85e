"""Mach-O files of every kind.

Images with chained fix-ups and with opcodes, stripped and not, objects of five architectures, fat
files, a dSYM.
"""

from __future__ import annotations

from pathlib import Path

from sizeguard.formats.macho import FatFile, read_macho_file
from sizeguard.formats.macho.linkedit import exports
from sizeguard.formats.macho.relocations import relocations
from sizeguard.ledger.macho.macho_ledger import macho_ledger
from tests.support.images.macho_samples import FAT, THIN, build_samples


def _seeds(folder: Path) -> list[Path]:
    samples = folder / "samples"
    samples.mkdir()
    made = build_samples(samples)
    dsym = samples / "app-g-arm64.dSYM" / "Contents" / "Resources" / "DWARF" / "app-g-arm64"
    return [*(made.path(name) for name in (*THIN, *FAT)), dsym]


def _read(path: Path) -> None:
    whole = read_macho_file(path)
    images = whole.images if isinstance(whole, FatFile) else (whole,)
    for image in images:
        ledger = macho_ledger(image)
        if (
            int(ledger.file_bytes.sum()) != image.size
            or int(ledger.load.sum()) != ledger.image.load
        ):
            raise AssertionError("the sums lie")
        for _ in exports(image):
            pass
        for section in image.sections:
            relocations(image, section)


TARGETS = {"macho": (_seeds, _read)}
