"""Check an image's ledger, an exact partition, against other readers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

from sizeguard.builds.build_record import Build
from sizeguard.formats.elf import read_elf
from sizeguard.formats.macho import read_macho
from sizeguard.formats.sniff import MACHO, image_format
from sizeguard.ledger.elf import elf_ledger
from sizeguard.ledger.ledger import Ledger
from sizeguard.ledger.macho.macho_ledger import macho_ledger
from sizeguard.models.array_difference import difference
from sizeguard.models.npy import read_npy
from sizeguard.toolchains.targets import run_prefix
from tests.support.builds.vectors import run_program
from tests.support.places import SIZEGUARD
from tests.support.tools import tool


def check_laws(image: Path) -> Ledger:
    """Check that every byte counts once, and that sums of sections equal `llvm-size`."""
    ledger = ledger_of(image)
    check_ledger(image, ledger)
    return ledger


def ledger_of(image: Path) -> Ledger:
    return (
        macho_ledger(read_macho(image))
        if image_format(image) == MACHO
        else elf_ledger(read_elf(image))
    )


def check_ledger(image: Path, ledger: Ledger) -> None:
    size = image.stat().st_size
    assert ledger.file.size == size == ledger.image.file
    assert ledger.file.start[0] == 0
    assert (np.diff(ledger.file.start, append=size) > 0).all()
    assert (ledger.file_bytes.sum(), ledger.load.sum(), ledger.ram.sum()) == (
        size,
        ledger.image.load,
        ledger.image.ram,
    )
    (_check_macho if image_format(image) == MACHO else _check_elf)(image, ledger)


def _check_elf(image: Path, ledger: Ledger) -> None:
    with image.open("rb") as file:
        elf = ELFFile(file)
        segments = [
            (s["p_vaddr"], s["p_memsz"]) for s in elf.iter_segments("PT_LOAD") if s["p_memsz"]
        ]
        sections = [s for s in elf.iter_sections() if s["sh_type"] != "SHT_NULL"]
        in_file = Counter[str]()
        in_memory = Counter[str]()
        load = 0
        for section in sections:
            is_nobits = section["sh_type"] == "SHT_NOBITS"
            is_allocated = bool(section["sh_flags"] & 2)
            in_file[section.name] += 0 if is_nobits else section["sh_size"]
            load += section["sh_size"] if is_allocated and not is_nobits else 0
            # Thread-local zeros are a template without memory.
            is_template = is_nobits and bool(section["sh_flags"] & 0x400)
            in_memory[section.name] += section["sh_size"] if is_allocated and not is_template else 0
    assert ledger.image.load == load
    assert +_by_section(ledger, ledger.file_bytes) == +in_file
    if segments:
        _check_memory(ledger, segments)
        spans = np.zeros(len(ledger.owners), np.int64)
        np.add.at(spans, ledger.memory.owner, ledger.memory.size)
        assert +_by_section(ledger, spans) == +in_memory
    _check_size_tool(
        image,
        in_file,
        sections={section.name for section in sections if section["sh_type"] != "SHT_NOBITS"},
    )


def _check_size_tool(image: Path, in_file: Counter[str], sections: set[str]) -> None:
    """Check that `size -A` gives the same sizes."""
    listed = Counter[str]()
    for line in tool("llvm-size-19", "-A", image).splitlines()[2:]:
        words = line.split()
        if len(words) == 3 and words[0] in sections:
            listed[words[0]] += int(words[1])
    assert listed.items() <= in_file.items()
    assert {".text", ".data"} & listed.keys()


def _check_macho(image: Path, ledger: Ledger) -> None:
    sections = Counter[str]()
    segments = []
    segment = ""
    for line in tool("llvm-size-19", "-m", image).splitlines():
        words = line.split()
        if line.startswith("Segment"):
            segment = words[1].rstrip(":")
            if segment != "__PAGEZERO":
                segments.append((segment, int(words[2])))
        elif words[0] == "Section":
            sections[f"{segment},{words[1].rstrip(':')}"] += int(words[2])
    memory = ledger.memory
    spans = np.zeros(len(ledger.owners), np.int64)
    np.add.at(spans, memory.owner, memory.size)
    given = _by_section(ledger, spans)
    assert {name: given[name] for name in sections if sections[name]} == dict(+sections)
    assert int(memory.size.sum()) == sum(size for _, size in segments)


def _check_memory(ledger: Ledger, segments: list[tuple[int, int]]) -> None:
    memory = ledger.memory
    covered = 0
    for start, size in segments:
        inside = (memory.address >= start) & (memory.address < start + size)
        first, length = memory.address[inside], memory.size[inside]
        assert first[0] == start
        assert (first[:-1] + length[:-1] == first[1:]).all()
        assert first[-1] + length[-1] == start + size
        covered += int(inside.sum())
    assert covered == len(memory.address)


def _by_section(ledger: Ledger, amounts: np.ndarray) -> Counter[str]:
    totals = Counter[str]()
    for section, amount in zip(ledger.owners.section.tolist(), amounts.tolist(), strict=True):
        if section >= 0:
            totals[ledger.sections[section]] += amount
    # Bytes in no section (headers, gaps) have separate rows.
    return Counter({name: amount for name, amount in totals.items() if not name.startswith("(")})


def check_report(build: Build) -> None:
    """Check that the rows of a build's report sum to the totals, which are the shipped file's."""
    report = json.loads(
        tool(SIZEGUARD, "report", build.image.parent, "--by", "section", "--format", "json")
    )
    assert report["totals"]["file"] == build.shipped.stat().st_size == build.sizes.file
    for amount in ("file", "load", "ram"):
        assert sum(row[amount] for row in report["rows"]) == report["totals"][amount]
    assert report["totals"]["load"] == build.sizes.load


def check_stripped_twin(build: Build) -> None:
    """Check that the shipped file has no symbols, and the image's bytes in its loaded sections."""
    if image_format(build.image) == MACHO:
        whole, stripped = read_macho(build.image), read_macho(build.shipped)
        assert [(s.full_name, s.address, whole.content(s).tobytes()) for s in whole.sections] == [
            (s.full_name, s.address, stripped.content(s).tobytes()) for s in stripped.sections
        ]
        assert len(stripped.symbols) < len(whole.symbols) / 2
        return
    image, shipped = read_elf(build.image), read_elf(build.shipped)
    assert shipped.is_stripped
    assert not image.is_stripped
    assert [(s.name, s.address, image.content(s)) for s in image.sections if s.is_allocated] == [
        (s.name, s.address, shipped.content(s)) for s in shipped.sections if s.is_allocated
    ]


def check_runs(image: Path, target: str, program: Path, model: Path, folder: Path) -> list[Path]:
    """Run every case of a model, compare with PyTorch's results, and return the output files.

    The image is an executable or a shared library.
    """
    cases = len(list(model.glob("case*_input0.npy")))
    assert cases
    outputs = []
    for case in range(cases):
        output_dir = folder / str(case)
        if ".so" in image.suffixes:
            output_dir.mkdir(parents=True)
            call = (
                "import ctypes; raise"
                f" SystemExit(ctypes.CDLL({str(image)!r}).sizeguard_run"
                f"(*{_arguments(program, case, output_dir)}))"
            )
            done = subprocess.run(
                [sys.executable, "-c", call], capture_output=True, text=True, check=False
            )
        else:
            done = run_program(
                image, program, output_dir, "--case", str(case), prefix=run_prefix(target) or []
            )
        assert (done.returncode, done.stderr) == (0, "")
        for i in range(len(list(model.glob(f"case{case}_expected*.npy")))):
            outputs.append(output_dir / f"output{i}.npy")
            wrong = difference(
                read_npy(outputs[-1]), read_npy(model / f"case{case}_expected{i}.npy")
            )
            assert wrong is None, f"{image}, case {case}, output {i}: {wrong}"
    return outputs


def _arguments(program: Path, case: int, output_dir: Path) -> str:
    return f"({str(program).encode()!r}, ctypes.c_longlong({case}), {str(output_dir).encode()!r})"
