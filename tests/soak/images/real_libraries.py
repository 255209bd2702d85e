"""Check third-party libraries: partitions are exact, and readelf, size and nm agree.

Each must be an exact partition, with the same sizes as readelf, size and nm.

    python -m tests.soak.images.real_libraries FILE|FOLDER…

Of a folder all ELF files in it that have code or data. Prints for each its bytes, symbols, spans,
the share of loaded bytes without an owner, and the time for the ledger. Fails if a sum is off by a
byte or a reader disagrees.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from sizeguard.formats.elf import read_elf
from sizeguard.formats.sniff import ELF, image_format
from sizeguard.ledger.kinds import ANALYZER
from tests.support.images.binutils import (
    check_section_sizes_against_size,
    check_sections_against_readelf,
    check_symbols_against_nm,
)
from tests.support.images.image_laws import check_ledger, ledger_of
from tests.support.script import Tally, options_of

CHECKS = (
    check_sections_against_readelf,
    check_section_sizes_against_size,
    check_symbols_against_nm,
)


def images(given: list[Path]) -> list[Path]:
    found = [
        path
        for place in given
        for path in (sorted(place.rglob("*")) if place.is_dir() else [place.resolve()])
    ]
    return [
        path
        for path in found
        if path.is_file() and not path.is_symlink() and image_format(path) == ELF
        if any(section.is_allocated for section in read_elf(path).sections)
    ]


def check(path: Path) -> str:
    """Check one file and print its row; return the failure, empty if there is none."""
    image = read_elf(path)
    start = time.process_time()
    ledger = ledger_of(path)
    seconds = time.process_time() - start
    unexplained = int(ledger.load[ledger.owners.analyzer == ANALYZER["unattributed"]].sum())
    symbols = sum(
        int(np.count_nonzero(table.section))
        for table in image.static_symbols or image.dynamic_symbols
    )
    share = 100 * unexplained / max(ledger.image.load, 1)
    wrong = ""
    try:
        check_ledger(path, ledger)
        for compare in CHECKS:
            compare(path)
    except AssertionError as error:
        wrong = " ".join(str(error).split())[:160] or "an assertion"
    sizes = f"{ledger.image.file:>13,} {symbols:>10,} {len(ledger.file.start):>10,}"
    print(f"{path.name:44} {sizes} {share:>6.2f}% {seconds:>6.1f} s  {wrong or 'ok'}", flush=True)
    return wrong


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    chosen = images(parser.parse_args().paths)
    print(f"{'':44} {'bytes':>13} {'symbols':>10} {'spans':>10} {'unattr.':>7} {'CPU':>8}")
    tally = Tally()
    for path in chosen:
        wrong = check(path)
        tally.check(not wrong, f"{path}: {wrong}")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
