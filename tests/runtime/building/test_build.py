"""Builds: recompiled sources, refused configurations, and equal bytes from two folders."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.files import write_atomic
from sizeguard.builds.build_record import Build, read_build
from sizeguard.cli.main import cli
from sizeguard.formats.elf import read_elf
from sizeguard.runtimes.known import library
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant, default_folder
from sizeguard.runtimes.sizeguard.sources.tags import scan_tags
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.write import format_selection
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain, require
from tests.support.places import SIZEGUARD
from tests.support.whole_products import choose

COMPILED = re.compile(r"Building CXX object \S*?/(\w+)\.cpp\.o")


def compiled(folder: Path) -> set[str]:
    """Return the names of the sources that the last build compiled."""
    return set(COMPILED.findall((folder / "build.log").read_text()))


def configure(source: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        "cmake",
        "-S",
        str(source),
        "-B",
        str(folder),
        "-G",
        "Ninja",
        f"-DSIZEGUARD={SIZEGUARD}",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Return the message of a failed configuration on one line."""
    assert done.returncode != 0
    return " ".join(done.stderr.split())


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
    assert read_build(core_build.image.parent) == core_build


def test_the_core_stays_small(core_build: Build) -> None:
    """The size is promised for a program that only loads, built with gcc -Os for x86-64."""
    assert core_build.sizes.load <= 22_500
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


@pytest.mark.native
def test_a_new_export_of_a_model_selects_again(
    root: Path, models_dir: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.pt2"
    shutil.copy(models_dir / "mlp" / "model.pt2", model)
    folder = tmp_path / "build"
    assert configure(root / "native", folder, f"-DSELECT_OPS_MODEL={model}").returncode == 0
    generate = ["ninja", "-C", str(folder), "operators_code"]
    subprocess.run(generate, check=True, capture_output=True)
    effective = folder / "operators" / "code" / "selected_operators.yaml"
    chosen = yaml.safe_load(effective.read_text())["operators"]
    assert {name for name, entry in chosen.items() if entry["is_root_operator"]} == {
        "aten::linear",
        "aten::relu",
        "aten::softmax.int",
    }
    assert (
        "no work to do"
        in subprocess.run(generate, check=True, capture_output=True, text=True).stdout
    )

    shutil.copyfile(models_dir / "mlp" / "model_core.pt2", model)
    subprocess.run(generate, check=True, capture_output=True)
    chosen = yaml.safe_load(effective.read_text())["operators"]
    assert chosen["aten::addmm"]["is_root_operator"]


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


@pytest.mark.native
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["-DTRACING_BASE=ON"],
            r"does not know the option TRACING_BASE\. It knows .*TRACING_BASED",
        ),
        (
            ["-DEXECUTORCH_DTYPE_SELECTIVE_BUILD=ON"],
            "does not know the option EXECUTORCH_DTYPE_SELECTIVE_BUILD",
        ),
        (["-DDTYPE_SELECTIVE_BUILD=ON"], "DTYPE_SELECTIVE_BUILD has no effect without dtypes"),
        (
            ["-DDTYPE_SELECTIVE_BUILD=ON", "-DSELECT_OPS_LIST=aten::relu"],
            "DTYPE_SELECTIVE_BUILD has no effect without dtypes",
        ),
        (
            ["-DSELECT_ALL_OPS=ON", "-DSELECT_OPS_LIST=aten::relu"],
            "SELECT_ALL_OPS and SELECT_OPS_LIST exclude each other",
        ),
        (
            ["-DTRACING_BASED=ON", "-DSELECT_OPS_LIST=aten::relu"],
            "TRACING_BASED and SELECT_OPS_LIST exclude each other",
        ),
        (["-DSELECT_OPS_YAML=ON"], "SELECT_OPS_YAML is the path of a file here, not ON"),
        (["-DUSE_CUDA=ON"], "USE_CUDA=ON is not possible here: kernels are for CPUs"),
        (["-DSG_OPTIMIZE=fast"], "SG_OPTIMIZE is -Os or -O2, not fast"),
        (["-DSG_LINKER=ld"], "SG_LINKER is bfd, gold, lld or mold, not ld"),
        (["-DSG_LINK=dynamic"], "SG_LINK is executable, static, static-pie or shared, not dynamic"),
        (["-DSG_LTO=fat"], "SG_LTO is full or thin, not fat"),
        (["-DSG_LTO=thin"], "SG_LTO=thin is clang's"),
        (["-DSG_LTO=full", "-DSG_LINKER=lld"], "SG_LTO with gcc needs bfd, gold or mold"),
        (["-DSG_LINK=static-pie", "-DSG_LINKER=gold"], "gold links no static-pie"),
        (["-DSG_MACOS_HEADERS=/x"], "SG_MACOS_HEADERS has no effect on a build for Linux"),
        (["-DCMAKE_BUILD_TYPE=Release"], "CMAKE_BUILD_TYPE has no effect"),
        (["-DSELECT_OPS_LIST=aten::relux"], r"unknown operator aten::relux; nearest: aten::relu"),
        (["-DSELECTED_OP_LIST=/nowhere/x.yaml"], r"/nowhere/x\.yaml: cannot read"),
    ],
)
def test_options_without_effect_are_refused(
    root: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    assert re.search(message, refused(configure(root / "native", tmp_path, *options)))


@pytest.mark.native
def test_dtype_selection_of_a_list_without_dtypes_is_refused(root: Path, tmp_path: Path) -> None:
    selected = tmp_path / "s.yaml"
    selected.write_text("operators:\n  aten::relu: {include_all_overloads: false}\n")
    options = [f"-DSELECTED_OP_LIST={selected}", "-DDTYPE_SELECTIVE_BUILD=ON"]
    assert "has no dtypes" in refused(configure(root / "native", tmp_path / "build", *options))


PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(mine LANGUAGES C CXX)
set(SG_OPTIMIZE -Os)
add_subdirectory({native} sizeguard)
{calls}
"""


@pytest.mark.native
@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (
            "gen_selected_ops(LIB_NAME a ROOT_OP aten::relu)",
            "gen_selected_ops: unknown arguments ROOT_OP",
        ),
        ("gen_selected_ops(ROOT_OPS aten::relu)", "gen_selected_ops: LIB_NAME is missing"),
        ("gen_selected_ops(LIB_NAME a)", r"gen_selected_ops\(a\): nothing is selected"),
        (
            "gen_selected_ops(LIB_NAME a INCLUDE_ALL_OPS ON ROOT_OPS aten::relu)",
            "INCLUDE_ALL_OPS leaves nothing to select",
        ),
        (
            "gen_selected_ops(LIB_NAME a ROOT_OPS aten::relu DTYPE_SELECTIVE_BUILD ON)",
            "DTYPE_SELECTIVE_BUILD has no effect",
        ),
        (
            "generate_bindings_for_kernels(LIB_NAME a FUNCTIONS_YAML {yaml})",
            "call gen_selected_ops first",
        ),
        (
            (
                "gen_selected_ops(LIB_NAME a ROOT_OPS"
                " aten::relu)\ngenerate_bindings_for_kernels(LIB_NAME a FUNCTIONS_YAML {yaml}"
                " CUSTOM_OPS_YAML twice.yaml)"
            ),
            r"twice\.yaml:1: .*aten::relu .*operators/operators\.yaml:\d+",
        ),
        (
            (
                "gen_selected_ops(LIB_NAME a ROOT_OPS"
                " aten::relu)\ngenerate_bindings_for_kernels(LIB_NAME a FUNCTIONS_YAML"
                " {yaml})\nadd_library(k STATIC k.cpp)\nset_target_properties(k PROPERTIES"
                " LINKER_LANGUAGE CXX)\ngen_operators_lib(LIB_NAME a KERNEL_LIBS k"
                " DTYPE_SELECTIVE_BUILD ON)"
            ),
            "DTYPE_SELECTIVE_BUILD has no effect on k",
        ),
    ],
)
def test_wrong_calls_of_the_cmake_functions_are_refused(
    root: Path, tmp_path: Path, calls: str, message: str
) -> None:
    native = root / "native"
    (tmp_path / "twice.yaml").write_text(
        '- {func: "aten::relu(Tensor self) -> Tensor", kernel: my_relu, kind: core}\n'
    )
    (tmp_path / "k.cpp").write_text("")
    calls = calls.replace("{yaml}", str(native / "operators" / "operators.yaml"))
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(native=native, calls=calls))
    assert re.search(message, refused(configure(tmp_path, tmp_path / "build")))


EXAMPLE = {
    "-DSELECT_OPS_LIST=aten::relu,extra::twice": {"aten::add.Tensor", "aten::relu", "extra::twice"},
    "-DSELECT_OPS_LIST=aten::add.out,aten::mm.out": {"aten::add.Tensor", "aten::mm"},
    "-DSELECT_OPS_YAML=ON": {"aten::add.Tensor", "extra::twice"},
    "-DSELECT_OPS_YAML=extra/operators.yaml": {"aten::add.Tensor", "extra::twice"},
    "-DSELECT_ALL_OPS=ON": None,
}


@pytest.mark.native
@pytest.mark.parametrize("option", EXAMPLE)
def test_the_example_registers_what_is_selected(root: Path, option: str) -> None:
    folder = root / "build" / "tests" / "example"
    for file in ("CMakeCache.txt", "selected_ops"):  # keep the compiled objects
        path = folder / file
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    done = configure(root / "native" / "examples" / "selective_build", folder, option)
    assert done.returncode == 0, done.stderr
    subprocess.run(["ninja", "-C", str(folder)], check=True, capture_output=True)
    listed = subprocess.run(
        [folder / "example"], check=True, capture_output=True, text=True
    ).stdout.split()
    expected = EXAMPLE[option]
    if expected is None:
        expected = {"extra::twice", *library(root)}
    assert set(listed) == expected and len(listed) == len(expected)


@pytest.mark.native
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Nothing is selected: give SELECT_ALL_OPS, SELECT_OPS_LIST or SELECT_OPS_YAML"),
        (["-DSELECT_OPS_LIST=ON"], "SELECT_OPS_LIST is a list of names, not ON"),
        (
            ["-DSELECT_OPS_YAML=ON", "-DSELECT_ALL_OPS=ON"],
            "SELECT_ALL_OPS and SELECT_OPS_YAML exclude each other",
        ),
        (
            ["-DEXECUTORCH_SELECT_OPS_LIST=aten::add.out"],
            r"EXECUTORCH_SELECT_OPS_LIST \(here: SELECT_OPS_LIST\)",
        ),
    ],
)
def test_options_that_the_example_refuses(
    root: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    example = root / "native" / "examples" / "selective_build"
    assert re.search(message, refused(configure(example, tmp_path, *options)))


@pytest.mark.native
@pytest.mark.parametrize(
    "own_kernels", choose([False], [True, False]), ids={True: "own", False: "shared"}.get
)
def test_two_apps_in_one_tree_each_run_their_models(
    root: Path, program: Callable[..., Path], own_kernels: bool
) -> None:
    folder = root / "build" / "tests" / ("apps-own" if own_kernels else "apps-shared")
    done = configure(
        root / "native" / "apps",
        folder,
        f"-DDTYPE_SELECTIVE_BUILD={'ON' if own_kernels else 'OFF'}",
    )
    assert done.returncode == 0, done.stderr
    subprocess.run(["ninja", "-C", str(folder)], check=True, capture_output=True)
    models = {"vision": ("mobilenet_v2", "quant_cnn"), "language": ("encoder", "lstm_tagger")}
    for app, others in (("vision", "language"), ("language", "vision")):
        for model in models[app]:
            ran = subprocess.run(
                [folder / app, program(model)], capture_output=True, text=True, check=False
            )
            assert (ran.returncode, ran.stderr) == (0, "")
            assert model in ran.stdout
        foreign = subprocess.run(
            [folder / app, program(models[others][0])], capture_output=True, text=True, check=False
        )
        assert foreign.returncode == 1
        assert foreign.stderr.startswith("error: ")
    effective = {
        app: yaml.safe_load(
            (folder / f"{app}_ops" / "code" / "selected_operators.yaml").read_text()
        )
        for app in models
    }
    same = effective["vision"]["kernel_metadata"] == effective["language"]["kernel_metadata"]
    assert same is not own_kernels  # shared kernels have the union of the apps' dtypes


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
