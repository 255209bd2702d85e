"""ELF images for machines that are not available here.

They have 32 and 64 bits and both byte orders, and are compiled without a libc.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.places import DATA

SOURCE = DATA / "foreign" / "sample.cpp"

# name → clang's --target and further options. Both widths, both orders, REL and RELA, Thumb code,
# descriptors (powerpc64 v1).
MACHINES = {
    "arm": ["--target=armv7-linux-gnueabihf"],
    "thumb": ["--target=armv7-linux-gnueabihf", "-mthumb"],
    "armeb": ["--target=armebv7-linux-gnueabihf"],
    "aarch64_be": ["--target=aarch64_be-linux-gnu"],
    "i386": ["--target=i386-linux-gnu"],
    "mips": ["--target=mips-linux-gnu"],
    "mips64": ["--target=mips64-linux-gnuabi64"],
    "powerpc": ["--target=powerpc-linux-gnu"],
    "powerpc64": ["--target=powerpc64-linux-gnu"],
    "s390x": ["--target=s390x-linux-gnu"],
    "riscv32": ["--target=riscv32-linux-gnu", "-march=rv32gc", "-mabi=ilp32d"],
}
BIG_ENDIAN = {"armeb", "aarch64_be", "mips", "mips64", "powerpc", "powerpc64", "s390x"}
BITS_32 = {"arm", "thumb", "armeb", "i386", "mips", "powerpc", "riscv32"}
FORMS = ("object", "executable", "shared", "stripped")


def build_foreign(folder: Path) -> dict[tuple[str, str], Path]:
    """Compile and link for every machine in every form; return files by (machine, form).

    Linked files have FILE.map beside them.
    """
    made = {(name, form): folder / f"{name}.{form}" for name in MACHINES for form in FORMS}
    flags = [
        "-O2", "-g", "-std=c++20", "-ffreestanding", "-fno-exceptions", "-fno-rtti",
        "-ffunction-sections", "-fdata-sections", "-fPIC",
    ]  # fmt: skip
    for machine, target in MACHINES.items():
        compiled = made[machine, "object"]
        _run("clang++-19", *target, *flags, "-c", SOURCE, "-o", compiled)
        # .gnu.hash needs another order of symbols than MIPS
        hash_style = "sysv" if machine.startswith("mips") else "both"
        shared = ["-shared", "--build-id=sha1", f"--hash-style={hash_style}", "-z", "notext"]
        for form, options in (("executable", ["-static", "--entry=_start"]), ("shared", shared)):
            output = made[machine, form]
            files = [f"-Map={output}.map", compiled, "-o", output]
            _run("ld.lld-19", *options, "--gc-sections", *files)
        _run("llvm-strip-19", "-o", made[machine, "stripped"], made[machine, "shared"])
    return made


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr}"
