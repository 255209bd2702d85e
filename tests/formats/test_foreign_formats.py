"""Test PE, COFF and WebAssembly: sums are exact, and sizes agree with another reader."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import lief
import numpy as np
import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InputError
from sizeguard.builds.measured_sizes import measure
from sizeguard.formats.elf import parse_elf
from sizeguard.formats.pe.reader import parse_pe, read_pe
from sizeguard.formats.wasm.reader import parse_wasm, read_wasm
from sizeguard.ledger.sectioned.sectioned_ledger import sectioned_ledger
from tests.support.images.windows_and_web import (
    MACHINES,
    WebSamples,
    WindowsSamples,
    build_web,
    build_windows,
)
from tests.support.tools import tool

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> WindowsSamples:
    return build_windows(tmp_path_factory.mktemp("windows"))


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> WebSamples:
    return build_web(tmp_path_factory.mktemp("web"))


def sums_of(path: Path) -> dict[str, int]:
    """Return the sums of all rows; check that they equal the file's."""
    analysis = analysis_of(path)
    image = analysis.image
    sums = {name: int(getattr(analysis, name).sum()) for name in ("file", "load", "ram")}
    assert sums == {"file": image.file, "load": image.load, "ram": image.ram}
    assert image.file == path.stat().st_size
    measured = measure(path)
    assert (measured.load, measured.ram, measured.file) == (image.load, image.ram, image.file)
    return sums


@pytest.mark.parametrize("machine", MACHINES)
def test_pe_images_have_the_sizes_that_lief_finds(windows: WindowsSamples, machine: str) -> None:
    path = windows.image(machine)
    parsed = lief.PE.parse(str(path))
    loaded = sum(min(each.virtual_size, each.sizeof_raw_data) for each in parsed.sections)
    writable = 0x80000000
    ram = sum(each.virtual_size for each in parsed.sections if each.characteristics & writable)
    sums = sums_of(path)
    assert (sums["load"], sums["ram"]) == (loaded, ram) and loaded
    image = read_pe(path)
    assert {part.name for part in image.parts if part.load} == {
        each.name for each in parsed.sections if each.sizeof_raw_data
    }


@pytest.mark.parametrize("machine", MACHINES)
def test_coff_objects_have_the_sizes_of_llvm_size(windows: WindowsSamples, machine: str) -> None:
    path = windows.object(machine)
    sums = sums_of(path)
    printed = subprocess.run(
        ["llvm-size-19", "-A", path], check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split() for line in printed.splitlines()]
    sizes: dict[str, int] = {}
    for row in rows:
        if len(row) == 3 and row[1].isdigit():
            sizes[row[0]] = sizes.get(row[0], 0) + int(row[1])
    loaded = (".text", ".data", ".rdata", ".pdata", ".xdata")
    assert sums["load"] == sum(sizes.get(name, 0) for name in loaded)
    assert sums["ram"] == sizes.get(".data", 0) + sizes.get(".bss", 0)


def test_functions_of_pe_images_come_from_exports_and_unwind_tables(
    windows: WindowsSamples,
) -> None:
    label = analysis_of(windows.image("x86_64")).label("symbol")
    names = {label.texts[int(i)] for i in set(label.ids.tolist())}
    assert "entry" in names
    assert any(name.startswith("(function at 0x1") for name in names)
    label = analysis_of(windows.object("i686")).label("symbol")
    assert {"_grow", "_square", "_counter"} <= {label.texts[int(i)] for i in label.ids}


def test_names_end_with_what_their_object_added(windows: WindowsSamples, tmp_path: Path) -> None:
    """GNU ld writes a symbol for what each object adds to a section; names have no sizes."""
    image = read_pe(windows.image("x86_64"))
    index = next(i for i, part in enumerate(image.parts) if part.name == ".rdata")
    assert image.parts[index].memory >= 64

    def record(name: bytes, value: int, storage: int, length: int | None = None) -> bytes:
        more = struct.pack("<I14x", length) if length is not None else b""
        return struct.pack("<8sIhHBB", name, value, index, 0, storage, len(more) // 18) + more

    records = record(b".rdata", 0, 3, 24) + record(b"first", 8, 2)
    records += record(b".rdata", 40, 3, 8) + record(b"second", 40, 2)
    data = bytearray(windows.image("x86_64").read_bytes())
    start = int.from_bytes(data[0x3C:0x40], "little")
    struct.pack_into("<II", data, start + 12, len(data), len(records) // 18)
    content = np.frombuffer(bytes(data) + records + bytes([4, 0, 0, 0]), np.uint8)
    image = parse_pe(tmp_path / "a.dll", content)
    rows = {names: (row.start, row.end) for row in image.ranges if (names := row.names)}
    assert rows[b"first",] == (8, 24)
    assert rows[b"second",] == (40, 48)


def test_web_modules_have_a_row_a_function(web: WebSamples) -> None:
    for path in (web.module, web.stripped, web.object):
        sums_of(path)
    headers = subprocess.run(
        ["llvm-objdump-19", "-h", web.module], check=True, capture_output=True, text=True
    ).stdout
    custom = ("name", "producers", "target_features")
    kept = [line.split() for line in headers.splitlines() if line[:3].strip().isdigit()]
    assert {row[1].lower() for row in kept if row[1] not in custom} == {
        part.name for part in read_wasm(web.module).parts if part.load and part.name != "(header)"
    }
    label = analysis_of(web.module).label("symbol")
    assert {"entry", "grow", "square"} <= {label.texts[int(i)] for i in label.ids}
    assert read_wasm(web.module).load == read_wasm(web.stripped).load
    assert read_wasm(web.stripped).load == web.stripped.stat().st_size
    label = analysis_of(web.object).label("symbol")
    assert {"table", "counter", "zeros"} <= {label.texts[int(i)] for i in label.ids}


def test_damaged_files_are_refused_in_one_line(windows: WindowsSamples, web: WebSamples) -> None:
    rng = np.random.default_rng(20)
    for path, parse in (
        (windows.image("x86_64"), parse_pe),
        (windows.object("aarch64"), parse_pe),
        (web.object, parse_wasm),
        (web.module, parse_wasm),
    ):
        content = path.read_bytes()
        refused = 0
        for _ in range(300):
            data = np.frombuffer(content, np.uint8).copy()
            for at in rng.integers(0, min(len(data), 700), rng.integers(1, 4)):
                data[at] = rng.integers(0, 256)
            data = data[: rng.integers(1, len(data) + 1)] if rng.random() < 0.3 else data
            try:
                image = parse(path, data)
                ledger = sectioned_ledger(image)
            except InputError as error:
                refused += 1
                assert "\n" not in str(error)
                continue
            assert int(ledger.file_bytes.sum()) == len(data)
            assert int(ledger.load.sum()) == image.load
        assert refused


def test_counts_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    huge = b"\0asm\1\0\0\0" + bytes([10, 6]) + b"\xff\xff\xff\xff\x0f\0"
    (tmp_path / "huge.wasm").write_bytes(huge)
    with pytest.raises(InputError, match="4294967295 entries"):
        analysis_of(tmp_path / "huge.wasm")
    (tmp_path / "dos.exe").write_bytes(b"MZ" + bytes(200))
    with pytest.raises(InputError, match="DOS program"):
        analysis_of(tmp_path / "dos.exe")


def test_what_is_no_image_is_called_what_it_is(tmp_path: Path) -> None:
    kinds = {
        "paper": (b"%PDF-1.7\n", "a PDF document"),
        "packed": (b"\x1f\x8b\x08", "compressed by gzip"),
        "model": (b"\x80\x04\x95", "a Python pickle"),
        "words": (b"int main() {}\n", "text"),
        "noise": (bytes(range(200, 256)), "data of an unknown format"),
        "code": (b"BC\xc0\xde1234", "LLVM bitcode"),
        "aix": (b"\x01\xf7\x00\x04", "an XCOFF file, as of AIX"),
        "core": (b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<H", 4) + bytes(100), "an ELF core"),
    }
    for name, (content, words) in kinds.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=words):
            analysis_of(tmp_path / name)


def test_a_command_that_reads_no_objects_of_windows_names_them() -> None:
    """COFF objects have no magic; verify called one data of an unknown format."""
    coff = struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 0, 0) + bytes(40)
    with pytest.raises(InputError, match=r"a\.obj: not an ELF file: a Windows \(COFF\) object$"):
        parse_elf(Path("a.obj"), coff)


@pytest.mark.parametrize("head, id_", [(b"\x03", "0b0c0d"), (b"", "0b0c0d"), (b"\x30", "300b0c0d")])
def test_a_build_id_has_a_length_or_none(tmp_path: Path, head: bytes, id_: str) -> None:
    """Modules of published packages have one without."""
    body = b"\x08build_id" + head + b"\x0b\x0c\x0d"
    path = tmp_path / "a.wasm"
    path.write_bytes(b"\0asm\x01\0\0\0\0" + bytes([len(body)]) + body)
    assert read_wasm(path).id == id_


def test_exports_of_thumb_functions_begin_where_the_functions_begin(tmp_path: Path) -> None:
    """Their addresses have the lowest bit set, those of data have not."""
    source, object_, image = (tmp_path / name for name in ("a.c", "a.obj", "a.dll"))
    source.write_text(
        "__declspec(dllexport) int first(int x) { return x * 3; }\n"
        "__declspec(dllexport) int second(int x) { return x + 1; }\n"
    )
    target = "--target=thumbv7-pc-windows-msvc"
    tool("clang-19", target, "-O1", "-ffreestanding", "-c", source, "-o", object_)
    tool("lld-link-19", "/dll", "/noentry", "/nodefaultlib", object_, f"/out:{image}")
    rows = [row for row in read_pe(image).ranges if row.without]
    assert [row.without.split()[0] for row in rows] == [b"first", b"second"]
    assert rows[0].start == 0 and rows[0].end == rows[1].start and not rows[1].start % 2
