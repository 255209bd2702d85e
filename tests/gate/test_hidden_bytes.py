"""Test that adding shipped bytes without growth of `load` fails or is inconclusive.

Each way is also tried in a history of two commits: one adds bytes, the next is harmless.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.builds.build_record import Build, read_build
from sizeguard.builds.measured_sizes import measure, segment_pages
from sizeguard.builds.shipped_libraries import shipped_libraries
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import Check, overall
from sizeguard.gate.policy.baselines import measurement_of_baseline, parse_baseline
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.file_growth import file_check
from sizeguard.gate.policy.limits import Limit, parse_limit
from sizeguard.gate.policy.needed import machine_checks, needed_checks
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measurement import Measurement
from tests.support.builds.recorded_builds import recorded_runtime
from tests.support.images.edited_elf import ALLOC, NOBITS, NOTE, PROGBITS, WRITE, EditedElf, Header

pytestmark = pytest.mark.native

LIMITS = tuple(
    Limit(metric, "growth", parse_limit(text, "x"))
    for metric, text in (
        ("load", "max(1%, 512B)"),
        ("ram", "max(1%, 512B)"),
        ("operator/*", "max(10%, 512B)"),
    )
)
HIDDEN = 2000  # bytes, less than a page
NEEDED, RUNPATH = 1, 29


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a build, without the map, which would not fit the edited images."""
    return recorded_runtime(tmp_path_factory.mktemp("original")).build.image.parent


def measured(folder: Path) -> Measurement:
    """Measure the shipped file and the libraries beside it, as a build's record does."""
    build = read_build(folder)
    made = analysis_of(build.shipped)
    more = shipped_libraries(build)
    sizes = measure(build.shipped)
    now = measurement_of(made, (), sizes)
    total = replace(
        sizes,
        load=sizes.load + sum(each.sizes.load for each in more),
        ram=sizes.ram + sum(each.sizes.ram for each in more),
        file=sizes.file + sum(each.sizes.file for each in more),
    )
    needed = {*(now.needed or ()), *(name for each in more for name in each.needed)}
    return replace(now, sizes=total, needed=tuple(sorted(needed)))


def judged(folder: Path, before: Measurement) -> tuple[str, tuple[Check, ...]]:
    """Judge a build as the gate does, by the usual growth limits."""
    build: Build = read_build(folder)
    subject = CheckedApp("mlp", "x86_64-linux", measured(folder), lambda metric: 0)
    reference = SizeReference("merge base 1234567", before)
    files = [build.shipped, *(library.path for library in shipped_libraries(build))]
    checks = size_checks(subject, LIMITS, reference, {})
    checks += file_check(subject, LIMITS, reference, sum(map(segment_pages, files)))
    checks += tuple(needed_checks(subject, reference, counts=True))
    checks += machine_checks(subject, reference)
    return overall({check.verdict for check in checks}), checks


Edit = Callable[[EditedElf], None]


def section(name: str, kind: int = PROGBITS, flags: int = 0, size: int = HIDDEN) -> Edit:
    return lambda elf: elf.add(Header(name, kind, flags, 0, 0, 0), b"x" * size)


def larger(name: str, size: int = HIDDEN) -> Edit:
    """Move a section that is not loaded after the others, with more bytes."""

    def edit(elf: EditedElf) -> None:
        (old,) = (each for each in elf.sections if each.name == name)
        elf.sections.remove(old)
        elf.add(old, b"x" * (old.size + size))

    return edit


def zeros(elf: EditedElf) -> None:
    elf.change(".bss", lambda each: replace(each, size=each.size + HIDDEN))
    last = max(i for i, each in enumerate(elf.segments()) if each[0] == 1)
    elf.segment(last, memory_size=elf.segments()[last][6] + HIDDEN)


def hidden_zeros(elf: EditedElf) -> None:
    """Enlarge the memory size only in the program header."""
    last = max(i for i, each in enumerate(elf.segments()) if each[0] == 1)
    elf.segment(last, memory_size=elf.segments()[last][6] + HIDDEN)


def loaded_behind(elf: EditedElf) -> None:
    """Replace a note's segment with a segment whose bytes no section covers."""
    elf.data += bytes(-len(elf.data) % 4096)
    start = len(elf.data)
    elf.data += b"x" * HIDDEN
    note = next(i for i, each in enumerate(elf.segments()) if each[0] == 4)
    elf.segment(
        note, type=1, flags=5, offset=start, address=0x100000 + start,
        physical=0x100000 + start, file_size=HIDDEN, memory_size=HIDDEN, al=4096,
    )  # fmt: skip


def unnamed(elf: EditedElf) -> None:
    """Add zeros at the end of the memory, and remove their section header."""
    zeros(elf)
    elf.sections = [each for each in elf.sections if each.name != ".bss"]


def thread_local(elf: EditedElf) -> None:
    elf.sections.append(Header(".tbss", NOBITS, ALLOC | WRITE | 0x400, 0x9048, 0, HIDDEN))


def interpreter(elf: EditedElf) -> None:
    elf.data = elf.data.replace(b"ld-linux-x86-64.so.2", b"ld-other-x86-64.so.2")


def header(at: int, value: int) -> Edit:
    """Change a byte of the ELF header."""
    return lambda elf: setattr(elf, "data", elf.data[:at] + bytes([value]) + elf.data[at + 1 :])


WAYS: Mapping[str, Edit] = {
    "another machine of equal size": header(18, 183),
    "a machine without a name": header(19, 0xF0),
    "bytes behind everything": lambda elf: setattr(elf, "data", elf.data + b"x" * HIDDEN),
    "a section of an unknown name": section(".payload"),
    "a section with the name of debug information": section(".debug_info"),
    "a section with the name of symbols": section(".symtab"),
    "a second comment": section(".comment"),
    "a larger comment": larger(".comment"),
    "a note that is not loaded": section(".note.build", NOTE),
    "a link to debug information": section(".gnu_debuglink"),
    "attributes of the processor": section(".ARM.attributes", 0x70000003),
    "an empty name": section(""),
    "many sections of 100 bytes": lambda elf: [
        section(f".{i}", size=100)(elf) for i in range(20)
    ] and None,
    "long names of sections": section("." + "x" * HIDDEN, size=0),
    "a loaded section without an address": section(".rodata2", flags=ALLOC),
    "zeros": zeros,
    "zeros that no section has": hidden_zeros,
    "zeros whose section is removed": unnamed,
    "zeros of each thread": thread_local,
    "a segment that no section covers": loaded_behind,
    "a library that the loader takes": lambda elf: elf.dynamic(NEEDED, 1),
    "a search path": lambda elf: elf.dynamic(RUNPATH, 1),
    "a library that stands in for others": lambda elf: elf.dynamic(0x7FFFFFFD, 1),
    "a library that watches": lambda elf: elf.dynamic(0x6FFFFEFC, 1),
    "another interpreter": interpreter,
}  # fmt: skip


def edited(original: Path, folder: Path, edit: Edit, *, strip_headers: bool = False) -> Path:
    """Copy a build and edit its shipped file."""
    shutil.copytree(original, folder / "build")
    record = folder / "build" / "build.json"
    record.write_text(record.read_text().replace(str(original), str(folder / "build")))
    shipped = read_build(record).shipped
    elf = EditedElf.of(shipped.read_bytes())
    edit(elf)
    shipped.write_bytes(elf.file(strip_headers=strip_headers))
    return folder / "build"


def nothing(elf: EditedElf) -> None:
    """Write the file again, unchanged."""


def test_a_file_that_is_written_anew_passes(original: Path, tmp_path: Path) -> None:
    same = edited(original, tmp_path, nothing)
    assert judged(same, measured(original))[0] == PASS


@pytest.mark.parametrize("way", WAYS)
def test_hidden_bytes_are_found(way: str, original: Path, tmp_path: Path) -> None:
    before = measured(original)
    trick = edited(original, tmp_path / "trick", WAYS[way])
    verdict, checks = judged(trick, before)
    assert verdict in (FAIL, INCONCLUSIVE), checks
    # After a harmless change the merge base is still the commit before both.
    after = edited(trick, tmp_path / "harmless", nothing)
    assert judged(after, before)[0] in (FAIL, INCONCLUSIVE)
    # Compared with the build that has these bytes, they are not growth.
    assert judged(after, measured(trick))[0] == PASS


@pytest.mark.parametrize("way", WAYS)
def test_removed_section_headers_hide_nothing(way: str, original: Path, tmp_path: Path) -> None:
    """Without section headers, sizes come from segments; more bytes there fail, too."""
    trick = edited(original, tmp_path, WAYS[way], strip_headers=True)
    verdict, _ = judged(trick, measured(original))
    not_loaded = "section" in way or "comment" in way or "note" in way
    if not (not_loaded or way in ("an empty name", "zeros of each thread")):
        assert verdict in (FAIL, INCONCLUSIVE)


def copied(name: str) -> Callable[[Path], None]:
    """Ship the image a second time, under another name."""

    def add(folder: Path) -> None:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(read_build(folder).shipped, place)

    return add


BESIDE = (
    "libmore.so", "libmore.so.1.2", "plugins/more", "CMakeFiles/libmore.so", "run_program2",
    "share/data.bin", ".hidden", "run_program.dSYM2/x", "operators/code/generated.o",
)  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_linked_files_beside_the_image_count(name: str, original: Path, tmp_path: Path) -> None:
    """All files that a build makes count, such as a library opened by name or a second program."""
    before = measured(original)
    trick = edited(original, tmp_path, nothing)
    copied(name)(trick)
    assert judged(trick, before)[0] == FAIL


BASELINE = b"""\
app: mlp
target: x86_64-linux
toolchain: gcc
load: 31666
ram: 936
file: 36000
page_slack: 3000
operators: {}
"""


def test_a_baseline_that_does_not_say_what_is_needed_proves_nothing(original: Path) -> None:
    baseline = measurement_of_baseline(parse_baseline(BASELINE, "b"))
    _, checks = judged(original, replace(baseline, tables=measured(original).tables))
    verdicts = {check.metric: check.verdict for check in checks}
    assert verdicts["needed"] == INCONCLUSIVE
