"""A small project, and ways to change the terms of its gate or to hide growth in them.

Each way is a table of changed files, with None for a removed file. It states the term that the gate
must name, with its old and new text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

Files = Mapping[str, str | None]

CONFIG = """\
targets:
  linux: {machine: x86_64-linux}
  board: {machine: aarch64-linux}
limits:
  load:
    max: 40 KiB
    growth: max(1%, 512B)
    creep: max(2%, 1 KiB) since v1
  operator/*:
    growth: max(10%, 512B)
apps:
  vision:
    selection: native/apps/vision/selected_operators.yaml
    models: [native/models/cnn/model.pt2, native/models/mlp/model.pt2]
    limits:
      dtype/Double: 0
  language:
    selection: native/apps/language/selected_operators.yaml
    models: [native/models/lstm/model.pt2]
"""
SELECTION = """\
include_all_operators: false
include_all_non_op_selectives: false
operators:
  aten::relu:
    is_root_operator: true
    is_used_for_training: false
    include_all_overloads: false
kernel_metadata:
  add_stub: [Float]
custom_classes: []
build_features: []
"""
BASELINE = """\
app: {app}
target: linux
toolchain: gcc-12.2-bfd-2.40-Os
tools: gcc 12.2.0, bfd 2.40
load: 31000
ram: 900
file: 34000
page_slack: 400
operators:
  'aten::relu': 1500
  'aten::add.Tensor': 700
"""
WAIVER = (
    "- {metric: load, app: vision, bytes: 100, reason: tiles, owner: ann, expires: 2999-01-31}\n"
)
VISION = "native/apps/vision/selected_operators.yaml"
REVIEWED = "baselines/vision.linux.gcc-12.2-bfd-2.40-Os.yaml"
NAMES_FILE = "native/operators/names.json"
NAMES = """\
{"schema_version": 1, "operators": {"aten::relu": "relu"}, "dtypes": {}, "classes": [],
 "features": {"checks": {"texts": ["bad magic"], "without": [], "functions": [], "hosts": []}},
 "helpers": [], "bodies": {}, "others": []}
"""
PROJECT: Mapping[str, str] = {
    "sizeguard.yaml": CONFIG,
    VISION: SELECTION,
    "native/apps/language/selected_operators.yaml": SELECTION,
    "native/models/cnn/model.pt2": "cnn",
    "native/models/cnn/case0_input0.npy": "zero",
    "native/models/cnn/case1_input0.npy": "one",
    "native/models/cnn/case1_expected0.npy": "answer",
    "native/models/cnn/README.md": "words",
    "native/models/mlp/model.pt2": "mlp",
    "native/models/lstm/model.pt2": "lstm",
    "native/CMakeLists.txt": "",
    "native/runtime/a.cpp": "",
    NAMES_FILE: NAMES,
    REVIEWED: BASELINE.format(app="vision"),
    "baselines/language.linux.gcc-12.2-bfd-2.40-Os.yaml": BASELINE.format(app="language"),
    "baselines/waivers.yaml": WAIVER,
    "baselines/selections/vision.yaml": "kernels: {}\n",
}


def blob(text: str) -> str:
    """Return git's id of a file content."""
    return hashlib.sha1(f"blob {len(text.encode())}\0{text}".encode()).hexdigest()


def short(text: str) -> str:
    """Return the id as shown."""
    return blob(text)[:7]


def edited(text: str, *pairs: tuple[str, str]) -> str:
    """Replace texts that occur exactly once."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def config(*pairs: tuple[str, str]) -> Files:
    return {"sizeguard.yaml": edited(CONFIG, *pairs)}


def selection(*pairs: tuple[str, str]) -> Files:
    return {VISION: edited(SELECTION, *pairs)}


def baseline(*pairs: tuple[str, str]) -> Files:
    return {REVIEWED: edited(BASELINE.format(app="vision"), *pairs)}


@dataclass(frozen=True)
class Trick:
    """A way to change the terms. loosens: False for a change that loosens nothing."""

    files: Files
    what: str
    name: str
    old: str
    new: str
    loosens: bool = True


_GROWTH = "growth: max(1%, 512B)"
_APP_LIMITS = "      dtype/Double: 0\n"
_LANGUAGE = CONFIG[CONFIG.index("  language:") :]
_SMALLER = "load 31,000, ram 900, file 34,000"
_RELU = SELECTION[SELECTION.index("operators:\n") : SELECTION.index("kernel_metadata")]
_KEPT = "selected", "not selected"

TRICKS: Mapping[str, Trick] = {
    "growth limit": Trick(
        config((_GROWTH, "growth: max(5%, 4 KiB)")),
        "limit loosened", "load growth", "max(1%, 512B)", "max(5%, 4 KiB)",
    ),
    "growth limit by a byte": Trick(
        config((_GROWTH, "growth: max(1%, 513B)")),
        "limit loosened", "load growth", "max(1%, 512B)", "max(1%, 513B)",
    ),
    "growth limit that is larger only for large apps": Trick(
        config((_GROWTH, "growth: max(1.001%, 0B)")),
        "limit loosened", "load growth", "max(1%, 512B)", "max(1.001%, 0B)",
    ),
    "growth limit removed": Trick(
        config((f"    {_GROWTH}\n", "")), "limit removed", "load growth", "max(1%, 512B)", ""
    ),
    "maximum": Trick(
        config(("max: 40 KiB", "max: 41 KiB")),
        "limit loosened", "load maximum", "40 KiB", "41 KiB",
    ),
    "pin to zero": Trick(
        config(("dtype/Double: 0", "dtype/Double: 1 KiB")),
        "limit loosened", "dtype/Double maximum of vision", "0", "1 KiB",
    ),
    "pin that is removed": Trick(
        config((f"    limits:\n{_APP_LIMITS}", "")),
        "limit removed", "dtype/Double maximum of vision", "0", "",
    ),
    "creep since a later release": Trick(
        config(("since v1", "since v2")), "limit loosened", "load creep",
        "max(2%, 1 KiB) since v1", "max(2%, 1 KiB) since v2",
    ),
    "an app's own limit": Trick(
        config((_APP_LIMITS, f"{_APP_LIMITS}      load: {{growth: 50%}}\n")),
        "limit loosened", "load growth of vision", "max(1%, 512B)", "50%",
    ),
    "a target's own limit": Trick(
        config(("{machine: x86_64-linux}", "{machine: x86_64-linux, limits: {load: 9 MiB}}")),
        "limit loosened", "load maximum for linux", "40 KiB", "9 MiB",
    ),
    "an exact name's own limit": Trick(
        config(("  operator/*:", "  operator/aten::relu: {growth: 9 KiB}\n  operator/*:")),
        "limit loosened", "operator/aten::relu growth", "max(10%, 512B)", "9 KiB",
    ),
    "a family's own limit": Trick(
        config(("  operator/*:", "  operator/aten::*: {growth: 9 KiB}\n  operator/*:")),
        "limit loosened", "operator/aten::* growth", "max(10%, 512B)", "9 KiB",
    ),
    "a name that may be unknown": Trick(
        config(("dtype/Double: 0", "dtype/Double: {max: 0, unknown: ok}")),
        "limit loosened", "dtype/Double maximum of vision", "0", "0, unknown: ok",
    ),
    "a narrower family": Trick(
        config(("  operator/*:", "  operator/aten::a*:")),
        "limit removed", "operator/* growth", "max(10%, 512B)", "",
    ),
    "a wide limit of the file": Trick(
        config((_APP_LIMITS, f"{_APP_LIMITS}      file: {{growth: 1 GiB}}\n")),
        "limit loosened", "file growth of vision",
        "load in pages + max(1%, 512B) of the rest", "1 GiB",
    ),
    "needed library in a baseline": Trick(
        baseline(("operators:\n", "needed: [libfoo.so]\noperators:\n")),
        "baseline replaced", REVIEWED, f"{_SMALLER}, needed not said",
        f"{_SMALLER}, needed libfoo.so",
    ),
    "app removed": Trick(
        config((_LANGUAGE, "")), "app removed", "language", "for linux, board", ""
    ),
    "app renamed": Trick(
        config(("  language:\n", "  languages:\n")),
        "app removed", "language", "for linux, board", "",
    ),
    "app for fewer targets": Trick(
        config((_LANGUAGE, f"{_LANGUAGE}    targets: [board]\n")),
        "app removed", "language for linux", "linux", "",
    ),
    "target removed": Trick(
        config(("  board: {machine: aarch64-linux}\n", "")),
        "target removed", "board", "aarch64-linux, -Os, executable", "",
    ),
    "target that does not run": Trick(
        config(("{machine: aarch64-linux}", "{machine: aarch64-linux, run: false}")),
        "target changed", "board run", "true", "false",
    ),
    "target with another compiler": Trick(
        config(("{machine: aarch64-linux}", "{machine: aarch64-linux, compiler: clang}")),
        "target changed", "board compiler", "usual", "clang",
    ),
    "target of another machine": Trick(
        config(("board: {machine: aarch64-linux}", "board: {machine: x86_64-linux}")),
        "target changed", "board machine", "aarch64-linux", "x86_64-linux",
    ),
    "base": Trick(
        {"sizeguard.yaml": f"base: mine\n{CONFIG}"},
        "base changed", "base", "the default branch", "mine",
    ),
    "baseline replaced": Trick(
        baseline(("load: 31000", "load: 35000")), "baseline replaced", REVIEWED,
        _SMALLER, "load 35,000, ram 900, file 34,000",
    ),
    "baseline with one operator larger and one smaller": Trick(
        baseline(("1500", "1900"), ("700", "300")), "baseline replaced", REVIEWED,
        f"{_SMALLER}, operator/aten::add.Tensor 700, operator/aten::relu 1,500",
        f"{_SMALLER}, operator/aten::add.Tensor 300, operator/aten::relu 1,900",
    ),
    "baseline of other tools": Trick(
        baseline(("gcc 12.2.0", "gcc 13.1.0")), "baseline replaced", REVIEWED,
        f"{_SMALLER} by gcc 12.2.0, bfd 2.40", f"{_SMALLER} by gcc 13.1.0, bfd 2.40",
    ),
    "baseline with more bytes that are not loaded": Trick(
        baseline(("load: 31000", "load: 30000")), "baseline replaced", REVIEWED,
        _SMALLER, "load 30,000, ram 900, file 34,000",
    ),
    "baseline with smaller gaps": Trick(
        baseline(("page_slack: 400", "page_slack: 0")), "baseline replaced", REVIEWED,
        f"{_SMALLER}, page_slack 400", f"{_SMALLER}, page_slack 0",
    ),
    "baseline that states another app": Trick(
        baseline(("app: vision", "app: visions")), "baseline replaced", REVIEWED,
        f"{_SMALLER}, app vision", f"{_SMALLER}, app visions",
    ),
    "baseline added under an app's name for another": Trick(
        {"baselines/vision.linux.x.yaml": BASELINE.format(app="new")},
        "baseline added", "baselines/vision.linux.x.yaml", "", _SMALLER,
    ),
    "baseline removed": Trick({REVIEWED: None}, "baseline removed", REVIEWED, _SMALLER, ""),
    "baseline of another toolchain": Trick(
        {"baselines/vision.linux.x.yaml": BASELINE.format(app="vision")},
        "baseline added", "baselines/vision.linux.x.yaml", "", _SMALLER,
    ),
    "baseline that cannot be read": Trick(
        {REVIEWED: "damaged"}, "baseline replaced", REVIEWED, _SMALLER, "cannot be read"
    ),
    "record of a selection": Trick(
        {"baselines/selections/vision.yaml": None}, "selection record removed",
        "baselines/selections/vision.yaml", short("kernels: {}\n"), "",
    ),
    "another text in place of a feature's": Trick(
        {NAMES_FILE: NAMES.replace("bad magic", "usage:")}, "names changed", NAMES_FILE,
        "signs of feature checks: 1, with bad magic", "signs of feature checks: 1, with usage:",
    ),
    "function excused from being a kernel": Trick(
        {NAMES_FILE: NAMES.replace('"helpers": []', '"helpers": ["relu(Tensor)"]')},
        "names changed", NAMES_FILE,
        "functions that are not kernels: 0",
        "functions that are not kernels: 1, with relu(Tensor)",
    ),
    "waiver added": Trick(
        {"baselines/waivers.yaml": WAIVER + WAIVER.replace("load", "ram")},
        "waiver added", "ram of vision", "", "100 bytes until 2999-01-31, ann: tiles",
    ),
    "waiver twice": Trick(
        {"baselines/waivers.yaml": WAIVER + WAIVER},
        "waiver added", "load of vision", "", "100 bytes until 2999-01-31, ann: tiles",
    ),
    "waiver of more bytes": Trick(
        {"baselines/waivers.yaml": WAIVER.replace("100", "900")}, "waiver changed",
        "load of vision", "100 bytes until 2999-01-31, ann: tiles",
        "900 bytes until 2999-01-31, ann: tiles",
    ),
    "waiver for longer": Trick(
        {"baselines/waivers.yaml": WAIVER.replace("2999", "3999")}, "waiver changed",
        "load of vision", "100 bytes until 2999-01-31, ann: tiles",
        "100 bytes until 3999-01-31, ann: tiles",
    ),
    "operator": Trick(
        selection(("  aten::relu:", "  aten::erf: {}\n  aten::relu:")),
        "selection widened", "vision operator aten::erf", "not selected", "selected",
    ),
    "all overloads": Trick(
        selection(("include_all_overloads: false", "include_all_overloads: true")),
        "selection widened", "vision operator aten::relu include_all_overloads", "false", "true",
    ),
    "all operators": Trick(
        selection(("include_all_operators: false", "include_all_operators: true")),
        "selection widened", "vision include_all_operators", "false", "true",
    ),
    "all else": Trick(
        selection(("include_all_non_op_selectives: false", "include_all_non_op_selectives: yes")),
        "selection widened", "vision include_all_non_op_selectives", "false", "true",
    ),
    "dtype": Trick(
        selection(("[Float]", "[Float, Double]")),
        "selection widened", "vision dtypes of add_stub", "Float", "Double, Float",
    ),
    "another dtype": Trick(
        selection(("[Float]", "[Double]")),
        "selection widened", "vision dtypes of add_stub", "Float", "Double",
    ),
    "tag": Trick(
        selection(("  add_stub: [Float]", "  add_stub: [Float]\n  mul_stub: [Long]")),
        "selection widened", "vision dtypes of mul_stub", "none", "Long",
    ),
    "class": Trick(
        selection(("custom_classes: []", "custom_classes: [Packed]")),
        "selection widened", "vision class Packed", "not selected", "selected",
    ),
    "feature": Trick(
        selection(("build_features: []", "build_features: [profile]")),
        "selection widened", "vision feature profile", "not selected", "selected",
    ),
    "selection in another file": Trick(
        {
            **config(("native/apps/vision/selected_operators.yaml", "other.yaml")),
            "other.yaml": edited(SELECTION, ("[Float]", "[Float, Long]")),
        },
        "selection widened", "vision dtypes of add_stub", "Float", "Float, Long",
    ),
    "selection that cannot be read": Trick(
        {VISION: "operators: [x]"}, "selection widened", "vision selection", "is read",
        "cannot be read",
    ),
    "model removed": Trick(
        config((", native/models/mlp/model.pt2", "")),
        "model removed", "vision native/models/mlp/model.pt2", short("mlp"), "",
    ),
    "model replaced": Trick(
        {"native/models/mlp/model.pt2": "smaller"},
        "model replaced", "vision native/models/mlp/model.pt2", short("mlp"), short("smaller"),
    ),
    "model deleted": Trick(
        {"native/models/mlp/model.pt2": None},
        "model replaced", "vision native/models/mlp/model.pt2", short("mlp"), "missing",
    ),
    "input removed": Trick(
        {"native/models/cnn/case1_input0.npy": None},
        "input removed", "vision native/models/cnn/case1_input0.npy", short("one"), "",
    ),
    "input replaced": Trick(
        {"native/models/cnn/case1_input0.npy": "zero"},
        "input replaced", "vision native/models/cnn/case1_input0.npy", short("one"), short("zero"),
    ),
    "expected output removed": Trick(
        {"native/models/cnn/case1_expected0.npy": None},
        "expected output removed", "vision native/models/cnn/case1_expected0.npy",
        short("answer"), "",
    ),
    "expected output replaced": Trick(
        {"native/models/cnn/case1_expected0.npy": "wrong"},
        "expected output replaced", "vision native/models/cnn/case1_expected0.npy",
        short("answer"), short("wrong"),
    ),
    "limit tightened": Trick(
        config(("max: 40 KiB", "max: 39 KiB")),
        "limit tightened", "load maximum", "40 KiB", "39 KiB", loosens=False,
    ),
    "limit added": Trick(
        config((_APP_LIMITS, f"{_APP_LIMITS}      ram: 2 KiB\n")),
        "limit added", "ram maximum of vision", "", "2 KiB", loosens=False,
    ),
    "waiver removed": Trick(
        {"baselines/waivers.yaml": None}, "waiver removed", "load of vision",
        "100 bytes until 2999-01-31, ann: tiles", "", loosens=False,
    ),
    "baseline of a smaller app": Trick(
        baseline(("load: 31000", "load: 30000"), ("page_slack: 400", "page_slack: 1400")),
        "baseline replaced", REVIEWED, _SMALLER, "load 30,000, ram 900, file 34,000",
        loosens=False,
    ),
    "operator deselected": Trick(
        {VISION: SELECTION.replace(_RELU, "operators: {}\n")},
        "selection narrowed", "vision operator aten::relu", *_KEPT, loosens=False,
    ),
    "expected output added": Trick(
        {"native/models/cnn/case2_expected0.npy": "two"},
        "expected output added", "vision native/models/cnn/case2_expected0.npy", "", short("two"),
        loosens=False,
    ),
    "input added": Trick(
        {"native/models/cnn/case2_input0.npy": "two"},
        "input added", "vision native/models/cnn/case2_input0.npy", "", short("two"), loosens=False,
    ),
    "strict": Trick(
        {"sizeguard.yaml": f"policy_changes: fail\n{CONFIG}"},
        "policy changed", "policy_changes", "note", "fail", loosens=False,
    ),
}  # fmt: skip

# Changes that do not affect the terms.
HARMLESS: Mapping[str, Files] = {
    "nothing": {},
    "a source": {"native/runtime/a.cpp": "int f();"},
    "a document beside a model": {"native/models/cnn/README.md": "other words"},
    "comments": {"sizeguard.yaml": f"# What the gate watches\n{CONFIG}"},
    "an equal limit in other words": config(("40 KiB", "40,960 B")),
    "order": config(
        ("  linux: {machine: x86_64-linux}\n", ""),
        ("  board: {machine: aarch64-linux}\n",
         "  board: {machine: aarch64-linux}\n  linux: {machine: x86_64-linux}\n"),
    ),
    "a limit for each app and target": config(
        ("    max: 40 KiB\n", ""),
        ("      dtype/Double: 0\n", "      dtype/Double: 0\n      load: 40 KiB\n"),
        ("models: [native/models/lstm/model.pt2]\n",
         "models: [native/models/lstm/model.pt2]\n    limits: {load: 40 KiB}\n"),
    ),
    "a limit that repeats what holds": config(
        ("  operator/*:", "  operator/aten::relu: {growth: 'max(10%, 512B)'}\n  operator/*:")
    ),
    "a waiver in other words": {
        "baselines/waivers.yaml": "# Tiles\n" + WAIVER.replace("app: vision, bytes: 100",
                                                             "bytes: 100, app: 'vision'")
    },
    "a baseline with comments": {REVIEWED: f"# Sizes\n{BASELINE.format(app='vision')}"},
    "a selection with comments": {VISION: f"# Operators\n{SELECTION}"},
    "a selection in another place": {
        **config(("native/apps/vision/selected_operators.yaml", "vision.json")),
        "vision.json": json.dumps({
            "operators": {"aten::relu": {
                "is_root_operator": True, "is_used_for_training": False,
                "include_all_overloads": False,
            }},
            "kernel_metadata": {"add_stub": ["Float"]},
        }),
    },
}  # fmt: skip
