"""Test build folders of Meson, Cargo, GN, CMake's makefiles and configure in `sizeguard init`."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.base.yaml.text import yaml_command
from sizeguard.formats.elf.layout import PT_DYNAMIC, PT_LOAD, PT_TLS
from sizeguard.formats.sniff import ELF
from sizeguard.projects.reader import parse_config
from sizeguard.proposals import found_images
from sizeguard.proposals.build_folder import MAP, SECTIONS, BuildFolder, BuildSystem, LinkedFile
from sizeguard.proposals.build_systems.meson import Meson
from sizeguard.proposals.build_systems.ninja_file import statements
from sizeguard.proposals.build_systems.systems import SYSTEMS
from sizeguard.proposals.config_text import config_text
from sizeguard.proposals.propose import propose
from tests.support.images.made_elf import Form, MadeSection, MadeSegment, make_elf
from tests.support.tricks.build_folders import CACHE, LIBRARY, check, project_of, put


def meson_folder(root: Path) -> Path:
    """Make a build folder with a program, a library with a version, a test and a subproject."""
    folder = root / "out"
    targets = [
        ("count", "executable", "count", True, None),
        ("words", "shared library", "libwords.so.1.2.3", True, None),
        ("check", "executable", "check", False, None),
        ("zip", "shared library", "subprojects/zip/libzip.so", True, "zip"),
        ("core", "static library", "libcore.a", False, None),
    ]
    told = [
        {"name": name, "type": kind, "filename": [str(folder / path)], "installed": installed}
        | {"subproject": subproject}
        for name, kind, path, installed, subproject in targets
    ]
    directories = {"source": str(root), "build": str(folder)}
    put(folder / "meson-info/meson-info.json", json.dumps({"directories": directories}))
    put(folder / "meson-info/intro-targets.json", json.dumps(told))
    put(folder / "meson-info/intro-tests.json", json.dumps([{"cmd": [str(folder / "check")]}]))
    put(
        folder / "meson-private/cmd_line.txt",
        f"[options]\nbuildtype = minsize\ncpp_args = ['-DA=1', '-DB']\n\n[properties]\n"
        f"cross_file = ['{root}/arm.ini']\n",
    )
    put(folder / "meson-private/sanitycheckc.exe")
    put(folder / "count")
    put(folder / "check")
    put(folder / "libwords.so.1.2.3", LIBRARY)
    (folder / "libwords.so").symlink_to("libwords.so.1.2.3")
    put(folder / "subprojects/zip/libzip.so", LIBRARY)
    put(folder / "libwords.so.1.2.3.p/words.cpp.o", "")
    return folder


def test_meson(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/out/\n")
    proposal = propose(meson_folder(root))
    assert check(proposal) == {"my_w_rk.count": "out/count", "my_w_rk.libwords": "out/libwords.so"}
    cross = '--cross-file="$PWD"/arm.ini'
    options = "-Dbuildtype=minsize '-Dcpp_args=['\"'\"'-DA=1'\"'\"', '\"'\"'-DB'\"'\"']'"
    assert proposal.setup == f"meson setup out . {cross} {options}"
    assert proposal.build.startswith("meson compile -C out ")
    assert set(proposal.build.split()[-2:]) == {"count", "words"}
    left_out = dict(proposal.left_out)
    assert left_out == {
        "out/check": "of tests",
        "out/subprojects/zip/libzip.so": "of a dependency",
    }
    library = next(image for image in proposal.images if image.name == "libwords")
    assert library.objects == ("out/libwords.so*.p/**/*.o",)


def test_a_folder_that_git_does_not_ignore_is_not_built_in(tmp_path: Path) -> None:
    proposal = propose(meson_folder(project_of(tmp_path)))
    assert proposal.setup.startswith("meson setup sizeguard-build . ")
    assert "out/**" in proposal.ignore
    assert any("add /out/ to .gitignore" in note for note in proposal.notes)


def cargo_folder(root: Path, profile: str) -> Path:
    """Make a folder target/ with a program, a library, and Cargo's other files."""
    target = root / "target"
    put(
        root / "Cargo.toml", '[package]\nname = "count"\n[features]\ndefault = ["std"]\nfast = []\n'
    )
    put(root / "Cargo.lock", "")
    put(target / ".rustc_info.json", "{}")
    made = {"features": json.dumps(["default", "fast", "std"])}
    put(target / profile / ".fingerprint/count-0123456789abcdef/bin-count.json", json.dumps(made))
    put(target / profile / "count")
    put(target / profile / "count.d", "")
    put(target / profile / "deps/count-0123456789abcdef")
    put(target / profile / "build/zip-0123/build-script-build")
    put(target / profile / "examples/show")
    return target


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("release", "--release"),
        ("debug", ""),
        ("small", "--profile small"),
        ("aarch64-unknown-linux-gnu/release", "--release --target aarch64-unknown-linux-gnu"),
    ],
)
def test_cargo(tmp_path: Path, profile: str, words: str) -> None:
    root = project_of(tmp_path, "/target/\n")
    cargo_folder(root, profile)
    proposal = propose(root)
    assert check(proposal) == {"count": f"target/{profile}/count"}
    expected = f"cargo build --locked {words} --bin count --features fast"
    assert proposal.build.split() == expected.split()
    assert bool(proposal.notes) is (profile == "debug")


def test_cargo_builds_the_package_for_its_library(tmp_path: Path) -> None:
    root = project_of(tmp_path, "target\n")
    put(cargo_folder(root, "release") / "release/libwords.so", LIBRARY)
    proposal = propose(root / "target")
    assert set(check(proposal).values()) == {"target/release/count", "target/release/libwords.so"}
    assert "--bin" not in proposal.build


def test_each_image_of_cargo_has_its_own_map(tmp_path: Path) -> None:
    """Flags for all links would write one map over the other."""
    root = project_of(tmp_path, "target\n")
    target = cargo_folder(root, "release")
    put(target / "release/show")
    put(target / "release/libwords.so", LIBRARY)
    changes = {image.name: dict(image.missing)["map"] for image in propose(root).images}
    assert changes == {
        name: f'println!("cargo:rustc-link-arg-{kind}=-Wl,-Map=target/release/{file}.map");'
        " in build.rs"
        for name, kind, file in (
            ("count", "bin=count", "count"),
            ("show", "bin=show", "show"),
            ("libwords", "cdylib", "libwords.so"),
        )
    }


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        (["c_args"], "-Dc_args="),
        (["cpp_args"], "-Dcpp_args="),
        (["c_args", "cpp_args"], "-Dc_args="),
    ],
)
def test_meson_has_flags_for_its_languages(tmp_path: Path, options: list[str], flags: str) -> None:
    """Meson ignores the flags of a language that the project does not have."""
    folder = meson_folder(project_of(tmp_path))
    names = ["build.cpp_args", "c_std", *options]
    told = json.dumps([{"name": name} for name in names])
    put(folder / "meson-info/intro-buildoptions.json", told)
    text = Meson().advice(SECTIONS, Meson().read(folder), LinkedFile(folder / "count"))
    assert text.startswith(flags)
    assert ("-Dcpp_link_args=-Wl,--gc-sections" in text) is ("cpp_args" in options)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda each: each.name)
def test_linkers_of_macos_have_their_own_option(tmp_path: Path, system: BuildSystem) -> None:
    put(tmp_path / "app")
    build, image = BuildFolder(tmp_path, tmp_path), LinkedFile(tmp_path / "app", "app")
    assert "-Map=" in system.advice(MAP, build, image)
    (tmp_path / "app").write_bytes(struct.pack("<8I", 0xFEEDFACF, 0x0100000C, 0, 2, 0, 0, 0, 0))
    text = system.advice(MAP, build, image)
    assert "-map," in text
    assert "-Map" not in text


def test_makefiles_of_cmake(tmp_path: Path) -> None:
    root = project_of(tmp_path, "*.tmp\n")
    source = root / "cpp"
    put(
        source / "CMakeLists.txt",
        'option(WITH_ZIP "Zip" OFF)\noption(WITH_XML "Xml" OFF)\noption(WITH_C "" ${MAIN})\n',
    )
    folder = tmp_path / "else where"
    put(folder / "CMakeCache.txt", CACHE.format(source=source))
    put(folder / "CMakeFiles/3.25.1/CompilerIdCXX/a.out")
    for name in ("count", "speed_benchmark"):
        line = f"/usr/bin/c++ -O3 CMakeFiles/{name}.dir/main.cpp.o -o 'bin/{name}' /usr/lib/x.a\n"
        put(folder / f"src/CMakeFiles/{name}.dir/link.txt", line)
        put(folder / f"src/bin/{name}")
        put(folder / f"src/CMakeFiles/{name}.dir/main.cpp.o", "")
    put(folder / "src/CMakeFiles/x.dir/link.txt", "/usr/bin/ar qc libx.a CMakeFiles/x.dir/x.o\n")
    put(folder / "stray")
    proposal = propose(folder)
    assert check(proposal) == {"count": "sizeguard-build/src/bin/count"}
    assert proposal.setup == (
        "cmake -S cpp -B sizeguard-build -G 'Unix Makefiles' -DCMAKE_BUILD_TYPE=Release"
        " '-DCMAKE_CXX_FLAGS=-fno-rtti -I'\"$PWD\"/cpp/inc -DCMAKE_UNITY_BUILD=ON -DWITH_XML=ON"
    )
    assert proposal.build == "cmake --build sizeguard-build --target count"
    assert proposal.images[0].objects == ("sizeguard-build/src/CMakeFiles/count.dir/**/*.o",)


def test_installed_images_come_before_others(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/build/\n")
    folder = root / "build"
    put(root / "CMakeLists.txt", "")
    put(folder / "CMakeCache.txt", CACHE.format(source=root))
    rule = "CXX_EXECUTABLE_LINKER__{0}_Release CMakeFiles/{0}.dir/main.cpp.o | libx.a || x\n"
    names = ("tool", "helper")
    text = "".join(f"build a$ b/{name}: {rule.format(name)}  FLAGS = -Os\n" for name in names)
    put(folder / "build.ninja", f"rule x\n{text}")
    for name in names:
        put(folder / "a b" / name)
    put(
        folder / "cmake_install.cmake",
        f'file(INSTALL DESTINATION "/usr/bin" TYPE EXECUTABLE FILES "{folder}/a b/tool")\n',
    )
    proposal = propose(root)
    assert check(proposal) == {"tool": "build/a b/tool"}
    assert proposal.left_out == (("build/a b/helper", "not installed"),)


def test_gn_and_a_configured_makefile(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/out/\n/app\n")
    put(root / ".gn", "")
    put(root / "out/x/args.gn", '# small\nis_debug = false\nname = "it\'s"\n')
    put(root / "out/x/build.ninja", "")
    put(root / "out/x/app")
    proposal = propose(root)
    gn = "gn gen out/x '--args=is_debug = false name = \"it'\"'\"'s\"'"
    assert (proposal.setup, proposal.build) == (gn, "ninja -C out/x app")
    check(proposal)
    shutil.rmtree(root / "out")
    put(root / "Makefile", "app:\n\tcc\n")
    put(root / "configure", "")
    put(root / "config.log", "  $ ./configure --prefix=/usr 'CFLAGS=-Os -g'\n")
    put(root / "app")
    configured = "./configure --prefix=/usr 'CFLAGS=-Os -g'"
    assert propose(root).setup == f"autoreconf -fi . && {configured}"
    subprocess.run(["git", "-C", root, "add", "configure"], check=True)
    assert propose(root).setup == configured
    assert propose(root).build == "make app"
    (root / "out").mkdir()
    (root / "app").rename(root / "out/app")
    (root / "Makefile").rename(root / "out/Makefile")
    put(root / "out/config.log", "  $ ../configure CFLAGS=-Os\n")
    proposal = propose(root)
    assert proposal.setup == "mkdir -p out && cd out && ../configure CFLAGS=-Os"
    assert proposal.build == "make -C out app"


def test_what_no_link_made_is_no_image(tmp_path: Path) -> None:
    root = project_of(tmp_path)
    put(root / "Makefile", "app:\n\tcc\n")
    put(root / "prebuilt")
    subprocess.run(["git", "-C", root, "add", "prebuilt"], check=True)
    put(root / "text", "hello\n")
    put(root / ".venv/pyvenv.cfg", "")
    put(root / ".venv/bin/python")
    (root / "other").symlink_to("/bin/true")
    with pytest.raises(InconclusiveError, match="build the project"):
        propose(root)


def test_a_makefile_that_calls_others_makes_their_images(tmp_path: Path) -> None:
    root = project_of(tmp_path, "out\n")
    put(root / "Makefile", "all: out/a\n\t$(MAKE) -C sub\nout/a:\n\tcc\n")
    put(root / "sub/Makefile", "out/b:\n\tcc\n")
    put(root / "out/a")
    put(root / "sub/out/b")
    for start in (root, root / "out"):
        proposal = propose(start)
        assert set(check(proposal).values()) == {"out/a", "sub/out/b"}
        assert proposal.build == "make"
    put(root / "Makefile", "out/a:\n\tcc\n")
    assert check(propose(root / "sub")) == {"b": "sub/out/b"}
    assert propose(root / "sub").build == "make -C sub out/b"


def test_sources_that_are_gone(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/build/\n")
    put(root / "build/CMakeCache.txt", CACHE.format(source=tmp_path / "gone"))
    put(root / "build/build.ninja", "build a: C_EXECUTABLE_LINKER__a_ CMakeFiles/a.dir/a.c.o\n")
    put(root / "build/a")
    with pytest.raises(InputError, match="sources no longer exist"):
        propose(root)


@pytest.mark.parametrize(
    "text", ["null", "a: b", "it's", 'a "b"', "x\ny", "ü\x85", "- a", "#", "1e3", " a", "a #b", "~"]
)
def test_texts_are_read_back(text: str) -> None:
    lines = f"apps:\n  a:\n    build: {yaml_command(text)}\n    image: a\n"
    config = parse_config(Path("/"), lines.encode())
    assert next(iter(config.apps[0].steps.values())).build == text


def test_ninja_statements() -> None:
    text = "build a$ b$:c | x.lib: LINK in$$1 $\n  in2 | dep || order\n  v = 1\nbuild y: CC z\n"
    [found] = statements(text, re.compile("LINK"))
    assert found.outputs == ("a b:c", "x.lib")
    assert found.inputs == ("in$1", "in2", "dep", "order")


def test_tracked_selections_are_named(tmp_path: Path) -> None:
    root = project_of(tmp_path, "/out/\n")
    meson_folder(root)
    put(root / "keep it.yaml", "operators:\n  aten::add.out:\n    is_root_operator: true\n")
    put(root / "other.yaml", "operators: 3\n")
    put(root / "loose.yaml", "operators: {}\n")
    subprocess.run(["git", "-C", root, "add", "keep it.yaml", "other.yaml"], check=True)
    proposal = propose(root)
    assert proposal.selections == ("keep it.yaml",)
    assert "# selects operators: keep it.yaml" in config_text(proposal)


@pytest.mark.parametrize(
    ("segments", "sections", "system"),
    [
        ((PT_LOAD, PT_DYNAMIC), (), "linux"),
        ((PT_LOAD, PT_TLS), (), "linux"),
        ((PT_LOAD,), (".note.ABI-tag",), "linux"),
        ((PT_LOAD,), (".isr_vector",), "none"),
    ],
)
def test_firmware_is_for_no_operating_system(
    tmp_path: Path, segments: Sequence[int], sections: Sequence[str], system: str
) -> None:
    path = tmp_path / "blink.elf"
    code = [MadeSection(name, address=0x8000, content=b"\1" * 16) for name in (".text", *sections)]
    made = [MadeSegment(0, 0x8000, 16, 16, type_) for type_ in segments]
    path.write_bytes(make_elf(Form(), code, made))
    told = found_images._kind(path, ELF)
    assert told == (False, f"x86_64-{system}")
