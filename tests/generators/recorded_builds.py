"""Record builds that unit tests judge without a compiler, in tests/data/recorded.

    python -m tests.generators.recorded_builds

runtime.tar.xz     the runtime with the selection mlp.yaml: image, objects, map and log, and the
                   sources that define the selectable operators
programs.tar.xz    the programs of tests/data/retention, built by gcc and bfd, a folder each
images.tar.xz      small Mach-O, PE, COFF and WebAssembly files
macho.tar.xz       Mach-O programs and libraries of two machines, their objects and maps
*.snapshot         snapshots of three builds: no operator, mlp.yaml, mlp_and_erf.yaml

It needs gcc, cmake, ninja, clang and lld. Paths in maps and records are relative, and the
toolchain's start-up files are beside the objects, so that nothing is read from the machine.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.builds.build_record import RECORD, Build
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.snapshots.snapshot import write_snapshot
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.images.macho_samples import build_samples
from tests.support.images.windows_and_web import build_web, build_windows
from tests.support.links import retention_programs
from tests.support.places import DATA, ROOT
from tests.support.tools import tool

RECORDED = DATA / "recorded"
# All sources of the runtime are recorded, except for data.
DATA_FOLDERS = ("models", "examples", "fuzzing")
# An absolute path of the toolchain in a map
FOREIGN = re.compile(r"(?<![\w.])/(?:usr/)?lib[\w./+-]*")


def built(name: str, variant: Variant) -> Build:
    return build(ROOT, variant, find_toolchain("gcc", None), ROOT / "build" / "recorded" / name)


def record_map(source: Path, target: Path, own: Iterable[str]) -> None:
    """Copy a map with relative paths, and the start-up objects that it names.

    own: folders whose paths become relative.
    """
    text = source.read_text()
    for folder in own:
        text = text.replace(f"{folder}/", "")
    for name in sorted(set(FOREIGN.findall(text)), key=len, reverse=True):
        here = target.parent / "toolchain" / Path(name).name
        if Path(name).suffix == ".o":
            here.parent.mkdir(exist_ok=True)
            shutil.copy(name, here)
        text = text.replace(name, f"toolchain/{here.name}")
    target.write_text(text)


def record_runtime(found: Build, folder: Path) -> None:
    """Copy a source tree and its build; @ROOT@ in build.json replaces the path of the tree."""
    place = folder / "build" / "mlp"
    place.mkdir(parents=True)
    native = ROOT / "native"
    for path in sorted(native.rglob("*")):
        if path.is_file() and path.relative_to(native).parts[0] not in DATA_FOLDERS:
            copy = folder / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    shutil.copy(RECORDED / "mlp.yaml", folder)
    old = found.image.parent
    for path in (found.image, found.shipped, found.gc_log, found.selection, *found.objects):
        copy = place / path.relative_to(old)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    record_map(found.map, place / found.map.name, [str(old)])
    content = {**found.to_json(), "link_command": None, "asked_selection": "@ROOT@/mlp.yaml"}
    text = json.dumps(content, indent=1).replace(str(old), "@ROOT@/build/mlp")
    (place / RECORD).write_text(text)


def record_programs(folder: Path) -> None:
    """Copy each case to a folder, except for the static program, which contains the C library."""
    for case in retention_programs.CASES:
        if case.name == "static":
            continue
        with tempfile.TemporaryDirectory() as name:
            made = retention_programs.build(case, "gcc", "bfd", Path(name))
            place = folder / case.name
            place.mkdir(parents=True)
            for path in (made.image, made.stripped, *made.objects):
                shutil.copy(path, place)
            record_map(made.link_map, place / made.link_map.name, [name])


IMAGES = (
    "app-arm64", "lib-x86_64", "opcodes-x86_64", "fat", "fat64", "main-arm64-g.o", "main-i386.o",
    "x86_64.dll", "i686.dll", "debug.dll", "x86_64.obj", "a.wasm",
)  # fmt: skip


def record_images(folder: Path) -> None:
    """Copy samples of formats other than ELF."""
    folder.mkdir()
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        build_samples(made)
        build_web(made)
        windows = build_windows(made)
        target = ("clang-19", "--target=x86_64-pc-windows-msvc", "-O1", "-gdwarf")
        exported = "-DEXPORTED=__declspec(dllexport)"
        tool(*target, exported, "-c", made / "source.c", "-o", made / "debug.obj")
        flags = ("/dll", "/noentry", "/nodefaultlib", "/debug:dwarf")
        tool("lld-link-19", *flags, made / "debug.obj", f"/out:{windows.folder / 'debug.dll'}")
        for each in IMAGES:
            shutil.copy(made / each, folder)


def record_macho(folder: Path) -> None:
    """Copy links of tests/data/macho for two machines, with relative paths in the maps."""
    folder.mkdir()
    with tempfile.TemporaryDirectory() as name:
        made = build_samples(Path(name))
        for arch in ("arm64", "x86_64"):
            for kind in ("app", "lib", "opcodes"):
                shutil.copy(made.path(f"{kind}-{arch}"), folder)
                text = made.map_of(f"{kind}-{arch}").read_text().replace(f"{name}/", "")
                text = text.replace(str(DATA / "macho"), "toolchain")
                (folder / f"{kind}-{arch}.map").write_text(text)
            for source in ("shapes", "main"):
                shutil.copy(made.path(f"{source}-{arch}.o"), folder)


def pack(folder: Path, archive: Path) -> None:
    """Pack a folder so that equal files give equal archives."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size = path.stat().st_size
            with path.open("rb") as file:
                tar.addfile(entry, file)
    archive.write_bytes(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{archive.name}: {archive.stat().st_size:,} bytes")


def main() -> None:
    core = built("core", Variant("core"))
    mlp = built("mlp", Variant("selective", "mlp", RECORDED / "mlp.yaml"))
    more = built("mlp_and_erf", Variant("selective", "mlp", RECORDED / "mlp_and_erf.yaml"))
    for name, found in (("core", core), ("mlp", mlp), ("mlp_and_erf", more)):
        write_snapshot(RECORDED / f"{name}.snapshot", analysis_of(found.image.parent / RECORD))
    with tempfile.TemporaryDirectory() as name:
        record_runtime(mlp, Path(name) / "runtime")
        pack(Path(name) / "runtime", RECORDED / "runtime.tar.xz")
        record_programs(Path(name) / "programs")
        pack(Path(name) / "programs", RECORDED / "programs.tar.xz")
        record_images(Path(name) / "images")
        pack(Path(name) / "images", RECORDED / "images.tar.xz")
        record_macho(Path(name) / "macho")
        pack(Path(name) / "macho", RECORDED / "macho.tar.xz")


if __name__ == "__main__":
    main()
