"""Turns libraries that others made into a table: is each an exact partition, and do readelf, size and nm say the same.

    python tests/soak/real_libraries.py FILE|FOLDER…

Of a folder all ELF files in it. Prints for each its bytes, symbols, spans, the share of loaded bytes that nothing explains, and
how long the ledger took. Fails if a sum is off by a byte or a reader disagrees.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from image_laws import check_ledger, ledger_of  # noqa: E402
from test_elf_agreement import (  # noqa: E402
    test_rows_of_sections_have_the_sizes_of_size,
    test_sections_are_those_of_readelf,
    test_symbols_are_those_of_nm,
)

from sizeguard.formats.elf import read_elf  # noqa: E402
from sizeguard.formats.sniff import ELF, image_format  # noqa: E402
from sizeguard.ledger.kinds import ANALYZER  # noqa: E402

CHECKS = (test_sections_are_those_of_readelf, test_rows_of_sections_have_the_sizes_of_size, test_symbols_are_those_of_nm)


def images(given: list[Path]) -> list[Path]:
    found = [path for place in given for path in (sorted(place.rglob("*")) if place.is_dir() else [place.resolve()])]
    return [path for path in found if path.is_file() and not path.is_symlink() and image_format(path) == ELF]


def check(path: Path) -> str:
    """What is wrong, empty if nothing is."""
    image = read_elf(path)
    start = time.process_time()
    ledger = ledger_of(path)
    seconds = time.process_time() - start
    unexplained = int(ledger.load[ledger.owners.analyzer == ANALYZER["unattributed"]].sum())
    symbols = sum(int(np.count_nonzero(table.section)) for table in image.static_symbols or image.dynamic_symbols)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    chosen = images(parser.parse_args().paths)
    print(f"{'':44} {'bytes':>13} {'symbols':>10} {'spans':>10} {'unattr.':>7} {'CPU':>8}")
    failed = sum(bool(check(path)) for path in chosen)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(bool(failed) or not chosen)


if __name__ == "__main__":
    main()
