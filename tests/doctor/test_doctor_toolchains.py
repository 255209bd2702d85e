"""Changes that `sizeguard doctor` proposes for images of Rust, Go, Swift and Zig."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.builds.open_build import Files
from sizeguard.doctor.diagnosis import Diagnosis
from sizeguard.doctor.examine import examine
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.formats.elf import parse_elf
from tests.support.images.made_elf import (
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSegment,
    MadeSymbol,
    make_elf,
)

native = pytest.mark.native

ALLOC = 2
FILE = 4
STANDARD_LIBRARY = b"/rustc/" + b"0123456789" * 4 + b"/library/std/src/io/mod.rs"


def image(folder: Path, *marks: MadeSection, names: tuple[str, ...] = (), kind: int = 2) -> Path:
    """Make a program with sections that only some toolchains write, and symbols."""
    form = Form()
    symbols, texts = form.symbols([MadeSymbol(name, 0x1000, 1, type=kind) for name in names])
    text = MadeSection(".text", flags=ALLOC | 4, address=0x1000, content=bytes(4096))
    count = 1 + len(marks)
    tables = [
        MadeSection(".symtab", SHT_SYMTAB, content=symbols, link=count + 2, entry_size=24),
        MadeSection(".strtab", SHT_STRTAB, content=texts),
    ]
    data = make_elf(form, [text, *marks, *tables], [MadeSegment(0, 0x1000, 4096, 4096)])
    (folder / "app").write_bytes(data)
    return folder / "app"


def look(path: Path) -> Diagnosis:
    return examine(Files(path))


def all_changes(diagnosis: Diagnosis) -> str:
    return " ".join((*(each.change for each in diagnosis.findings), *diagnosis.unknown))


@pytest.mark.parametrize(
    ("mark", "toolchain"),
    [
        (MadeSection(".comment", content=b"GCC: (Debian) 12\0rustc version 1.95.0\0"), "Rust"),
        (MadeSection(".rodata", flags=ALLOC, content=STANDARD_LIBRARY), "Rust"),
        # Of Debian
        (
            MadeSection(
                ".rodata", flags=ALLOC, content=b"/usr/src/rustc-1.63.0/library/core/src/str/mod.rs"
            ),
            "Rust",
        ),
        (MadeSection(".go.buildinfo", content=bytes(16)), "Go"),
        (MadeSection(".gopclntab", content=bytes(16)), "Go"),
        (MadeSection("swift5_typeref", content=bytes(16)), "Swift"),
        (MadeSection(".debug_str", content=b"\0zig 0.17.1\0"), "Zig"),
        (MadeSection(".comment", content=b"GCC: (Debian) 12\0"), "C and C++"),
    ],
)
def test_toolchains_of_stripped_images(tmp_path: Path, mark: MadeSection, toolchain: str) -> None:
    facts = ImageFacts(parse_elf(Path("app"), image(tmp_path, mark).read_bytes()))
    assert [each.name for each in facts.toolchains] == [toolchain]


def test_both_toolchains_of_an_image_have_their_changes(tmp_path: Path) -> None:
    found = look(image(tmp_path, names=("_RNvCs1_5words4main", "_ZN3app4readEv") * 9))
    change = found.findings[0].change
    assert "Rust: strip = true in the Cargo profile" in change
    assert "C and C++: -Wl,-s" in change


@pytest.mark.parametrize(
    ("mark", "wanted"),
    [
        (MadeSection(".comment", content=b"rustc version 1.95.0\0"), "strip = true in the Cargo"),
        (MadeSection(".go.buildinfo", content=bytes(16)), "go build -ldflags='-s -w'"),
        (MadeSection("swift5_typeref", content=bytes(16)), "-Xlinker -s"),
        (MadeSection(".debug_str", content=b"\0zig 0.17.1\0"), "-fstrip"),
    ],
)
def test_no_option_of_another_compiler(tmp_path: Path, mark: MadeSection, wanted: str) -> None:
    names = tuple(f"a_long_name_of_a_function_{n}" for n in range(20))
    changes = all_changes(look(image(tmp_path, mark, names=names)))
    assert wanted in changes
    assert "-ffunction-sections" not in changes
    assert "-fno-exceptions" not in changes


def test_functions_of_go_are_not_folded(tmp_path: Path) -> None:
    found = look(image(tmp_path, MadeSection(".go.buildinfo", content=bytes(16))))
    assert "identical functions: no linker folds code of Go" in found.unknown


def test_go_records_the_options_of_its_linker(tmp_path: Path) -> None:
    """`-s -w` in the image's build information takes some of what it saves."""
    names = tuple(f"a_long_name_of_a_function_{n}" for n in range(20))
    mark = MadeSection(".comment", content=bytes(16))
    plain = look(image(tmp_path, mark, names=names)).findings[0]
    mark = MadeSection(".go.buildinfo", content=bytes(16))
    go = look(image(tmp_path, mark, names=names)).findings[0]
    assert plain.high - plain.low < 256 < go.high - go.low


@native
def test_changes_of_rust_save_what_is_promised(tmp_path: Path) -> None:
    def built(name: str, *flags: str) -> Path:
        command = ["rustc", "-O", *flags, "words.rs", "-o", name]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
        return tmp_path / name

    (tmp_path / "words.rs").write_text(
        'fn main() { for word in std::env::args() { println!("{word}"); } }\n'
    )
    before = look(built("before"))
    findings = {each.kind: each for each in before.findings}
    packed = look(built("packed", "-C", "link-arg=-Wl,-z,pack-relative-relocs"))
    relocations = findings["relocations"]
    assert relocations.change.startswith("-C link-arg=-Wl,-z,pack-relative-relocs ")
    assert relocations.low <= before.load - packed.load <= relocations.high
    stripped = look(built("stripped", "-C", "strip=symbols"))
    assert findings["unstripped"].low <= before.file - stripped.file <= findings["unstripped"].high
    # The standard library keeps its tables.
    short = look(built("short", "-C", "panic=abort", "-C", "force-unwind-tables=no"))
    tables = findings["exceptions"]
    assert 'panic = "abort"' in tables.change
    won = before.load - short.load
    assert tables.low <= won <= tables.high
    assert won < tables.high / 4


def test_a_static_library_is_not_examined(tmp_path: Path) -> None:
    (tmp_path / "libnk.a").write_bytes(b"!<arch>\n")
    with pytest.raises(InputError, match="a static library; doctor reads what is linked from it"):
        look(tmp_path / "libnk.a")
