"""Test evidence of a verification: unnamed machine code, placed sections, removed sections."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InconclusiveError, SizeguardError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files, files_of
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.formats.elf import read_elf
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_symbols
from sizeguard.verify.evidence.code_search import ImageBytes, Pattern
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.evidence.placement import place
from tests.support.links.retention_programs import CASES, SOURCES, Case, Program, build, link, run
from tests.support.places import SIZEGUARD

MARKER = ["-DMARKER=0x5d1ec7b39a017f01ull", '-DMARKER_TEXT="0"']


def compiled(folder: Path, name: str, *options: str, compiler: str = "g++") -> Path:
    path = folder / f"{name}.o"
    run(
        [
            compiler,
            "-O2",
            "-ffunction-sections",
            *options,
            *MARKER,
            "-c",
            str(SOURCES / f"{name}.cpp"),
            "-o",
            str(path),
        ]
    )
    return path


def files(program: Program) -> Files:
    return Files(
        program.image,
        program.stripped,
        program.objects,
        program.link_map,
        None,
        program.image.parent,
    )


@given(st.binary(min_size=16, max_size=64), st.data())
def test_masked_bytes_do_not_count_and_fixed_ones_do(code: bytes, data: st.DataObject) -> None:
    fixed = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(code), max_size=len(code))), bool
    )
    pattern = Pattern(np.frombuffer(code, np.uint8), fixed)
    changed = bytearray(code)
    for i in np.flatnonzero(~fixed).tolist():
        changed[i] ^= data.draw(st.integers(0, 255))
    assert pattern.matches(np.frombuffer(bytes(changed), np.uint8))
    if fixed.any():
        changed[data.draw(st.sampled_from(np.flatnonzero(fixed).tolist()))] ^= 1
        assert not pattern.matches(np.frombuffer(bytes(changed), np.uint8))
    assert not pattern.matches(np.frombuffer(code[:-1], np.uint8))


def test_places_are_those_of_nm_with_the_map_and_without(full_build: Build) -> None:
    listed = subprocess.run(
        ["nm", "--defined-only", str(full_build.image)], capture_output=True, text=True, check=True
    ).stdout
    named: dict[str, set[int]] = {}
    for line in listed.splitlines():
        address, _, name = line.split()
        named.setdefault(name, set()).add(int(address, 16))
    evidence = gather(files_of(full_build))
    without_map = place(evidence.objects, evidence.image, None, None, evidence.own)
    checked = 0
    for placement in (evidence.placement, without_map):
        for name, pieces in evidence.objects.index.items():
            for piece in pieces:
                where = placement.where(piece)
                section = evidence.objects.section(piece)
                if (
                    where is not None
                    and name in named
                    and section.is_executable
                    and piece.object < evidence.own
                ):
                    assert where in named[name], name
                    checked += 1
    assert checked > 1000


def test_bytes_of_the_objects_that_were_given_are_checked(
    full_build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_of(full_build)
    evidence = gather(files)
    compared: set[int] = set()
    has_at = ImageBytes.has_at

    def counted(content: ImageBytes, pattern: Pattern, address: int) -> bool:
        compared.add(address)
        return has_at(content, pattern, address)

    monkeypatch.setattr(ImageBytes, "has_at", counted)
    objects = evidence.objects
    placed = place(objects, evidence.image, evidence.link_map, files.link_map, evidence.own)
    assert placed.address == evidence.placement.address
    code = {
        address: number
        for (number, index), address in placed.address.items()
        if objects.files[number].elf.sections[index].is_executable
    }
    assert {number for address, number in code.items() if address in compared} == {
        number for number in code.values() if number < evidence.own
    }
    assert max(code.values()) >= evidence.own, "the toolchain's objects have code, too"


def test_every_function_is_found_by_its_bytes(full_build: Build) -> None:
    """Search the stripped file, with relocations applied and loads of addresses relaxed."""
    evidence = gather(files_of(full_build))
    shipped = ImageBytes(read_elf(full_build.shipped))
    searched = 0
    for node, address in evidence.placement.address.items():
        pattern = evidence.placement.pattern(node)
        if (
            evidence.placement.section(node).is_executable
            and node[0] < evidence.own
            and pattern.strength >= 24
        ):
            assert address in shipped.find(pattern)
            searched += 1
    assert searched > 400


def test_the_section_graph_agrees_with_the_map(full_build: Build) -> None:
    evidence = gather(files_of(full_build))
    assert evidence.reachable is not None
    code = {
        n
        for n in evidence.placement.address
        if evidence.placement.section(n).is_executable and n[0] < evidence.own
    }
    reachable = {
        n
        for n in evidence.reachable
        if evidence.placement.section(n).is_executable and evidence.placement.section(n).size
    }
    assert {n for n in reachable if n[0] < evidence.own} == code


def test_the_linkers_own_list_is_evidence_and_that_of_another_build_is_refused(
    full_build: Build, tmp_path: Path
) -> None:
    evidence = gather(files_of(full_build))
    said = {
        symbol: evidence.removed.says(piece)
        for symbol, pieces in evidence.objects.index.items()
        for piece in pieces
        if evidence.placement.where(piece) is None
        and piece.object < evidence.own
        and evidence.objects.section(piece).is_executable
    }
    assert any("the linker's own list" in line for line in said.values())
    placed = next(
        p for p in evidence.objects.find("main") if evidence.placement.where(p) is not None
    )
    label, name = evidence.objects.label(placed), evidence.objects.section(placed).name
    wrong = tmp_path / "log"
    wrong.write_text(f"ld: removing unused section '{name}' in file '{label}'\n")
    with pytest.raises(InconclusiveError, match="of another build: it removes"):
        gather(replace(files_of(full_build), gc_log=wrong))


@pytest.mark.native
def test_objects_without_a_section_graph_are_judged_all_the_same(tmp_path: Path) -> None:
    """For 32-bit objects, the verdicts are known, but not the cause of a failure."""
    source = tmp_path / "a.c"
    source.write_text(
        "int sink;\n"
        "__attribute__((noinline)) int kept(int x) { return x * 77 + sink; }\n"
        "__attribute__((noinline)) int gone(int x) { return x * 1234567 + sink; }\n"
        "void _start(void) { sink = kept(3); }\n"
    )
    run(
        [
            "clang-19",
            "--target=armv7-linux-gnueabihf",
            "-Os",
            "-ffunction-sections",
            "-c",
            str(source),
            "-o",
            str(tmp_path / "a.o"),
        ]
    )
    run(
        [
            "ld.lld-19",
            "--gc-sections",
            f"-Map={tmp_path / 'map'}",
            str(tmp_path / "a.o"),
            "-o",
            str(tmp_path / "out"),
        ]
    )
    given = Files(tmp_path / "out", None, (tmp_path / "a.o",), tmp_path / "map", None, tmp_path)
    found = {v.name: v for v in verify_symbols(given, ["kept", "gone"], []).verdicts}
    assert (found["gone"].verdict, found["kept"].verdict) == (PASS, FAIL)
    assert found["kept"].cause.startswith("unknown: there is no section graph")


@pytest.mark.native
@pytest.mark.parametrize("linker", ["bfd", "gold", "lld", "mold"])
def test_a_selected_operator_lost_without_whole_archive_fails(linker: str, tmp_path: Path) -> None:
    main, library = compiled(tmp_path, "program"), compiled(tmp_path, "library")
    archive = tmp_path / "liblibrary.a"
    run(["ar", "rcD", str(archive), str(library)])
    case = Case("library", "program")
    lost = link(case, "gcc", linker, tmp_path, (main, archive))
    verdict = verify_symbols(files(lost), [], ["selected"]).verdicts[0]
    assert (verdict.verdict, verdict.how) == (FAIL, "discarded_by_linker")
    assert "link the whole archive (--whole-archive)" in verdict.cause
    whole = replace(case, link=("-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"))
    kept = link(whole, "gcc", linker, tmp_path, (main,))
    found = verify_symbols(replace(files(kept), objects=(main, archive)), [], ["selected"])
    assert found.verdicts[0].verdict == PASS


@pytest.mark.native
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_a_registrar_lost_to_another_of_its_name_fails(
    order: tuple[str, str], compiler: str, tmp_path: Path
) -> None:
    """Two files define different classes with the same name.

    The linker keeps the first constructor, and silently drops the other file's function.
    """
    cxx = {"gcc": "g++", "clang": "clang++-19"}[compiler]
    objects = tuple(compiled(tmp_path, f"registrar_{name}", "-O0", compiler=cxx) for name in order)
    program = link(Case("registrars", "registrar_one"), compiler, "bfd", tmp_path, objects)
    first, second = verify_symbols(files(program), [], list(order)).verdicts
    assert (first.verdict, second.verdict) == (PASS, FAIL)
    assert second.how == "discarded_by_linker"


@pytest.mark.native
def test_the_selector_program_keeps_one_function_and_drops_the_other(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "selector")
    program = build(case, "gcc", "bfd", tmp_path)
    kept, subject = verify_symbols(files(program), ["subject"], ["kept"]).verdicts[::-1]
    assert (kept.verdict, subject.verdict, subject.how) == (PASS, PASS, "discarded_by_linker")


@pytest.mark.native
@pytest.mark.parametrize(
    ("source", "decided"), [("00_unreferenced", PASS), ("05_address_table", FAIL)]
)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_lto_is_decided_by_the_objects_that_the_linker_made(
    source: str, decided: str, compiler: str, tmp_path: Path
) -> None:
    made = compiled(
        tmp_path, source, "-flto", compiler={"gcc": "g++", "clang": "clang++-19"}[compiler]
    )
    keep = (
        ("-flto", "-O2", "-ffunction-sections", "-save-temps")
        if compiler == "gcc"
        else ("-flto", "-O2", "-Wl,--save-temps")
    )
    linker = "bfd" if compiler == "gcc" else "lld"
    program = link(Case("lto", source, link=keep), compiler, linker, tmp_path, (made,))
    alone = verify_symbols(replace(files(program), twin=None), ["subject"], []).verdicts[0].verdict
    # The image's own symbol is enough to fail
    assert alone == (INCONCLUSIVE if decided == PASS else FAIL)
    temporaries = tuple(tmp_path.glob("program.ltrans*.ltrans.o")) + tuple(
        tmp_path.glob("program.lto.o")
    )
    assert temporaries
    given = replace(files(program), objects=(made, *temporaries))
    # LTO removed the name together with the code
    found = verify_symbols(given, ["subject"], [], RequestedClaims(unknown_ok=True))
    assert (found.verdicts[0].verdict, found.canary) == (decided, "ok")


TWINS = """
.macro body name
  .section .text.\\name, "ax", @progbits
  .globl \\name
  .type \\name, @function
\\name:
  .rept 8
  addl $0x5d1ec7b3, %edi
  .endr
.endm
  body shorter
  jmp end
  .size shorter, . - shorter
  body longer
  jmp *end@GOTPCREL(%rip)
  .size longer, . - longer
  .section .text.end, "ax", @progbits
  .globl end
end:
  ret
  .section .note.GNU-stack, "", @progbits
"""


@pytest.mark.native
@pytest.mark.parametrize("called", ["shorter", "longer"])
def test_functions_that_differ_in_a_masked_end_are_two(called: str, tmp_path: Path) -> None:
    """Both end in a jump: one has 5 bytes, the other has 6 bytes that the linker rewrites."""
    (tmp_path / "twins.s").write_text(TWINS)
    (tmp_path / "main.c").write_text(f"void {called}(int);\nint main() {{ {called}(1); }}\n")
    objects = (tmp_path / "main.o", tmp_path / "twins.o")
    for source, made in zip(("main.c", "twins.s"), objects, strict=True):
        run(["gcc", "-O1", "-c", str(tmp_path / source), "-o", str(made)])
    program = link(Case("twins", "main"), "gcc", "bfd", tmp_path, objects)
    (found,) = verify_symbols(files(program), ["longer"], []).verdicts
    assert found.verdict == (PASS if called == "shorter" else FAIL)


@pytest.mark.native
def test_a_constant_finds_what_was_inlined(tmp_path: Path) -> None:
    """No symbol of `subject` is left; its code is part of main."""
    source = tmp_path / "inlined.cpp"
    source.write_text(
        '#include "sink.h"\nstatic inline void subject() { sink = MARKER; }\nint main() {'
        " subject(); return 0; }\n"
    )
    made = tmp_path / "inlined.o"
    compile_ = [
        "g++",
        "-O2",
        "-ffunction-sections",
        f"-I{SOURCES}",
        *MARKER,
        "-c",
        str(source),
        "-o",
        str(made),
    ]
    run(compile_)
    program = link(Case("inlined", "inlined"), "gcc", "bfd", tmp_path, (made,))
    (marked,) = verify_symbols(files(program), ["subject@0x5d1ec7b39a017f01"], []).verdicts
    assert marked.verdict == FAIL
    assert "in main" in marked.evidence[0]
    # With debug information, no constant is needed.
    run([*compile_, "-g"])
    program = link(Case("inlined", "inlined"), "gcc", "bfd", tmp_path, (made,))
    (named,) = verify_symbols(files(program), ["subject"], []).verdicts
    assert (named.verdict, named.cause) == (FAIL, "inlined: into main")


def sizeguard(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(SIZEGUARD), "verify", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.native
def test_exit_codes(tmp_path: Path) -> None:
    case = CASES[0]
    program = build(case, "gcc", "bfd", tmp_path)
    known = [program.image, "--objects", program.objects[0], "--map", program.link_map]
    assert sizeguard(*known, "--absent", "subject", "--present", "main").returncode == 0
    assert sizeguard(*known, "--absent", "main").returncode == 1
    assert sizeguard(*known, "--present", "subject").returncode == 1
    assert sizeguard(program.image, "--absent", "subject").returncode == 3
    assert json.loads(sizeguard(*known, "--absent", "subject", "--format", "json").stdout)[
        "summary"
    ] == {"pass": 1, "fail": 0, "inconclusive": 0, "not_applicable": 0}
    nothing = sizeguard(program.image)
    assert (nothing.returncode, nothing.stderr.count("\n")) == (2, 1)
    other = build(replace(case, name="other"), "gcc", "bfd", tmp_path / "other", optimize="-O0")
    refused = sizeguard(
        program.image,
        "--objects",
        program.objects[0],
        "--map",
        other.link_map,
        "--absent",
        "subject",
    )
    assert (refused.returncode, refused.stderr.count("\n")) == (3, 1)
    cut = tmp_path / "cut.o"
    cut.write_bytes(program.objects[0].read_bytes()[:700])
    damaged = sizeguard(
        program.image, "--objects", cut, "--map", program.link_map, "--absent", "subject"
    )
    assert (damaged.returncode, damaged.stderr.count("\n")) == (2, 1)
    assert sizeguard(tmp_path / "missing", "--absent", "f").returncode == 2


@pytest.mark.native
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_damaged_files_end_in_one_line_and_pass_nothing(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    case = next(case for case in CASES if case.name == "05")
    made = build(case, "gcc", "bfd", tmp_path)
    originals = {path: path.read_bytes() for path in (made.image, made.objects[0], made.link_map)}
    for _ in range(60):
        path = random.choice(list(originals))
        content = bytearray(originals[path])
        for _ in range(random.choice([1, 3, 20])):
            content[random.randrange(len(content))] = random.randrange(256)
        path.write_bytes(
            content[: random.randrange(len(content))] if random.random() < 0.2 else content
        )
        try:
            assert (
                verify_symbols(replace(files(made), twin=None), ["subject"], []).verdicts[0].verdict
                != PASS
            )
        except SizeguardError as error:
            assert "\n" not in str(error)
        path.write_bytes(originals[path])
