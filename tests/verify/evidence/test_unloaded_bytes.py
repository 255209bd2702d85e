"""Verification reads all of the shipped file, and names libraries whose code it cannot read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.builds.link_record import write_link_record
from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.toolchains.links.asked_link import link_command
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.leaks.deselected_code import UNLOADED, DeselectedCode
from sizeguard.verify.leaks.explained_bytes import STRANGERS, judge_explained, other_libraries
from sizeguard.verify.leaks.hidden_code import judge_copies
from sizeguard.verify.leaks.toolchain_files import is_system_library
from sizeguard.verify.leaks.written_names import judge_written_names
from tests.support.images.macho_samples import SOURCES
from tests.support.links.retention_programs import run
from tests.support.tools import tool

SOURCE = """
long total(const long* data, long count) {
  long sum = 1;
  for (long i = 0; i < count; ++i) sum = sum * 31 + (data[i] ^ (sum >> 7)) % (count + 3);
  return sum;
}
long helper(long);
int main(int argc, char**) { return CALL; }
"""
HELPER = "long helper(long n) { return n * 3; }\n"

pytestmark = pytest.mark.native


def linked(folder: Path, call: str = "argc", *inputs: str) -> Files:
    """Build a program from which the linker removes total()."""
    (folder / "main.cpp").write_text(SOURCE.replace("CALL", call))
    made = folder / "main.o"
    run(
        ["g++", "-O2", "-g", "-ffunction-sections", "-c", str(folder / "main.cpp"), "-o", str(made)]
    )
    image = folder / "program"
    words = ["g++", "-Wl,--gc-sections", "-Wl,-Map=program.map", "main.o", *inputs, "-o", "program"]
    # The map names the files as they are given.
    run(["sh", "-c", f"cd {folder} && {' '.join(words)}"])
    run(["strip", "--strip-all", "-o", str(folder / "stripped"), str(image)])
    record = folder / "program.link.json"
    write_link_record(record, link_command(words, folder))
    return Files(
        image,
        folder / "stripped",
        (made,),
        folder / "program.map",
        folder=folder,
        link_record=record,
    )


def with_bytes(files: Files, extra: bytes) -> Evidence:
    for path in (files.image, files.twin):
        assert path is not None
        path.write_bytes(path.read_bytes() + extra)
    return gather(files)


def test_code_behind_the_loaded_sections_is_found(tmp_path: Path) -> None:
    files = linked(tmp_path)
    assert judge_copies(DeselectedCode(gather(files), None)).verdict == PASS
    code = next(c for c in DeselectedCode(gather(files), None).gone if "total" in c.name)
    found = judge_copies(DeselectedCode(with_bytes(files, code.pattern.data.tobytes()), None))
    assert (found.verdict, found.bytes >= 32) == (FAIL, True)
    assert UNLOADED in found.cause
    assert "total" in found.cause


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_names_behind_the_loaded_sections_are_found(encoding: str, tmp_path: Path) -> None:
    files = linked(tmp_path)
    names = ("aten::gelu",)
    assert judge_written_names(DeselectedCode(gather(files), None), names).verdict == PASS
    text = "aten::gelu_x (aten::gelu)"
    evidence = with_bytes(files, text.encode(encoding))
    found = judge_written_names(DeselectedCode(evidence, None), names)
    assert found.verdict == FAIL
    assert len(found.evidence) == (1 if encoding == "utf-8" else 2)  # wide ones count in any word


def test_a_library_that_the_build_makes_is_not_the_systems(tmp_path: Path) -> None:
    """An own libutil.so could contain what was left out of the program.

    Without a soname the program needs it by its path on the command line.
    """
    (tmp_path / "helper.cpp").write_text(HELPER)
    (tmp_path / "lib").mkdir()
    library = tmp_path / "lib" / "libutil.so"
    run(["g++", "-shared", "-fPIC", str(tmp_path / "helper.cpp"), "-o", str(library)])
    evidence = gather(linked(tmp_path, "helper(argc)", "./lib/libutil.so"))
    assert is_system_library("/sdk/libutil.so")
    (unread,) = other_libraries(evidence)
    assert unread.endswith("lib/libutil.so")


def test_a_library_in_another_folder_of_the_build_is_not_the_systems(tmp_path: Path) -> None:
    """CMake may write programs to bin and libraries to lib; it links in a third folder."""
    (tmp_path / "helper.cpp").write_text(HELPER)
    for name in ("lib", "bin", "app"):
        (tmp_path / "build" / name).mkdir(parents=True)
    library = tmp_path / "build" / "lib" / "libutil.so"
    run(["g++", "-shared", "-fPIC", str(tmp_path / "helper.cpp"), "-o", str(library)])
    found = linked(tmp_path / "build" / "app", "helper(argc)", str(library))
    image = tmp_path / "build" / "bin" / "program"
    image.write_bytes(found.image.read_bytes())
    evidence = gather(replace(found, image=image))
    (unread,) = other_libraries(evidence)
    assert unread.endswith("lib/libutil.so")


@pytest.mark.parametrize("named", [True, False])
def test_a_library_beside_the_toolchains_is_not_verified(named: bool, tmp_path: Path) -> None:
    (tmp_path / "helper.cpp").write_text(HELPER)
    word = "-Wl,-soname,libhelp.so.1" if named else "-Wl,-O1"
    library = tmp_path / "libhelper.so"
    run(["g++", "-shared", "-fPIC", word, str(tmp_path / "helper.cpp"), "-o", str(library)])
    evidence = gather(linked(tmp_path, "helper(argc)", "-L.", "-lhelper"))
    (unread,) = other_libraries(evidence)
    assert unread.endswith("libhelper.so")
    verdict = next(v for v in judge_explained(evidence) if v.name == STRANGERS)
    assert verdict.verdict == INCONCLUSIVE
    assert "libhelper.so" in verdict.evidence[0]
    # The linker reads the library, but the image does not need it.
    (tmp_path / "unused").mkdir()
    (tmp_path / "unused" / "libhelper.so").write_bytes(library.read_bytes())
    unused = gather(linked(tmp_path / "unused", "argc", "-Wl,--as-needed", "./libhelper.so"))
    assert other_libraries(unused) == ()


@pytest.mark.parametrize(
    "option, path",
    [("audit", "libhelper.so"), ("depaudit", "libhelper.so"), ("dynamic-linker", "/app/start")],
)
def test_code_that_the_linker_does_not_read_is_not_verified(
    option: str, path: str, tmp_path: Path
) -> None:
    """The loader runs it, although no symbol of the image needs it."""
    evidence = gather(linked(tmp_path, "argc", f"-Wl,--{option}={path}"))
    assert other_libraries(evidence) == (path,)


@pytest.mark.parametrize(
    ("name", "code", "is_unread"),
    [("libc.so", "", False), ("libhelp.so", "", True), ("libc.so", HELPER, True)],
)
def test_a_library_of_names_stands_for_one_of_a_system(
    name: str, code: str, is_unread: bool, tmp_path: Path
) -> None:
    """Builds for Android link lists of bionic's names, libc.stub with the name libc.so."""
    (tmp_path / "names.s").write_text(
        "" if code else ".globl _Z6helperl\n.type _Z6helperl, @function\n_Z6helperl:\n"
    )
    (tmp_path / "helper.cpp").write_text(code)
    library = tmp_path / "libhelper.stub"
    run(
        ["g++", "-shared", "-nostdlib", "-fPIC", f"-Wl,-soname,{name}"]
        + [str(tmp_path / each) for each in ("names.s", "helper.cpp")]
        + ["-o", str(library)]
    )
    evidence = gather(linked(tmp_path, "helper(argc)", "./libhelper.stub"))
    assert bool(other_libraries(evidence)) == is_unread


def test_libraries_of_systems_and_compilers_need_no_objects() -> None:
    for path in (
        "/usr/lib/x86_64-linux-gnu/libz.so.1",
        "/home/me/ndk/sysroot/usr/lib/aarch64-linux-android/30/liblog.so",
        "/home/me/gcc/lib64/libstdc++.so.6",
        "/usr/lib/libSystem.B.dylib",
        "/System/Library/Frameworks/Foundation.framework/Foundation",
    ):
        assert is_system_library(path), path
    for path in ("/home/me/app/libkernels.so", "libkernels.so.2", "@rpath/libkernels.dylib"):
        assert not is_system_library(path), path


@pytest.mark.parametrize("name", ["/usr/lib/libhelper.dylib", "@rpath/libhelper.dylib"])
def test_a_dylib_that_the_linker_read_is_not_the_systems(name: str, tmp_path: Path) -> None:
    """For those of the system, SDKs have only texts (.tbd)."""
    target = ("--target=arm64-apple-macos13.0", "-O2", "-ffreestanding", "-c")
    link = ("ld64.lld-19", "-arch", "arm64", "-platform_version", "macos", "13.0", "13.0")
    (tmp_path / "helper.c").write_text(HELPER)
    (tmp_path / "main.c").write_text(
        "long helper(long); int main(int c, char **v) { return helper(c) + !v; }\n"
    )
    for each in ("helper", "main"):
        tool("clang-19", *target, tmp_path / f"{each}.c", "-o", tmp_path / f"{each}.o")
    library, image, place = (tmp_path / each for each in ("libhelper.dylib", "main", "main.map"))
    tool(*link, "-dylib", tmp_path / "helper.o", "-install_name", name, "-o", library)
    inputs = (tmp_path / "main.o", library, SOURCES / "libSystem.tbd")
    tool(*link, *inputs, "-map", place, "-o", image)
    evidence = gather(Files(image, objects=(tmp_path / "main.o",), link_map=place))
    assert str(library) in other_libraries(evidence)
