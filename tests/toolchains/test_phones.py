"""Builds for Android and iOS, linked on this machine, and the dependencies of their images."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import lief
import pytest

from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.named_files import is_untold
from sizeguard.runtimes.sizeguard.building.variants import (
    Variant,
    check_combination,
    default_folder,
)
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.installed import is_installed
from sizeguard.toolchains.targets import find_target, run_prefix
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.images.image_laws import check_laws, check_report, check_stripped_twin
from tests.support.places import ROOT
from tests.support.tools import tool

PHONES = ("arm64-android", "arm64-ios")
TOOLCHAINS = ROOT / "native" / "cmake" / "toolchains"


def built(target: str, link: str = "executable") -> Build:
    toolchain = find_toolchain(None, None, target)
    variant = Variant("core", link=link)
    return build(ROOT, variant, toolchain, default_folder(ROOT, variant, toolchain))


@pytest.fixture(scope="module", params=PHONES)
def core(request: pytest.FixtureRequest, native_tools: None) -> Build:
    return built(request.param)


def test_images_keep_the_laws(core: Build) -> None:
    assert core.toolchain == "clang-19.1-lld-19.1"
    assert run_prefix(core.target) is None
    check_laws(core.image)
    check_laws(core.shipped)
    check_stripped_twin(core)
    check_report(core)
    assert str(ROOT) not in core.image.read_bytes().decode("latin-1")
    # A step whose inputs are not recorded makes every build compile everything again.
    assert core.inputs and not [path for path in core.inputs.files if is_untold(path)]


def test_chains_name_functions_and_no_mapping_symbols(core: Build) -> None:
    command = [
        sys.executable,
        "-m",
        "sizeguard",
        "why",
        str(core.image.parent),
        "main",
        "--format",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    chain = json.loads(done.stdout)["chain"]
    symbols = [link["symbol"] for link in chain]
    assert "main" in [symbol.removeprefix("_") for symbol in symbols]
    assert not [symbol for symbol in symbols if symbol.startswith("$")]


@pytest.mark.native
def test_android_has_bionics_names_pages_and_relocations() -> None:
    image = built("arm64-android").shipped
    binary = lief.ELF.parse(str(image))
    assert binary.interpreter == "/system/bin/linker64"
    assert binary.header.file_type == lief.ELF.Header.FILE_TYPE.DYN
    assert binary.libraries == ["libc.so"]
    loads = [one for one in binary.segments if one.type == lief.ELF.Segment.TYPE.LOAD]
    assert loads
    for segment in loads:
        assert segment.alignment == 16384
        assert segment.virtual_address % 16384 == segment.file_offset % 16384
    types = {one.name: one.type for one in binary.sections}
    assert types[".rela.dyn"] == lief.ELF.Section.TYPE.ANDROID_RELA
    assert types[".relr.dyn"] == lief.ELF.Section.TYPE.RELR
    dynamic = tool("readelf", "--dyn-syms", "-W", image)
    undefined = set(re.findall(r"UND (\S+) \(\d\)$|UND (\S+)$", dynamic, re.M))
    names = {versioned or plain for versioned, plain in undefined}
    assert {"__libc_init@LIBC", "__errno@LIBC", "malloc@LIBC"} <= names
    assert not [name for name in names if not name.endswith("@LIBC")]
    notes = {note.name: bytes(note.description) for note in binary.notes}
    assert notes["Android"][:4] == (30).to_bytes(4, "little")


@pytest.mark.native
def test_ios_is_for_that_system() -> None:
    binary = lief.MachO.parse(str(built("arm64-ios").shipped)).at(0)
    version = binary.build_version
    assert version.platform == lief.MachO.BuildVersion.PLATFORMS.IOS
    assert version.minos == [15, 0, 0]
    assert [library.name for library in binary.libraries] == ["/usr/lib/libSystem.B.dylib"]
    assert binary.has_dyld_chained_fixups
    for segment in binary.segments:
        assert segment.virtual_address % 16384 == 0


@pytest.mark.native
def test_android_libraries() -> None:
    library = built("arm64-android", "shared")
    assert library.image.name == "libsizeguard.so"
    check_laws(library.shipped)
    check_stripped_twin(library)
    binary = lief.ELF.parse(str(library.shipped))
    assert [one.name for one in binary.exported_symbols] == ["sizeguard_run"]
    assert not binary.has_interpreter
    assert "__libc_init" not in [one.name for one in binary.imported_symbols]


@pytest.mark.native
@pytest.mark.parametrize("target", PHONES)
@pytest.mark.parametrize(
    ("compiler", "linker", "variant", "message"),
    [
        ("gcc", None, {}, "gcc does not build for {}; clang does"),
        (None, "mold", {}, "mold does not link for {}; lld does"),
        (None, None, {"link": "static"}, "{} has no static programs"),
        (None, None, {"sanitize": "address"}, "sanitizers are for executables on Linux"),
    ],
)
def test_what_cannot_be_built_is_refused(
    target: str, compiler: str | None, linker: str | None, variant: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_combination(Variant("core", **variant), find_toolchain(compiler, linker, target))
    assert message.format(target) in str(caught.value)


def ndk_of(folder: Path) -> Path:
    """Lay out a folder like an NDK that contains this machine's clang."""
    programs = folder / "toolchains" / "llvm" / "prebuilt" / "linux-x86_64" / "bin"
    programs.mkdir(parents=True)
    for name, program in (
        ("clang", "clang-19"),
        ("clang++", "clang++-19"),
        ("ld.lld", "ld.lld-19"),
    ):
        (programs / name).symlink_to(tool("which", program).strip())
    file = folder / "build" / "cmake" / "android.toolchain.cmake"
    file.parent.mkdir(parents=True)
    file.write_text("set(CMAKE_SYSTEM_NAME Android)\n")
    return folder


def toolchain_variables(target: str, *options: str, env: dict[str, str] | None = None) -> str:
    """Include a toolchain file in a script, and return the variables that it sets."""
    names = (
        "CMAKE_SYSTEM_NAME ANDROID_ABI ANDROID_PLATFORM ANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES"
        " SG_ANDROID_NAMES CMAKE_OSX_SYSROOT CMAKE_OSX_DEPLOYMENT_TARGET CMAKE_C_COMPILER_TARGET"
    )
    script = (
        f'include("{TOOLCHAINS / target}.cmake")\nforeach(n {names})\nmessage("${{n}}=${{${{n}}}}")'
        "\nendforeach()\n"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".cmake") as file:
        file.write(script)
        file.flush()
        done = subprocess.run(
            ["cmake", *options, "-P", file.name],
            env={"PATH": os.environ["PATH"], **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.native
@pytest.mark.parametrize("name", ["ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT"])
def test_an_ndk_is_taken(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ndk = ndk_of(tmp_path)
    told = toolchain_variables("arm64-android", env={name: str(ndk)})
    assert "CMAKE_SYSTEM_NAME=Android\nANDROID_ABI=arm64-v8a\nANDROID_PLATFORM=android-30\n" in told
    assert "ANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON\nSG_ANDROID_NAMES=\n" in told
    monkeypatch.setenv(name, str(ndk))
    toolchain = find_toolchain(None, None, "arm64-android")
    assert toolchain.cc.startswith(f"{ndk}/toolchains/llvm/prebuilt/")
    assert toolchain.headers is None
    assert name in recorded_environment()
    assert is_installed(f"{ndk}/sources/android/api.h", ROOT)
    assert find_toolchain(None, None, "arm64-ios").headers is not None


@pytest.mark.native
def test_a_folder_that_is_no_ndk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANDROID_NDK", str(tmp_path))
    with pytest.raises(BuildError, match="no clang in this Android NDK"):
        find_toolchain(None, None, "arm64-android")


@pytest.mark.native
def test_without_ndk_and_xcode_this_machines_tools_serve() -> None:
    told = toolchain_variables("arm64-android")
    assert "CMAKE_SYSTEM_NAME=Linux\n" in told
    assert f"SG_ANDROID_NAMES={TOOLCHAINS}/android\n" in told
    assert "CMAKE_C_COMPILER_TARGET=arm64-apple-ios15.0" in toolchain_variables("arm64-ios")
    on_a_mac = toolchain_variables("arm64-ios", "-DCMAKE_HOST_APPLE=ON")
    assert "CMAKE_SYSTEM_NAME=iOS\n" in on_a_mac
    assert "CMAKE_OSX_SYSROOT=iphoneos\nCMAKE_OSX_DEPLOYMENT_TARGET=15.0\n" in on_a_mac


def test_triples_are_those_of_the_toolchain_files() -> None:
    for target in PHONES:
        triple = find_target(target).triple
        machine, _, system = triple.partition("-apple-")
        text = (TOOLCHAINS / f"{target}.cmake").read_text()
        assert triple in text or (machine in text and system in text)
