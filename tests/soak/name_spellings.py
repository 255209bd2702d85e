"""Draw symbols of images and find each by every spelling; edit them and find none.

    python -m tests.soak.name_spellings IMAGE… [--count N] [--seed N]

c++filt is the oracle. Exit code 1 if a spelling misses its symbol or an edited name is known.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from sizeguard.formats import sniff
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import read_elf
from sizeguard.names.globs import is_glob
from sizeguard.names.resolve_names import SymbolNames
from sizeguard.verify.evidence.macho import read_macho_image
from tests.support.symbol_spellings import drawn, edited, spellings


def names_of(path: Path) -> tuple[list[str], str]:
    """Return the symbols that an image defines, and what its format puts before each."""
    is_macho = sniff.image_format(path) == sniff.MACHO
    image: Binary = read_macho_image(path) if is_macho else read_elf(path)
    tables = (*image.static_symbols, *image.dynamic_symbols)
    names = [s.name.partition("@")[0] for t in tables for s in t.objects() if s.section and s.name]
    return names, "_" if is_macho else ""


def faults(path: Path, count: int, seed: int) -> list[str]:
    """List the spellings that miss their symbol, and the edited names that are known."""
    names, underscore = names_of(path)
    table = SymbolNames.of(names)
    chance = random.Random(seed)
    wrong = []
    symbols = [underscore + symbol for symbol in drawn(names, count, seed)]
    for symbol, texts in spellings(symbols, underscore):
        for what, text in texts.items():
            if symbol.removeprefix(underscore) not in table.find(text):
                wrong.append(f"{what}: {text} misses {symbol}")
        changed = edited(texts.get("demangled", symbol), chance)
        if is_glob(changed) or table.find(changed):
            wrong.append(f"edited: {changed} is known")
    return wrong


def main(arguments: list[str]) -> int:
    """Check every image; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", nargs="*", type=Path, default=[Path("build/full/run_program")])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=13)
    chosen = parser.parse_args(arguments)
    failed = False
    for path in chosen.images:
        wrong = faults(path, chosen.count, chosen.seed)
        print(f"{path}: {len(wrong)} of {chosen.count} symbols' spellings are wrong")
        print(*(f"  {each[:400]}" for each in wrong), sep="\n")
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
