"""Verify Mach-O images linked with LTO, whose maps list main under a bitcode file."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, PRESENT, Verification
from sizeguard.gate.verified_builds import verify_symbols
from sizeguard.verify.evidence.gather_evidence import gather
from tests.support.images.macho_samples import SOURCES

pytestmark = pytest.mark.native

SOURCE = """
int spare(int x) { return x * 3; }
__attribute__((noinline)) int used(int x) { return x * 7 + 1; }
int main(int argc, char** argv) { return used(argc); }
"""
HIDDEN = "int hidden(int x) { return x * 11; }"


def run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True)


def linked(folder: Path, arch: str, source: str = SOURCE, *extra: str) -> Files:
    """Link with LTO, with a map and the objects that the linker makes."""
    target = f"--target={arch}-apple-macos13"
    (folder / "program.c").write_text(source)
    (folder / "hidden.c").write_text(HIDDEN)
    run(folder, "clang-19", target, "-Os", "-flto", "-c", "program.c")
    run(folder, "clang-19", target, "-Os", "-c", "hidden.c")
    words = ["ld64.lld-19", "-arch", arch, "-platform_version", "macos", "13.0", "13.0"]
    words += ["-dead_strip", "-object_path_lto", "program.lto", "-map", "program.map"]
    words += ["program.o", *extra, str(SOURCES / "libSystem.tbd"), "-o", "program"]
    run(folder, *words)
    objects = tuple(sorted((folder / "program.lto").glob("*.o")))
    return Files(
        folder / "program", objects=objects, link_map=folder / "program.map", folder=folder
    )


def verdicts(found: Verification) -> list[tuple[str, str]]:
    return [(each.expect, each.verdict) for each in found.verdicts]


@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
def test_main_is_in_the_object_that_lto_made(tmp_path: Path, arch: str) -> None:
    files = linked(tmp_path, arch)
    assert "program.o" in (tmp_path / "program.map").read_text()
    evidence = gather(files)
    assert (evidence.gaps, evidence.placement.missing) == ((), ())
    placed = {
        symbol.name
        for number, section in evidence.placement.address
        for symbol in evidence.objects.files[number].symbols
        if symbol.section == section and symbol.binding
    }
    assert "main" in placed
    found = verify_symbols(files, ["main", "spare"], ["main"])
    assert verdicts(found)[0] == (ABSENT, FAIL)
    assert verdicts(found)[-1] == (PRESENT, PASS)


def test_an_object_that_was_not_given_is_missing(tmp_path: Path) -> None:
    """Negative control: the code of a linked object is missing if that object is not given."""
    source = SOURCE.replace("used(argc)", "used(argc) + hidden(argc)")
    files = linked(tmp_path, "arm64", "int hidden(int);" + source, "hidden.o")
    assert gather(files).placement.missing == ("hidden.o",)
    assert verdicts(verify_symbols(files, ["spare"], [])) == [(ABSENT, INCONCLUSIVE)]
    both = replace(files, objects=(*files.objects, tmp_path / "hidden.o"))
    assert gather(both).gaps == ()


def test_lto_objects_of_another_build_are_refused(tmp_path: Path) -> None:
    for name, source in (("one", SOURCE), ("two", SOURCE.replace("* 7", "* 9 + argc_of()"))):
        (tmp_path / name).mkdir()
        linked(tmp_path / name, "arm64", source.replace("+ argc_of()", "- 5"))
    mixed = Files(
        tmp_path / "one" / "program",
        objects=tuple((tmp_path / "two" / "program.lto").glob("*.o")),
        link_map=tmp_path / "one" / "program.map",
        folder=tmp_path / "one",
    )
    with pytest.raises(InconclusiveError, match="of another build"):
        gather(mixed)
