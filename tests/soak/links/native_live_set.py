"""Compare the live set of the runtime, full and selective, with every linker's own log.

Compilers × levels × linkers × modes.

Each pair of compiler and level is compiled once, and its objects are linked again by all linkers in
all modes. The runtime is compiled with hidden visibility; for shared libraries that export
everything it is compiled again, with default visibility.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.links.asked_link import link_command
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.links.link_cases import COMPILERS, LEVELS, LINKERS, MODES, model
from tests.support.links.lld_chains import driver_words
from tests.support.links.map_links import linker_flags
from tests.support.places import ROOT
from tests.support.script import Tally, options_of


def compiled(
    folder: Path, variant: Variant, compiler: str, level: str, *, visible: bool
) -> list[str]:
    """Configure and compile; return the command that links run_program.

    -O0 and default visibility are not choices of `sizeguard build`.
    """
    toolchain = find_toolchain(compiler, None)
    options = [
        *variant.cmake_options(ROOT, toolchain),
        f"-DSG_OPTIMIZE=-O{level}",
        f"-DSIZEGUARD={ROOT / '.venv' / 'bin' / 'sizeguard'}",
    ]
    subprocess.run(
        ["cmake", "-S", str(ROOT / "native"), "-B", str(folder), "-G", "Ninja", *options],
        check=True,
        capture_output=True,
    )
    if visible:
        ninja = folder / "build.ninja"
        text = (
            ninja.read_text()
            .replace("-fvisibility=hidden", "-fvisibility=default -fPIC")
            .replace("-fvisibility-inlines-hidden", "")
        )
        ninja.write_text(text.replace("-fPIE", "-fPIC"))
    subprocess.run(["ninja", "-C", str(folder), "run_program"], check=True, capture_output=True)
    return driver_words(folder, "run_program")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "native-live-set")
    parser.add_argument("--level", action="append", choices=LEVELS)
    parser.add_argument("--compiler", action="append", choices=tuple(COMPILERS))
    parser.add_argument("--mode", action="append", choices=tuple(MODES))
    options = parser.parse_args()
    started = time.monotonic()
    links: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    tally = Tally()
    vision = ROOT / "native" / "apps" / "vision" / "selected_operators.yaml"
    with tempfile.TemporaryDirectory() as name:
        for compiler in options.compiler or COMPILERS:
            for level in options.level or LEVELS:
                for variant in (Variant("full"), Variant("selective", "vision", vision)):
                    for mode in options.mode or MODES:
                        visible = mode == "shared"
                        folder = (
                            options.folder
                            / f"{compiler}-{level}-{variant.kind}{'-visible' if visible else ''}"
                        )
                        driver = compiled(folder, variant, compiler, level, visible=visible)
                        for linker in LINKERS:
                            output = Path(name) / "out"
                            plain = [
                                w
                                for w in driver
                                if not w.startswith(
                                    ("-fuse-ld=", "-B", "-Wl,-Map", "-Wl,-z,noseparate-code")
                                )
                            ]
                            plain[plain.index("-o") + 1] = str(output)
                            words = [*plain, *MODES[mode], *linker_flags(linker)]
                            done = subprocess.run(
                                words, cwd=folder, capture_output=True, text=True, check=False
                            )
                            if done.returncode != 0:
                                print(
                                    f"{compiler} -O{level} {variant.name} {linker} {mode}: refused:"
                                    f" {done.stderr.strip()[:150]}"
                                )
                                continue
                            differences = model(
                                link_command(words, folder), done.stdout + done.stderr, output
                            ).differences
                            links[linker] += 1
                            where = f"{compiler} -O{level} {variant.name} {linker} {mode}"
                            wrong[linker] += not tally.check(
                                differences == ({}, {}), f"{where}: {differences}"[:600]
                            )
    for linker in LINKERS:
        print(f"{linker:8} {wrong[linker]:4} of {links[linker]:4} links differ")
    return tally.close(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
