"""Test which files `sizeguard init` takes for products: static libraries, and stripped copies."""

from __future__ import annotations

from pathlib import Path

from sizeguard.formats.elf.layout import ET_REL
from sizeguard.proposals.propose import propose
from tests.support.made_elf import Form, MadeSection, MadeSegment, make_elf
from tests.test_init_folders import CACHE, check, project_of, put

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
