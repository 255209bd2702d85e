"""What a first user with firmware, a Windows program or a project of several images is told."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from sizeguard.builds.image_tools import image_tools
from sizeguard.builds.link_record import LinkRecord, write_link_record
from sizeguard.builds.open_build import Files
from sizeguard.builds.sizes import Sizes
from sizeguard.diff.diff_result import DiffRow
from sizeguard.linkgraph.open_graph import has_graph
from sizeguard.projects.project import no_one_app
from sizeguard.projects.reader import parse_config
from sizeguard.proposals.build_folder import BUILD_ID, MAP, BuildFolder, LinkedFile
from sizeguard.proposals.found_images import OWN, FoundImage, find_images
from sizeguard.proposals.image_files import parts_of
from sizeguard.report.bisect.bisect_words import by_dtype
from tests.support.images.made_elf import Form, MadeSection, MadeSegment, make_elf


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def program() -> bytes:
    """Make an ELF program without a build id."""
    text = MadeSection(".text", flags=6, address=0x1000, content=bytes(4096))
    return make_elf(Form(), [text], [MadeSegment(0, 0x1000, 4096, 4096)])


def windows_library() -> bytes:
    """Make a PE library for x86-64 with one section."""
    optional = struct.pack("<HBBIIII", 0x20B, 14, 0, 512, 0, 0, 0x1000)
    optional += struct.pack("<IQIIHHHHHHIIIIHH", 0x1000, 0x180000000, 4096, 512, *[6, 0] * 3, 0,
                            0x2000, 512, 0, 2, 0)  # fmt: skip
    optional += struct.pack("<QQQQII", *[4096] * 4, 0, 16) + bytes(8 * 16)
    head = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, len(optional), 0x2022) + optional
    head += struct.pack("<8sIIIIIIHHI", b".text", 512, 0x1000, 512, 512, 0, 0, 0, 0, 0x60000020)
    return head.ljust(512, b"\0") + b"\xc3" * 512


def found(path: Path, target: str = "", objects: tuple[Path, ...] = ()) -> FoundImage:
    return FoundImage(
        LinkedFile(path, objects=objects), path, OWN, False, target, Sizes(1, 0, 1, 0)
    )


@pytest.mark.parametrize(("target", "is_wanted"), [("x86_64-linux", True), ("arm-none", False)])
def test_no_build_id_moves_a_vector_table(tmp_path: Path, target: str, is_wanted: bool) -> None:
    """GNU ld places the note first if a linker script has no place for it."""
    image = put(tmp_path / "app", program())
    missing = parts_of(found(image, target), str).missing
    assert (BUILD_ID in missing) is is_wanted
    assert MAP in missing


def test_a_windows_image_has_no_files_besides_it(tmp_path: Path) -> None:
    """No report of it uses objects or a map, and the gate refuses them."""
    image = put(tmp_path / "codec.dll", windows_library())
    put(tmp_path / "codec.map", b"Memory Configuration\n")
    folder = put(tmp_path / "CMakeFiles/codec.dir/codec.cpp.obj", b"").parent
    parts = parts_of(found(image, objects=(folder,)), str)
    assert (parts.map, parts.objects, parts.missing) == (None, (), ())
    linked = BuildFolder(tmp_path, tmp_path, (LinkedFile(image),))
    (only,) = find_images(linked, frozenset(), ())
    assert (only.target, only.is_library) == ("x86_64-windows", True)


@pytest.mark.parametrize(
    ("arguments", "is_known"),
    [(("-o", "app"), True), (("-T", "link.ld", "-o", "app"), False), (None, False)],
)
def test_links_that_why_cannot_follow(
    tmp_path: Path, arguments: tuple[str, ...] | None, is_known: bool
) -> None:
    """The gate then proposes a report instead of `why`."""
    record = None
    if arguments is not None:
        record = tmp_path / "app.link.json"
        write_link_record(record, LinkRecord("GNU ld (GNU Binutils) 2.40", arguments, tmp_path))
    image = put(tmp_path / "app", program())
    assert has_graph(Files(image, link_record=record)) is is_known
    windows = put(tmp_path / "app.dll", windows_library())
    assert not has_graph(Files(windows, link_record=record))


def test_an_entry_of_several_images_is_not_one_app() -> None:
    text = b"apps: {win: {build: make, images: {pack: a.exe, codec: b.dll}}, alone: {image: c}}\n"
    config = parse_config(Path("/p"), text)
    several = "'win' has several images: name one of win.pack, win.codec"
    assert no_one_app(config, "win") == several
    assert no_one_app(config, "aloen").endswith("has no app 'aloen'; did you mean 'alone'?")


def test_types_of_a_program_without_operators_are_no_dtypes() -> None:
    rows = [DiffRow(("(core)", "Long", "walk"), 0, 8, "added")]
    assert by_dtype(rows) == ""
    rows.append(DiffRow(("aten::add", "Float", "add<float>"), 0, 4, "added"))
    assert by_dtype(rows) == "Long +8  Float +4"


def web_module() -> bytes:
    """Make a WebAssembly module that names its compiler."""
    tools = b"\x01\x0cprocessed-by\x01\x0cDebian clang\x0614.0.6"
    content = b"\x09producers" + tools
    return b"\0asm\1\0\0\0\0" + bytes([len(content)]) + content


def static_library() -> bytes:
    comment = MadeSection(".comment", content=b"\0GCC: (Debian 12.2.0-14) 12.2.0\0")
    member = make_elf(Form(), [comment], type_=1)
    member += b"\n" * (len(member) % 2)
    return b"!<arch>\n" + f"{'a.o/':<48}{len(member):<10}`\n".encode() + member


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (windows_library() + b"\0GCC: (GNU) 12-win32\0", "gcc-12"),
        (web_module(), "clang-14.0"),
        (web_module().replace(b"\x0614.0.6", b"\x6614.0.6"), "unknown"),
        (static_library(), "gcc-12.2"),
    ],
)
def test_tools_of_other_images(tmp_path: Path, content: bytes, name: str) -> None:
    """A baseline belongs to a toolchain, so a new compiler is no growth of a change."""
    assert image_tools(put(tmp_path / "image", content)).name == name
