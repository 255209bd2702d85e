"""Compare live sets of LTO builds with the linkers' own logs.

The graph is made of the objects that the linker kept.

Left out of a log: the objects in which gcc puts debug information aside (….debug.temp.o), which
hold no code and are not kept; and members of libraries that only objects before LTO ask for, such
as sqrt, which becomes one instruction. The graph does not load these, and the map must have nothing
of them.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from sizeguard.formats.linkmap import read_map
from sizeguard.formats.linkmap.link_map import file_key
from sizeguard.linkgraph.elf.elf_graph import graph_of
from sizeguard.linkgraph.inputs.loader import load
from sizeguard.linkgraph.inputs.lto import without_lto
from sizeguard.linkgraph.inputs.recorded_link import read_link
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.links.gc_lists import removed_by_log, removed_by_model
from tests.support.places import ROOT
from tests.support.script import Tally, options_of

WAYS = (
    ("gcc", "bfd", "full"),
    ("gcc", "gold", "full"),
    ("gcc", "mold", "full"),
    ("clang", "lld", "full"),
    ("clang", "lld", "thin"),
)


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--variant", action="append", choices=("core", "full"))
    parser.add_argument("--link", action="append", choices=("executable", "static", "shared"))
    parser.add_argument("--linker", action="append", help="only these")
    options = parser.parse_args()
    tally = Tally()
    for kind in options.variant or ("core", "full"):
        for compiler, linker, lto in WAYS:
            for link in options.link or ("executable", "static", "shared"):
                if options.linker and linker not in options.linker:
                    continue
                toolchain = find_toolchain(compiler, linker)
                variant = Variant(kind, link=link, lto=lto)
                built = build(ROOT, variant, toolchain, default_folder(ROOT, variant, toolchain))
                where = f"{kind} {compiler} {linker} {lto} {link}"
                if built.link_command is None or built.map is None or built.gc_log is None:
                    tally.check(False, f"{where}: no record of the link")
                    continue
                loaded = load(without_lto(read_link(built.link_command), built.objects))
                log = "\n".join(
                    line
                    for line in built.gc_log.read_text().splitlines()
                    if ".debug.temp.o" not in line
                )
                known = {file_key(each.label) for each in loaded.objects}
                placed = {file_key(row.file) for row in read_map(built.map) if row.size}
                said = Counter(
                    row
                    for row in removed_by_log(log, loaded).elements()
                    if file_key(row[0]) in known | placed
                )
                model = removed_by_model(loaded, graph_of(loaded))
                differences = [*(said - model).elements(), *(model - said).elements()]
                print(f"{where}: {sum(said.values())} removed", flush=True)
                tally.check(not differences, f"{where}: {len(differences)} differ")
                for file, section in differences[:5]:
                    print(f"  {Path(file).name} {section}")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
