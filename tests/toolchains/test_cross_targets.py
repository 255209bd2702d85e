"""Builds for other machines and systems.

Builds for AArch64 Linux run models in an emulator; builds for macOS are linked, but not run.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import lief
import pytest

from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_record import Build, read_build
from sizeguard.gate.policy.baselines import baseline_path
from sizeguard.predict.predictor import Kept
from sizeguard.predict.what_if import predictor_of
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import (
    Variant,
    check_combination,
    checked_variant,
    default_folder,
)
from sizeguard.toolchains import toolchain as toolchain_module
from sizeguard.toolchains.targets import find_target, run_prefix
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.images.image_laws import (
    check_laws,
    check_report,
    check_runs,
    check_stripped_twin,
)
from tests.support.tools import tool
from tests.support.whole_products import choose

MACOS = ("arm64-macos", "x86_64-macos")
# Targets and options of builds in two folders
FOLDERS_DIFFER: list[tuple[str, dict[str, str]]] = [
    ("arm64-macos", {}),
    ("aarch64-linux", {"lto": "full"}),
    ("x86_64-macos", {"lto": "full"}),
]
# Builds of the core. The whole list covers each linker, each kind of link, and LTO with both
# compilers.
OTHER_WAYS = choose(
    [
        ("gcc", "mold", "shared", ""),
        ("clang", "lld", "executable", "full"),
    ],
    [
        ("gcc", "gold", "executable", ""),
        ("gcc", "mold", "shared", ""),
        ("gcc", "lld", "static-pie", ""),
        ("gcc", "bfd", "static", "full"),
        ("gcc", "mold", "executable", "full"),
        ("clang", "bfd", "shared", ""),
        ("clang", "mold", "static", ""),
        ("clang", "lld", "executable", "full"),
        ("clang", "gold", "static", ""),
    ],
)


def built(
    root: Path,
    variant: Variant,
    target: str,
    compiler: str | None = None,
    linker: str | None = None,
) -> Build:
    toolchain = find_toolchain(compiler, linker, target)
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


@pytest.mark.native
@pytest.mark.parametrize("compiler", choose(["gcc"], ["gcc", "clang"]))
def test_aarch64_runs_models(
    compiler: str, root: Path, models_dir: Path, program: Callable[..., Path], tmp_path: Path
) -> None:
    """Run a model of floats and one of integers; image and shipped file have equal outputs."""
    full = built(root, Variant("full"), "aarch64-linux", compiler)
    assert (full.target, full.toolchain.split("-")[0]) == ("aarch64-linux", compiler)
    for image in (full.image, full.shipped):
        assert check_laws(image).image.arch == "aarch64"
    check_stripped_twin(full)
    check_report(full)
    for model in ("mlp", "int_ops"):
        outputs = [
            check_runs(
                image,
                full.target,
                program(model),
                models_dir / model,
                tmp_path / model / image.name,
            )
            for image in (full.image, full.shipped)
        ]
        assert [path.read_bytes() for path in outputs[0]] == [
            path.read_bytes() for path in outputs[1]
        ]


def test_aarch64_gives_the_bits_of_x86(
    root: Path, models_dir: Path, full_build: Build, program: Callable[..., Path], tmp_path: Path
) -> None:
    """Operators without transcendental functions give the same bits everywhere.

    Functions of libm may differ in the last bit.
    """
    there = built(root, Variant("full"), "aarch64-linux", "gcc")
    for model in ("int_ops", "quant_cnn"):
        outputs = [
            check_runs(
                what.image,
                what.target,
                program(model),
                models_dir / model,
                tmp_path / model / what.target,
            )
            for what in (full_build, there)
        ]
        assert [path.read_bytes() for path in outputs[0]] == [
            path.read_bytes() for path in outputs[1]
        ]


@pytest.mark.native
@pytest.mark.parametrize(("compiler", "linker", "link", "lto"), OTHER_WAYS)
def test_aarch64_in_other_ways(
    compiler: str, linker: str, link: str, lto: str, root: Path, program: Callable[..., Path]
) -> None:
    core = built(root, Variant("core", link=link, lto=lto), "aarch64-linux", compiler, linker)
    assert all(path.is_file() for path in core.lto_inputs)
    check_laws(core.image)
    check_laws(core.shipped)
    check_stripped_twin(core)
    check_report(core)
    if link != "shared":
        command = [
            *(run_prefix(core.target) or []),
            core.shipped,
            "--program",
            program("mlp"),
            "--check",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # Three operators that the model names, and nine that these three can call.
        assert (done.returncode, done.stderr.count(" is not in this build")) == (1, 12)


@pytest.mark.native
@pytest.mark.parametrize("target", choose(MACOS[:1], MACOS))
def test_macos_executables(target: str, root: Path) -> None:
    full = built(root, Variant("full"), target)
    assert (full.target, full.toolchain) == (target, "clang-19.1-lld-19.1")
    assert run_prefix(target) is None
    for image in (full.image, full.shipped):
        assert check_laws(image).image.format == "macho"
    check_stripped_twin(full)
    check_report(full)
    binary = lief.MachO.parse(str(full.image)).at(0)
    assert binary.header.file_type == lief.MachO.Header.FILE_TYPE.EXECUTE
    assert binary.header.cpu_type == {"arm64-macos": lief.MachO.Header.CPU_TYPE.ARM64}.get(
        target, lief.MachO.Header.CPU_TYPE.X86_64
    )
    assert [library.name for library in binary.libraries] == ["/usr/lib/libSystem.B.dylib"]
    sizes = re.findall(r"Section (\w+): (\d+)", tool("llvm-size-19", "-m", full.shipped))
    assert full.sizes.load == sum(
        int(size) for name, size in sizes if name not in ("__bss", "__common")
    )
    assert full.gc_log.read_text().count("<<dead>>") > 50
    assert str(root) not in full.image.read_bytes().decode("latin-1")
    costs = predictor_of(full.image.parent).feature_costs(Kept())
    prices = {each.feature: each.price for each in costs}
    assert prices["verbose_errors"] is not None and prices["verbose_errors"].low > 1000


@pytest.mark.native
@pytest.mark.parametrize("target", choose(MACOS[:1], MACOS))
def test_macos_debug_information_is_of_the_image(target: str, root: Path) -> None:
    core = built(root, Variant("core"), target)
    assert core.debug is not None
    inside = core.debug / "Contents" / "Resources" / "DWARF" / core.image.name
    uuids = {
        tuple(lief.MachO.parse(str(path)).at(0).uuid.uuid)
        for path in (core.image, core.shipped, inside)
    }
    assert len(uuids) == 1
    address = next(
        line.split()[0]
        for line in tool("llvm-nm-19", core.image).splitlines()
        if line.endswith(" _main")
    )
    told = tool("llvm-symbolizer-19", f"--obj={inside}", f"0x{address}")
    assert told.splitlines()[0] == "main"
    assert "native/apps/run_program.cpp" in told.splitlines()[1]


@pytest.mark.native
@pytest.mark.parametrize("target", choose(MACOS[:1], MACOS))
def test_macos_libraries(target: str, root: Path) -> None:
    core = built(root, Variant("core", link="shared"), target)
    assert core.image.name == "libsizeguard.dylib"
    check_laws(core.image)
    check_laws(core.shipped)
    check_stripped_twin(core)
    binary = lief.MachO.parse(str(core.shipped)).at(0)
    assert binary.header.file_type == lief.MachO.Header.FILE_TYPE.DYLIB
    assert [symbol.name for symbol in binary.exported_symbols] == ["_sizeguard_run"]


@pytest.mark.native
@pytest.mark.parametrize("target", choose(MACOS[:1], MACOS))
def test_macos_lto(target: str, root: Path) -> None:
    core = built(root, Variant("core", lto="full"), target)
    check_laws(core.image)
    check_stripped_twin(core)
    assert [path.suffix for path in core.objects] == [".o"]
    assert core.objects[0].name in core.map.read_text()
    assert core.debug is not None


@pytest.mark.native
def test_both_macos_machines_in_one_file(root: Path, tmp_path: Path) -> None:
    images = [built(root, Variant("core"), target).shipped for target in MACOS]
    fat = tmp_path / "fat"
    tool("llvm-lipo-19", "-create", *images, "-output", fat)
    magic, count = struct.unpack(">II", fat.read_bytes()[:8])
    assert (magic, count) == (0xCAFEBABE, 2)
    assert tool("llvm-lipo-19", "-archs", fat).split() in (
        ["arm64", "x86_64"],
        ["x86_64", "arm64"],
    )


@pytest.mark.native
@pytest.mark.parametrize(("target", "options"), choose(FOLDERS_DIFFER[:1], FOLDERS_DIFFER))
def test_two_folders_give_the_same_bytes(
    target: str, options: dict[str, str], root: Path, tmp_path: Path
) -> None:
    variant = Variant("core", **options)
    usual = built(root, variant, target)
    folder = tmp_path / "a_folder_with_a_much_longer_name/and_one_more_below_it"
    other = build(root, variant, find_toolchain(None, None, target), folder)
    assert usual.image.read_bytes() == other.image.read_bytes()
    assert usual.shipped.read_bytes() == other.shipped.read_bytes()
    assert str(tmp_path).encode() not in other.image.read_bytes()
    assert str(root).encode() not in usual.image.read_bytes()


@pytest.mark.native
@pytest.mark.parametrize(
    ("compiler", "linker", "target", "variant", "message"),
    [
        (
            None,
            None,
            "riscv64-linux",
            {},
            "unknown target riscv64-linux; there are x86_64-linux, aarch64-linux, arm64-macos",
        ),
        ("gcc", None, "arm64-macos", {}, "gcc does not build for arm64-macos; clang does"),
        (None, "mold", "arm64-macos", {}, "mold does not link for arm64-macos; lld does"),
        (None, None, "arm64-macos", {"link": "static"}, "arm64-macos has no static programs"),
        (
            None,
            None,
            "arm64-macos",
            {"sanitize": "address"},
            "sanitizers are for executables on Linux",
        ),
        (
            None,
            None,
            "x86_64-macos",
            {"lto": "thin"},
            "dsymutil cannot distinguish them: --lto full",
        ),
        ("gcc", None, None, {"sanitize": "adress"}, "--sanitize adress: unrecognized argument"),
        ("clang", None, None, {"sanitize": "adress"}, "--sanitize adress: unsupported argument"),
        ("gcc", None, None, {"sanitize": "address,thread"}, "incompatible"),
        ("gcc", "gold", None, {"link": "static-pie"}, "gold cannot link static-pie"),
        ("gcc", None, None, {"lto": "thin"}, "gcc has no thin LTO"),
        ("gcc", "lld", None, {"lto": "full"}, "lld cannot read gcc's LTO objects"),
        ("clang", "mold", None, {"lto": "thin"}, "thin LTO needs --linker lld"),
        (
            "clang",
            "lld-14",
            None,
            {"lto": "full"},
            "lld-14 has another LLVM version than the compiler",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(
    compiler: str | None,
    linker: str | None,
    target: str | None,
    variant: dict[str, str],
    message: str,
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        check_combination(Variant("core", **variant), find_toolchain(compiler, linker, target))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link": "dynamic"}, "unknown kind of link dynamic"),
        ({"lto": "fat"}, "unknown kind of LTO fat"),
        ({"kind": "instrumented", "link": "static"}, "instrumented is built to trace models"),
    ],
)
def test_wrong_kinds_are_refused(root: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked_variant(root, Variant(**{"kind": "core", **options}))


@pytest.mark.native
def test_tools_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    with pytest.raises(
        BuildError,
        match=(
            r"install with: apt-get install binutils-aarch64-linux-gnu g\+\+-aarch64-linux-gnu"
            r" gcc-aarch64"
        ),
    ):
        find_toolchain("gcc", None, "aarch64-linux")
    with pytest.raises(
        BuildError,
        match=r"dsymutil-19.* not found; install with: apt-get install clang-19 lld-19 llvm-19",
    ):
        find_toolchain(None, None, "x86_64-macos")
    monkeypatch.undo()
    monkeypatch.setattr(toolchain_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match=r"ziglang not found.*pip install ziglang"):
        find_toolchain(None, None, "arm64-macos")


@pytest.mark.native
def test_folders_records_and_baselines_name_what_was_built(root: Path) -> None:
    toolchain = find_toolchain("clang", "lld", "aarch64-linux")
    variant = Variant("core", optimize="2", link="static", lto="full")
    folder = default_folder(root, variant, toolchain)
    assert folder == root / "build" / "aarch64-linux-clang-lld-O2-static-lto" / "core"
    core = build(root, variant, toolchain, folder)
    assert read_build(folder) == core
    assert (core.target, core.link, core.lto) == ("aarch64-linux", "static", "full")
    assert (
        baseline_path(root, core).name
        == "core.aarch64-linux.clang-19.1-lld-19.1-O2-static-lto.yaml"
    )
    assert find_target(None).is_native
