"""Test that symbols without a size end with their unwind record, on several machines."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of

pytestmark = pytest.mark.native

# Functions in assembly, of which only one has a size. {one} is an instruction.
SOURCE = """
.text
.globl _start, described, plain, sized, outer, inner
_start:
.cfi_startproc
 {one}
.cfi_endproc
 .fill 24, 1, 0x66
described:
.cfi_startproc
 {one}
 {one}
.cfi_endproc
 .fill 40, 1, 0x67
plain:
 {one}
 .fill 16, 1, 0x68
.type sized, %function
sized:
.cfi_startproc
 {one}
.cfi_endproc
.size sized, . - sized
 .fill 8, 1, 0x69
outer:
.cfi_startproc
 {one}
inner:
 {one}
 {one}
.cfi_endproc
 .fill 32, 1, 0x6a
"""
ONE = {
    "x86_64": ("movl $1, %eax", 5),
    "aarch64": ("mov w0, #1", 4),
    "riscv64": ("lui a0, 0x12345", 4),
    "i386": ("movl $1, %eax", 5),
    "ppc64le": ("li 3, 1", 4),
    "s390x": ("lghi %r2, 1", 4),
}


@pytest.mark.parametrize("machine", ONE)
@pytest.mark.parametrize("header", ["--eh-frame-hdr", "--no-eh-frame-hdr"])
def test_a_label_ends_with_its_unwind_record(tmp_path: Path, machine: str, header: str) -> None:
    instruction, width = ONE[machine]
    (tmp_path / "a.s").write_text(SOURCE.format(one=instruction))
    target = f"--target={machine.replace('ppc', 'powerpc')}-linux-gnu"
    subprocess.run(["clang-19", target, "-c", tmp_path / "a.s", "-o", tmp_path / "a.o"], check=True)
    image = tmp_path / "image"
    subprocess.run(["ld.lld-19", header, tmp_path / "a.o", "-o", image], check=True)
    rows = group(analysis_of(image), ["symbol", "section"]).rows
    found = {name: row.load for row in rows for name, section in [row.keys] if section == ".text"}
    assert found == {
        "_start": width,
        "described": 2 * width,
        "plain": width + 16,
        "sized": width,
        "outer": width,
        "inner": 2 * width,
        "(.text)": 24 + 40 + 8 + 32,
    }
    # readelf finds the same sizes in the records.
    text = subprocess.run(
        ["readelf", "--debug-dump=frames", image], check=True, capture_output=True, text=True
    ).stdout
    spans = re.findall(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", text)
    sizes = sorted(int(end, 16) - int(start, 16) for start, end in spans)
    assert sizes == sorted([width, 2 * width, width, 3 * width])
