"""The runtime frees tensors when they become unused, and continues to read after a signal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np

from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.program.program import (
    Dim,
    Instruction,
    Kind,
    Program,
    ProgramInput,
    Tag,
    Value,
)
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from tests.support.places import DATA

FLOAT = 6


def swap_program() -> Program:
    """Return a program that swaps two inputs and two new tensors, and reads a third input once.

    Only the swapped slots refer to the new tensors.
    """
    size, three, four, none, a, b, c, d, used, count = range(10)
    constants = (
        Value(Tag.INT_LIST, integers=(64,)),
        Value(Tag.DOUBLE, number=3.0),
        Value(Tag.DOUBLE, number=4.0),
        Value(Tag.NONE),
    )
    instructions = (
        Instruction(Kind.CALL, 2, (a, b), (a, b)),
        Instruction(Kind.CALL, 1, (used,), (count,)),
        Instruction(Kind.CALL, 0, (size, three, none, none, none, none), (c,)),
        Instruction(Kind.CALL, 0, (size, four, none, none, none, none), (d,)),
        Instruction(Kind.CALL, 2, (c, d), (c, d)),
    )
    inputs = tuple(ProgramInput(slot, Tag.TENSOR, FLOAT, (Dim(64, 64),)) for slot in (a, b, used))
    names = ("aten::full", "aten::sym_numel", "test::swap")
    return Program("swap", names, 10, constants, (), (), instructions, inputs, (a, b, c, d))


def test_owners_of_tensors(full_build: Build, tmp_path: Path, root: Path) -> None:
    write_program(swap_program(), tmp_path / "swap.sgp")
    folder = Path(full_build.image).parent
    command = ["g++", "-std=c++20", "-O1", "-g", "-fno-rtti", f"-I{root}"]
    command += [f"-I{folder / part}" for part in ("schema", "operators/code")]
    command.append(str(DATA / "runtime" / "owners.cpp"))
    objects = folder / "CMakeFiles" / "operators_objects.dir"
    command += sorted(str(path) for path in objects.rglob("*.o"))
    command += [str(folder / name) for name in ("libsg_kernels.a", "libsg_runtime.a")]
    subprocess.run([*command, "-o", "owners"], cwd=tmp_path, check=True)
    # Fill freed memory, so that a read of it gives other numbers.
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    done = subprocess.run(
        [tmp_path / "owners", "swap.sgp"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_signal_interrupts_no_file(full_build: Build, tmp_path: Path) -> None:
    source = DATA / "runtime" / "interrupted.c"
    library = tmp_path / "interrupted.so"
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    inputs = (ProgramInput(0, Tag.TENSOR, FLOAT, (Dim(64, 64),)),)
    write_program(
        Program("same", (), 1, (), (), (), (), inputs, (0,)),
        tmp_path / "same.sgp",
    )
    array = np.arange(64, dtype=np.float32)
    np.save(tmp_path / "in.npy", array)
    done = subprocess.run(
        [full_build.shipped, "--program", "same.sgp", "--input", "in.npy", "--output-dir", "."],
        cwd=tmp_path,
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert np.array_equal(np.load(tmp_path / "output0.npy"), array)
