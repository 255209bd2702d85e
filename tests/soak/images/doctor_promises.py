"""Apply the largest findings of `sizeguard doctor` to projects of others.

    python -m tests.soak.images.doctor_promises [--only NAME]… [--folder FOLDER]

Fetches source packages of Debian, builds each project, and records its link. Each of the five
largest findings that flags can apply is applied alone, in the order of doctor. The bytes that are
won must lie in the interval, and the interval is at most 20 % wide.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sizeguard.builds.open_build import Files
from sizeguard.doctor.diagnosis import FILE, PROMISED_WIDTH, SizeFinding
from sizeguard.doctor.examine import examine
from sizeguard.formats.elf import STB_WEAK, STT_FUNC, read_elf
from tests.support.places import LLD
from tests.support.script import Tally, options_of
from tests.support.tricks.foreign_projects import ForeignProject, fetched

MOST = 5
BY_MAKE = "make"
STRIP = "strip"
UNSTRIPPED, EXPORTS = "unstripped", "exports"
TALLY = Tally()


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags of the compiler and of the linker."""

    compiler: str = ""
    linker: str = ""

    def __add__(self, more: Flags) -> Flags:
        return Flags(f"{self.compiler} {more.compiler}", f"{self.linker} {more.linker}")


@dataclass(frozen=True, slots=True)
class Subject:
    """A project that is built by CMake, or by Make in its folder lib.

    cmake:  folder of its CMakeLists.txt, or BY_MAKE; options of cmake; image: that is examined
    flags:  of all of its builds
    barred: findings that need another code, not another flag
    """

    name: str
    options: tuple[str, ...]
    image: str
    cmake: str = "."
    flags: Flags = Flags()
    barred: frozenset[str] = frozenset()


_NO_TABLES = "-fno-asynchronous-unwind-tables -fno-unwind-tables"
CHANGES = {
    "relocations": Flags(linker="-Wl,-z,pack-relative-relocs"),
    "unwind-tables": Flags(_NO_TABLES),
    "exceptions": Flags(f"{_NO_TABLES} -fno-exceptions"),
    "rtti": Flags("-fno-rtti"),
    "identical-functions": Flags(linker="-Wl,--icf=all"),
    "page-padding": Flags(linker="-Wl,-z,noseparate-code"),
    "gc-sections": Flags(linker="-Wl,--gc-sections"),
}
_SECTIONS = "-ffunction-sections -fdata-sections"
_LLD = " ".join(LLD)
_CLANG = ("-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_C_COMPILER=clang-19")
SUBJECTS = (
    Subject(
        "lz4",
        (),
        "lib/liblz4.so",
        BY_MAKE,
        Flags("-O3 -g"),
        barred=frozenset({"identical-functions"}),  # GNU ld does not fold
    ),
    Subject(
        "tinyxml2",
        ("-DBUILD_SHARED_LIBS=ON", "-DBUILD_TESTING=OFF", "-Dtinyxml2_BUILD_TESTING=OFF"),
        "libtinyxml2.so",
        flags=Flags(_SECTIONS),
        barred=frozenset({"identical-functions"}),
    ),
    Subject(
        "yaml-cpp",
        (
            *("-DYAML_BUILD_SHARED_LIBS=ON", "-DYAML_CPP_BUILD_TESTS=OFF"),
            *("-DYAML_CPP_BUILD_TOOLS=OFF", "-DYAML_CPP_BUILD_CONTRIB=OFF"),
            *_CLANG,
        ),
        "libyaml-cpp.so",
        flags=Flags(_SECTIONS, "--ld-path=ld.lld-19"),
        barred=frozenset({"exceptions"}),  # it throws
    ),
    Subject(
        "libjsoncpp",
        (
            *("-DBUILD_SHARED_LIBS=ON", "-DBUILD_STATIC_LIBS=OFF", "-DBUILD_OBJECT_LIBS=OFF"),
            *("-DJSONCPP_WITH_TESTS=OFF", "-DJSONCPP_WITH_POST_BUILD_UNITTEST=OFF"),
        ),
        "lib/libjsoncpp.so",
        flags=Flags(f"{_SECTIONS} -DJSON_USE_EXCEPTION=0", _LLD),
    ),
)


def built(subject: Subject, tree: Path, more: Flags, record: bool = False) -> Path:
    """Build with flags in a folder that all builds share; a copy of the image, or the image."""
    flags = subject.flags + more
    if subject.cmake == BY_MAKE:
        subprocess.run(["make", "-C", "lib", "clean"], check=True, capture_output=True, cwd=tree)
        folder = tree
        build = ["make", "-C", "lib", "-j2", f"CFLAGS={flags.compiler}", f"LDFLAGS={flags.linker}"]
    else:
        folder = _configured(subject, tree, flags)
        build = ["cmake", "--build", str(folder), "-j2"]
    if record:
        build = [sys.executable, "-P", "-m", "sizeguard", "record", "--", *build]
    subprocess.run(build, check=True, capture_output=True, cwd=tree)
    return (folder / subject.image).resolve()


def _configured(subject: Subject, tree: Path, flags: Flags) -> Path:
    """Configure a build by CMake; its folder."""
    folder = tree / "sg-build"
    command = ["cmake", "-S", str(tree / subject.cmake), "-B", str(folder), "-G", "Ninja"]
    command += [*subject.options, "-DCMAKE_BUILD_TYPE=Release"]
    command += [f"-DCMAKE_{each}_FLAGS={flags.compiler}" for each in ("C", "CXX")]
    command += [f"-DCMAKE_{each}_LINKER_FLAGS={flags.linker}" for each in ("SHARED", "EXE")]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def size_of(image: Path, found: SizeFinding) -> int:
    """Sum what the finding counts."""
    elf = read_elf(image)
    if found.metric == FILE:
        return elf.size
    chosen = [s for s in elf.sections if not found.sections or s.name in found.sections]
    return sum(section.load_size for section in chosen)


def applied(subject: Subject, tree: Path, image: Path, found: SizeFinding) -> Path:
    """Apply a finding; the image after it."""
    if found.kind == UNSTRIPPED:
        after = image.with_name("stripped")
        subprocess.run([STRIP, "-o", after, image], check=True)
        return after
    if found.kind == EXPORTS:
        script = image.with_name("hide.map")
        script.write_text(f"{{ local: {' '.join(f'{name};' for name in weak_functions(image))} }};")
        return built(subject, tree, Flags(linker=f"-Wl,--version-script={script}"))
    return built(subject, tree, CHANGES[found.kind])


def weak_functions(image: Path) -> list[str]:
    """List the inline functions and instances of templates that a library exports."""
    return [
        symbol.name
        for table in read_elf(image).dynamic_symbols
        for symbol in table.objects()
        if symbol.section and symbol.binding == STB_WEAK and symbol.type == STT_FUNC
    ]


def attempt(subject: Subject, folder: Path) -> None:
    """Apply the largest findings of one project."""
    tree = fetched(ForeignProject(subject.name, (), "", "", ""), folder)
    image = built(subject, tree, Flags(), record=True)
    found = [
        each
        for each in examine(Files(image)).findings
        if each.kind not in subject.barred and each.kind in (*CHANGES, UNSTRIPPED, EXPORTS)
    ]
    found.sort(key=lambda each: -each.high)
    before = folder / f"{subject.name}.before"
    shutil.copyfile(image, before)
    TALLY.check(len(found) >= MOST, f"{subject.name}: {len(found)} findings can be applied")
    for each in found[:MOST]:
        won = size_of(before, each) - size_of(applied(subject, tree, before, each), each)
        text = f"{subject.name}: {each.kind}: {each.low:,} <= {won:,} <= {each.high:,} B"
        is_narrow = each.high - each.low <= PROMISED_WIDTH * each.high
        if TALLY.check(each.low <= won <= each.high and is_narrow, text):
            print(f"  {text}", flush=True)


def main() -> int:
    parser = options_of(__doc__)
    names = [subject.name for subject in SUBJECTS]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME")
    parser.add_argument("--folder", type=Path, help="keep sources and builds here")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="doctor-promises-"))
    folder.mkdir(parents=True, exist_ok=True)
    for subject in SUBJECTS:
        if options.only and subject.name not in options.only:
            continue
        try:
            attempt(subject, folder.resolve())
        except (RuntimeError, subprocess.CalledProcessError) as error:
            TALLY.check(False, f"{subject.name}: {error}")
    if options.folder is None:
        shutil.rmtree(folder)
    return TALLY.close(f"{len(SUBJECTS)} projects")


if __name__ == "__main__":
    sys.exit(main())
