"""Machine names, compared with LLVM's names and with the headers that clang writes."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from sizeguard.formats.elf import parse_elf, read_elf

# Names by clang's target. LLVM's names of some machines differ from the kernel's.
TARGETS = {
    "riscv64-linux-gnu": "riscv64",
    "riscv32-linux-gnu": "riscv32",
    "s390x-linux-gnu": "s390x",
    "mips-linux-gnu": "mips",
    "mipsel-linux-gnu": "mipsel",
    "mips64-linux-gnuabi64": "mips64",
    "mips64el-linux-gnuabi64": "mips64el",
    "mips64-linux-gnuabin32": "mipsn32",
    "mips64el-linux-gnuabin32": "mipsn32el",
    "powerpc-linux-gnu": "ppc",
    "powerpc64-linux-gnu": "ppc64",
    "powerpc64le-linux-gnu": "ppc64le",
    "aarch64-linux-gnu": "aarch64",
    "aarch64_be-linux-gnu": "aarch64_be",
    "armv7-linux-gnueabihf": "arm",
    "armebv7-linux-gnueabihf": "armeb",
    "loongarch64-linux-gnu": "loongarch64",
    "sparc-linux-gnu": "sparc",
    "sparc64-linux-gnu": "sparc64",
    "m68k-linux-gnu": "m68k",
    "x86_64-linux-gnu": "x86_64",
    "x86_64-linux-gnux32": "x32",
    "i386-linux-gnu": "i386",
    "bpfel": "bpf",
    "bpfeb": "bpfeb",
    "hexagon-linux-musl": "hexagon",
}
_LLVM = {
    "powerpc": "ppc",
    "powerpc64": "ppc64",
    "powerpc64le": "ppc64le",
    "sparcv9": "sparc64",
    "bpfel": "bpf",
}
_WITHOUT_AN_OWN_NAME = {"mipsn32", "mipsn32el", "x32", "armeb"}  # LLVM prints mips, x86_64 or arm


@pytest.mark.native
@pytest.mark.parametrize("target", TARGETS)
def test_the_machine_is_named_as_llvm_does(target: str, tmp_path: Path) -> None:
    source, made = tmp_path / "a.c", tmp_path / "a.o"
    source.write_text("int f(int x) { return x + 1; }\n")
    subprocess.run(["clang-19", f"--target={target}", "-c", source, "-o", made], check=True)
    found = read_elf(made).machine
    assert found == TARGETS[target]
    if found not in _WITHOUT_AN_OWN_NAME:
        said = subprocess.run(
            ["llvm-objdump-19", "-f", made], capture_output=True, text=True, check=True
        )
        llvm = said.stdout.partition("architecture: ")[2].split()[0]
        assert found == _LLVM.get(llvm, llvm)


@pytest.mark.parametrize(
    ("number", "is_64", "order", "name"),
    [
        (243, True, "<", "riscv64"),
        (22, False, ">", "s390"),
        (20, False, "<", "ppcle"),
        (258, False, "<", "loongarch32"),
        (183, False, "<", "aarch64_ilp32"),
        (43, True, ">", "sparc64"),
        (4711, True, "<", "machine4711"),
    ],
)
def test_width_and_byte_order_are_part_of_a_name(
    number: int, is_64: bool, order: str, name: str
) -> None:
    ident = b"\x7fELF" + bytes([2 if is_64 else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    words = "QQQ" if is_64 else "III"
    fields = (3, number, 1, 0, 0, 0, 0, 64 if is_64 else 52, 0, 0, 0, 0, 0)
    header = ident + struct.pack(f"{order}HHI{words}IHHHHHH", *fields)
    assert parse_elf(Path("a"), header).machine == name
