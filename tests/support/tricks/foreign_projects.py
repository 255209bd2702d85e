"""Six third-party projects: the places of their sources, their builds, and the changes to them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_MIRROR = (
    "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    " http://deb.debian.org/debian bookworm main\n"
)
_REGISTRY = Path("usr/share/cargo/registry")  # folder of crates in Debian's packages
_DEV_DEPENDENCIES = re.compile(r"^\[dev-dependencies[^\n]*\n(?:(?!\[)[^\n]*\n)*", re.M)
_CARGO = """[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "{crates}"
[build]
rustflags = ["--cap-lints", "warn"{flags}]
"""
# at least 1 KiB with each machine and compiler here, without a removable call
_C_STEPS = "  volatile int sg_x = 1;\n" + "  sg_x = sg_x * 3 + 1;\n" * 96
_RUST_STEP = (
    "  unsafe { std::ptr::write_volatile(&mut sg_x, std::ptr::read_volatile(&sg_x) ^ 5) };\n"
)
_RUST_STEPS = "  let mut sg_x = 1u64;\n" + _RUST_STEP * 240


@dataclass(frozen=True, slots=True)
class ForeignProject:
    """A project, by the name of its source package.

    build:    the usual commands to build it
    source:   the file of the function that grows
    head:     expression that ends behind the brace that begins the function
    function: its name, as a report has it
    also:     packages of pip that the build needs
    debs:     packages of Debian that are unpacked, not installed, with all that they need: crates
    dropped:  lines of Cargo.toml for what Debian's crates do not have
    flags:    of rustc
    images:   how many images init finds at least
    at_least: bytes of the largest image file
    more:     code that the function grows by
    """

    name: str
    build: tuple[str, ...]
    source: str
    head: str
    function: str
    also: tuple[str, ...] = ()
    debs: tuple[str, ...] = ()
    dropped: str = ""
    flags: tuple[str, ...] = ()
    images: int = 1
    at_least: int = 0
    more: str = _C_STEPS

    def grown(self, text: str) -> tuple[str, int]:
        """Return a source with the grown function, and the line of its head."""
        found = re.search(self.head, text, re.M)
        if found is None:
            raise ValueError(f"{self.source} of {self.name} has no {self.head}")
        line = text.count("\n", 0, found.start()) + 1
        return text[: found.end()] + "\n" + self.more + text[found.end() :], line


_CROSS = "-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64"
PROJECTS = (
    # C, Make, gcc and the bfd linker
    ForeignProject(
        "lz4",
        ("make -j2 lib",),
        "lib/lz4hc.c",
        r"^int LZ4_compress_HC_extStateHC ?\([^{]*\{",
        "LZ4_compress_HC_extStateHC",
    ),
    # C++, CMake, clang and lld
    ForeignProject(
        "yaml-cpp",
        (
            "cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DYAML_BUILD_SHARED_LIBS=ON"
            " -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF"
            " -DCMAKE_CXX_COMPILER=clang++-19"
            " -DCMAKE_SHARED_LINKER_FLAGS=--ld-path=ld.lld-19",
            "cmake --build build -j2",
        ),
        "src/scanner.cpp",
        r"^void Scanner::ScanNextToken\(\) \{",
        "YAML::Scanner::ScanNextToken",
    ),
    # C, Meson, LTO
    ForeignProject(
        "fribidi",
        (
            "meson setup build --buildtype=minsize -Db_lto=true -Ddocs=false",
            "ninja -C build",
        ),
        "lib/fribidi-joining.c",
        r"^fribidi_join_arabic \([^{]*\{",
        "fribidi_join_arabic",
        also=("meson",),
    ),
    # Rust, Cargo, Debian's crates
    ForeignProject(
        "rust-difference",
        ("cargo build --release --offline",),
        "src/lcs.rs",
        r"^pub fn lcs\([^{]*\{",
        "difference::lcs::lcs",
        debs=("librust-getopts-dev", "librust-unicode-width-dev"),
        more=_RUST_STEPS,
    ),
    # C, CMake, three shared libraries, built for aarch64
    ForeignProject(
        "brotli",
        (
            f"cmake -S . -B build -DCMAKE_BUILD_TYPE=Release {_CROSS}"
            " -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DBROTLI_DISABLE_TESTS=ON",
            "cmake --build build -j2",
        ),
        "c/dec/decode.c",
        r"^void BrotliDecoderDestroyInstance\([^{]*\{",
        "BrotliDecoderDestroyInstance",
        images=3,
    ),
    # Rust, Cargo, an image of over 50 MB with debug information
    ForeignProject(
        "rust-ripgrep",
        ("cargo build --offline",),
        "crates/core/main.rs",
        r"^fn search\([^{]*\{",
        "rg::search",
        debs=(
            *("librust-bstr-dev", "librust-clap-2-dev", "librust-grep-dev", "librust-ignore-dev"),
            *("librust-grep-searcher-dev", "librust-lazy-static-dev", "librust-log-dev"),
            *("librust-num-cpus-dev", "librust-regex-dev", "librust-serde-json-dev"),
            "librust-termcolor-dev",
        ),
        dropped=r"^(simd-accel|pcre2) = .*\n",
        flags=("-Clink-dead-code",),
        at_least=50_000_000,
        more=_RUST_STEPS,
    ),
)


def fetched(project: ForeignProject, folder: Path) -> Path:
    """Download and unpack a project's source package, once; return the folder of its files."""
    tree = folder / project.name
    if tree.is_dir():
        shutil.rmtree(tree)
    sources = folder / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    configuration = _apt(folder)
    _run(["apt-get", "source", "--download-only", "-qq", project.name], sources, configuration)
    package = max(sources.glob(f"{project.name}_*.dsc"))
    _run(["dpkg-source", "--extract", package, tree], sources)
    debs = folder / "debs"
    if project.debs:
        _unpack(project.debs, debs)
    if (tree / "Cargo.toml").is_file():
        _take_crates(project, tree, debs / "root" / _REGISTRY)
    return tree


def _apt(folder: Path) -> dict[str, str]:
    """Return the environment in which apt-get finds source packages, without root's lists."""
    at = folder / "apt"
    file = at / "apt.conf"
    if not file.is_file():
        for name in ("lists/partial", "cache/archives/partial"):
            (at / name).mkdir(parents=True, exist_ok=True)
        (at / "sources.list").write_text(_MIRROR)
        file.write_text(
            f'Dir::Etc::SourceList "{at}/sources.list";\nDir::Etc::SourceParts "/dev/null";\n'
            f'Dir::State::Lists "{at}/lists";\nDir::Cache "{at}/cache";\n'
            'APT::Sandbox::User "root";\n'
        )
        _run(["apt-get", "update", "-qq"], folder, {"APT_CONFIG": str(file)})
    return {"APT_CONFIG": str(file)}


def _unpack(packages: Iterable[str], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    given = [*packages]
    simulated = ["apt-get", "--simulate", "install", "--no-install-recommends", *given]
    listed = subprocess.run(simulated, capture_output=True, text=True, check=True).stdout
    needed = [line.split()[1] for line in listed.splitlines() if line.startswith("Inst librust-")]
    _run(["apt-get", "download", "-qq", *dict.fromkeys((*given, *needed))], folder)
    for package in folder.glob("*.deb"):
        _run(["dpkg", "--extract", package, folder / "root"], folder)


def _take_crates(project: ForeignProject, tree: Path, crates: Path) -> None:
    """Let Cargo take crates from Debian's packages; those of tests alone are left out."""
    config = tree / ".cargo" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    flags = "".join(f', "{flag}"' for flag in project.flags)
    config.write_text(_CARGO.format(crates=crates, flags=flags))
    manifest = tree / "Cargo.toml"
    text = _DEV_DEPENDENCIES.sub("", manifest.read_text())
    manifest.write_text(re.sub(project.dropped, "", text, flags=re.M) if project.dropped else text)
    (tree / "Cargo.lock").unlink(missing_ok=True)  # of versions that Debian does not have
    (tree / ".gitignore").write_text("/target/\n")


def tools_of(project: ForeignProject, folder: Path) -> dict[str, str]:
    """Install the pip packages of a build separately; return an environment that finds them."""
    if not project.also:
        return {}
    place = folder / "tools"
    if not (place / "bin" / project.also[0]).is_file():
        _run(["python3", "-m", "venv", place], folder)
        _run([place / "bin" / "pip", "install", "--quiet", *project.also], folder)
    return {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def build(project: ForeignProject, tree: Path, environment: Mapping[str, str]) -> None:
    """Build a project as somebody does before they hear of sizeguard."""
    for command in project.build:
        _run(["/bin/sh", "-c", command], tree, environment)


def _run(command: list[object], folder: Path, more: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **(more or {})},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-12:])
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{end}")
