"""Builds: recompiled sources, refused variants, and equal bytes from two folders."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.files import write_atomic
from sizeguard.builds.build_record import Build, read_build
from sizeguard.cli.main import cli
from sizeguard.formats.elf import read_elf
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant, default_folder
from sizeguard.runtimes.sizeguard.sources.tags import scan_tags
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.write import format_selection
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain, require
from tests.support.whole_products import choose

COMPILED = re.compile(r"Building CXX object \S*?/(\w+)\.cpp\.o")


def compiled(folder: Path) -> set[str]:
    """Return the names of the sources that the last build compiled."""
    return set(COMPILED.findall((folder / "build.log").read_text()))


def test_build_json_has_the_published_keys(core_build: Build) -> None:
    content = json.loads((core_build.image.parent / "build.json").read_text())
    keys = {
        "variant", "app", "target", "image", "shipped", "map", "objects", "gc_log", "fingerprint",
        "sizes",
    }  # fmt: skip
    assert keys <= set(content)
    assert set(content["sizes"]) == {"load", "ram", "file", "page_slack"}
    assert all(
        Path(path).is_file()
        for path in [
            content["image"],
            content["shipped"],
            content["map"],
            content["gc_log"],
            *content["objects"],
        ]
    )
    assert "removing unused section" in core_build.gc_log.read_text()
    # A test that runs beside this one may have built it again, with other variables.
    again = read_build(core_build.image.parent)
    assert replace(again, inputs=core_build.inputs) == core_build
    assert again.inputs.files == core_build.inputs.files


def test_the_core_stays_small(core_build: Build) -> None:
    """The size is promised for a program that only loads, built with gcc -Os for x86-64."""
    assert core_build.sizes.load <= 22_000
    assert (
        next(
            section.size
            for section in read_elf(core_build.image).sections
            if section.name == ".bss"
        )
        <= 256
    )


def test_nothing_changed_takes_no_time_and_compiles_nothing(
    root: Path, toolchain: Toolchain, full_build: Build
) -> None:
    # Other tests share the folder, so build their changes first.
    settled = build(root, Variant("full"), toolchain, full_build.image.parent)
    record = full_build.image.parent / "build.json"
    before = record.stat().st_mtime_ns
    start = time.process_time()
    again = build(root, Variant("full"), toolchain, full_build.image.parent)
    assert time.process_time() - start < 2
    assert settled.inputs and again.inputs
    there, now = settled.inputs.to_json(), again.inputs.to_json()
    assert {key for key in there if there[key] != now[key]} == set()
    assert again == settled
    assert record.stat().st_mtime_ns == before
    assert compiled(full_build.image.parent) == set()


@pytest.fixture(scope="module")
def changing(
    root: Path, selection: Callable[..., Path], toolchain: Toolchain
) -> Callable[[Selection], Build]:
    """Build selections in one folder, the first one with the operators of mlp."""
    folder = root / "build" / "tests" / "changing"
    file = folder.parent / "changing.yaml"

    def make(chosen: Selection) -> Build:
        write_atomic(file, format_selection(chosen))
        variant = checked_variant(
            root, Variant("selective", "changing", file, dtypes=True, optimize="s", sanitize="")
        )
        return build(root, variant, toolchain, folder)

    make(read_selection(selection("mlp")).selection)
    return make


@pytest.mark.parametrize(("tag", "dtype"), [("relu", "Double"), ("gemm", "Long"), ("copy", "Bool")])
def test_a_changed_dtype_recompiles_the_files_that_hold_its_tag(
    root: Path,
    changing: Callable[[Selection], Build],
    selection: Callable[..., Path],
    tag: str,
    dtype: str,
) -> None:
    chosen = read_selection(selection("mlp")).selection
    folder = changing(chosen).image.parent
    more = {**chosen.kernel_metadata, tag: chosen.kernel_metadata.get(tag, frozenset()) ^ {dtype}}
    changing(replace(chosen, kernel_metadata=more, provenance={}))
    sources = [
        path
        for name in ("runtime", "operators", "prepacked")
        for path in (root / "native" / name).rglob("*.cpp")
    ]
    holders = {path.stem for path in sources if f'"selected/{tag}.h"' in path.read_text()}
    assert {use.file.stem for use in scan_tags(sources)[tag]} <= holders
    assert compiled(folder) == holders
    changing(replace(chosen, kernel_metadata=more, provenance={}))
    assert compiled(folder) == set()


def test_a_changed_operator_recompiles_no_kernels(
    root: Path, changing: Callable[[Selection], Build], selection: Callable[..., Path]
) -> None:
    chosen = read_selection(selection("mlp")).selection
    folder = changing(chosen).image.parent
    before = read_build(folder)
    entry = chosen.operators["aten::relu"]
    more = changing(replace(chosen, operators={**chosen.operators, "aten::tanh": entry}))
    kernels = {path.stem for path in (root / "native" / "operators").rglob("*.cpp")} - {"primitive"}
    assert len(kernels) > 10
    assert compiled(folder).isdisjoint(kernels)
    assert "RegisterCPU" in compiled(folder)
    assert more.fingerprint != before.fingerprint


@pytest.mark.parametrize("is_changed", [False, True])
@pytest.mark.parametrize("lost", ["CMakeFiles/rules.ninja", "build.ninja", "CMakeCache.txt"])
def test_a_folder_that_lost_a_file_of_cmake_is_configured_again(
    changing: Callable[[Selection], Build],
    selection: Callable[..., Path],
    lost: str,
    is_changed: bool,
) -> None:
    """A configuration that is killed leaves parts of its files; ninja cannot go on from there."""
    chosen = read_selection(selection("mlp")).selection
    before = changing(chosen)
    (before.image.parent / lost).unlink()
    if is_changed:
        entry = chosen.operators["aten::relu"]
        chosen = replace(chosen, operators={**chosen.operators, "aten::tanh": entry})
    assert (changing(chosen).fingerprint != before.fingerprint) == is_changed
    assert (before.image.parent / lost).is_file()


def test_a_changed_file_in_a_folder_that_lost_a_file_of_cmake_is_made_again(
    changing: Callable[[Selection], Build], selection: Callable[..., Path]
) -> None:
    chosen = read_selection(selection("mlp")).selection
    before = changing(chosen)
    content = before.image.read_bytes()
    before.image.write_bytes(b"other")
    (before.image.parent / "CMakeFiles/rules.ninja").unlink()
    assert changing(chosen).image.read_bytes() == content


@pytest.mark.parametrize("source", ["CMakeLists.txt", "native/runtime/tensor.h"])
def test_a_folder_of_sources_is_no_build_folder(
    source: str, root: Path, tmp_path: Path, native_tools: None
) -> None:
    """A build left its files between the sources, or failed at some of them."""
    (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / source).touch()
    words = ["build", "core", "--output-dir", str(tmp_path), "--runtime-source", str(root)]
    with pytest.raises(InputError, match=r"--output-dir: .*: has sources"):
        CliRunner().invoke(cli, words, catch_exceptions=False)
    assert [path.name for path in tmp_path.iterdir()] == [source.partition("/")[0]]


@pytest.mark.parametrize("is_selective", choose([False], [False, True]))
def test_two_folders_give_the_same_bytes(
    root: Path,
    selection: Callable[..., Path],
    toolchain: Toolchain,
    tmp_path: Path,
    is_selective: bool,
) -> None:
    built = []
    for name in ("a", "a_folder_with_a_much_longer_name/and_one_more_below_it"):
        clone = tmp_path / name
        for part in ("native", "sizeguard"):
            shutil.copytree(
                root / part, clone / part, ignore=shutil.ignore_patterns("__pycache__", "models")
            )
        variant = Variant("core")
        if is_selective:
            shutil.copy(selection("mlp"), clone / "app.yaml")
            variant = Variant("selective", "app", clone / "app.yaml", optimize="s", sanitize="")
        variant = checked_variant(clone, variant)
        built.append(build(clone, variant, toolchain, default_folder(clone, variant, toolchain)))
    assert built[0].image.read_bytes() == built[1].image.read_bytes()
    assert built[0].shipped.read_bytes() == built[1].shipped.read_bytes()
    assert built[0].fingerprint == built[1].fingerprint
    assert str(tmp_path).encode() not in built[0].image.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "ful"}, "unknown variant ful"),
        ({"kind": "full", "app": "vision"}, "--app has no effect on the variant full"),
        ({"kind": "core", "dtypes": False}, "--no-dtypes has no effect on the variant core"),
        ({"kind": "selective"}, "selective needs --app NAME or --selection FILE"),
        (
            {"kind": "selective", "app": "visio"},
            "no app 'visio' with a selection; did you mean 'vision'",
        ),
        ({"kind": "selective", "selection": Path("no.yaml")}, r"no\.yaml: no such selection file"),
        ({"kind": "full", "optimize": "3"}, "unknown optimization -O3"),
    ],
)
def test_wrong_choices_of_a_variant_are_refused(
    root: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        checked_variant(root, Variant(**arguments))


@pytest.mark.native
def test_folders_of_variants(root: Path) -> None:
    gcc, clang = find_toolchain("gcc", None), find_toolchain("clang", None)
    assert default_folder(root, Variant("full"), gcc) == root / "build" / "full"
    assert default_folder(root, Variant("selective", "vision"), gcc) == root / "build" / "vision"
    assert (
        default_folder(root, Variant("selective", "vision", dtypes=False), gcc)
        == root / "build" / "vision-operators"
    )
    target = clang.target
    assert (
        default_folder(root, Variant("core", optimize="2"), clang)
        == root / "build" / f"{target}-clang-lld-O2" / "core"
    )


def test_missing_tools_are_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="unknown compiler tcc; there are gcc, clang"):
        find_toolchain("tcc", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        BuildError,
        match=(
            "ninja, flatc not found; install with: apt-get install flatbuffers-compiler ninja-build"
        ),
    ):
        require("ninja", "flatc")


def test_a_compilers_first_error_is_shown(root: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    for part in ("native", "sizeguard"):
        shutil.copytree(
            root / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", "models")
        )
    (tmp_path / "native" / "runtime" / "tensor.cpp").write_text("int broken( {\n")
    with pytest.raises(
        BuildError, match=r"building core failed: .*tensor\.cpp:1:\d+: error: .*; log: .*build\.log"
    ):
        build(tmp_path, Variant("core"), toolchain, tmp_path / "build" / "core")
