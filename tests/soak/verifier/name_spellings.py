"""Draw symbols of images; every spelling must find its symbol, and edited names must find none.

    python -m tests.soak.verifier.name_spellings [IMAGE…] [--count N] [--seed N]

Each spelling is also claimed by `verify`: `--present` passes and `--absent` fails, and a claim on
an edited name is inconclusive. Without images, those that are here are drawn from: the full build
for Linux and for macOS, a library written in Rust, and libtorch_cpu.so of an installed torch.

c++filt is the oracle. Exit code 1 if a spelling misses its symbol or an edited name is known.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, PRESENT, Verdict
from sizeguard.formats import sniff
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import read_elf
from sizeguard.gate.verified_builds import verify_symbols
from sizeguard.names.demangle import MOST_SHOWN
from sizeguard.names.resolve_names import DROPPED, NOT_ADDED, SymbolNames
from sizeguard.verify.evidence.macho import read_macho_image
from tests.support.names.symbol_spellings import demangled, drawn, edited, spellings
from tests.support.places import ROOT


def usual_images() -> list[Path]:
    """List the images of local builds and of installed packages."""
    builds = ("full/run_program", "arm64-macos-clang-lld-Os/full/run_program")
    found = [path for name in builds if (path := ROOT / "build" / name).is_file()]
    for package, pattern in (("rpds", "rpds*.so"), ("torch", "lib/libtorch_cpu.so")):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            found += sorted(Path(folder).glob(pattern))
    return found


def names_of(path: Path) -> tuple[list[str], str]:
    """Return the symbols that an image defines, and its format's prefix."""
    is_macho = sniff.image_format(path) == sniff.MACHO
    image: Binary = read_macho_image(path) if is_macho else read_elf(path)
    tables = (*image.static_symbols, *image.dynamic_symbols)
    names = [name.partition("@")[0] for table in tables for name in table.defined_names() if name]
    return names, "_" if is_macho else ""


def faults(path: Path, count: int, seed: int) -> list[str]:
    """List the spellings that miss their symbol, and the edited names that are known."""
    names, underscore = names_of(path)
    table = SymbolNames.of(names, DROPPED if underscore else NOT_ADDED)
    chance = random.Random(seed)
    wrong = []
    symbols = [underscore + symbol for symbol in drawn(names, count, seed)]
    for symbol, texts in spellings(symbols, underscore):
        for what, text in texts.items():
            found = table.find(text)
            is_found = symbol in found or symbol.removeprefix(underscore) in found
            # f() and f() const are different functions.
            if not is_found and text not in _without_clones(demangled(found)):
                wrong.append(f"{what}: {text} misses {symbol}")
        changed = edited(texts.get("demangled", symbol), chance)
        if table.meant(changed).names:
            wrong.append(f"edited: {changed} is known")
        # A longer name is shown mangled, which is like no demangled text.
        elif len(changed) <= MOST_SHOWN and not table.nearest(changed):
            wrong.append(f"nearest: {changed} has no nearest name")
    return wrong


def _without_clones(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(text.partition(" [clone ")[0] for text in texts)


def claim_faults(path: Path, count: int, seed: int) -> list[str]:
    """List the claims of `verify` on drawn and on edited names whose verdict is wrong."""
    names, underscore = names_of(path)
    chance = random.Random(seed)
    symbols = [underscore + symbol for symbol in drawn(names, count, seed)]
    right: dict[str, str] = {}
    wrong: dict[str, None] = {}
    for symbol, texts in spellings(symbols, underscore):
        right |= {text: f"{what} of {symbol}" for what, text in texts.items()}
        wrong[edited(texts.get("demangled", symbol), chance)] = None
    table = SymbolNames.of(names, DROPPED if underscore else NOT_ADDED)
    unknown = [text for text in wrong if text not in right and not table.find(text)]
    texts = (*right, *unknown)
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verify_symbols(Files(path), texts, texts).verdicts:
        found.setdefault((verdict.name, verdict.expect), []).append(verdict)
    expected = {text: {PRESENT: PASS, ABSENT: FAIL} for text in right}
    expected |= {text: {PRESENT: INCONCLUSIVE, ABSENT: INCONCLUSIVE} for text in unknown}
    faulty = []
    for text, verdicts in expected.items():
        for expect, verdict in verdicts.items():
            given = [each.verdict for each in found.get((text, expect), [])]
            if given != [verdict]:
                faulty.append(f"{expect} {text} ({right.get(text, 'edited')}) is {given}")
    return faulty


def main(arguments: list[str]) -> int:
    """Check every image; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=13)
    chosen = parser.parse_args(arguments)
    failed = False
    for path in chosen.images or usual_images():
        for what, check in (("spellings", faults), ("claims", claim_faults)):
            wrong = check(path, chosen.count, chosen.seed)
            print(f"{path}: {len(wrong)} {what} of {chosen.count} symbols are wrong")
            print(*(f"  {each[:400]}" for each in wrong), sep="\n", flush=True)
            failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
