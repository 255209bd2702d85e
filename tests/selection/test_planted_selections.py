"""Mistakes planted in selections fail or are reported; valid selections are not reported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.predict.reachable import static_selection
from sizeguard.projects.project import FAIL as FAIL_MODE
from sizeguard.runtimes.known import source_tree
from sizeguard.runtimes.sizeguard.codegen.generate import Inputs, generate
from sizeguard.selection.read import parse_selection
from sizeguard.selection.union import merge
from sizeguard.selection.write import format_selection
from tests.support.builds.selection_bench import SelectionBench

ENTRY = "{is_root_operator: false, is_used_for_training: false, include_all_overloads: false}"


@pytest.fixture(scope="module")
def bench(
    root: Path,
    full_build: Build,
    instrumented_build: Build,
    tmp_path_factory: pytest.TempPathFactory,
) -> SelectionBench:
    return SelectionBench(
        root, tmp_path_factory.mktemp("selections"), full_build, instrumented_build
    )


@dataclass(frozen=True)
class Planted:
    """A mistake: the text that replaces another text of the file, and the expected message."""

    app: str
    old: str
    new: str
    said: str
    verdict: str = FAIL

    def edit(self, text: str) -> str:
        assert self.old in text, self.old
        return text.replace(self.old, self.new, 1)


def operator(name: str, said: str, verdict: str = FAIL, app: str = "vision") -> Planted:
    """Return a mistake that adds an operator."""
    return Planted(app, "operators:\n", f"operators:\n  {name}: {ENTRY}\n", said, verdict)


def tag(old: str, new: str, said: str, verdict: str = FAIL, app: str = "vision") -> Planted:
    """Return a mistake that replaces a line of kernel_metadata."""
    return Planted(app, f"\n  {old}\n", f"\n  {new}\n", said, verdict)


def names(key: str, new: str, said: str, verdict: str = FAIL) -> Planted:
    """Return a mistake that replaces a list of classes or features."""
    if key == "custom_classes":
        return Planted("vision", "custom_classes: []", f"{key}: {new}", said, verdict)
    if new.endswith("]"):  # keep the app's other feature
        new = f"{new[:-1]}, program_verification]".replace("[, ", "[")
    old = "build_features: [bundled_inputs, program_verification]"
    return Planted("vision", old, f"{key}: {new}", said, verdict)


UNREACHED = "no operator that a model can reach runs kernel tag"
ADD = "add: [Float]"
GEMM = "gemm: [Float]"
MISTAKES = {
    # Operators
    "misspelt": operator("aten::relu_6", "unknown operator aten::relu_6; nearest: aten::relu_"),
    "another overload": operator("aten::mean.dims", "aten::mean.dims; nearest: aten::mean.dim"),
    "another case": operator("aten::ReLU", "unknown operator aten::ReLU; nearest: aten::relu"),
    "another namespace": operator("torch::relu", "operator torch::relu; nearest: aten::relu"),
    "no namespace": operator("relu", "relu has no namespace, so it matches nothing"),
    "an out variant": operator("aten::subb.out", "unknown operator aten::subb.out"),
    "a family without its flag": operator("aten::add", "unknown operator aten::add; nearest"),
    "not needed": operator("aten::gelu", "no model can reach aten::gelu", PASS),
    "not needed, with callees": operator("aten::lstm.input", "can reach aten::lstm.input", PASS),
    "not needed, of a library": operator(
        "prepacked::linear_clamp_run", "can reach prepacked::linear_clamp_run", PASS, "language"
    ),
    "a family too many": Planted(
        "vision", "operators:\n",
        f"operators:\n  aten::mean: {ENTRY.replace('overloads: false', 'overloads: true')}\n",
        "no model can reach aten::mean", PASS,
    ),
    "a root is gone": Planted(
        "vision", "  aten::hardtanh: ", "  aten::clamp: ", "mobilenet_v2 names aten::hardtanh"
    ),
    "a callee is gone": Planted(
        "vision", "  aten::permute: ", "  aten::clone: ", "mobilenet_v2 runs aten::permute"
    ),
    "a root is not a root": Planted(
        "vision", "aten::relu: {is_root_operator: true", "aten::relu: {is_root_operator: false",
        "quant_cnn names aten::relu, which the selection of app vision marks as called", PASS,
    ),
    # Dtypes
    "dtype in another case": tag(GEMM, "gemm: [float]", "unknown dtype float; nearest: Float"),
    "dtype as torch has it": tag(GEMM, "gemm: [torch.float32]", "unknown dtype torch.float32"),
    "dtype misspelt": tag(ADD, "add: [Float, Flaot]", "unknown dtype Flaot; nearest: Float"),
    "dtype is gone": tag(
        "copy: [Byte, Char, Float, Long]", "copy: [Byte, Char, Float]", "runs copy with Long"
    ),
    "dtype of a callee too many": tag(GEMM, "gemm: [Float, Double]", "gemm with Double", PASS),
    "dtype too many": tag(ADD, "add: [Float, Long]", "runs kernel tag add with Long", PASS),
    "dtype of guarded code": tag(
        "copy: [Byte, Char, Float, Long]", "copy: [Byte, Char, Float, Int, Long]",
        "no model runs kernel tag copy with Int", PASS,
    ),
    "dtype without a case": tag(
        "relu: [Float]", "relu: [Float, Half]", "no model runs kernel tag relu with Half", PASS
    ),
    "dtype given twice": tag(GEMM, "gemm: [Float, Float]", "of gemm lists Float twice", PASS),
    "kernel key of no dtype": Planted(
        "vision", "et_kernel_metadata: {}", "et_kernel_metadata: {aten::relu.out: [v1/99;0|6;0]}",
        "the kernel key v1/99;0|6;0 of aten::relu.out has the unknown dtype 99", PASS,
    ),
    "kernel key malformed": Planted(
        "vision", "et_kernel_metadata: {}", "et_kernel_metadata: {aten::relu.out: [v1/6;x]}",
        "the kernel key v1/6;x of aten::relu.out is malformed", PASS,
    ),
    "no dtype": tag("relu: [Float]", "relu: []", "kernel tag relu lists no dtype", PASS),
    "dtype of a reduction": tag(
        "mean: [Float]", "mean: [Float, Double]", "no model runs kernel tag mean with Double", PASS
    ),
    "dtype that the app has elsewhere": tag(
        "tanh: [Float]", "tanh: [Bool, Float]", "kernel tag tanh with Bool", PASS, "language"
    ),
    # Tags
    "tag misspelt": tag(
        "convolution: [Float]", "convolutoin: [Float]", "matches no dtype switch; nearest: convol"
    ),
    "tag as torch has none": tag(
        ADD, "add: [Float]\n  ad_stub: [Float]", "the nearest tag of PyTorch is add_stub", PASS
    ),
    "tag named as an operator": tag(ADD, "aten::add: [Float]", "nearest: add"),
    "tag that nothing selected runs": tag(
        ADD, "add: [Float]\n  gelu: [Float]", f"{UNREACHED} gelu", PASS
    ),
    "tag of another app's operator": tag(
        ADD, "add: [Float]\n  where: [Bool]", f"{UNREACHED} where", PASS
    ),
    "tag is gone": Planted("vision", f"  {GEMM}\n", "", "mobilenet_v2 runs gemm with Float"),
    "tag given twice": tag(ADD, "add: [Float]\n  add: [Float]", "'add' is given twice"),
    # Classes
    "class misspelt": names("custom_classes", "[LinearOpContex]", "nearest: LinearOpContext"),
    "class of torch": names(
        "custom_classes", "[__torch__.torch.classes.xnnpack.LinearOpContext]",
        "nearest: LinearOpContext",
    ),
    "class not needed": names("custom_classes", "[LinearOpContext]", "no model uses class", PASS),
    # Features
    "feature misspelt": names("build_features", "[bundled_input]", "nearest: bundled_inputs"),
    "feature unknown": names("build_features", "[bundled_inputs, tracing]", "feature tracing"),
    "feature is gone": names("build_features", "[]", "mobilenet_v2 uses feature bundled_inputs"),
    "feature not needed": names(
        "build_features", "[bundled_inputs, verbose_errors]",
        "no model uses feature verbose_errors", PASS,
    ),
    "feature given twice": names(
        "build_features", "[bundled_inputs, bundled_inputs]", "lists bundled_inputs twice", PASS
    ),
    "a list that is a word": names(
        "build_features", "bundled_inputs", "build_features must be a list"
    ),
    # Options that include everything, and keys of the file
    "all operators": Planted(
        "vision", "include_all_operators: false", "include_all_operators: true",
        "include_all_operators of the selection of app vision keeps", PASS,
    ),
    "all dtypes, classes and features": Planted(
        "vision", "non_op_selectives: false", "non_op_selectives: true",
        "keeps dtypes, classes and features that no model needs", PASS,
    ),
    "a key misspelt": Planted(
        "vision", "kernel_metadata:", "kernel_metadatas:", "unknown key 'kernel_metadatas'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_fails_or_is_named(name: str, bench: SelectionBench) -> None:
    planted = MISTAKES[name]
    found = bench.edited(planted.app, planted.edit)
    (verdict,) = {verdict for verdict, message in found if planted.said in message}
    assert verdict == planted.verdict


def test_bytes_of_a_surplus_are_those_of_a_prediction(bench: SelectionBench) -> None:
    ((_, message),) = bench.edited("vision", MISTAKES["not needed"].edit)
    text, _, size = message.rpartition(": ")
    assert text == "no model can reach aten::gelu, which the selection of app vision keeps"
    assert 200 < int(size.removesuffix(" bytes on x86_64-linux")) < 600
    (feature,) = bench.edited("vision", MISTAKES["feature not needed"].edit)
    assert int(feature[1].split()[-4].replace(",", "")) > 1000


def test_a_surplus_fails_if_the_policy_says_so(bench: SelectionBench) -> None:
    for name in ("not needed", "dtype too many", "class not needed", "feature not needed"):
        planted = MISTAKES[name]
        ((verdict, _),) = bench.edited("vision", planted.edit, FAIL_MODE)
        assert verdict == FAIL
    assert bench.edited("vision", lambda text: text, FAIL_MODE) == []


def test_a_merge_with_another_apps_selection_is_named(bench: SelectionBench) -> None:
    """The file records models of the other app, but they are not models of this app."""
    other = bench.app("language").selection

    def merged(text: str) -> str:
        both = [parse_selection(each, "x") for each in (text.encode(), other.read_bytes())]
        union = merge([("a", both[0].selection), ("b", both[1].selection)]).selection
        return format_selection(union)

    said = [message for _, message in bench.edited("vision", merged)]
    assert any("no model can reach aten::lstm.input" in message for message in said)
    assert any("kernel tag gelu" in message for message in said)


APPS = ("mlp", "branchy", "half_mix", "int_ops", "quant_cnn", "encoder", "lstm_tagger encoder")


@pytest.mark.parametrize("models", APPS)
def test_valid_selections_are_not_named(
    models: str, bench: SelectionBench, models_dir: Path
) -> None:
    """Judge a trace with and without its record, the static closure, and both merged."""
    chosen = [bench.model(models_dir / name / "model.pt2") for name in models.split()]
    traces = [(model.program.name, bench.tracer.trace(model)) for model in chosen]
    traced = merge(traces).selection
    features = source_tree(bench.root)[1].features()
    static = static_selection(bench.calls, [model.info for model in chosen], features).selection
    bare = replace(traced, provenance={}, debug_info=frozenset())
    both = merge([("a.yaml", traced), ("b.yaml", static)]).selection
    for selection in (traced, bare, static, both):
        for again in (False, True):
            assert bench.judged(selection, chosen, traced=again) == []


@pytest.mark.parametrize("app", ["vision", "language"])
def test_reviewed_selections_are_not_named(app: str, bench: SelectionBench) -> None:
    assert bench.edited(app, lambda text: text) == []
    assert bench.edited(app, lambda text: f"# edited by hand\n{text}") == []


@pytest.mark.parametrize(
    ("libraries", "text", "said"),
    [
        ("operators", f"  prepacked::linear_clamp_run: {ENTRY}", "operator prepacked::linear_cl"),
        ("operators", "custom_classes: [LinearOpContext]", "unknown class LinearOpContext"),
        ("operators", "build_features: [bundled_input]", "nearest: bundled_inputs"),
        ("prepacked", "kernel_metadata: {gelu: [Float]}", "kernel tag gelu matches no dtype"),
        ("operators operators", "", "is defined at .* too; keep one of them"),
    ],
)
def test_names_of_libraries_that_are_not_linked_fail(
    root: Path, libraries: str, text: str, said: str
) -> None:
    """Code is generated only for the libraries that a build links; other names are unknown."""
    native, chosen = root / "native", libraries.split()
    own = "aten::relu" if "operators" in chosen else "prepacked::linear_clamp_run"
    selection = parse_selection(f"operators:\n  {own}: {ENTRY}\n{text}\n".encode(), "app.yaml")
    inputs = Inputs(
        tuple(native / name / "operators.yaml" for name in chosen),
        tuple(native / name for name in ("runtime", *chosen)),
        selection.selection,
        "app.yaml",
        False,
        ("CPU",),
        "portable",
    )
    with pytest.raises(InputError, match=said):
        generate(inputs)
