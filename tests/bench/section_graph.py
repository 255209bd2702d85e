"""Measure section graphs of the full runtime.

Reading its objects, building one, why, a prediction, 1,000 random selections.

Reading is compared with pyelftools: sections, symbols with their names, and relocations of all
objects. Exit code 1 beyond a limit.
"""

from __future__ import annotations

import io
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

from sizeguard.builds.build_record import Build, read_build
from sizeguard.formats.archive import open_archive
from sizeguard.formats.elf import SHF_ALLOC, SHT_RELA, read_bytes
from sizeguard.formats.elf.relocations import read_plain
from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.inputs.link_inputs import kind_of
from sizeguard.linkgraph.inputs.objects import names_of, read_object
from sizeguard.linkgraph.open_graph import graph_of_path
from sizeguard.linkgraph.retained import retained
from sizeguard.linkgraph.subjects import find_subject
from sizeguard.names.dtype_of import dtype_of
from sizeguard.predict.predictor import Kept
from sizeguard.predict.what_if import predictor_of
from tests.support.places import ROOT
from tests.support.script import Tally, options_of

FASTER = 10  # times than pyelftools


def objects_of(build: Build) -> Iterator[tuple[Path, str, np.ndarray]]:
    for path in build.objects:
        if kind_of(path) == "archive":
            archive = open_archive(path)
            yield from ((path, member.name, archive.content(member)) for member in archive.members)
        else:
            yield path, "", read_bytes(path)


def read_all(build: Build) -> Counter[str]:
    """Return the counts of sections, symbols and relocations, with our reader."""
    found: Counter[str] = Counter()
    for path, member, data in objects_of(build):
        read = read_object(path, member, data, "")
        found["sections"] += len(read.elf.sections)
        if read.symbols is not None:
            found["symbols"] += len(names_of(read.symbols, np.arange(len(read.symbols))))
        tables = [
            s
            for s in read.elf.sections
            if s.type == SHT_RELA and read.elf.sections[s.info].is_allocated
        ]
        joined = np.concatenate(
            [data[:0], *(data[s.offset : s.offset + s.size // 24 * 24] for s in tables)]
        )
        found["relocations"] += len(
            read_plain(joined, read.elf.layout, 0, len(joined), addend=True)
        )
    return found


def read_all_slowly(build: Build) -> Counter[str]:
    """Return the same counts with pyelftools."""
    found: Counter[str] = Counter()
    for _, _, data in objects_of(build):
        file = ELFFile(io.BytesIO(data.tobytes()))
        for section in file.iter_sections():
            found["sections"] += section.name is not None
            if section["sh_type"] == "SHT_SYMTAB":
                found["symbols"] += sum(
                    symbol.name is not None for symbol in section.iter_symbols()
                )
            if (
                section["sh_type"] == "SHT_RELA"
                and file.get_section(section["sh_info"])["sh_flags"] & SHF_ALLOC
            ):
                found["relocations"] += sum(
                    r["r_offset"] >= 0 and r["r_info_type"] >= 0 for r in section.iter_relocations()
                )
    return found


def compare_readers(build: Build) -> bool:
    """Print both best times; return whether ours is fast enough and reads the same."""
    best = []
    for read, times in ((read_all, 20), (read_all_slowly, 5)):
        best.append(min(timed(lambda read=read: read(build)) for _ in range(times)))
    ratio = best[1] / best[0]
    print(
        f"{'reading all objects':28} {best[0]:8.3f} s, pyelftools {best[1]:.3f} s: {ratio:.1f}"
        f" times (limit {FASTER})"
    )
    return ratio >= FASTER and read_all(build) == read_all_slowly(build)


def timed(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "full")
    options = parser.parse_args()
    predictor = predictor_of(options.build)
    names, tags = (
        sorted(predictor.operators),
        sorted({tag for tags in predictor.branches.tags for tag in tags}),
    )
    chance = random.Random(0)

    def selections() -> None:
        for _ in range(1000):
            chosen = frozenset(chance.sample(names, chance.randrange(1, len(names))))
            dtypes = {tag: chance.sample(predictor.branches.dtypes, 2) for tag in tags}
            predictor.size(Kept(chosen, frozenset(), dtypes, frozenset()))

    def explain() -> None:
        graph = graph_of_path(options.build)
        why(graph, find_subject(graph, "aten::convolution:Float", dtype_of))

    steps: list[tuple[str, float, Callable[[], object]]] = [
        ("graph of full", 2, lambda: graph_of_path(options.build)),
        ("graph and retained bytes", 2, lambda: retained(graph_of_path(options.build))),
        ("why", 3, explain),
        ("predict, set up", 5, lambda: predictor_of(options.build)),
        ("1,000 random selections", 60, selections),
    ]
    tally = Tally()
    tally.check(compare_readers(read_build(options.build)), "reading all objects is too slow")
    for what, limit, run in steps:
        started = time.perf_counter()
        run()
        seconds = time.perf_counter() - started
        print(f"{what:28} {seconds:8.3f} s  (limit {limit} s)")
        tally.check(seconds <= limit, f"{what}: {seconds:.3f} s, limit {limit} s")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
