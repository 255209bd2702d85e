"""Make a history of the native runtime with known causes of size changes."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.support.histories.small_history import SmallRepository
from tests.support.places import ROOT

SELECTION = "native/apps/tiny/selected_operators.yaml"
_SOFTMAX = "native/operators/kernels/softmax.cpp"
_UNARY = "native/operators/kernels/unary.cpp"
_REGISTRY = "native/runtime/registry.cpp"

_CONFIG = f"""apps:
  tiny:
    selection: {SELECTION}
    models: []
"""

_OPERATORS = "_softmax addmm linear permute relu softmax.int"


@dataclass(frozen=True)
class NativeHistory:
    """A repository and the known facts about its commits.

    commits: by name, including good and bad
    moves: for each commit that changes the size, the operator, the dtype and the direction
    """

    repository: SmallRepository
    commits: dict[str, str]
    moves: dict[str, tuple[str, str, int]]


def selection(dtypes: dict[str, str]) -> str:
    names = (
        f"  aten::{name}: {{is_root_operator: true, is_used_for_training: false,"
        " include_all_overloads: false}"
        for name in _OPERATORS.split()
    )
    kernels = (f"  {tag}: [{found}]" for tag, found in sorted(dtypes.items()))
    head = "include_all_operators: false\ninclude_all_non_op_selectives: false\n"
    tail = "et_kernel_metadata: {}\ncustom_classes: []\nbuild_features: [bundled_inputs]\n"
    return "\n".join([head + "operators:", *names, "kernel_metadata:", *kernels, tail])


# More than 40 lines: the commits in order, each with its edits and its effect.
def make_history(folder: Path) -> NativeHistory:
    """Make 20 commits after the first.

    Four change the size for good, one grows it and another reverts that, two do not build, three
    change docs.
    """
    repository = SmallRepository(folder)
    shutil.copytree(
        ROOT / "native", folder / "native", ignore=shutil.ignore_patterns("models", "build")
    )
    dtypes = {"_softmax": "Double, Float", "gemm": "Float", "relu": "Float"}
    files = {
        "sizeguard.yaml": _CONFIG,
        SELECTION: selection(dtypes),
        ".gitignore": ".sizeguard/\nbuild/\n",
        "README.md": "The runtime.\n",
    }
    commits = {"good": repository.commit("The runtime", files)}

    def docs(name: str, path: str) -> None:
        commits[name] = repository.commit(name, {path: f"{name}\n"})

    def edit(name: str, path: str, old: str, new: str) -> None:
        text = (folder / path).read_text()
        assert text.count(old) == 1, f"{path}: {old}"
        commits[name] = repository.commit(name, {path: text.replace(old, new)})

    docs("docs 1", "README.md")
    edit(
        "say what softmax does",
        _SOFTMAX,
        "// softmax and log_softmax along a dimension.",
        "// softmax and log_softmax along one dimension.",
    )
    tail = "    if constexpr (is_logarithm) total = std::log(total);\n"
    small = (
        "    if constexpr (sizeof(T) == 8) {\n      for (int64_t i = 0; i < end; i += stride) y[i]"
        " = y[i] < 1e-290 ? 0 : y[i];\n    }\n"
    )
    edit("flush what is too small", _SOFTMAX, tail, small + tail)
    edit(
        "name a table's place",
        _REGISTRY,
        "// A linear search,",
        "// A search in order of registration,",
    )
    docs("docs 2", "native/README.md")
    relu = "    return a < T(0) ? T(0) : a;\n  }\n};\n\n/// Clamps"
    bounded = (
        "    if constexpr (sizeof(T) == 4) {\n      if (a > T(1e38)) return std::sqrt(a) *"
        " T(1e19);\n    }\n"
    )
    edit("bound relu", _UNARY, relu, bounded + relu)
    edit(
        "rename a variable",
        _SOFTMAX,
        "const T power = std::exp(difference);",
        "const T power{std::exp(difference)};",
    )
    edit(
        "broken 1",
        _REGISTRY,
        "return *schema == '(';",
        "return *schemas == '(';",
    )
    edit(
        "broken 2", _SOFTMAX, "The total accumulates in a double.", "Totals accumulate in a double."
    )
    edit(
        "builds again",
        _REGISTRY,
        "return *schemas == '(';",
        "return *schema == '(';",
    )
    edit(
        "say it again", _SOFTMAX, "Totals accumulate in a double.", "Totals accumulate in doubles."
    )
    edit("relu as it was", _UNARY, bounded + relu, relu)
    edit(
        "a longer message",
        _REGISTRY,
        "and again by library %s",
        "and once more, by the other library that is called %s",
    )
    docs("docs 3", "README.md")
    edit(
        "say more",
        _UNARY,
        "/// NaN stays NaN.\nstruct Relu",
        "/// NaN stays NaN, as in PyTorch.\nstruct Relu",
    )
    largest = (
        "    for (int64_t i = stride; i < end; i += stride) largest = x[i] > largest ? x[i] :"
        " largest;\n"
    )
    edit(
        "floats need no largest",
        _SOFTMAX,
        largest,
        "    if constexpr (sizeof(T) == 8) {\n" + largest + "    }\n",
    )
    edit(
        "explain",
        _SOFTMAX,
        "// softmax and log_softmax along one dimension.",
        "// softmax, and log_softmax, along one dimension.",
    )
    commits["double products"] = repository.commit(
        "double products", {SELECTION: selection({**dtypes, "gemm": "Double, Float"})}
    )
    edit(
        "explain more",
        _UNARY,
        "/// NaN stays NaN, as in PyTorch.\nstruct Relu",
        "/// NaN stays NaN, as everywhere.\nstruct Relu",
    )
    commits["bad"] = repository.commit(
        "The last one", {_UNARY: (folder / _UNARY).read_text() + "// end\n"}
    )
    moves = {
        "flush what is too small": ("aten::_softmax", "Double", 1),
        "bound relu": ("aten::relu", "Float", 1),
        "relu as it was": ("aten::relu", "Float", -1),
        "a longer message": ("(core)", "", 1),
        "floats need no largest": ("aten::_softmax", "Float", -1),
        "double products": ("aten::addmm", "Double", 1),
    }
    return NativeHistory(repository, commits, moves)
