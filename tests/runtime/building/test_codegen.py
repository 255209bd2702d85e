"""Generated registrations and headers: their contents, refused inputs, and rewritten files."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.cli.main import cli
from sizeguard.runtimes.model_files import read_operators
from sizeguard.runtimes.sizeguard.codegen.generate import Inputs, generate, write_outputs
from sizeguard.runtimes.sizeguard.sources.tags import scan_tags
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.united import (
    SelectionSources,
    check_has_dtypes,
    shared_selection,
    united_selection,
)
from tests.support.places import ROOT

OPERATORS = """\
- {func: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", \
kernel: add, kind: core}
- {func: "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", \
kernel: gt, wrap: other, kind: core}
- {func: "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", kernel: gt, kind: core}
- {func: "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", \
kernel: sum_all, kind: composite}
- {func: "aten::sum.dim(Tensor self, int[1]? dim, bool keepdim=False, *, \
ScalarType? dtype=None) -> Tensor", kernel: sum, kind: core}
- {func: "aten::cat(Tensor[] tensors, int dim=0) -> Tensor", kernel: cat, kind: core}
- {func: "aten::lstm(Tensor a, Tensor[] hx, float p) -> (Tensor, Tensor, Tensor)", \
kernel: lstm, kind: composite}
- {func: "aten::sym_size.int(Tensor self, int dim) -> SymInt", kernel: sym_size, kind: primitive}
- {func: "aten::check(Tensor self, str? text=None, bool[2] mask) -> ()", kernel: check, kind: core}
- {func: "aten::len.t(t[] a) -> int", kernel: length, kind: primitive}
- {func: "q::quantize(Tensor x, float scale, MemoryFormat? format=None) -> Tensor", \
kernel: quantize, kind: core, dispatch: QuantizedCPU}
"""

VISION = ROOT / "native/apps/vision/selected_operators.yaml"

KERNEL = """\
// SG_SWITCH_ALL(dtype, in_a_comment, …)
#define OWN_SWITCH(dtype, tag) SG_SWITCH_ALL(dtype, tag, [] {})
const char* text = "SG_SWITCH_ALL(dtype, in_a_string, x)";
void run() {
  SG_SWITCH_REAL(self.scalar_type(), add, [&]<typename T>() { loop<T>(); });
  SG_SWITCH_ALL(
      promote(self, other),  // the dtype, of both
      /* the tag */ sum,
      [&]<typename T>() { loop<T>(1'000'000); });
  SG_SWITCH_INDEX(indices[{1, 2}], add, [&]<typename T>() {});
}
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "operators.yaml").write_text(OPERATORS)
    (folder / "add.cpp").write_text(KERNEL)
    return folder


def inputs(
    library: Path,
    selection: Selection,
    *,
    all_dtypes: bool = False,
    keys: tuple[str, ...] = ("CPU", "QuantizedCPU"),
) -> Inputs:
    return Inputs(
        (library / "operators.yaml",),
        (library,),
        selection,
        "app.yaml",
        all_dtypes,
        keys,
        "portable",
    )


def keep(*names: str, **dtypes: str) -> Selection:
    """Select operators, and dtypes by tag: keep("aten::cat", add="Float Int")."""
    entry = SelectedOperator(include_all_overloads=False)
    return Selection(
        operators=dict.fromkeys(names, entry),
        kernel_metadata={tag: frozenset(text.split()) for tag, text in dtypes.items()},
    )


def test_tags_are_found_with_place_and_macro(library: Path) -> None:
    tags = scan_tags([library])
    assert {tag: [(use.line, use.macro) for use in uses] for tag, uses in tags.items()} == {
        "add": [(5, "SG_SWITCH_REAL"), (10, "SG_SWITCH_INDEX")],
        "sum": [(6, "SG_SWITCH_ALL")],
    }


@pytest.mark.parametrize(
    "call",
    [
        "SG_SWITCH_ALL(dtype, tags[i], x);",
        "SG_SWITCH_ALL(dtype);",
        "SG_SWITCH_ALL(dtype, operators, x);",
    ],
)
def test_a_switch_without_a_usable_tag_is_refused(library: Path, call: str) -> None:
    (library / "bad.cpp").write_text(f"\n{call}\n")
    with pytest.raises(InputError, match=r"bad\.cpp:2: "):
        scan_tags([library])


def test_registration_holds_the_selected_operators_sorted(library: Path) -> None:
    files = generate(
        inputs(
            library,
            keep("aten::gt.Scalar", "aten::add.Tensor", "aten::sym_size.int", "q::quantize"),
        )
    )
    cpu = files["generated/RegisterCPU.cpp"]
    entries = [line.strip() for line in cpu.splitlines() if line.strip().startswith('{"')]
    assert entries == [
        '{"aten::add.Tensor(tts)t", boxed<&kernels::add>},',
        '{"aten::gt.Scalar(tt)t", boxed<&kernels::gt>},',
    ]
    assert "Result<Tensor> gt(Context&, Tensor, Tensor);" in cpu
    assert 'SG_REGISTER_LIBRARY("portable", "CPU", kOperators);' in cpu
    assert "sym_size" not in cpu  # registered by hand
    assert (
        '{"q::quantize(tdi?)t", boxed<&kernels::quantize>}'
        in files["generated/RegisterQuantizedCPU.cpp"]
    )


def test_signatures_and_prototypes_of_all_types(library: Path) -> None:
    cpu = generate(inputs(library, Selection(include_all_operators=True)))[
        "generated/RegisterCPU.cpp"
    ]
    for text in (
        "Result<Tensor> cat(Context&, TensorList, int64_t);",
        "Result<std::array<Tensor, 3>> lstm(Context&, Tensor, TensorList, double);",
        "Status check(Context&, Tensor, const char*, BoolArrayRef);",
        "Result<Tensor> sum(Context&, Tensor, IntArrayRef, bool, std::optional<ScalarType>);",
        '"aten::check(tz?B)"',
        '"aten::cat(Li)t"',
        '"aten::lstm(tLd)ttt"',
        '"aten::sum.dim(tI?bi?)t"',
    ):
        assert text in cpu


def test_typed_calls_do_not_depend_on_the_selection(library: Path) -> None:
    everything = generate(inputs(library, Selection(include_all_operators=True)))
    one = generate(inputs(library, keep("aten::cat")))
    for name in ("generated/ops.h", "generated/ops.cpp"):
        assert everything[name] == one[name]
    assert "const int64_t words[] = {word(self), word(wrapped)};" in one["generated/ops.cpp"]
    assert 'return call_words(context, "aten::gt.Scalar(tt)t", words);' in one["generated/ops.cpp"]
    assert 'return Status(call_words(context, "aten::check(' in one["generated/ops.cpp"]
    assert "struct q_quantize {" in one["generated/ops.h"]
    assert "len_t" not in one["generated/ops.h"]  # a generic list has no typed call


def test_headers_of_a_selection(library: Path) -> None:
    selection = keep("aten::cat", "aten::sym_size.int", add="Int Float")
    files = generate(inputs(library, selection))
    assert (
        "DtypeSet add{DtypeSet::of({ScalarType::Int, ScalarType::Float})};"
        in files["selected/add.h"]
    )
    assert "DtypeSet sum{DtypeSet::none()};" in files["selected/sum.h"]
    assert 'operators[] = "aten::cat;aten::sym_size.int;"' in files["selected/operators.h"]
    assert "all_operators = false" in files["selected/operators.h"]
    assert (
        "DtypeSet sum{DtypeSet::all()};"
        in generate(inputs(library, selection, all_dtypes=True))["selected/sum.h"]
    )
    everything = generate(inputs(library, Selection(include_all_operators=True)))
    assert "DtypeSet add{DtypeSet::all()};" in everything["selected/add.h"]
    assert "all_features = true" in everything["selected/features.h"]


def test_a_family_becomes_its_overloads(library: Path) -> None:
    family = Selection(operators={"aten::sum": SelectedOperator(is_used_for_training=False)})
    files = generate(inputs(library, family))
    text = files["selected_operators.yaml"]
    assert "  aten::sum: {" in text
    assert "  aten::sum.dim: {" in text
    assert "include_all_overloads: true" not in text


def test_unknown_names_are_listed_with_the_nearest(library: Path) -> None:
    with pytest.raises(InputError) as error:
        generate(inputs(library, keep("aten::ad.Tensor", "aten::cat", summ="Float", add="Flot")))
    message = str(error.value)
    assert message.startswith("app.yaml: ")
    assert "unknown operator aten::ad.Tensor; nearest: aten::add.Tensor" in message
    assert "kernel tag summ matches no dtype switch; nearest: sum" in message
    assert "unknown dtype Flot; nearest: Float" in message
    assert "aten::cat" not in message


VERBOSE = frozenset({"verbose"})
ASKED = """\
/// SG_SELECTIVE_CLASS("InAComment") and SG_BUILD_FEATURE(in_a_comment)
#define SG_BUILD_FEATURE(feature) is_selected(#feature)
#define LOG(text) if constexpr (SG_BUILD_FEATURE(verbose)) print(text)
SG_REGISTER_CLASS(SG_SELECTIVE_CLASS("LinearOpContext"), create);
"""


def test_classes_and_features_are_known_names(library: Path) -> None:
    (library / "class.cpp").write_text(ASKED)
    right = replace(
        keep("aten::cat"), custom_classes=frozenset({"LinearOpContext"}), build_features=VERBOSE
    )
    assert "LinearOpContext" in generate(inputs(library, right))["selected_operators.yaml"]
    wrong = replace(
        keep("aten::cat"),
        custom_classes=frozenset({"LinearOpContex", "InAComment"}),
        build_features=frozenset({"verbos", "feature", "in_a_comment"}),
    )
    with pytest.raises(InputError) as error:
        generate(inputs(library, wrong))
    assert str(error.value) == (
        "app.yaml: unknown class InAComment; unknown class LinearOpContex; nearest:"
        " LinearOpContext; unknown build feature feature; unknown build feature in_a_comment;"
        " unknown build feature verbos; nearest: verbose"
    )


def test_dispatch_keys_limit_the_registrations(library: Path) -> None:
    files = generate(inputs(library, Selection(include_all_operators=True), keys=("CPU",)))
    assert "kOperators" not in files["generated/RegisterQuantizedCPU.cpp"]
    with pytest.raises(InputError, match="unknown dispatch key GPU"):
        generate(inputs(library, Selection(include_all_operators=True), keys=("GPU",)))


@pytest.mark.parametrize("name", ["", "a b", 'a"b', "a\nb", "a\\"])
def test_a_library_s_name_is_a_word(name: str, library: Path) -> None:
    """A string and a comment of the generated sources contain it."""
    wished = inputs(library, Selection(include_all_operators=True))
    with pytest.raises(InputError, match="--library-name"):
        generate(replace(wished, library=name))


def test_one_operator_in_two_libraries_is_refused_with_both_places(
    library: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        '\n- {func: "aten::cat(Tensor[] tensors, int dim=0) -> Tensor", kernel: my_cat, kind:'
        " core}\n"
    )
    both = Inputs(
        (library / "operators.yaml", other),
        (),
        keep("aten::cat"),
        "app.yaml",
        False,
        ("CPU",),
        "portable",
    )
    with pytest.raises(InputError, match=r"other\.yaml:2: .*aten::cat .*operators\.yaml:6"):
        generate(both)


def test_one_kernel_with_two_prototypes_is_refused_with_both_places(library: Path) -> None:
    text = OPERATORS.replace("kernel: gt, wrap: other, kind", "kernel: gt, kind")
    (library / "operators.yaml").write_text(text)
    with pytest.raises(InputError, match=r"operators\.yaml:3: .*operators\.yaml:2"):
        generate(inputs(library, keep("aten::cat")))


def test_only_what_changed_is_written_and_stale_headers_go(library: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = generate(inputs(library, keep("aten::cat", add="Float", sum="Float")))
    assert write_outputs(out, first) == sorted(first)
    assert write_outputs(out, first) == []
    changed = generate(inputs(library, keep("aten::cat", add="Float Int", sum="Float")))
    assert write_outputs(out, changed) == ["selected/add.h", "selected_operators.yaml"]
    (library / "add.cpp").write_text(KERNEL.replace("/* the tag */ sum", "total"))
    renamed = generate(inputs(library, keep("aten::cat", add="Float Int")))
    assert "selected/sum.h" in write_outputs(out, renamed)
    assert not (out / "selected" / "sum.h").exists()


def test_the_effective_selection_selects_the_same_again(library: Path, tmp_path: Path) -> None:
    files = generate(inputs(library, keep("aten::cat", "aten::gt.Tensor", add="Float")))
    path = tmp_path / "selected_operators.yaml"
    path.write_text(files["selected_operators.yaml"])
    assert generate(inputs(library, read_selection(path).selection)) == files


def sources(
    *selections: Path, names: tuple[str, ...] = (), everything: bool = False
) -> SelectionSources:
    return SelectionSources(selections, names, (), (), everything, False)


def test_names_alone_keep_all_dtypes_classes_and_features() -> None:
    selection = united_selection(sources(names=("aten::cat",)), read_operators).selection
    assert selection.is_operator_selected("aten::cat")
    assert not selection.is_operator_selected("aten::cat.out")
    assert selection.include_all_non_op_selectives


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (("--root-ops", "aten::add.Tensor"), True),
        (("--ops-from-model", f"{ROOT}/native/models/mlp/model.pt2"), True),
        (("--selection", str(VISION), "--all-dtypes"), True),
        (("--selection", str(VISION)), False),  # its dtypes are kept
        (("--all-operators",), False),  # leaves nothing to select
        (("--all-operators", "--all-dtypes"), False),
    ],
)
def test_it_says_that_all_dtypes_are_kept(
    chosen: tuple[str, ...], said: bool, tmp_path: Path
) -> None:
    folder = ROOT / "native" / "operators"
    places = [f"--kernel-sources={ROOT / 'native' / name}" for name in ("operators", "runtime")]
    inputs = [f"--operators-yaml={folder / 'operators.yaml'}", *places]
    deps = [] if "--all-operators" in chosen else [f"--op-deps={folder / 'op_deps.yaml'}"]
    command = ["codegen", *chosen, *deps, *inputs, f"--output-dir={tmp_path}"]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    assert done.output.count("all dtypes are kept") == said


def test_everything_beside_a_selection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--all-operators leaves nothing to select"):
        united_selection(sources(tmp_path / "a.yaml", everything=True), read_operators)
    with pytest.raises(InputError, match="no selection"):
        united_selection(sources(), read_operators)


def test_dtype_selection_without_dtypes_is_refused() -> None:
    with pytest.raises(InputError, match="has no dtypes"):
        check_has_dtypes(keep("aten::cat"), "app.yaml")
    with pytest.raises(InputError, match="no effect"):
        check_has_dtypes(Selection(include_all_non_op_selectives=True), "app.yaml")


def test_apps_that_share_kernels_get_the_union_of_dtypes(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "operators: {}\nkernel_metadata: {add: [Int], sum: [Float]}\nbuild_features:"
        " [verbose_errors]\n"
    )
    shared = shared_selection(keep("aten::cat", add="Float"), [other])
    assert shared.kernel_metadata == {"add": {"Float", "Int"}, "sum": {"Float"}}
    assert shared.build_features == {"verbose_errors"}
    assert not shared.is_operator_selected("aten::add.Tensor")


def test_the_command_touches_its_stamp_and_imports_no_numpy(library: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from sizeguard.cli.main import main\ntry: main()\nfinally: print('numpy' in"
        " sys.modules)"
    )
    arguments = [
        "codegen",
        "--operators-yaml",
        str(library / "operators.yaml"),
        "--kernel-sources",
        str(library),
        "--all-operators",
    ]
    where = ["--output-dir", str(tmp_path / "out"), "--stamp", str(tmp_path / "stamp")]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments, *where],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
    assert (tmp_path / "stamp").is_file()
    listed = (tmp_path / "out" / "outputs.txt").read_text().split()
    written = sorted(
        path.relative_to(tmp_path / "out").as_posix()
        for path in (tmp_path / "out").rglob("*.*")
        if path.name != "outputs.txt"
    )
    assert listed == written
