"""Check every way to hide deselected code: gcc -Os, clang -O2 and arm64-macos, with LTO too.

`sizeguard verify` must fail or be inconclusive, and name the function or the bytes.

python -m tests.soak.verifier.leaks [--only NAME]… [--builds gcc,clang,macos,gcc-lto,…]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from sizeguard.builds.build_record import Build
from sizeguard.projects.root import project_root
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.leaks.all_leaks import ALL_LEAKS, CONTROL
from tests.support.leaks.leak_bench import LeakBench
from tests.support.script import Tally, options_of

# Compiler, target, optimization and LTO.
BUILDS = {
    "gcc": ("gcc", None, "s", ""),
    "clang": ("clang", None, "2", ""),
    "macos": (None, "arm64-macos", "s", ""),
    "gcc-lto": ("gcc", None, "s", "full"),
    "clang-lto": ("clang", None, "s", "full"),
    "macos-lto": (None, "arm64-macos", "s", "full"),
}


def made(name: str, kind: str) -> Build:
    root = project_root()
    compiler, target, optimize, lto = BUILDS[name]
    toolchain = find_toolchain(compiler, None, target)
    selection = root / "native" / "apps" / "vision" / "selected_operators.yaml"
    variant = (
        Variant("full", optimize=optimize, lto=lto)
        if kind == "full"
        else Variant("selective", "vision", selection, optimize=optimize, lto=lto)
    )
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


def check(name: str, bench: LeakBench, only: list[str], tally: Tally) -> None:
    clean = bench.outcome(CONTROL).findings
    tally.check(not clean, f"{name} without a leak: {clean}")
    form = "macho" if bench.is_macho else "elf"
    for leak in ALL_LEAKS.values():
        is_decided = leak.is_decided(form, bench.build.lto)
        if not is_decided or (only and leak.name not in only):
            continue
        try:
            found = bench.outcome(leak)
        except (AssertionError, StopIteration, OSError) as error:
            tally.check(False, f"{name} {leak.name}: cannot be planted: {error!r}")
            continue
        is_named = found.names(leak.expects)
        verdict = "named" if is_named else "caught" if found.findings else "MISSED"
        shown = found.findings[0][:90] if found.findings else ""
        print(f"{name:6} {leak.name:32} {verdict:7} {shown}", flush=True)
        tally.check(bool(found.findings) and is_named, f"{name} {leak.name}: {verdict}")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--only", action="append", default=[], help="only this leak")
    parser.add_argument("--builds", default=",".join(BUILDS))
    options = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.builds.split(","):
            bench = LeakBench(made(name, "vision"), made(name, "full"), Path(folder) / name)
            check(name, bench, options.only, tally)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
