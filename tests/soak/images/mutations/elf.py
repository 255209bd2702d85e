"""ELF files: executables, libraries, objects, packed relocations, a debug file.

They include hand-made files of every class and byte order.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from sizeguard.formats.elf import RELOCATION_TYPES, read_elf
from sizeguard.ledger.elf import elf_ledger
from tests.support.images.made_elf import (
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSegment,
    MadeSymbol,
    make_elf,
)

_SOURCE = """
#include <stdexcept>
struct A { virtual ~A(); virtual int f(int); int x; };
A::~A() {}
int A::f(int n) { if (n > x) throw std::runtime_error("too much"); return n; }
A a; A* list[] = {&a, &a};
__attribute__((noinline)) int g(int n) {
  try { return list[n & 1]->f(n); } catch (std::exception& e) { return e.what()[0]; }
}
thread_local int t = 3;
extern "C" int main(int n, char**) { return g(n) + t++; }
"""

_LLD = ("clang++-19", "-fuse-ld=lld-19", "-O2")

_LINKS = {
    "seed-exe": ("g++", "-O2", "-g1"),
    "seed-stripped": ("g++", "-O2", "-s"),
    "seed-gold": ("g++", "-O2", "-fuse-ld=gold", "-Wl,--icf=all"),
    "seed-shared": (
        "clang++-19",
        "-fuse-ld=lld-19",
        "-O2",
        "-fPIC",
        "-shared",
        "-Wl,--pack-dyn-relocs=android+relr",
        "-Wl,--hash-style=both",
    ),
    "seed-relr": (*_LLD, "-pie", "-Wl,-z,pack-relative-relocs", "-gz=zlib", "-g1"),
    "seed-object": ("g++", "-O2", "-c", "-ffunction-sections"),
}


def _seeds(folder: Path) -> list[Path]:
    samples = folder / "samples"
    samples.mkdir()
    source = samples / "sample.cpp"
    source.write_text(_SOURCE)
    made = []
    for name, command in _LINKS.items():
        made.append(samples / name)
        subprocess.run(
            [*command, str(source), "-o", str(made[-1])], check=True, capture_output=True
        )
    debug = samples / "seed-debug"
    subprocess.run(["objcopy", "--only-keep-debug", str(made[0]), str(debug)], check=True)
    for number, (is_64, order) in enumerate(
        (wide, order) for wide in (False, True) for order in "<>"
    ):
        made.append(samples / f"seed-made-{number}")
        made[-1].write_bytes(_made(Form(is_64, order)))
    return [*made, debug]


def _made(form: Form) -> bytes:
    symbols, strings = form.symbols(
        [MadeSymbol(f"f{i}", 0x1000 + 10 * i, 8 + i) for i in range(12)]
    )
    rows = form.relocations([(0x1000 + 8 * i, i, 1, 4) for i in range(8)], addend=True)
    sections = [
        MadeSection(".text", 1, 6, 0x1000, bytes(range(200))),
        MadeSection(".rodata", 1, 2, 0x10C8, b"text\0more text\0" + bytes(16)),
        MadeSection(".bss", 8, 3, 0x2000, size=64),
        MadeSection(".rela.dyn", 4, 2, 0x1200, rows, link=5),
        MadeSection(".symtab", SHT_SYMTAB, 0, 0, symbols, link=6),
        MadeSection(".strtab", SHT_STRTAB, 0, 0, strings),
    ]
    return make_elf(
        form, sections, [MadeSegment(0, 0xF00, 500, 600), MadeSegment(500, 0x2000, 0, 64)]
    )


def _read(path: Path) -> None:
    image = read_elf(path)
    ledger = elf_ledger(image)
    if (int(ledger.file_bytes.sum()), int(ledger.load.sum())) != (
        image.size,
        image.load,
    ) or ledger.file.size != image.size:
        raise AssertionError("the sums lie")
    if (ledger.memory.size <= 0).any() or (ledger.file.start[1:] <= ledger.file.start[:-1]).any():
        raise AssertionError("spans without bytes")
    _ = image.symbols
    for section in image.sections:
        if section.type in RELOCATION_TYPES:
            image.relocation_table(section)


TARGETS = {"elf": (_seeds, _read)}
