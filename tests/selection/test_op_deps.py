"""op_deps.yaml: files are read back, PyTorch's reader accepts them, and callees are selected."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.gate.selection.call_table import check_call_table
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.operators.dtypes import DTYPES
from sizeguard.predict.call_closure import Dependencies
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.reach_result import Unknown
from sizeguard.runtimes.runtime import CallTable
from sizeguard.selection.op_deps import OpDeps, format_op_deps, read_op_deps, write_op_deps
from sizeguard.selection.reachable_needs import needs_of_model, with_callees
from sizeguard.selection.selection import SelectedOperator, Selection

NAMES = st.sampled_from(
    ["aten::add.Tensor", "aten::relu", "aten::max", "aten::max.dim", "demo::x.out", "Class"]
)
SETS = st.frozensets(NAMES)


def names(text: str) -> frozenset[str]:
    return frozenset(f"demo::{name}" for name in text.split())


def table(**called: str) -> OpDeps:
    return OpDeps({f"demo::{name}": names(text) for name, text in called.items()})


def selection(*roots: str, whole: bool = False) -> Selection:
    entry = SelectedOperator(True, False, whole, frozenset({"m.pt2"}))
    return Selection(operators=dict.fromkeys(roots, entry))


def pytorch_closure(text: str, roots: set[str]) -> set[str]:
    """Return the closure as PyTorch's gen_op_registration_allowlist does, on unchanged names."""
    graph = {
        entry["name"]: {other["name"] for other in entry.get("depends", [])}
        for entry in yaml.safe_load(text)
    }
    found, waiting = set(roots), [*roots, "__BASE__", "__ROOT__"]
    while waiting:
        for name in graph.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


@given(
    st.dictionaries(NAMES, SETS),
    SETS,
    st.dictionaries(NAMES, st.frozensets(st.sampled_from(["add_stub", "copy_"]), min_size=1)),
    SETS,
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    calls: dict[str, frozenset[str]],
    at_load: frozenset[str],
    tags: dict[str, frozenset[str]],
    roots: frozenset[str],
) -> None:
    tags = {name: found for name, found in tags.items() if name in calls}
    deps = OpDeps(calls, at_load, tags, {name: frozenset({"f(char\n)"}) for name in tags})
    path = tmp_path_factory.mktemp("deps") / "op_deps.yaml"
    assert write_op_deps(path, deps) and not write_op_deps(path, deps)
    read = read_op_deps(path)
    assert (read.calls, read.at_load, read.tags) == (calls, at_load, tags)
    assert set(read.unknown) == set(tags)
    assert format_op_deps(read).count("unknown") == len(tags)
    assert set(read.callers(roots)) == pytorch_closure(path.read_text(), set(roots)) | roots


def test_the_format_is_pytorchs() -> None:
    text = format_op_deps(OpDeps({"demo::a": names("b c.out"), "demo::b": frozenset()}, names("i")))
    assert yaml.safe_load(text) == [
        {"name": "__BASE__", "depends": [{"name": "demo::i"}]},
        {"name": "demo::a", "depends": [{"name": "demo::b"}, {"name": "demo::c.out"}]},
        {"name": "demo::b"},
    ]
    assert yaml.safe_load(format_op_deps(OpDeps({}))) == []


def test_a_file_of_pytorch_means_all_overloads(tmp_path: Path) -> None:
    path = tmp_path / "op_deps.yaml"
    path.write_text(
        "- name: demo::a\n  depends:\n  - name: demo::b\n  - name: other::x\n"
        "- name: demo::b\n- name: __ROOT__\n  depends:\n  - name: demo::c\n"
    )
    known = names("a.one a.two b b.out c")
    deps = read_op_deps(path).spelled_out(known)
    assert deps.calls == {
        "demo::a.one": names("b b.out"),
        "demo::a.two": names("b b.out"),
        "demo::b": frozenset(),
        "demo::b.out": frozenset(),
    }
    assert deps.at_load == names("c")
    exact = table(a="b.out")
    assert exact.spelled_out(known) == exact


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n", "no list of operators"),
        ("- 1\n", "1: an operator's entry is a mapping"),
        ("- depends: []\n", "1: an operator's entry has no `name`"),
        ("- name: [a]\n", "1: a name is a string"),
        ("- name: a\n  depends: b\n", "2: `depends` is a list of names"),
        ("- name: a\n  depends:\n  - nome: b\n", "3: an operator's entry has no `name`"),
        ("- name: a\n  tags: [1]\n", "2: a name is a string"),
        ('- name: "a\n', "not YAML"),
    ],
)
def test_malformed_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "op_deps.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_op_deps(path)


def test_callees_come_along_with_the_models_that_need_them() -> None:
    deps = table(a="b", b="c", c="a", d="", e="")
    reached = with_callees(selection("demo::a", "demo::e", "demo::lost"), deps)
    assert reached.added == {"demo::b": "demo::a", "demo::c": "demo::b"}
    assert reached.unknown == ("demo::lost",)
    kept = reached.selection.operators
    assert set(kept) == names("a b c e lost")
    assert [kept[f"demo::{name}"].is_root_operator for name in "abc"] == [True, False, False]
    assert kept["demo::c"].debug_info == {"m.pt2"}


def test_a_family_reaches_what_each_overload_calls() -> None:
    deps = OpDeps({"demo::a.x": names("b"), "demo::a.y": names("c"), "demo::ab": names("d")})
    assert set(with_callees(selection("demo::a", whole=True), deps).added) == names("b c")
    assert set(with_callees(selection("demo::a.x"), deps).added) == names("b")


def test_dtypes_of_callees_are_all_kept() -> None:
    deps = OpDeps(
        {"demo::a": names("b"), "demo::b": frozenset()},
        tags={"demo::a": frozenset({"one"}), "demo::b": frozenset({"two"})},
    )
    info = OperatorInfo("m.pt2", {"demo::a": frozenset({"Float"})}, frozenset())
    needs = needs_of_model(deps, info, frozenset(), deps.callers(info.operators))
    assert needs.selection.kernel_metadata["one"] == {"Float"}
    assert needs.selection.kernel_metadata["two"] == frozenset(DTYPES)
    assert needs.whole_tags == {"two"}


def full_of(deps: OpDeps) -> FullBuild:
    unknown = {
        name: tuple(Unknown(function, "a.o") for function in functions)
        for name, functions in deps.unknown.items()
    }
    calls = Dependencies(deps.calls, deps.at_load, unknown)
    return FullBuild(calls, frozenset(deps.calls), frozenset(), deps.tags)


@pytest.mark.parametrize(
    ("built", "messages"),
    [
        (table(a="b", b=""), []),
        (table(a="b c", b="", c=""), ["demo::c, demo::a → demo::c missing"]),
        (table(a="", b=""), ["demo::a → demo::b in no build"]),
        (table(a="b"), ["demo::b in no build"]),
        (OpDeps(table(a="b", b="").calls, names("b")), ["demo::b at load missing"]),
        (
            OpDeps(table(a="b", b="").calls, tags={"demo::b": frozenset({"copy"})}),
            ["demo::b tag copy missing"],
        ),
        (
            OpDeps(table(a="b", b="").calls, unknown={"demo::b": frozenset({"f()"})}),
            ["demo::b calls without a constant name in f() missing"],
        ),
    ],
)
def test_a_stale_table_is_named(built: OpDeps, messages: list[str], tmp_path: Path) -> None:
    kept = CallTable(tmp_path / "op_deps.yaml", table(a="b", b=""))
    found = list(check_call_table(tmp_path, kept, {"x86_64-linux": full_of(built)}))
    assert [each.message.partition(": ")[2] for each in found] == messages
    assert all(each.verdict == "fail" and "--op-deps" in each.advice for each in found)


def test_what_other_compilers_inline_is_not_gone(tmp_path: Path) -> None:
    kept = CallTable(tmp_path / "op_deps.yaml", table(a="b", b=""))
    less, more = full_of(table(a="", b="")), full_of(table(a="b", b="a"))
    assert not list(check_call_table(tmp_path, kept, {"arm64-macos": less}))
    assert list(check_call_table(tmp_path, kept, {"arm64-macos": more}))
    whole = full_of(table(a="b", b=""))
    assert not list(check_call_table(tmp_path, kept, {"arm64-macos": less, "x86_64-linux": whole}))
    assert not list(check_call_table(tmp_path, None, {"arm64-macos": more}))
