"""The programs of tests/data/retention, compiled and linked, with expected verdicts."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import FAIL, OK, PASS
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_symbols
from tests.support.places import DATA

SOURCES = DATA / "retention"
COMPILERS = {"gcc": "g++", "clang": "clang++-19"}
LINKERS = {
    "bfd": ["-fuse-ld=bfd"],
    "gold": ["-fuse-ld=gold"],
    "lld": ["-fuse-ld=lld", "-B/usr/lib/llvm-22/bin"],
    "mold": ["-fuse-ld=mold"],
}
TOOLS = {
    "bfd": "ld.bfd",
    "gold": "ld.gold",
    "lld": "/usr/lib/llvm-22/bin/ld.lld",
    "mold": "ld.mold",
}


@dataclass(frozen=True)
class Case:
    """A way to build a program.

    causes: prefixes of the causes that a verdict of `fail` may name
    kept: whether the subject stays; None if that depends on the compiler; then the marker in the
            stripped file decides
    """

    name: str
    source: str
    causes: tuple[str, ...] = ()
    kept: bool | None = False
    subject: str = "subject"
    compile: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    gc: bool = True


CASES = (
    Case("00", "00_unreferenced"),
    Case("01", "01_static_initializer", ("static initializer",), True),
    Case("02", "02_beside_live"),
    Case("03", "03_visible"),
    Case("04", "04_vtable", ("vtable",), None, "Shape::subject"),
    Case("05", "05_address_table", ("address table",), True),
    Case("06", "06_used"),
    Case("07", "07_retain", ("retain attribute",), True),
    Case("08", "08_section_bounds", ("section bounds",), True),
    Case("09", "09_constructor", ("constructor function",), True),
    Case("10", "10_inline_namespace", subject="kernels::v1::subject"),
    Case("11", "11_explicit_instantiation", subject="void subject<float>(float)"),
    Case("12", "12_alias"),
    Case("13", "13_runtime_guard", ("reference",), True),
    Case("14", "14_ifunc"),
    Case("15", "15_exception_type", ("thrown exception type",), True, "Failure::subject"),
    Case("16", "16_assembly"),
    Case("17", "17_static"),
    Case("selector", "selector"),
    Case("no-gc", "00_unreferenced", ("no --gc-sections",), True, gc=False),
    Case(
        "one-section",
        "02_beside_live",
        ("shared section",),
        True,
        compile=("-fno-function-sections",),
    ),
    Case(
        "O0-one-section",
        "02_beside_live",
        ("shared section",),
        True,
        compile=("-O0", "-fno-function-sections"),
    ),
    Case(
        "export-dynamic",
        "00_unreferenced",
        ("exported symbol",),
        True,
        link=("-Wl,--export-dynamic",),
    ),
    Case(
        "export-dynamic-hidden",
        "00_unreferenced",
        link=("-Wl,--export-dynamic",),
        compile=("-fvisibility=hidden",),
    ),
    Case(
        "shared",
        "00_unreferenced",
        ("exported symbol",),
        True,
        compile=("-fPIC",),
        link=("-shared",),
    ),
    Case(
        "shared-hidden",
        "00_unreferenced",
        compile=("-fPIC", "-fvisibility=hidden"),
        link=("-shared",),
    ),
    Case(
        "shared-attribute",
        "03_visible",
        ("exported symbol",),
        True,
        compile=("-fPIC", "-fvisibility=hidden"),
        link=("-shared",),
    ),
    Case(
        "shared-local",
        "03_visible",
        compile=("-fPIC",),
        link=("-shared", f"-Wl,--version-script={SOURCES / 'local.map'}"),
    ),
    Case("undefined", "00_unreferenced", ("command line",), True, link=("-Wl,-u,subject",)),
    Case(
        "partial-link",
        "00_unreferenced",
        ("partial link",),
        True,
        link=("-r", "-nostdlib"),
        gc=False,
    ),
    Case("static", "00_unreferenced", link=("-static",)),
)


@dataclass(frozen=True)
class Program:
    """A linked program. kept: whether the marker is in the stripped file."""

    image: Path
    stripped: Path
    objects: tuple[Path, ...]
    link_map: Path
    kept: bool


def marker_of(case: Case) -> int:
    """Return a unique marker for each case, without zero bytes."""
    number = 1 + [each.name for each in CASES].index(case.name) if case in CASES else 200
    return 0x5D1E_C7B3_9A01_0101 | number << 24


def build(case: Case, compiler: str, linker: str, folder: Path, optimize: str = "-O2") -> Program:
    """Compile and link one case, strip a copy, and search it for the marker."""
    folder.mkdir(parents=True, exist_ok=True)
    marker = f"{marker_of(case):#x}"
    compiled = folder / "program.o"
    command = [
        COMPILERS[compiler],
        optimize,
        "-ffunction-sections",
        "-fdata-sections",
        *case.compile,
        "-Wall",
    ]
    command += [f"-DMARKER={marker}ull", f'-DMARKER_TEXT="{marker}"']
    run([*command, "-c", str(SOURCES / f"{case.source}.cpp"), "-o", str(compiled)])
    return link(case, compiler, linker, folder, (compiled,))


def link(
    case: Case, compiler: str, linker: str, folder: Path, objects: tuple[Path, ...]
) -> Program:
    image, link_map = folder / "program", folder / "program.map"
    command = [
        COMPILERS[compiler],
        *LINKERS[linker],
        *map(str, objects),
        f"-Wl,-Map={link_map},--no-demangle",
        "-o",
        str(image),
    ]
    if case.gc:
        command += ["-Wl,--gc-sections", "-Wl,--print-gc-sections"]
    if linker == "lld" and case.source == "08_section_bounds":
        command.append("-Wl,-z,nostart-stop-gc")
    run([*command, *case.link])
    stripped = folder / "program.stripped"
    if "-r" in case.link:
        shutil.copy(image, stripped)
    else:
        run(["strip", "--strip-all", "-o", str(stripped), str(image)])
    kept = marker_of(case).to_bytes(8, "little") in stripped.read_bytes()
    return Program(image, stripped, objects, link_map, kept)


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-3000:]}"


def output(command: list[str]) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def wrong(case: Case, program: Program) -> str:
    """Return the error of a verdict on a program.

    Empty if it agrees with the marker in the stripped file.
    """
    twin = None if "-r" in case.link else program.stripped
    files = Files(
        program.image, twin, program.objects, program.link_map, None, program.image.parent
    )
    # If a compiler removed the subject, its name is unknown
    found = verify_symbols(files, [case.subject], [], RequestedClaims(unknown_ok=not program.kept))
    verdict = found.verdicts[0]
    if found.canary != OK:
        return f"the canary is broken: {found.canary_notes}"
    if verdict.verdict != (FAIL if program.kept else PASS):
        return (
            f"{'kept' if program.kept else 'gone'}, but the verdict is {verdict.verdict}: "
            f"{verdict.evidence}"
        )
    if program.kept and not verdict.cause.startswith(case.causes):
        return f"the cause is one of {case.causes}, but the verdict names {verdict.cause}"
    if program.kept and not verdict.chain and "-r" not in case.link:
        return "no chain"
    return ""
