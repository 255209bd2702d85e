"""Test logs of removed and folded sections.

The logs of all linkers agree on one program, except for known differences.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.formats.gc_log import GcLog, RemovedSection, parse_gc_log
from sizeguard.formats.icf_log import Folded, parse_icf_log
from sizeguard.formats.linkmap import read_link_map
from tests.support.links.map_links import FOLDER, LINKERS, link, make_objects
from tests.support.places import DATA

LINKMAPS = DATA / "linkmaps"


@pytest.fixture(scope="module")
def logs(
    tmp_path_factory: pytest.TempPathFactory,
    native_tools: None,
) -> dict[str, tuple[GcLog, tuple[Folded, ...], Path]]:
    folder = tmp_path_factory.mktemp("logs")
    objects = make_objects(folder)
    found = {}
    for linker in LINKERS:
        made = link(folder, linker, objects)
        path = folder / f"{linker}.log"
        path.write_text(made.log)
        found[linker] = parse_gc_log(path, made.log), parse_icf_log(path, made.log), made.map
    return found


def sized(folder: Path) -> set[tuple[str, str]]:
    """Return the program's sections that are not empty, by readelf: (section, file)."""
    found = set()
    for name, shown in (
        ("main.o", "main.o"),
        ("shapes.o", "libshapes.a(shapes.o)"),
        ("twins.o", "libshapes.a(twins.o)"),
    ):
        text = subprocess.run(
            ["readelf", "-SW", str(folder / FOLDER / name)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for line in text.splitlines():
            row = line.partition("]")[2].split()
            if len(row) > 4 and row[0].startswith(".") and int(row[4], 16):
                found.add((row[0], f"{FOLDER}/{shown}"))
    return found


def ours(log: GcLog) -> set[tuple[str, str]]:
    return {(row.section, row.file) for row in log.removed if row.file.startswith(FOLDER)}


@pytest.mark.parametrize("linker", LINKERS)
def test_every_linker_removes_the_dead_functions(
    logs: dict[str, tuple[GcLog, tuple[Folded, ...], Path]], linker: str
) -> None:
    log, _, map_ = logs[linker]
    assert log.style == {"bfd": "bfd", "gold": "gold"}.get(linker, "lld")
    dead = {
        (".text._Z12dead_in_maini", f"{FOLDER}/main.o"),
        (".text._ZN6shapes14dead_in_shapesEi", f"{FOLDER}/libshapes.a(shapes.o)"),
        (".text._ZN6shapes12never_calledEi", f"{FOLDER}/libshapes.a(twins.o)"),
    }
    assert dead <= ours(log)
    placed = {(row.name, row.file) for row in read_link_map(map_).placed if not row.is_merged}
    lost = {(row.section, row.file) for row in log.removed}
    assert not placed & lost


def test_linkers_agree_on_what_has_a_size(
    logs: dict[str, tuple[GcLog, tuple[Folded, ...], Path]],
) -> None:
    """COMDAT duplicates are ignored, since only GNU ld lists them."""
    sizes = sized(logs["bfd"][2].parent)
    sets = {linker: ours(log) & sizes for linker, (log, _, _) in logs.items()}
    comdat = {(row.section, row.file) for row in logs["bfd"][0].removed if row.signature}
    assert comdat
    placed = {row.name for row in read_link_map(logs["bfd"][2]).placed}
    losers = {row for row in comdat if row[0] in placed}
    assert losers
    expected = sets["bfd"] - losers
    assert all(found == expected for linker, found in sets.items() if linker != "bfd")
    assert len(expected) >= 4


def test_folds_are_those_of_the_map(
    logs: dict[str, tuple[GcLog, tuple[Folded, ...], Path]],
) -> None:
    assert logs["bfd"][1] == ()
    pairs = {}
    for linker in LINKERS[1:]:
        _, folds, path = logs[linker]
        map_ = read_link_map(path)
        placed = {(row.name, row.file) for row in map_.placed}
        for fold in folds:
            assert (fold.kept_section, fold.kept_file) in placed
            assert (fold.section, fold.file) not in placed
            if linker.startswith("lld"):  # lists a folded function under the kept section
                row = next(i for i, row in enumerate(map_.placed) if row.name == fold.kept_section)
                assert fold.section.removeprefix(".text.") in {
                    symbol.name for symbol in map_.symbols if symbol.input == row
                }
        pairs[linker] = {frozenset({fold.section, fold.kept_section}) for fold in folds}
        twins = {".text._ZN6shapes10first_twinEi", ".text._ZN6shapes11second_twinEi"}
        assert twins in pairs[linker]
    assert pairs["lld-14"] == pairs["lld-19"] == pairs["lld-22"]


@pytest.mark.parametrize(
    ("linker", "rows", "folds"),
    [("bfd", 9, 0), ("gold", 27, 4), ("lld-19", 27, 4), ("mold", 26, 4)],
)
def test_recorded_logs(linker: str, rows: int, folds: int) -> None:
    path = LINKMAPS / f"{linker}.log"
    text = path.read_text()
    removed = parse_gc_log(path, text).removed
    assert len(removed) == text.count("removing unused section") - text.count("'.group'") == rows
    assert len(parse_icf_log(path, text)) == folds
    system = {row.file for row in removed if "crti" in row.file or "Scrt1" in row.file}
    assert all(file.startswith("/usr/lib/x86_64-linux-gnu/") for file in system)


def test_forms() -> None:
    path = Path("x.log")
    lines = [
        "warning: something else",
        "/usr/bin/ld: removing unused section '.text.f[f]' in file 'a b/l.a(m.o)'",
        "/usr/bin/ld: removing unused section '.group' in file 'm.o'",
    ]
    assert parse_gc_log(path, "\n".join(lines)) == GcLog(
        "bfd", (RemovedSection(".text.f", "a b/l.a(m.o)", "f"),)
    )
    assert parse_gc_log(path, "ld.lld: removing unused section a:(b).o:(.text.f)\n").removed == (
        RemovedSection(".text.f", "a:(b).o"),
    )
    assert parse_gc_log(path, "") == GcLog("", ())
    folds = (
        "selected section a.o:(.text.f)\n  removing identical section b.o:(.text.g)\n  removing"
        " identical section c.o:(.text.h)\n"
    )
    assert parse_icf_log(path, folds) == (
        Folded(".text.g", "b.o", ".text.f", "a.o"),
        Folded(".text.h", "c.o", ".text.f", "a.o"),
    )


@pytest.mark.parametrize(
    "line",
    [
        "ld: removing unused section ",
        "ld: removing unused section '.text.f' in fi",
        "removing unused section a.o:(.text",
    ],
)
def test_a_cut_removal_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"^x\.log:2: a damaged linker log"):
        parse_gc_log(Path("x.log"), f"fine\n{line}")


@pytest.mark.parametrize(
    "line",
    [
        "ICF folding section 'a' in file 'b' into 'c",
        "selected section a.o",
        "  removing identical section b.o:(.text.g)",
    ],
)
def test_a_cut_fold_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"^x\.log:2: a damaged linker log"):
        parse_icf_log(Path("x.log"), f"fine\n{line}")
