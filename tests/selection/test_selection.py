"""Laws of selections.

Files preserve selections, merging is a union, and no file can hang or crash the reader.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.base.yaml.nodes import MAXIMUM_DEPTH
from sizeguard.selection.provenance import Provenance, read_record, write_record
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.union import credited, describe, merge
from sizeguard.selection.without_model import without_model
from sizeguard.selection.write import format_selection, write_selection
from tests.support.drawn import at_least

# Any text, and often one that YAML reads as another type.
TEXT = st.one_of(
    st.sampled_from(
        [
            "aten::add",
            "aten::add.Tensor",
            "yes",
            "null",
            "1",
            "1e3",
            "12:30",
            "~",
            "",
            "a: b",
            "# no",
            "'",
            '"',
            "\\",
            "v1/6;0,1|6;0,1",
        ]
    ),
    st.text(st.characters(codec="utf-8"), max_size=8),
)
WORDS = st.frozensets(TEXT, max_size=3)
TABLES = st.dictionaries(TEXT, WORDS, max_size=3)
OPERATORS = st.builds(SelectedOperator, st.booleans(), st.booleans(), st.booleans(), WORDS)
PROVENANCES = st.builds(
    Provenance, st.booleans(), st.booleans(), TABLES, TABLES, WORDS, WORDS, TABLES
)
SELECTIONS = st.builds(
    Selection,
    st.dictionaries(TEXT, OPERATORS, max_size=4),
    st.booleans(),
    st.booleans(),
    TABLES,
    TABLES,
    WORDS,
    WORDS,
    WORDS,
    st.dictionaries(TEXT, PROVENANCES, max_size=2),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("selection") / "selection.yaml"


def reread(selection: Selection, file: Path) -> Selection:
    file.write_text(format_selection(selection), encoding="utf-8")
    return read_selection(file).selection


def plain(selection: Selection) -> Selection:
    """Return the selection without debug info and provenance."""
    operators = {
        name: SelectedOperator(
            entry.is_root_operator, entry.is_used_for_training, entry.include_all_overloads
        )
        for name, entry in selection.operators.items()
    }
    return Selection(
        operators,
        selection.include_all_operators,
        selection.include_all_non_op_selectives,
        selection.kernel_metadata,
        selection.et_kernel_metadata,
        selection.custom_classes,
        selection.build_features,
    )


@given(SELECTIONS)
def test_written_selections_read_back(file: Path, selection: Selection) -> None:
    assert reread(selection, file) == selection


@given(SELECTIONS)
def test_every_yaml_reader_reads_the_same(selection: Selection) -> None:
    content = yaml.safe_load(format_selection(selection))
    assert content["operators"].keys() == selection.operators.keys()
    assert {
        tag: frozenset(words) for tag, words in content["kernel_metadata"].items()
    } == selection.kernel_metadata
    assert frozenset(content["custom_classes"]) == selection.custom_classes
    assert all(
        set(entry) >= {"is_root_operator", "is_used_for_training", "include_all_overloads"}
        for entry in content["operators"].values()
    )


@given(SELECTIONS)
def test_bytes_do_not_depend_on_the_order_of_the_input(selection: Selection) -> None:
    backwards = replace(
        selection,
        operators=dict(reversed(list(selection.operators.items()))),
        kernel_metadata=dict(reversed(list(selection.kernel_metadata.items()))),
        et_kernel_metadata=dict(reversed(list(selection.et_kernel_metadata.items()))),
        provenance=dict(reversed(list(selection.provenance.items()))),
    )
    assert format_selection(backwards) == format_selection(selection)


@given(TEXT, PROVENANCES)
def test_records_read_back(model: str, asked: Provenance) -> None:
    assert read_record(write_record(model, asked)) == (model, asked)
    assert "\n" not in write_record(model, asked)


@pytest.mark.parametrize(
    "text",
    [
        "kws@1",
        "[]",
        "{}",
        "{",
        '{"model": 1}',
        '{"model": "a", "custom_classes": "B"}',
        '{"model": "a", "kernel_metadata": {"add": [1]}}',
        '{"model": "a", "include_all_operators": 1}',
        '{"model": "a", "version": "1"}',
        '{"model": "\\ud800"}',
        '{"model": ' + "[" * 100_000,
    ],
)
def test_what_others_wrote_is_no_record(text: str) -> None:
    assert read_record(text) is None


@given(SELECTIONS, SELECTIONS)
def test_merging_is_commutative(a: Selection, b: Selection) -> None:
    assert merge([("a", a), ("b", b)]) == merge([("b", b), ("a", a)])


@pytest.mark.native
@given(SELECTIONS, SELECTIONS, SELECTIONS)
def test_merging_is_associative(a: Selection, b: Selection, c: Selection) -> None:
    left = merge([("ab", merge([("a", a), ("b", b)]).selection), ("c", c)]).selection
    right = merge([("a", a), ("bc", merge([("b", b), ("c", c)]).selection)]).selection
    assert plain(left) == plain(right)
    assert left == right == merge([("a", a), ("b", b), ("c", c)]).selection


@given(SELECTIONS)
def test_merging_twice_changes_nothing(a: Selection) -> None:
    once = merge([("a", a)]).selection
    assert plain(once) == plain(a)
    assert merge([("a", a), ("again", once)]).selection == once
    assert merge([("a", once), ("b", once)]).widenings == ()


@given(SELECTIONS, SELECTIONS, TEXT, TEXT)
def test_a_union_selects_what_either_selects(
    a: Selection, b: Selection, name: str, dtype: str
) -> None:
    both = merge([("a", a), ("b", b)]).selection
    for one in (a, b):
        for known in [name, *one.operators]:
            if one.is_operator_selected(known):
                assert both.is_operator_selected(known)
        for tag in [name, *one.kernel_metadata]:
            if one.is_kernel_dtype_selected(tag, dtype):
                assert both.is_kernel_dtype_selected(tag, dtype)


def needs(model: str, **asked: Any) -> Selection:
    """Return the selection of a model with one operator, on record for it."""
    entry = SelectedOperator(debug_info=frozenset({model}))
    provenance = {model: Provenance(**asked)}
    return Selection(operators={f"aten::{model}": entry}, provenance=provenance, **asked)


@pytest.mark.parametrize(
    "asked",
    [
        {"kernel_metadata": {"t": frozenset({"Double"}), "u": frozenset({"Float"})}},
        {"include_all_non_op_selectives": True},
        {"include_all_operators": True},
        {"et_kernel_metadata": {"aten::other": frozenset({"default"})}},
        {"custom_classes": frozenset({"C"}), "build_features": frozenset({"f"})},
    ],
)
def test_a_model_takes_all_its_needs_with_it(asked: dict[str, Any]) -> None:
    """A model that keeps all dtypes left that behind, so its cost was told too low."""
    one = needs("one", kernel_metadata={"t": frozenset({"Float"})})
    other = needs("other", **asked)
    for pair in ([("a", one), ("b", other)], [("b", other), ("a", one)]):
        assert without_model(merge(pair).selection, "other") == one


@given(SELECTIONS)
def test_after_credit_everything_has_a_source(a: Selection) -> None:
    named = credited(a, "file")
    assert all(entry.debug_info for entry in named.operators.values())
    for tag, dtypes in named.kernel_metadata.items():
        assert dtypes <= frozenset().union(
            *(asked.kernel_metadata.get(tag, frozenset()) for asked in named.provenance.values())
        )
    assert credited(named, "other") == named


def test_widenings_name_what_and_who() -> None:
    traced = Selection(
        {"aten::add.Tensor": SelectedOperator(False, False, False)},
        kernel_metadata={"add": frozenset({"Float"})},
    )
    static = Selection(
        {
            "aten::add.Tensor": SelectedOperator(True, False, False),
            "aten::mul.Tensor": SelectedOperator(True, False, False),
        },
        include_all_non_op_selectives=True,
    )
    merged = merge([("traced.yaml", traced), ("static.yaml", static)])
    assert [(widening.kind, widening.name, widening.by) for widening in merged.widenings] == [
        ("include_all_non_op_selectives", "", ("static.yaml",)),
        ("operator", "aten::mul.Tensor", ("static.yaml",)),
        ("is_root_operator", "aten::add.Tensor", ("static.yaml",)),
        ("dtype", "add Float", ("traced.yaml",)),
    ]
    assert describe(merged) == [
        "only static.yaml switches the selection of dtypes, classes and features off for all",
        "only static.yaml adds operators: aten::mul.Tensor",
        "only static.yaml makes roots of: aten::add.Tensor",
        "only traced.yaml adds dtypes: add Float",
    ]


def test_an_unchanged_selection_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "selection.yaml"
    assert write_selection(path, Selection(custom_classes=frozenset({"A"})))
    before = path.stat().st_mtime_ns
    assert not write_selection(path, Selection(custom_classes=frozenset({"A"})))
    assert path.stat().st_mtime_ns == before


HOSTILE = {
    "brackets": b"[" * 200_000,
    "nested tables": b"a: " + b"{a: " * 200_000,
    "nested blocks": b"\n".join(b" " * i + b"a:" for i in range(MAXIMUM_DEPTH + 2)),
    "many values": b"debug_info: [" + b"a," * 3_000_000 + b"]",
    "many aliases": (
        b"debug_info: &a ["
        + b"x," * 5000
        + b"]\noperators: {"
        + b",".join(b"a%d: {debug_info: *a}" % i for i in range(5000))
        + b"}"
    ),
    "laughs": (
        b"a: &a0 [x]\n"
        + b"".join(b"a%d: &a%d [*a%d,*a%d]\n" % (i, i, i - 1, i - 1) for i in range(1, 60))
    ),
    "long name": b"operators: {" + b"x" * 100_000 + b": {}}",
    "large": b" " * (17 << 20),
    "huge number": b"debug_info: [" + b"9" * 100_000 + b"]",
    "latin-1": b"debug_info: ['\xe9']",
    "half a pair": b'debug_info: ["\\ud800"]',
    "no date": b"debug_info: [2020-13-45]",
    "bare mapping tag": b"operators: !!set {a}",
}


@pytest.mark.native
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_yaml_is_one_line_in_bounded_time(name: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.yaml"
    path.write_bytes(HOSTILE[name])
    start = time.process_time()
    with pytest.raises(InputError) as refusal:
        read_selection(path)
    assert time.process_time() - start < 20  # CPU time, so other processes do not matter
    assert str(refusal.value).startswith(str(path))
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < len(str(path)) + 300


def test_missing_files_and_folders_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml: cannot read: No such file or directory"):
        read_selection(tmp_path / "nowhere.yaml")
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_selection(tmp_path)


@at_least(100)
@example(b".\n\n!")
@given(
    st.binary(max_size=60) | st.text("{}[]:,&*!|>'\"-?#%@ \n\tab0~<", max_size=40).map(str.encode)
)
def test_any_bytes_are_read_or_refused(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    try:
        read_selection(file)
    except InputError as error:
        assert "\n" not in str(error)


def test_lines_of_entries(tmp_path: Path) -> None:
    path = tmp_path / "selection.yaml"
    path.write_text(
        "operators:\n  aten::add: {}\n\n  aten::mul: {}\nkernel_metadata:\n  add: [Float]\n",
        encoding="utf-8",
    )
    read = read_selection(path)
    assert [read.line("operators", name) for name in ("aten::add", "aten::mul", "aten::sub")] == [
        2,
        4,
        2,
    ]
    assert read.line("kernel_metadata", "add") == 6
    assert read.line("custom_classes", "A") == 0


def test_the_selection_imports_nothing_heavy() -> None:
    code = "import sys, sizeguard.selection.read as r; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
