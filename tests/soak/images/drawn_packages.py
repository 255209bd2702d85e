"""Check files of public packages: every common kind can be read, and sums are exact.

    python -m tests.soak.images.drawn_packages FOLDER [--only pip|npm|apt]

Downloads the packages below into FOLDER by pip, npm and apt-get, which keep existing files,
and checks each package as a container and each native file in it: the rows sum to the file, and
`load` is what another reader finds (pyelftools for ELF, lief for Mach-O and PE, llvm-objdump for
WebAssembly). Prints a row for each kind of file, and fails if a sum or a size differs.
"""

from __future__ import annotations

import argparse
import collections
import io
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import lief
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.builds.measured_sizes import measure
from sizeguard.formats.containers.container import Container
from sizeguard.formats.containers.open_container import open_container
from sizeguard.formats.sniff import image_format

# pip's names of platforms, and packages that have native code for them.
WHEELS = {
    "win_amd64": "numpy==2.1.3 lxml cffi regex pillow msgpack",
    "win_arm64": "markupsafe pyyaml cffi",
    "win32": "markupsafe cffi regex",
    "macosx_11_0_universal2": "msgpack lxml orjson markupsafe",
    "macosx_14_0_arm64": "numpy==2.1.3",
    "macosx_10_9_x86_64": "regex pyyaml",
    "manylinux2014_s390x": "markupsafe pyyaml cffi",
    "manylinux2014_ppc64le": "markupsafe pyyaml cffi",
    "manylinux2014_i686": "markupsafe",
    "manylinux_2_31_armv7l": "regex pyyaml markupsafe",
    "musllinux_1_2_armv7l": "markupsafe",
    "manylinux_2_39_riscv64": "markupsafe pyyaml",
    "manylinux2014_aarch64": "orjson cffi",
    "manylinux2014_x86_64": "ruff esbuild-bin tree-sitter",
}
NODE = (
    *("esbuild-wasm", "sql.js", "argon2-browser", "web-tree-sitter", "hash-wasm", "source-map"),
    *("@resvg/resvg-wasm", "@rollup/wasm-node", "lightningcss-wasm", "onnxruntime-web@1.20.1"),
    *("vscode-oniguruma", "@duckdb/duckdb-wasm@1.29.0", "brotli-wasm", "@biomejs/wasm-web"),
    *("@esbuild/win32-x64", "@esbuild/darwin-arm64", "@esbuild/linux-riscv64"),
    *("@esbuild/linux-loong64", "@esbuild/linux-mips64el", "@esbuild/linux-s390x"),
    *("@esbuild/freebsd-x64", "@rollup/rollup-linux-riscv64-gnu", "fsevents", "bufferutil"),
    *("@rollup/rollup-win32-ia32-msvc", "@rollup/rollup-win32-arm64-msvc"),
    *("@rollup/rollup-darwin-x64", "@swc/wasm", "tree-sitter-json"),
)
DEBIAN = (
    *("zlib1g-dev", "libssl-dev", "libbz2-dev", "libc6-dev", "libpng-dev", "libzstd-dev"),
    *("busybox-static", "sed", "libsqlite3-0", "libstdc++-12-dev", "liblzma-dev", "hello"),
    *("mingw-w64-i686-dev", "libgcc-12-dev", "golang-docker-credential-helpers"),
)


def download(folder: Path, only: str) -> None:
    """Download missing packages; skip a package that a registry lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    if only in ("", "pip"):
        for platform, names in WHEELS.items():
            for name in names.split():
                run(folder, sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                    "--only-binary=:all:", "--python-version", "3.12", "--platform", platform,
                    "-d", str(folder), name)  # fmt: skip
    if only in ("", "npm"):
        for name in NODE:
            run(folder, "npm", "pack", "--silent", name)
    if only in ("", "apt"):
        for name in DEBIAN:
            run(folder, "apt-get", "download", "-qq", name)


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        print(f"not fetched: {command[-1]}", file=sys.stderr)


def packages(folder: Path) -> Iterator[Path]:
    """List all packages; npm packages are unpacked, because their format is not supported."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".tgz":
            place = path.with_suffix("")
            if not place.exists():
                with tarfile.open(path) as archive:
                    archive.extractall(place, filter="data")
            yield place
        elif path.is_file():
            yield path


def images(path: Path) -> Iterator[Path]:
    """Yield all native members of a container, including nested containers."""
    container: Container | None = open_container(path)
    if container is None:
        return
    members = [each for each in container.members if each.is_native or each.is_container]
    for member in members[:MOST]:
        inside = Path(f"{path}!{member.name}")
        if member.is_native or member.is_container:
            kind = image_format(inside)
            if member.is_container or kind == "macho":
                inner = list(images(inside))
                yield from inner
                if inner:
                    continue
            if member.is_native:
                yield inside


def check_sums(path: Path) -> None:
    analysis = analysis_of(path)
    for name in ("file", "load", "ram"):
        ours, whole = int(getattr(analysis, name).sum()), getattr(analysis.image, name)
        assert ours == whole, f"{path}: {name} of rows {ours}, of the image {whole}"
    symbols = analysis.label("symbol")
    assert len(symbols.ids) == len(analysis.load)


class CannotReadError(Exception):
    """The second reader does not read a file."""


def second_load(path: Path, kind: str) -> int | None:
    """Return `load` from another reader; None for a format without one.

    Raises CannotReadError if the reader does not read the file.
    """
    content = readable(path).read_bytes()
    if kind == "elf":
        try:
            elf = ELFFile(io.BytesIO(content))
            return sum(
                section["sh_size"]
                for section in elf.iter_sections()
                if section["sh_flags"] & 2 and section["sh_type"] != "SHT_NOBITS"
            )
        # Files of other systems break its rules for links between sections
        except (ELFError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise CannotReadError(str(error)) from error
    if kind == "pe":
        parsed = lief.PE.parse(list(content))
        if parsed is None:
            raise CannotReadError("no PE file for lief")
        return sum(
            min(each.virtual_size or each.sizeof_raw_data, each.sizeof_raw_data)
            for each in parsed.sections
            if not str(each.name).startswith((".debug", "/"))
        )
    if kind == "macho":
        both = lief.MachO.parse(list(content))
        if both is None:
            raise CannotReadError("no Mach-O file for lief")
        return sum(
            section.size
            for section in both.at(0).sections
            if section.type not in ZEROFILL and section.segment_name not in NOT_LINKED
        )
    return None


# Segments of Mach-O objects whose sections no linker copies: debug information, and the compact
# unwind entries from which linkers make __unwind_info.
NOT_LINKED = ("__DWARF", "__LD")
# Members of import libraries, which say so when they are opened one by one.
WITHOUT_SECTIONS = "an entry of a Windows import library or an anonymous object"
MOST = 60  # images of one package: an archive has thousands of objects
ZEROFILL = (
    lief.MachO.Section.TYPE.ZEROFILL,
    lief.MachO.Section.TYPE.GB_ZEROFILL,
    lief.MachO.Section.TYPE.THREAD_LOCAL_ZEROFILL,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", choices=("", "pip", "npm", "apt", "none"))
    given = parser.parse_args()
    lief.logging.disable()
    download(given.folder, given.only)
    counts: collections.Counter[str] = collections.Counter()
    seconds: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    for package in packages(given.folder):
        start = time.process_time()
        try:
            check_sums(package)
        except (InputError, AssertionError) as error:
            if "is native code" not in str(error):
                wrong.append(str(error))
        kind = package.suffix.lstrip(".") or "folder"
        counts[f"container {kind}"] += 1
        seconds[f"container {kind}"] += time.process_time() - start
        print(f"{package.name}: {seconds[f'container {kind}']:.1f} s", file=sys.stderr)
        for image in islice(images(package), MOST):
            check_image(image, counts, seconds, wrong)
    for kind, count in sorted(counts.items()):
        print(f"{kind:40} {count:6,} files {seconds[kind]:9.2f} s")
    for line in wrong:
        print(f"WRONG {line}")
    return 1 if wrong else 0


def check_image(
    image: Path,
    counts: collections.Counter[str],
    seconds: collections.Counter[str],
    wrong: list[str],
) -> None:
    kind = "?"
    start = time.process_time()
    try:
        kind = image_format(image)
        check_sums(image)
        analysis = analysis_of(image)
        kind_and_machine = f"{kind} {analysis.image.arch}"
        counts[kind_and_machine] += 1
        seconds[kind_and_machine] += time.process_time() - start
        other, ours = second_load(image, kind), measure(image).load
        if other is not None and other != ours:
            wrong.append(f"{image}: load {ours}, by the second reader {other}")
    except CannotReadError:
        counts[f"{kind} the second reader cannot read it"] += 1
    except (InputError, AssertionError) as error:
        counts[f"{kind} refused"] += 1
        if WITHOUT_SECTIONS not in str(error):
            wrong.append(str(error))


if __name__ == "__main__":
    sys.exit(main())
