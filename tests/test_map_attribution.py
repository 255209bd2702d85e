"""Attribution of stripped images by their maps, compared with the unstripped images.

Both name the same function for nearly all code.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.symbol_ranges import symbol_ranges
from tests.support.map_links import (
    APPLE_LINKERS,
    LINKERS,
    link,
    link_apple,
    make_objects,
    run,
    select,
)

pytestmark = pytest.mark.native

SHARE = 0.95


def owners_by_nm(image: Path, start: int, size: int) -> list[set[str]]:
    """Return the names of the sized symbols that nm lists over each byte of the range."""
    owners: list[set[str]] = [set() for _ in range(size)]
    text = subprocess.run(
        ["nm", "-S", "--defined-only", str(image)], capture_output=True, text=True, check=True
    ).stdout
    for line in text.splitlines():
        row = line.split()
        if len(row) == 4 and row[2] in "tTwWiuVv":
            for byte in range(int(row[0], 16), int(row[0], 16) + int(row[1], 16)):
                if start <= byte < start + size:
                    owners[byte - start].add(row[3])
    return owners


def owners_by_map(path: Path, start: int, size: int) -> list[str]:
    ranges = symbol_ranges(read_link_map(path))
    assert bool(np.all(ranges.start < ranges.end))
    assert bool(np.all(ranges.end[:-1] <= ranges.start[1:]))
    owners = [""] * size
    for i in np.flatnonzero((ranges.start >= start) & (ranges.start < start + size)):
        for byte in range(int(ranges.start[i]), min(int(ranges.end[i]), start + size)):
            owners[byte - start] = ranges.names[int(i)]
    return owners


def text_section(image: Path) -> tuple[int, int]:
    listed = subprocess.run(
        ["readelf", "-SW", str(image)], capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"\] \.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", listed)
    assert match is not None
    return int(match[1], 16), int(match[2], 16)


def agreement(image: Path, map_: Path) -> float:
    """Return the share of .text whose owner by the map is also an owner by the symbol table.

    Padding and crt code without sizes are left out.
    """
    start, size = text_section(image)
    truth = owners_by_nm(image, start, size)
    ours = owners_by_map(map_, start, size)
    known = [i for i in range(size) if truth[i]]
    assert len(known) > 0.97 * size
    return sum(ours[i] in truth[i] for i in known) / size


@pytest.fixture(scope="module")
def relink(
    full_build: Build, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Path]]:
    """Link the full runtime's objects with a given linker; return the image and the map."""
    folder = tmp_path_factory.mktemp("relink")

    def make(linker: str) -> tuple[Path, Path]:
        inputs = [path for path in full_build.objects if path.suffix == ".o"] + [
            path for path in full_build.objects if path.suffix == ".a"
        ]
        options = ["-Wl,--gc-sections", "-Wl,--no-demangle", f"-Wl,-Map={linker}.map"]
        run("g++", *inputs, *select(linker), *options, "-lm", "-o", f"{linker}.out", cwd=folder)
        run("strip", "-o", f"{linker}.stripped", f"{linker}.out", cwd=folder)
        return folder / f"{linker}.out", folder / f"{linker}.map"

    return make


@pytest.mark.parametrize("linker", LINKERS)
def test_a_map_alone_names_the_functions(
    relink: Callable[[str], tuple[Path, Path]], linker: str
) -> None:
    image, map_ = relink(linker)
    assert text_section(image) == text_section(image.with_suffix(".stripped"))
    share = agreement(image, map_)
    print(json.dumps({"linker": linker, "share": round(share, 4)}))
    assert share >= SHARE


def test_a_map_of_another_link_does_not(relink: Callable[[str], tuple[Path, Path]]) -> None:
    """Negative control: the agreement can be low."""
    image, _ = relink("bfd")
    _, other = relink("gold")
    assert agreement(image, other) < 0.5


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize(
    "flags", [(), ("-static",), ("-shared", "-fPIC")], ids=["executable", "static", "shared"]
)
def test_a_report_refuses_the_map_of_another_link(
    tmp_path: Path, linker: str, flags: tuple[str, ...]
) -> None:
    objects = make_objects(tmp_path, *(["-fPIC"] if flags else []))
    own = link(tmp_path, linker, objects, *flags)
    # A shared library keeps all its exports, so the other link omits objects.
    fewer = objects[:1] if "-shared" in flags else objects
    other = link(tmp_path, linker, fewer, *flags, "-Wl,--no-gc-sections", name="other")
    for image in (own, other):
        assert (
            int(analysis_of(image.image, map_=image.map).file.sum()) == image.image.stat().st_size
        )
        run("strip", image.image, cwd=tmp_path)
        analysis_of(image.image, map_=image.map)
    for image, map_ in ((own, other.map), (other, own.map)):
        with pytest.raises(
            InconclusiveError, match=r"is a map of another build.*pass the map made with this image"
        ):
            analysis_of(image.image, map_=map_)


@pytest.mark.parametrize("version", APPLE_LINKERS)
def test_a_map_of_ld64_alone_names_the_functions(tmp_path: Path, version: str) -> None:
    """Mach-O symbols have no sizes: each extends to the next, including padding on arm64."""
    made = link_apple(tmp_path, version, "arm64")
    map_ = read_link_map(made.map)
    text = next(output for output in map_.outputs if output.name == "__TEXT,__text")
    names: dict[int, set[str]] = {}
    for line in run("llvm-nm-19", "--defined-only", made.image, cwd=tmp_path).splitlines():
        address, _, name = line.split(maxsplit=2)
        names.setdefault(int(address, 16), set()).add(name)
    ours = owners_by_map(made.map, text.address, text.size)
    same = 0
    truth: set[str] = set()
    for i, owner in enumerate(ours):
        truth = names.get(text.address + i, truth)
        same += owner in truth
    assert same >= SHARE * text.size


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_temporary_objects_have_one_name_in_all_builds(tmp_path: Path, compiler: str) -> None:
    """A limit of object/* failed each build, as if all code was new."""
    (tmp_path / "one.c").write_text("int one(void) { return 1; }\n")
    (tmp_path / "main.c").write_text("int one(void);\nint main(void) { return one(); }\n")
    names = []
    for _ in range(2):
        command = [compiler, "main.c", "one.c", "-Wl,-Map,app.map", "-o", "app"]
        subprocess.run(command, cwd=tmp_path, check=True)
        label = analysis_of(tmp_path / "app", map_=tmp_path / "app.map").label("object")
        names.append({label.texts[i] for i in np.unique(label.ids).tolist()})
    assert names[0] == names[1]
    own = {"gcc": {"(temporary objects)"}, "clang-19": {"/tmp/main.o", "/tmp/one.o"}}
    assert own[compiler] <= names[0]


def test_objects_of_parallel_builds_have_one_name(tmp_path: Path) -> None:
    """With --jobs, all objects in another worktree were new."""
    names = []
    for number in ("00", "01"):
        tree = tmp_path / ".sizeguard" / "worktrees" / f"tree-{number}"
        tree.mkdir(parents=True)
        (tree / "main.c").write_text("int main(void) { return 0; }\n")
        subprocess.run(["gcc", "-c", "main.c"], cwd=tree, check=True)
        command = ["gcc", tree / "main.o", "-Wl,-Map,app.map", "-o", "app"]
        subprocess.run(command, cwd=tree, check=True)
        label = analysis_of(tree / "app", map_=tree / "app.map").label("object")
        names.append({label.texts[i] for i in np.unique(label.ids).tolist()})
    assert names[0] == names[1]
    assert str(tmp_path / ".sizeguard/worktrees/tree-00/main.o") in names[1]
