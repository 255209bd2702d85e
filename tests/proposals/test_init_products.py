"""Test which files `sizeguard init` takes for products: static libraries, and stripped copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.elf.layout import ET_REL
from sizeguard.proposals.build_folder import DEBUG, BuildFolder, BuildSystem, LinkedFile
from sizeguard.proposals.build_systems.cargo import Cargo
from sizeguard.proposals.build_systems.cmake import CMake
from sizeguard.proposals.build_systems.make import Make
from sizeguard.proposals.build_systems.meson import Meson
from sizeguard.proposals.build_systems.ninja import Ninja
from sizeguard.proposals.propose import propose
from tests.support.images.made_elf import Form, MadeSection, MadeSegment, make_elf
from tests.support.tricks.build_folders import CACHE, LIBRARY, check, project_of, put

SHF_ALLOC, SHF_EXECINSTR = 2, 4
CODE = MadeSection(".text", flags=SHF_ALLOC | SHF_EXECINSTR, address=0x1000, content=b"\x90" * 400)
SYMBOLS = (MadeSection(".symtab", 2, content=bytes(24), link=1, entry_size=24),)


def archive(path: Path, *sections: str, thin: bool = False) -> Path:
    """Write an archive with one object."""
    marks = [MadeSection(name) for name in sections]
    content = make_elf(Form(), [CODE, *marks], type_=ET_REL)
    header = f"{'words.o/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(content):<10}`\n".encode()
    put(path, "")
    body = b"" if thin else content
    path.write_bytes((b"!<thin>\n" if thin else b"!<arch>\n") + header + body)
    return path


def image(path: Path, code: MadeSection = CODE, symbols: tuple[MadeSection, ...] = ()) -> Path:
    """Write a program."""
    put(path, "")
    segments = [MadeSegment(0, 0x1000, 400, 400)]
    path.write_bytes(make_elf(Form(), [code, *symbols], segments))
    return path


def cmake_folder(root: Path, *links: str, installed: str = "") -> Path:
    """Make a build folder of CMake; links: a rule's language and kind, then what it makes."""
    folder = root / "build"
    put(root / "CMakeLists.txt", "")
    put(folder / "CMakeCache.txt", CACHE.format(source=root))
    text = "rule x\n"
    for link in links:
        kind, name = link.split()
        stem = Path(name).stem.removeprefix("lib")
        place = f"{Path(name).parent}/CMakeFiles/{stem}.dir"
        put(folder / place / "words.cpp.o", "")
        text += f"build lib/{Path(name).name}: CXX_{kind}_LINKER__{stem}_ {place}/words.cpp.o\n"
    put(folder / "build.ninja", text)
    if installed:
        told = (
            f'file(INSTALL DESTINATION "/lib" TYPE STATIC_LIBRARY FILES "{folder}/{installed}")\n'
        )
        put(folder / "cmake_install.cmake", told)
    return folder


def test_static_libraries_are_the_products_of_a_build_without_images(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/build/\n")
    words = ("STATIC_LIBRARY libwords.a", "STATIC_LIBRARY _deps/zip/libzip.a")
    folder = cmake_folder(root, *words, "EXECUTABLE words_test")
    archive(folder / "lib/libwords.a", ".note.GNU-stack")
    archive(folder / "lib/libzip.a")
    image(folder / "lib/words_test")
    proposal = propose(folder)
    assert check(proposal) == {"libwords": "build/lib/libwords.a"}
    assert proposal.target == "x86_64-linux"
    assert proposal.build == "cmake --build build --target words"
    assert proposal.images[0].missing == ()
    assert proposal.left_out == (("build/lib/words_test", "of tests"),)


def test_an_installed_static_library_precedes_tools_that_are_not(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/build/\n")
    words = ("STATIC_LIBRARY libwords.a", "EXECUTABLE count")
    folder = cmake_folder(root, *words, installed="lib/libwords.a")
    archive(folder / "lib/libwords.a")
    image(folder / "lib/count")
    proposal = propose(folder)
    assert check(proposal) == {"libwords": "build/lib/libwords.a"}
    assert proposal.left_out == (("build/lib/count", "not installed"),)
    (folder / "cmake_install.cmake").unlink()
    proposal = propose(folder)
    assert check(proposal) == {"count": "build/lib/count"}
    assert proposal.left_out == ()


def test_archives_of_a_makefile(tmp_path: Path) -> None:
    root = project_of(tmp_path, "*.a\n")
    put(root / "Makefile", "libwords.a: words.o\n\tar rcs $@ $^\n")
    archive(root / "libwords.a", ".note.GNU-stack")
    archive(root / "libthin.a", thin=True)  # its code is in other files
    proposal = propose(root)
    assert check(proposal) == {"libwords": "libwords.a"}
    assert (proposal.target, proposal.build) == ("x86_64-linux", "make libwords.a")


def test_a_stripped_copy_ships_and_is_no_image_of_its_own(tmp_path: Path) -> None:
    root = project_of(tmp_path, "app*\nother\n")
    put(root / "Makefile", "all:\n\techo\n")
    image(root / "app_unstripped", symbols=SYMBOLS)
    image(root / "app")
    image(root / "other", MadeSection(CODE.name, flags=CODE.flags, content=b"\xcc" * 400))
    proposal = propose(root)
    found = {each.name: (each.image, each.shipped) for each in proposal.images}
    assert found == {"app": ("app_unstripped", "app"), "other": ("other", "")}
    assert "symbols" not in dict(proposal.images[0].missing)
    assert "symbols" in dict(proposal.images[1].missing)


def test_a_build_without_debug_information_is_told_how_to_add_it(tmp_path: Path) -> None:
    """Lines of functions that grew are certain with it; nothing of it ships."""
    root = project_of(tmp_path, "app*\n")
    put(root / "Makefile", "all:\n\techo\n")
    lines = MadeSection(".debug_info", content=bytes(8))
    for symbols, is_missing in (
        (SYMBOLS, True),
        ((*SYMBOLS, lines), False),
        ((), False),  # who stripped it may have compiled with -g
    ):
        image(root / "app", symbols=symbols)
        (only,) = propose(root).images
        assert ("debug information" in dict(only.missing)) is is_missing
    image(root / "app", symbols=SYMBOLS)
    put(root / "app.debug", "")
    assert "debug information" not in dict(propose(root).images[0].missing)


@pytest.mark.parametrize(
    ("system", "setting"),
    [(CMake(), "(-g)"), (Make(), "-g"), (Meson(), "-Ddebug=true"), (Ninja(), "-g"),
     (Cargo(), "debug = 1")],
)  # fmt: skip
def test_each_build_system_has_a_setting_for_debug_information(
    system: BuildSystem, setting: str
) -> None:
    text = system.advice(DEBUG, BuildFolder(Path(), Path("build")), LinkedFile(Path("build/app")))
    assert f"{setting} " in text.replace(";", " ;")
    assert "the gate strips its own copy" in text


AUTOMAKE = """# Makefile.in generated by automake 1.16.5 from Makefile.am.
check_PROGRAMS = try$(EXEEXT) \\
\t$(am__EXEEXT_1)
bin_PROGRAMS = count$(EXEEXT)
noinst_PROGRAMS = helper$(EXEEXT)
#sbin_PROGRAMS = stray$(EXEEXT)
lib_LTLIBRARIES = libwords.la
am__EXEEXT_1 = speed$(EXEEXT)
EXEEXT =
"""


def test_automake_tells_what_it_installs_and_tests(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/out/\n")
    folder = root / "out"
    put(folder / "Makefile", "# generated by automake 1.16.5\nSUBDIRS = src\n")
    put(folder / "src/Makefile", AUTOMAKE)
    put(folder / "src/count", "#!/bin/sh\n")  # libtool's script
    for name in (".libs/count", "helper", "try", "speed", "stray"):
        put(folder / "src" / name)
    put(folder / "src/.libs/libwords.so.1.0", LIBRARY)
    (folder / "src/.libs/libwords.so").symlink_to("libwords.so.1.0")
    proposal = propose(folder)
    assert check(proposal) == {
        "my_w_rk.count": "out/src/.libs/count",
        "my_w_rk.libwords": "out/src/.libs/libwords.so",
    }
    assert dict(proposal.left_out) == {
        "out/src/helper": "not installed",
        "out/src/try": "of tests",
        "out/src/speed": "of tests",
    }


def test_copies_under_other_names_are_left_out(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/src/\n/deps/\n")
    put(root / "Makefile", "all:\n\techo\n")
    for seconds, name in enumerate(("server", "check", "sentinel")):
        os.utime(image(root / "src" / name, symbols=SYMBOLS), (seconds, seconds))
    os.utime(image(root / "src/obj/server", symbols=SYMBOLS), (0, 0))
    put(root / "deps/lua")
    proposal = propose(root)
    assert check(proposal) == {"server": "src/server"}
    assert dict(proposal.left_out) == {
        "src/check": "a copy of src/server",
        "src/sentinel": "a copy of src/server",
        "src/obj/server": "a copy of src/server",
        "deps/lua": "of a dependency",
    }


def test_an_unknown_command_that_writes_the_makefile_is_said(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/objs/\nMakefile\n")
    put(root / "configure", "#!/bin/sh\n")
    put(root / "Makefile", "all:\n\techo\n")
    image(root / "objs/app")
    assert propose(root).notes == (
        "git does not track Makefile: set the command that writes it as setup, such as ./configure",
    )


def test_bazel_is_named_and_its_image_is_not_one_of_make(tmp_path: Path) -> None:
    """Its folder has links to the files of the checkout, the Makefile among them."""
    root = project_of(tmp_path)
    put(root / "Makefile", "app:\n\tcc\n")
    run = tmp_path / "execroot" / "main"
    image(run / "bazel-out" / "k8-opt" / "bin" / "app")
    (run / "Makefile").symlink_to(root / "Makefile")
    (root / "bazel-out").symlink_to(run / "bazel-out")
    (root / "bazel-bin").symlink_to(run / "bazel-out" / "k8-opt" / "bin")
    for start in (root, root / "bazel-bin"):
        with pytest.raises(InconclusiveError, match="a build by Bazel"):
            propose(start)
