"""Compare maps of seven linkers with readelf and nm on their images.

A damaged map ends in an error of one line.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.formats.linkmap import read_link_map, read_map
from sizeguard.formats.linkmap.link_map import LinkMap, is_mapping_symbol, object_name
from tests.support.links.map_links import (
    APPLE_LINKERS,
    FOLDER,
    LINKERS,
    Link,
    link,
    link_apple,
    make_objects,
    run,
)
from tests.support.places import DATA

LINKMAPS = DATA / "linkmaps"
MAPS = sorted(LINKMAPS.glob("*.map"))

Links = Callable[[str], Link]


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Links:
    """Return a function that links the program with a linker, at most once each."""
    folder = tmp_path_factory.mktemp("links")
    objects: list[Path] = []
    done: dict[str, Link] = {}

    def make(linker: str) -> Link:
        if not objects:
            objects.extend(make_objects(folder))
        if linker not in done:
            done[linker] = link(folder, linker, objects)
        return done[linker]

    return make


def listing(map_: LinkMap) -> str:
    """List a whole map, one row a line, for the golden files."""
    rows = [f"linker {map_.linker}"]
    rows += [
        f"output {o.address:#x} {o.size} {o.name} {'loaded' if o.is_loaded else 'unloaded'}"
        for o in map_.outputs
    ]
    rows += [
        f"placed {r.address:#x} {r.size} {r.output} {r.name} {'merged' if r.is_merged else 'own'}"
        f" {r.file}"
        for r in map_.placed
    ]
    rows += [
        f"symbol {s.address:#x} {s.size} {s.name} in"
        f" {map_.placed[s.input].name if s.input >= 0 else '-'}"
        for s in map_.symbols
    ]
    rows += [f"discarded {d.size} {d.name} {d.file}" for d in map_.discarded]
    rows += [f"fill {f.address:#x} {f.size} {f.output}" for f in map_.fills]
    return "\n".join(row.rstrip() for row in rows) + "\n"


def sections(image: Path) -> dict[str, tuple[int, int, str]]:
    """Return address, size and flags of each section, by readelf."""
    text = subprocess.run(
        ["readelf", "-SW", str(image)], capture_output=True, text=True, check=True
    ).stdout
    pattern = r"\[ *\d+\] (\S+) +\S+ +([0-9a-f]{16}) [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +([A-Z]*) +\d"
    return {m[1]: (int(m[2], 16), int(m[3], 16), m[4]) for m in re.finditer(pattern, text)}


def symbols(image: Path) -> dict[tuple[int, str], int]:
    """Return sizes of symbols by nm: (address, name) → size."""
    found = {}
    for line in run("nm", "-S", "--defined-only", image, cwd=image.parent).splitlines():
        row = line.split()
        found[int(row[0], 16), row[-1].split("@")[0]] = int(row[1], 16) if len(row) == 4 else 0
    return found


@pytest.mark.parametrize("name", ["$x", "$d", "$a.3", "$t.foo", "$xrv64i2p1_m2p0_zicsr2p0"])
def test_symbols_that_mark_code_and_data_are_no_names(name: str) -> None:
    assert is_mapping_symbol(name)
    assert not any(map(is_mapping_symbol, (name[1:], f"${name}", "$xy", "$b", "$xrv", "")))


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)
def test_a_map_is_read_as_before(path: Path) -> None:
    assert listing(read_link_map(path)) == path.with_suffix(".rows").read_text()


@pytest.mark.parametrize("linker", LINKERS)
def test_output_sections_are_readelfs(links: Links, linker: str) -> None:
    made = links(linker)
    map_ = read_link_map(made.map)
    assert map_.linker == linker.partition("-")[0]
    theirs = sections(made.image)
    ours = {output.name: output for output in map_.outputs if output.size and output.is_loaded}
    loaded = {
        name: (address, size)
        for name, (address, size, flags) in theirs.items()
        if "A" in flags and size
    }
    assert {name: (ours[name].address, ours[name].size) for name in loaded} == loaded
    assert set(ours) == set(loaded)


@pytest.mark.parametrize("linker", LINKERS)
def test_rows_and_padding_sum_to_each_section_of_code(links: Links, linker: str) -> None:
    made = links(linker)
    map_ = read_link_map(made.map)
    for name in (".text", ".init", ".fini"):
        rows = sum(row.size for row in map_.placed if row.output == name)
        fill = sum(fill.size for fill in map_.fills if fill.output == name)
        assert rows + fill == sections(made.image)[name][1]
        assert rows > 0


def test_padding_is_what_gnu_ld_lists(links: Links) -> None:
    made = links("bfd")
    text = made.map.read_text().partition("\n.text ")[2].partition("\n.fini")[0]
    listed = [
        (int(m[1], 16), int(m[2], 16))
        for m in re.finditer(r"\*fill\* +0x([0-9a-f]+) +0x([0-9a-f]+)", text)
    ]
    assert listed == [
        (fill.address, fill.size)
        for fill in read_link_map(made.map).fills
        if fill.output == ".text"
    ]
    assert len(listed) > 5


@pytest.mark.parametrize("linker", LINKERS)
def test_symbols_are_nms(links: Links, linker: str) -> None:
    made = links(linker)
    map_ = read_link_map(made.map)
    theirs = symbols(made.image)
    checked = 0
    for symbol in map_.symbols:
        name = symbol.name.split("@")[0]
        if symbol.input < 0 or map_.placed[symbol.input].is_merged:
            continue  # entries of the PLT have the name of the function they call
        if linker == "gold" and name in ("__dso_handle", "__TMC_END__"):
            continue  # hidden: gold leaves them out of the symbol table
        assert (symbol.address, name) in theirs
        if linker.startswith("lld"):
            assert symbol.size == theirs[symbol.address, name]
        row = map_.placed[symbol.input]
        assert row.address <= symbol.address <= row.address + row.size
        checked += 1
    assert checked > 10


@pytest.mark.parametrize("linker", LINKERS)
def test_every_function_is_in_the_object_that_defines_it(links: Links, linker: str) -> None:
    made = links(linker)
    files = {row.name: row.file for row in read_link_map(made.map).placed}
    assert files[".text.startup.main"] == f"{FOLDER}/main.o"
    assert files[".text._ZN6shapes8describeERKNS_5ShapeE"] == f"{FOLDER}/libshapes.a(shapes.o)"
    assert files[".text._ZN6shapes10first_twinEi"] == f"{FOLDER}/libshapes.a(twins.o)"
    assert ".text._Z12dead_in_maini" not in files


@pytest.mark.parametrize("linker", ["bfd", "gold"])
def test_discarded_sections_have_the_size_of_the_object(links: Links, linker: str) -> None:
    made = links(linker)
    dead = {row.name: row.size for row in read_link_map(made.map).discarded}
    objects = sections(made.map.parent / FOLDER / "main.o")
    assert dead[".text._Z12dead_in_maini"] == objects[".text._Z12dead_in_maini"][1]
    assert dead[".text._ZN6shapes12never_calledEi"] > 0


@pytest.mark.parametrize("linker", ["bfd", "gold", "lld-19", "mold"])
def test_names_with_spaces(links: Links, linker: str) -> None:
    """Test demangled names, which all linkers write by default."""
    made = links(linker)
    objects = [Path(FOLDER) / "main.o", Path(FOLDER) / "libshapes.a"]
    plain = link(made.map.parent, linker, objects, "-Wl,--demangle", name=f"demangled-{linker}")
    map_ = read_link_map(plain.map)
    row = next(
        symbol for symbol in map_.symbols if symbol.name == "shapes::Square::area(double) const"
    )
    assert map_.placed[row.input].name == ".text._ZNK6shapes6Square4areaEd"
    assert map_.placed == read_map(made.map)


@pytest.mark.parametrize("linker", ["bfd", "gold", "mold", "lld-19"])
def test_objects_of_a_link_time_optimizer(links: Links, tmp_path: Path, linker: str) -> None:
    """gcc's temporary names are made stable.

    Objects of Clang's ThinLTO get the name of their archive member.
    """
    if linker == "lld-19":
        objects = make_objects(tmp_path, "-flto=thin", compiler="clang++-19")
        made = link(tmp_path, linker, objects, "-flto=thin", compiler="clang++-19")
        expected = {"main.o", "libshapes.a(shapes.o)", "libshapes.a(twins.o)"}
    else:
        objects = make_objects(tmp_path, "-flto", compiler="g++")
        made = link(tmp_path, linker, objects, "-flto", "-O2", "-ffunction-sections")
        expected = {"ltrans0.ltrans.o"}
    map_ = read_link_map(made.map)
    theirs = {row.file for row in map_.placed if row.output == ".text" and "crt" not in row.file}
    assert theirs <= expected
    assert "main.o" in theirs or theirs == expected
    rows = sum(row.size for row in map_.placed if row.output == ".text")
    assert (
        rows + sum(fill.size for fill in map_.fills if fill.output == ".text")
        == sections(made.image)[".text"][1]
    )


def test_temporary_names_are_told_from_real_ones() -> None:
    assert object_name("out.lto.libk.a(add.o at 684).o") == "libk.a(add.o)"
    assert object_name("bin/out.lto.main.o") == "main.o"
    assert object_name("/tmp/ccAbC123.ltrans12.ltrans.o") == "ltrans12.ltrans.o"
    for kept in ("out.lto.o", "out.lto.1.o", "altitude.o", "libk.a(lto.o)", "x.ltrans0.ltrans.o"):
        assert object_name(kept) == kept


@pytest.mark.native
@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
@pytest.mark.parametrize("version", APPLE_LINKERS)
def test_maps_of_ld64(tmp_path: Path, version: str, arch: str) -> None:
    """Compare sections with llvm-objdump, symbols with llvm-nm, sizes with the map of lld 22."""
    made = link_apple(tmp_path, version, arch)
    map_ = read_link_map(made.map)
    headers = run("llvm-objdump-19", "--section-headers", made.image, cwd=tmp_path)
    theirs = {
        m[1]: (int(m[3], 16), int(m[2], 16))
        for m in re.finditer(r"^ +\d+ (\S+) +([0-9a-f]+) ([0-9a-f]+)", headers, re.MULTILINE)
    }
    assert {
        output.name.partition(",")[2]: (output.address, output.size) for output in map_.outputs
    } == theirs
    text = "__TEXT,__text"
    rows = {row.name: row for row in map_.placed if row.output == text}
    fill = sum(fill.size for fill in map_.fills if fill.output == text)
    assert sum(row.size for row in rows.values()) + fill == theirs["__text"][1]
    assert rows["_main"].file == f"main-{arch}.o"
    member = (
        f"shapes-{arch}.o" if version in ("14", "16") else f"libshapes-{arch}.a(shapes-{arch}.o)"
    )
    assert rows["__ZNK6shapes6Circle4areaEd"].file == member
    known = symbols_of_macho(made.image)
    for symbol in map_.symbols:
        if symbol.name in known and symbol.input >= 0 and map_.placed[symbol.input].output == text:
            assert symbol.address in known[symbol.name]
    newest = read_link_map(link_apple(tmp_path, "22", arch).map)
    sizes = {row.name: row.size for row in newest.placed if row.output == text}
    # Without sizes, padding between functions counts as part of the function before it; x86-64
    # aligns to 16 bytes.
    slack = 15 if version in ("14", "16") and arch == "x86_64" else 0
    assert set(sizes) == set(rows)
    assert all(sizes[name] <= rows[name].size <= sizes[name] + slack for name in sizes)
    dead = {row.name: row.size for row in map_.discarded}
    if arch == "arm64":
        assert dead["__Z12dead_in_maini"] == (
            0
            if version in ("14", "16")
            else {row.name: row.size for row in newest.discarded}["__Z12dead_in_maini"]
        )


def symbols_of_macho(image: Path) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for line in run("llvm-nm-19", "--defined-only", image, cwd=image.parent).splitlines():
        address, _, name = line.split(maxsplit=2)
        found.setdefault(name, set()).add(int(address, 16))
    return found


def test_rows_of_a_hand_written_gnu_map(tmp_path: Path) -> None:
    """Read a map with rows that the small program does not have.

    Data of the script, common symbols, a load address, blanks in a section's name, mapping symbols.
    """
    path = tmp_path / "x.map"
    path.write_text(
        "\nLinker script and memory map\n\n"
        ".data           0x20000000       0x18 load address 0x08000400\n"
        " *(.data .data.*)\n"
        " my own section 0x20000000        0x8 lib (2)/libx.a(y z.o)\n"
        "                0x20000000                $d\n"
        "                0x20000000                table of things(int (*)(char) const)\n"
        "                0x20000008        0x4 LONG 0xdeadbeef\n"
        "                0x2000000c                . = ALIGN (0x10)\n"
        "                0x20000010                _edata = .\n"
        " COMMON         0x20000010        0x8 c.o\n\n"
        "OUTPUT(x elf32-littlearm)\n"
    )
    map_ = read_link_map(path)
    assert [(row.name, row.file, row.address, row.size) for row in map_.placed] == [
        ("my own section", "lib (2)/libx.a(y z.o)", 0x20000000, 8),
        ("LONG", "", 0x20000008, 4),
        ("COMMON", "c.o", 0x20000010, 8),
    ]
    assert [(symbol.name, symbol.input) for symbol in map_.symbols] == [
        ("table of things(int (*)(char) const)", 0)
    ]
    assert [(fill.address, fill.size) for fill in map_.fills] == [(0x2000000C, 4)]


def test_rows_of_a_hand_written_lld_map(tmp_path: Path) -> None:
    path = tmp_path / "x.map"
    path.write_text(
        "     VMA      LMA     Size Align Out     In      Symbol\n"
        "    1000     1000       10     1 . = 0x1000\n"
        "    1000     1000       10     4 .text\n"
        "    1000     1000        8     4         a:(b).o:(.text.f)\n"
        "    1000     1000        0     1                 $x.1\n"
        "    1000     1000        8     1                 f(int, char)\n"
        "    1008     1008        4     1         LONG ( 0x1 )\n"
        "    100c     100c        0     1         _etext = .\n"
        "    1008     1008        0     1 \n"  # --defsym
    )
    map_ = read_link_map(path)
    assert [(row.name, row.file, row.size) for row in map_.placed] == [
        (".text.f", "a:(b).o", 8),
        ("LONG ( 0x1 )", "", 4),
    ]
    assert [(symbol.name, symbol.size) for symbol in map_.symbols] == [("f(int, char)", 8)]
    assert [(fill.address, fill.size) for fill in map_.fills] == [(0x100C, 4)]


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.stem)
def test_a_cut_map_is_refused_with_its_line(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    cut = tmp_path / "cut.map"
    for share in (0.3, 0.6, 0.9):
        end = int(len(text) * share)
        while text[end - 1] == "\n":
            end -= 1
        cut.write_text(text[:end])
        with pytest.raises(
            InputError, match=r"cut\.map:\d+: a damaged linker map: the file is truncated here"
        ) as error:
            read_link_map(cut)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("stem", ["bfd", "gold", "lld-19", "mold", "apple-22-arm64"])
def test_a_damaged_row_is_refused_with_its_line(stem: str, tmp_path: Path) -> None:
    lines = (LINKMAPS / f"{stem}.map").read_text().split("\n")
    place = max(i for i, line in enumerate(lines) if "_ZN6shapes10first_twinEi" in line)
    path = tmp_path / "bad.map"
    for bad in (
        "                0x12 0xzz what is this",
        "                0x" + "f" * 16 + "                high",
    ):
        path.write_text("\n".join([*lines[:place], bad, *lines[place + 1 :]]))
        with pytest.raises(InputError, match=rf"bad\.map:{place + 1}: a damaged linker map: "):
            read_link_map(path)


def test_a_gnu_map_without_its_end_is_refused(tmp_path: Path) -> None:
    text = (LINKMAPS / "bfd.map").read_text()
    path = tmp_path / "cut.map"
    path.write_text(text[: text.index("\n.init_array")] + "\n")
    with pytest.raises(
        InputError,
        match=r"cut\.map:\d+: a damaged linker map: the file ends before the line OUTPUT",
    ):
        read_link_map(path)


def test_what_is_no_map_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for content in (b"", b"hello\n", b"\x7fELF\n\n", b"\xff\xfe\n"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a linker map"):
            read_link_map(path)
    with pytest.raises(InputError, match="cannot read"):
        read_link_map(tmp_path / "missing")


# python -m tests.formats.linkmap.test_linkmaps writes the golden files again
if __name__ == "__main__":
    for known in MAPS:
        known.with_suffix(".rows").write_text(listing(read_link_map(known)))
