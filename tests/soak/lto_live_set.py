"""Compares live sets of builds with optimization at link time, made of what the linker kept of it, with the linkers' own logs.

Left out of a log: the objects in which gcc puts debug information aside (….debug.temp.o), which hold no code and are not kept.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gc_lists import removed_by_log, removed_by_model

from sizeguard.build.driver import build
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import Variant, default_folder
from sizeguard.linkgraph.elf_graph import graph_of
from sizeguard.linkgraph.lto import without_lto
from sizeguard.linkgraph.record import read_link
from sizeguard.linkgraph.resolve import load

ROOT = Path(__file__).resolve().parents[2]
WAYS = (("gcc", "bfd", "full"), ("gcc", "gold", "full"), ("gcc", "mold", "full"), ("clang", "lld", "full"), ("clang", "lld", "thin"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variant", action="append", choices=("core", "full"))
    parser.add_argument("--link", action="append", choices=("executable", "static", "shared"))
    parser.add_argument("--linker", action="append", help="only these")
    options = parser.parse_args()
    wrong = 0
    for kind in options.variant or ("core", "full"):
        for compiler, linker, lto in WAYS:
            for link in options.link or ("executable", "static", "shared"):
                if options.linker and linker not in options.linker:
                    continue
                toolchain = find_toolchain(compiler, linker)
                variant = Variant(kind, link=link, lto=lto)
                built = build(ROOT, variant, toolchain, default_folder(ROOT, variant, toolchain))
                if built.link_command is None:
                    print(f"{kind} {compiler} {linker} {lto} {link}: no record of the link")
                    wrong += 1
                    continue
                loaded = load(without_lto(read_link(built.link_command), built.objects))
                log = "\n".join(line for line in built.gc_log.read_text().splitlines() if ".debug.temp.o" not in line)
                said, model = removed_by_log(log, loaded), removed_by_model(loaded, graph_of(loaded))
                differences = [*(said - model).elements(), *(model - said).elements()]
                wrong += bool(differences)
                print(f"{kind} {compiler} {linker} {lto} {link}: {sum(said.values())} removed, {len(differences)} differ", flush=True)
                for file, section in differences[:5]:
                    print(f"  {Path(file).name} {section}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
