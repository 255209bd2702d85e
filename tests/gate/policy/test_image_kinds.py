"""Images of another machine or kind than the base's: objects and libraries in place of programs."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL
from sizeguard.formats.elf import read_elf
from sizeguard.formats.elf.elf_kind import elf_kind
from sizeguard.formats.link_kind import LIBRARY, OBJECT, PIE, PROGRAM
from sizeguard.gate.gate_result import MACHINE, AppResult, GateResult
from sizeguard.gate.policy.baselines import (
    baseline_text,
    measurement_of_baseline,
    parse_baseline,
)
from sizeguard.gate.policy.changes.reviewed_changes import _replaced
from sizeguard.gate.policy.checks import CheckedApp, SizeReference
from sizeguard.gate.policy.needed import machine_checks
from sizeguard.gate.remade_advice import with_remade_advice
from sizeguard.gate.review_result import Baseline
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measurement import Measurement
from sizeguard.report.gate.findings.gate_findings import findings
from sizeguard.snapshots.snapshot import read_snapshot, write_snapshot
from tests.support.builds.recorded_builds import recorded_images, recorded_runtime
from tests.support.images.edited_elf import EditedElf
from tests.support.tricks.any_project import made_project

SIZES = Sizes(100, 10, 200, 0)
TYPE = 16  # offset of the type in an ELF header
REL, EXEC, DYN, OTHER = 1, 2, 3, 9
X86 = "elf x86_64"


def measured(machine: str, kind: str) -> Measurement:
    return Measurement(SIZES, {}, {}, machine=machine, kind=kind)


def found(now: tuple[str, str], before: tuple[str, str]) -> list[str]:
    subject = CheckedApp("app", "linux", measured(*now), lambda metric: 0)
    reference = SizeReference("baseline", measured(*before))
    return [check.metric for check in machine_checks(subject, reference)]


def baseline(machine: str = "", kind: str = "") -> Baseline:
    return Baseline("app", "linux", "gcc-1", 9, 9, 9, {}, tables={}, machine=machine, kind=kind)


@pytest.mark.parametrize(
    ("type_", "kind"), [(REL, OBJECT), (EXEC, PROGRAM), (DYN, PIE), (OTHER, "")]
)
def test_the_type_of_an_elf_file_is_its_kind(tmp_path: Path, type_: int, kind: str) -> None:
    """A position-independent program has an interpreter or a mark; a library has neither."""
    elf = EditedElf.of(recorded_runtime(tmp_path).build.shipped.read_bytes())
    elf.data = elf.data[:TYPE] + bytes([type_]) + elf.data[TYPE + 1 :]
    path = tmp_path / "app"
    path.write_bytes(elf.file())
    assert elf_kind(read_elf(path)) == kind


def test_other_formats_have_kinds(tmp_path: Path) -> None:
    folder = recorded_images(tmp_path)
    kinds = {
        "app-arm64": PROGRAM,
        "lib-x86_64": LIBRARY,
        "main-i386.o": OBJECT,
        "x86_64.dll": LIBRARY,
        "x86_64.obj": OBJECT,
        "a.wasm": "",
    }
    assert {name: analysis_of(folder / name).image.kind for name in kinds} == kinds


@pytest.mark.parametrize(
    ("now", "before", "metrics"),
    [
        ((X86, PIE), (X86, PIE), []),
        ((X86, OBJECT), (X86, PIE), ["machine/relocatable object"]),
        ((X86, LIBRARY), (X86, PIE), ["machine/shared library"]),
        ((X86, PIE), (X86, PROGRAM), ["machine/position-independent executable"]),
        (("elf aarch64", OBJECT), (X86, PIE), ["machine/elf aarch64"]),
        (("archive x86_64", ""), (X86, PIE), ["machine/archive x86_64"]),
        # Files of older versions
        ((X86, OBJECT), (X86, ""), []),
        ((X86, OBJECT), ("", ""), []),
        ((X86, OBJECT), ("", PIE), ["machine/relocatable object"]),
    ],
)
def test_another_machine_or_kind_is_found(
    now: tuple[str, str], before: tuple[str, str], metrics: list[str]
) -> None:
    assert found(now, before) == metrics


def test_a_baseline_states_machine_and_kind() -> None:
    new = baseline("elf aarch64 (big endian)", LIBRARY)
    assert parse_baseline(baseline_text(new).encode(), "x") == new
    then = measurement_of_baseline(new)
    assert (then.machine, then.kind) == (new.machine, new.kind)
    assert parse_baseline(baseline_text(baseline()).encode(), "x") == baseline()


@pytest.mark.parametrize(
    ("old", "new", "loosens"),
    [
        ((X86, PIE), (X86, OBJECT), True),
        ((X86, PIE), (X86, ""), True),
        (("elf arm", PIE), (X86, PIE), True),
        (("", ""), (X86, PIE), False),
    ],
)
def test_another_kind_in_a_baseline_is_listed(
    old: tuple[str, str], new: tuple[str, str], loosens: bool
) -> None:
    change = _replaced("x", baseline(*old), baseline(*new))
    assert change.loosens == loosens
    for text, (machine, kind) in ((change.old, old), (change.new, new)):
        assert old[0] == new[0] or f"machine {machine or 'not said'}" in text
        assert old[1] == new[1] or f"kind {kind or 'not said'}" in text


def test_the_finding_names_both_kinds() -> None:
    subject = CheckedApp("app", "linux", measured(X86, OBJECT), lambda metric: 0)
    assert machine_checks(subject, SizeReference("merge base 1234567", None)) == ()
    checks = machine_checks(subject, SizeReference("merge base 1234567", measured(X86, PIE)))
    assert [(check.limit, check.actual, check.headroom) for check in checks] == [(0, 1, -1)]
    app = AppResult("app", "linux", "gcc-1", FAIL, SIZES, None, checks, (), (), (), None)
    (finding,) = (each for each in findings(GateResult(FAIL, (app,))) if each.check)
    assert finding.message == (
        "the kind of file is relocatable object, but the merge base 1234567 is position-independent"
        " executable"
    )
    again = with_remade_advice(GateResult(FAIL, (app,)), datetime.date(2026, 1, 1))
    (check,) = again.apps[0].checks
    assert check.kind == MACHINE
    assert check.advice.endswith("sizeguard baseline update --app app --target linux")


def test_a_snapshot_keeps_the_kind(tmp_path: Path) -> None:
    analysis = analysis_of(recorded_runtime(tmp_path).build.image)
    write_snapshot(tmp_path / "a", analysis)
    kept = read_snapshot(tmp_path / "a")
    assert kept.image.kind == analysis.image.kind == PIE
    assert measurement_of(kept, ()).kind == PIE
    kept.image = replace(kept.image, kind="")
    write_snapshot(tmp_path / "b", kept)
    assert measurement_of(read_snapshot(tmp_path / "b"), ()).kind == ""


CONFIG = """limits:
  load: {growth: 64 B}
apps:
  app:
    build: sh build.sh
    image: app
"""
PLACES = {
    "an object": "cc -Os -c -DSIZE=2 -o app main.c\n",
    "a shared library": "cc -Os -shared -fPIC -nostdlib -o app main.c\n",
    "a program at a fixed address": "cc -Os -no-pie -o app main.c\n",
}


@pytest.mark.native
@pytest.mark.parametrize("place", PLACES)
def test_a_file_of_another_kind_fails_until_it_is_reviewed(tmp_path: Path, place: str) -> None:
    """It fails beside the base, and passes if the change's baseline states its kind."""
    project = made_project(
        tmp_path,
        CONFIG,
        {"build.sh": "cc -Os -o app main.c\n", "main.c": "int main(void) {return 0;}\n"},
    )
    project.git("checkout", "-q", "-b", "work")
    project.write({"build.sh": PLACES[place]})
    project.commit("Change")
    done = project.run("gate", "--base", "main")
    assert done.code == 1, done.out
    words = " ".join(done.out.split())
    assert "kind of file is" in words and "is position-independent executable" in words
    assert project.run("baseline", "update").code == 0
    project.commit("Review")
    assert project.run("gate", "--base", "main").code == 0


ARCHIVED = CONFIG.replace("image: app", "image: libx.a")
BUILT = "cc -Os -c main.c\nar %s libx.a main.o\n"
SMALL, LARGE = (f"char a[{size}] = {{1}};\nint f(int i) {{ return a[i]; }}\n" for size in (9, 900))


@pytest.mark.native
def test_a_static_archive_is_measured_and_a_thin_one_is_refused(tmp_path: Path) -> None:
    project = made_project(tmp_path, ARCHIVED, {"build.sh": BUILT % "rc", "main.c": SMALL})
    project.git("checkout", "-q", "-b", "work")
    project.write({"other.c": "\n"})
    project.commit("More")
    assert project.run("gate", "--base", "main").code == 0
    project.write({"main.c": LARGE})
    project.commit("Grow")
    done = project.run("gate", "--base", "main")
    assert done.code == 1 and "app grew 891 bytes" in done.out
    assert project.run("baseline", "update").code == 0
    project.commit("Review")
    assert project.run("gate", "--base", "main").code == 0
    project.write({"build.sh": BUILT % "rcT"})
    done = project.run("gate", "--base", "main")
    assert done.code == 4 and "libx.a is a thin archive" in " ".join(done.out.split())
    project.write({"build.sh": "cc -Os -shared -fPIC -nostdlib -o libx.a main.c\n"})
    done = project.run("gate", "--base", "main")
    assert done.code == 1 and "this is elf x86_64" in " ".join(done.out.split())


OF_LTO = {
    "an object": ("gcc -flto -Os -c -o libx.a main.c\n", 4),
    "an archive": ("gcc -flto -Os -c main.c\ngcc-ar rc libx.a main.o\n", 4),
    "bitcode in an archive": (
        "clang-19 -flto -Os -c main.c\ncc -Os -c more.c\nar rc libx.a main.o more.o\n", 4,
    ),
    "an object with machine code": ("gcc -flto -ffat-lto-objects -Os -c -o libx.a main.c\n", 0),
    "an object with nothing": ("cc -Os -c -o libx.a empty.c\n", 0),
}  # fmt: skip


@pytest.mark.native
@pytest.mark.parametrize("what", OF_LTO)
def test_objects_that_lto_still_compiles_have_no_size(tmp_path: Path, what: str) -> None:
    """Data of 900 bytes takes a few bytes of compressed LTO code, so growth would be hidden."""
    build, code = OF_LTO[what]
    files = {"main.c": LARGE, "more.c": "int more(void) { return 1; }\n", "empty.c": "\n"}
    project = made_project(tmp_path, ARCHIVED, {"build.sh": build, **files})
    done = project.run("gate")
    assert done.code == code, done.out
    assert ("link-time optimization" in " ".join(done.out.split())) == (code == 4)
