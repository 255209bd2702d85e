"""Sizes that block a change are read twice: by sizeguard, and by pyelftools or lief."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import SizeguardError
from sizeguard.builds import second_reader
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.second_reader import (
    Reading,
    check_readings,
    disagreement,
    read_again,
    read_ourselves,
)
from sizeguard.formats.elf.layout import ET_EXEC, ET_REL, SHN_COMMON, SHT_STRTAB, SHT_SYMTAB
from sizeguard.formats.sniff import ELF, format_of
from sizeguard.gate.cache.kept_readings import check_once
from sizeguard.snapshots.store import Store
from tests.support.builds.recorded_builds import recorded_images, recorded_runtime
from tests.support.images.edited_elf import EditedElf
from tests.support.images.macho_samples import MachoSamples
from tests.support.images.made_elf import (
    SHT_NOBITS,
    Form,
    MadeSection,
    MadeSegment,
    MadeSymbol,
    make_elf,
)
from tests.support.images.windows_and_web import MACHINES, build_windows

SYSTEM = sorted(
    path
    for folder in ("/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/aarch64-linux-gnu/lib")
    for path in Path(folder).glob("*")
    if path.is_file() and path.stat().st_size < 4 << 20
)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return recorded_runtime(tmp_path).build.shipped


def again_of(path: Path) -> Reading:
    found = read_again(path)
    assert found is not None
    return found


@pytest.mark.native  # takes seconds
def test_two_readers_agree_about_images_of_the_system() -> None:
    images = [path for path in SYSTEM if format_of(path.read_bytes()[:64]) == ELF][::7]
    assert len(images) > 50
    assert [path for path in images if disagreement(read_ourselves(path), again_of(path))] == []


def test_mach_o_images_are_read_by_lief(macho: MachoSamples) -> None:
    thin = [path for path in sorted(macho.folder.iterdir()) if path.is_file() and path.suffix == ""]
    assert len(thin) > 12
    for path in thin:
        again = again_of(path)
        assert again.reader == "lief"
        assert disagreement(read_ourselves(path), again) == ""


def test_pe_images_are_read_by_lief(tmp_path: Path, native_tools: None) -> None:
    samples = build_windows(tmp_path)
    for machine in MACHINES:
        ours, again = read_ourselves(samples.image(machine)), again_of(samples.image(machine))
        assert (disagreement(ours, again), again.reader) == ("", "lief")
        moved = replace(ours, load=ours.load + 1)
        assert disagreement(moved, again).startswith("load")


def test_members_of_a_container_are_read_twice(image: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as file:
        file.writestr("a.so", image.read_bytes())
        file.writestr("b.so", image.read_bytes())
    sizes, one = measure(tmp_path / "two.zip"), measure(image)
    assert sizes.load == 2 * one.load
    check_readings([tmp_path / "two.zip"], sizes)
    with pytest.raises(SizeguardError, match="load is recorded"):
        check_readings([tmp_path / "two.zip"], one)


def test_an_image_without_section_headers_is_read_by_its_segments(
    image: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.write_bytes(EditedElf.of(image.read_bytes()).file(strip_headers=True))
    again = again_of(bare)
    assert again.sections is None
    assert again.load > 10_000
    check_readings([bare], measure(bare))


def test_recorded_images_of_other_formats_are_read_by_lief(tmp_path: Path) -> None:
    folder = recorded_images(tmp_path)
    for path in sorted(folder.iterdir()):
        ours, again = read_ourselves(path), read_again(path)
        if path.suffix in (".wasm", ".obj"):
            assert again is None, path.name  # lief has no sections of these
            check_readings([path], measure(path))
            continue
        assert again is not None
        assert (disagreement(ours, again), again.reader) == ("", "lief"), path.name
        assert again.sections, path.name
        assert again.file == path.stat().st_size
        check_readings([path], measure(path))


def test_a_writable_segment_of_any_name_takes_memory(tmp_path: Path) -> None:
    image = recorded_images(tmp_path) / "app-arm64"
    ram = again_of(image).ram
    image.write_bytes(image.read_bytes().replace(b"__DATA\0", b"__MINE\0"))
    again = again_of(image)
    assert again.ram == ram > 0
    assert disagreement(read_ourselves(image), again) == ""


def test_debug_sections_have_the_attribute_or_the_name(tmp_path: Path) -> None:
    """In a section's entry, the attributes are 48 bytes after the segment's name."""
    image = recorded_images(tmp_path) / "main-arm64-g.o"
    content, load = image.read_bytes(), again_of(image).load
    image.write_bytes(content.replace(b"__DWARF\0", b"__OTHER\0"))
    assert again_of(image).load == load
    assert disagreement(read_ourselves(image), again_of(image)) == ""

    assert content.count(b"__DWARF\0") > 3
    edited = bytearray(content)
    for found in re.finditer(b"__DWARF\0", content):
        struct.pack_into("<I", edited, found.start() + 48, 0)
    image.write_bytes(edited)
    assert again_of(image).load == load
    assert disagreement(read_ourselves(image), again_of(image)) == ""


@pytest.mark.parametrize(("name", "size"), [("fat64", 30), ("x86_64.dll", 64)])
def test_what_lief_cannot_read_is_no_agreement(tmp_path: Path, name: str, size: int) -> None:
    image = recorded_images(tmp_path) / name
    image.write_bytes(image.read_bytes()[:size])
    with pytest.raises(SizeguardError, match="lief cannot read it"):
        read_again(image)


ALLOC, WRITE, TLS = 2, 1, 0x400
DATA = MadeSection(".data", flags=ALLOC | WRITE, address=0x2000, content=bytes(16))


def zeros(name: str, address: int, size: int, flags: int = ALLOC | WRITE) -> MadeSection:
    return MadeSection(name, SHT_NOBITS, flags, address, size=size)


@pytest.mark.parametrize(
    ("sections", "memory", "flags", "ram"),
    [
        pytest.param([DATA], 16, 6, 16, id="no zeros"),
        pytest.param([DATA], 116, 6, 116, id="no section has the zeros"),
        pytest.param([DATA, zeros(".bss", 0x2010, 100)], 116, 6, 116, id="a section has them"),
        pytest.param([DATA, zeros(".bss", 0x2010, 40)], 116, 6, 116, id="a section has a part"),
        pytest.param([DATA], 116, 4, 16, id="the segment is not writable"),
        pytest.param(
            [DATA, zeros(".tbss", 0x2010, 100, ALLOC | WRITE | TLS)], 116, 6, 216,
            id="a thread has its own zeros",
        ),
        pytest.param(
            [DATA, MadeSection(".tdata", flags=ALLOC | WRITE | TLS, address=0x2010, size=100)],
            116, 6, 116, id="all threads have the initial values",
        ),
        pytest.param([DATA, zeros(".next", 0x2074, 40)], 116, 6, 156, id="the next segment's"),
        pytest.param([zeros(".bss", 0x2000, 116)], 116, 6, 116, id="a section of zeros alone"),
        pytest.param([zeros(".before", 0x1FF0, 216)], 116, 6, 332, id="one that begins before"),
    ],
)  # fmt: skip
def test_zeros_of_a_writable_segment_take_memory(
    tmp_path: Path, sections: list[MadeSection], memory: int, flags: int, ram: int
) -> None:
    in_file = sum(len(section.content) for section in sections)
    segment = MadeSegment(64 + 56, 0x2000, in_file, memory, flags=flags)
    image = tmp_path / "image"
    image.write_bytes(make_elf(Form(), sections, [segment]))
    again = again_of(image)
    assert again.ram == ram
    assert disagreement(read_ourselves(image), again) == ""
    check_readings([image], measure(image))


@pytest.mark.parametrize(
    ("type_", "ram"), [(ET_REL, 56), (ET_EXEC, 16)], ids=["an object", "a program"]
)
def test_common_symbols_of_an_object_take_memory(tmp_path: Path, type_: int, ram: int) -> None:
    """The linker has given them their place in a program, which a section or segment has."""
    symbols, strings = Form().symbols([MadeSymbol("buffer", 8, 40, type=1, section=SHN_COMMON)])
    table = MadeSection(".symtab", SHT_SYMTAB, content=symbols, link=3, info=1, entry_size=24)
    image = tmp_path / "image"
    sections = [DATA, table, MadeSection(".strtab", SHT_STRTAB, content=strings)]
    image.write_bytes(make_elf(Form(), sections, type_=type_))
    assert again_of(image).ram == ram
    assert disagreement(read_ourselves(image), again_of(image)) == ""


@pytest.mark.parametrize("name", ["load", "ram", "file"])
def test_each_number_that_differs_is_named(image: Path, name: str) -> None:
    ours = read_ourselves(image)
    assert disagreement(ours, again_of(image)) == ""
    wrong = replace(ours, **{name: getattr(ours, name) + 1})
    assert disagreement(wrong, again_of(image)).startswith(f"{name}: sizeguard reads ")


def test_a_section_that_one_reader_alone_sees_is_named(image: Path) -> None:
    ours, again = read_ourselves(image), again_of(image)
    assert ours.sections is not None
    more = replace(ours, sections=ours.sections + Counter({(".hidden", 0, 4): 1}))
    assert "section .hidden: only sizeguard reads" in disagreement(more, again)
    assert "section .hidden: only pyelftools reads" in disagreement(
        ours, replace(again, sections=more.sections)
    )


@pytest.mark.parametrize("name", ["load", "ram", "file"])
def test_sizes_that_two_readers_disagree_about_are_refused(
    image: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a control, make the second reading wrong by one byte."""
    again = again_of(image)
    wrong = replace(again, **{name: getattr(again, name) + 1})
    monkeypatch.setattr(second_reader, "read_again", lambda path: wrong)
    with pytest.raises(SizeguardError, match=f"two readers disagree about {name}"):
        check_readings([image], measure(image))


@pytest.mark.parametrize("name", ["load", "ram", "file"])
def test_recorded_sizes_that_are_not_the_images_are_refused(image: Path, name: str) -> None:
    sizes = measure(image)
    check_readings([image], sizes)
    with pytest.raises(SizeguardError, match=f"{name} is recorded as") as raised:
        check_readings([image], replace(sizes, **{name: getattr(sizes, name) - 1}))
    assert raised.value.exit_code == 4


def test_an_agreement_is_read_once_and_a_disagreement_each_time(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, sizes = Store(tmp_path / "store"), measure(image)
    wrong = replace(sizes, load=sizes.load + 1)
    for _ in range(2):
        with pytest.raises(SizeguardError, match="load is recorded as"):
            check_once(store, [image], wrong)
    check_once(store, [image], sizes)
    again = again_of(image)
    liar = replace(again, ram=again.ram + 1)
    monkeypatch.setattr(second_reader, "read_again", lambda path: liar)
    check_once(store, [image], sizes)
    with image.open("ab") as file:
        file.write(b"x")
    with pytest.raises(SizeguardError, match="two readers disagree about ram"):
        check_once(store, [image], measure(image))
    with pytest.raises(SizeguardError, match=r"recorded as|two readers"):
        check_once(store, [image], wrong)


def test_sizes_are_those_of_all_files_that_ship(image: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    shutil.copy(image, other)
    sizes = measure(image)
    with pytest.raises(SizeguardError, match="load is recorded as"):
        check_readings([image, other], sizes)


def test_what_the_second_reader_cannot_read_is_no_agreement(image: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(image.read_bytes()[:40])
    with pytest.raises(SizeguardError, match="pyelftools cannot read it"):
        read_again(cut)


def test_the_end_of_a_command_prints_nothing_about_the_library(tmp_path: Path) -> None:
    """lief takes objects for leaks that remain when Python ends, and prints lines about them."""
    image = recorded_images(tmp_path) / "app-arm64"
    code = (
        "import pathlib, sys\n"
        "from sizeguard.base.tuning import collect_seldom, skip_last_collection\n"
        "from sizeguard.builds.second_reader import read_again\n"
        "collect_seldom()\n"
        "print(read_again(pathlib.Path(sys.argv[1])).reader)\n"
        "skip_last_collection()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, image], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("lief\n", "")
