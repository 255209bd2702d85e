"""Libraries that ship with an app count in its sizes, and newly needed ones are findings."""

from __future__ import annotations

import os
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.attribution.owners.library_rows import LibraryRows
from sizeguard.base.errors import InconclusiveError
from sizeguard.base.kept.stored_facts import facts_stored_in
from sizeguard.builds.build_record import RECORD, read_build
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.shipped_libraries import (
    libraries_of,
    library_files,
    needed_by,
    shipped_libraries,
    with_libraries,
)
from sizeguard.builds.sizes import Sizes
from sizeguard.formats.pe.layout import PeLayout, PeSection, SymbolRecords
from sizeguard.formats.pe.symbols import libraries
from sizeguard.gate.policy.baselines import baseline_text, measurement_of_baseline, parse_baseline
from sizeguard.gate.policy.changes.reviewed_changes import _replaced
from sizeguard.gate.policy.checks import CheckedApp, SizeReference
from sizeguard.gate.policy.needed import needed_checks
from sizeguard.ledger.ledger import ImageInfo
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measured_builds import measure_build
from sizeguard.measurement.measurement import Measurement
from sizeguard.snapshots.snapshot import read_snapshot, write_snapshot
from sizeguard.snapshots.store import Store
from tests.support.builds.recorded_builds import recorded_analysis, recorded_runtime
from tests.support.links.made_libraries import AUDIT, AUXILIARY, NEEDED, RPATH, RUNPATH, image
from tests.support.tricks.kept_files import settle

SONAME = 14


def test_what_the_loader_takes_with_an_image(tmp_path: Path) -> None:
    entries = [
        (NEEDED, "libm.so.6"),
        (NEEDED, "libapp.so"),
        (RUNPATH, "$ORIGIN"),
        (RPATH, "/opt"),
        (AUXILIARY, "libfast.so"),
        (AUDIT, "libwatch.so"),
    ]
    found = needed_by(image(tmp_path / "app", *entries, interpreter="/lib/ld.so"))
    assert found == (
        "interpreter /lib/ld.so", "libapp.so", "libfast.so", "libm.so.6", "libwatch.so",
        "search path $ORIGIN", "search path /opt",
    )  # fmt: skip
    assert needed_by(image(tmp_path / "static")) == ()


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return recorded_runtime(tmp_path).build.image.parent


def add_library(build: Path, name: str, **more: str) -> Path:
    path = build / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return image(path, (NEEDED, "libz.so.1"), **more)


def test_a_library_that_counts_is_not_needed_from_elsewhere(tmp_path: Path) -> None:
    """By its file's name or its soname; a search path is no library."""
    entries = (
        (NEEDED, "libf.so.1"),
        (NEEDED, "libg.so"),
        (NEEDED, "libc.so"),
        (RUNPATH, "/libg.so"),
    )
    info = ImageInfo(
        "app", "app", "elf", "x86_64", "", 1, 1, 1, needed_by(image(tmp_path / "a", *entries))
    )
    file = image(tmp_path / "libf.so.1.2", (SONAME, "libf.so.1"), (NEEDED, "libm.so"))
    other = image(tmp_path / "libg.so", (NEEDED, "libf.so.1"))
    found = libraries_of(tmp_path, [file, other])
    assert LibraryRows(found).image(info).needed == ("libc.so", "libm.so", "search path /libg.so")
    assert LibraryRows(found[:1]).image(info).needed == (
        "libc.so", "libg.so", "libm.so", "search path /libg.so",
    )  # fmt: skip
    assert LibraryRows(()).image(info).needed == info.needed


def test_windows_ignores_the_case_of_names(tmp_path: Path) -> None:
    info = ImageInfo("app", "app", "pe", "x86_64", "", 1, 1, 1, ("f.dll", "g.dll"))
    found = libraries_of(tmp_path, [image(tmp_path / "F.DLL")])
    assert LibraryRows(found).image(info).needed == ("g.dll",)
    unknown = replace(info, needed=None)
    assert LibraryRows(found).image(unknown).needed is None


def test_a_record_whose_sizes_are_not_those_of_its_rows_is_inconclusive(
    build: Path, tmp_path: Path
) -> None:
    """A base is measured by its rows, so growth would be the difference of two measures."""
    read, store = read_build(build), Store(tmp_path / "store")
    assert measure_build(store, read, ()).sizes == read.sizes
    for name in ("load", "ram", "file"):
        more = replace(read.sizes, **{name: getattr(read.sizes, name) + 1})
        with pytest.raises(InconclusiveError, match=f"{name} is recorded as"):
            measure_build(store, replace(read, sizes=more), ())


def test_libraries_beside_the_image_count(build: Path) -> None:
    alone = measurement_of(analysis_of(build), ())
    library = measure(add_library(build, "lib/libextra.so"))
    assert library.load > 0
    add_library(build, "plugin")  # names do not matter
    (build / "libextra.so.1").symlink_to("lib/libextra.so")
    add_library(build, "CMakeFiles/3.25.1/CMakeDetermineCompilerABI_C.bin")
    add_library(build, "other/libother.so")
    record = (build / RECORD).read_text()
    (build / "other" / RECORD).write_text(record.replace(str(build), str(build / "other")))
    shutil.copy(read_build(build).image, build / "other")
    analysis = analysis_of(build)
    both = measurement_of(analysis, ())
    assert both.sizes.load == alone.sizes.load + 2 * library.load
    assert both.sizes.file == alone.sizes.file + 2 * library.file
    assert both.value("section/lib/libextra.so") == library.load
    assert both.value("component/plugin") == library.load
    assert sum(both.tables["operator"].values()) == both.sizes.load
    assert set(both.needed or ()) - set(alone.needed or ()) == {"libz.so.1"}
    kinds = {row.keys[0]: row.file for row in group(analysis, ("kind",)).rows}
    assert kinds["shared library"] == 2 * library.file
    for levels in (("operator", "dtype"), ("section", "symbol"), ("object", "kernel")):
        assert sum(row.load for row in group(analysis, levels).rows) == both.sizes.load


@pytest.mark.parametrize(
    "name",
    [
        "CMakeFiles/3.25.1/libextra.so",
        "CMakeFiles/3.25.1/CompilerIdC/libextra.so",
        "CMakeFiles/CMakeTmp/libextra.so",
        "run_program.dSYM/Contents/Resources/DWARF/run_program",
    ],
)
def test_no_folder_hides_a_library(build: Path, name: str) -> None:
    add_library(build, name)
    assert [library.name for library in shipped_libraries(read_build(build))] == [name]


@pytest.mark.parametrize("record", ["{}", "", '{"schema_version": 1}', "the image's"])
def test_a_record_without_its_image_hides_no_library(build: Path, record: str) -> None:
    add_library(build, "plugins/libextra.so")
    text = (build / RECORD).read_text() if record == "the image's" else record
    (build / "plugins" / RECORD).write_text(text)
    (library,) = shipped_libraries(read_build(build))
    assert library.name == "plugins/libextra.so"


@pytest.mark.parametrize(
    ("types", "counts"), [((10, 10), False), ((10, 6), True), ((6, 10), True), ((2,), True)]
)
def test_universal_debug_files_do_not_ship(
    tmp_path: Path, types: tuple[int, ...], counts: bool
) -> None:
    """Only if every slice is one of dsymutil."""
    slices = [struct.pack("<IIIIIII", 0xFEEDFACF, 7, 3, each, 0, 0, 0) for each in types]
    for kind, form in ((0xCAFEBABE, ">IIIII"), (0xCAFEBABF, ">IIQQII")):
        rows, size = b"", 8 + struct.calcsize(form) * len(types)
        for i, part in enumerate(slices):
            row = (7, 3, size + i * len(part), len(part), 0, 0)
            rows += struct.pack(form, *row[: len(form) - 1])
        path = tmp_path / f"{kind}"
        path.write_bytes(struct.pack(">II", kind, len(types)) + rows + b"".join(slices))
        assert (library_files(tmp_path, []) == [path]) == counts
        path.unlink()


def test_a_stored_fact_does_not_hide_an_object_that_becomes_a_library(tmp_path: Path) -> None:
    """Its size and its time of modification are those of the object."""
    made, facts = tmp_path / "build", tmp_path / "facts"
    made.mkdir()
    path = image(made / "libextra.so", (NEEDED, "libc.so.6"))
    library = path.read_bytes()
    path.write_bytes(library[:16] + b"\1" + library[17:])  # ET_REL
    settle()
    before = path.stat()
    for _ in range(2):
        with facts_stored_in(facts):
            assert library_files(made, []) == []
    path.write_bytes(library)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        with facts_stored_in(facts):
            assert library_files(made, []) == [path]
        settle()


def test_a_stripped_twin_stands_for_its_library(build: Path) -> None:
    big = add_library(build, "libextra.so")
    big.write_bytes(big.read_bytes() + bytes(5000))
    shutil.copy(add_library(build.parent, "small.so"), build / "libextra.so.stripped")
    (library,) = shipped_libraries(read_build(build))
    assert (library.name, library.sizes.file) == ("libextra.so", big.stat().st_size - 5000)
    sizes = with_libraries(Sizes(1, 2, 3, 4), [library, library])
    more = library.sizes
    assert sizes == Sizes(1 + 2 * more.load, 2 + 2 * more.ram, 3 + 2 * more.file, 4)


def test_a_snapshot_keeps_libraries(build: Path, tmp_path: Path) -> None:
    add_library(build, "libextra.so")
    analysis = analysis_of(build)
    write_snapshot(tmp_path / "s", analysis)
    kept = read_snapshot(tmp_path / "s")
    assert kept.image.needed == analysis.image.needed
    assert measurement_of(kept, ()).sizes == measurement_of(analysis, ()).sizes
    # A snapshot without the list gives None
    write_snapshot(tmp_path / "old", recorded_analysis("mlp"))
    assert read_snapshot(tmp_path / "old").image.needed is None


def needing(*names: str) -> Measurement:
    return replace(measurement_of(recorded_analysis("mlp"), ()), needed=tuple(sorted(names)))


def verdicts(
    now: Measurement, before: Measurement | None, *, counts: bool = True
) -> dict[str, str]:
    subject = CheckedApp("mlp", "x86_64-linux", now, lambda metric: 0)
    reference = SizeReference("merge base 1234567", before, "" if before else "none is there")
    checks = needed_checks(subject, reference, counts=counts)
    assert all(bool(check.advice) == (check.verdict != "pass") for check in checks)
    return {check.metric: check.verdict for check in checks}


def test_a_new_library_fails_by_name() -> None:
    usual = needing("libc.so.6")
    assert verdicts(usual, usual) == {"needed": "pass"}
    assert verdicts(needing(), usual) == {"needed": "pass"}
    more = needing("libc.so.6", "libfoo.so", "search path $ORIGIN")
    failing = {"needed/libfoo.so": "fail", "needed/search path $ORIGIN": "fail"}
    assert verdicts(more, usual) == failing
    assert verdicts(more, needing()) == {**failing, "needed/libc.so.6": "fail"}
    assert verdicts(more, more) == {"needed": "pass"}


def test_what_is_not_known_is_not_passed() -> None:
    usual, unknown = needing("libc.so.6"), replace(needing(), needed=None)
    assert verdicts(usual, unknown) == {"needed": "inconclusive"}
    assert verdicts(unknown, usual) == {"needed": "inconclusive"}
    assert verdicts(usual, None) == {"needed": "inconclusive"}
    assert verdicts(usual, None, counts=False) == {"needed": "not_run"}
    assert verdicts(needing(), None) == {"needed": "pass"}


REVIEWED = b"""\
app: mlp
target: x86_64-linux
toolchain: gcc
load: 1
ram: 2
file: 3
operators: {}
"""


def test_baselines_accept_libraries_in_review() -> None:
    old = parse_baseline(REVIEWED, "old")
    new = parse_baseline(REVIEWED + b"needed: [libc.so.6, libfoo.so]\n", "new")
    assert measurement_of_baseline(old).needed is None
    assert measurement_of_baseline(new).needed == ("libc.so.6", "libfoo.so")
    hostile = replace(new, needed=("it's", "a\nb\x01"))
    for baseline in (old, new, replace(new, needed=()), hostile):
        again = parse_baseline(baseline_text(baseline).encode(), "again")
        assert again.needed == baseline.needed
    change = _replaced("b.yaml", replace(new, needed=("libc.so.6",)), new)
    assert change.loosens
    assert "needed libc.so.6" in change.old
    assert "needed libc.so.6 libfoo.so" in change.new
    assert not _replaced("b.yaml", new, replace(new, needed=("libc.so.6",))).loosens


@pytest.mark.parametrize(
    ("texts", "needed"),
    [
        ((b"G.f", b"G.g"), ["G.dll"]),
        ((b"other.ocx.#12", b"a"), ["other.ocx"]),
        ((b"api-x-l1-1-0.f", b"G.f"), ["G.dll", "api-x-l1-1-0.dll"]),
        ((b"", b""), []),
    ],
)
def test_a_dll_needs_those_that_it_forwards_exports_to(
    texts: tuple[bytes, bytes], needed: list[str]
) -> None:
    start, size = 0x1000, 40 + 12  # the table, and three addresses
    place = start + size
    places = (place, place + len(texts[0]) + 1, 0x9000)  # the last one is code
    head = struct.pack("<20xIII", len(places), 0, start + 40).ljust(40, b"\0")
    content = head + struct.pack("<3I", *places) + b"\0".join((*texts, b""))
    section = PeSection(".edata", start, len(content), 0, len(content), 0)
    layout = PeLayout(
        *(Path("x.dll"), np.frombuffer(content, np.uint8), 0x8664, False, 0, (section,)),
        *(((start, len(content)), *[(0, 0)] * 15), SymbolRecords(0, 0, 18)),
    )
    assert [*libraries(layout)] == needed
