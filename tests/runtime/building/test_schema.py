"""Parsing of schemas and operators.yaml, and errors in invalid ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.operators.library import read_operator_libraries
from sizeguard.operators.schema import (
    Alias,
    Argument,
    Default,
    FunctionSchema,
    Return,
    Type,
)
from sizeguard.operators.schema_parser import SchemaError, parse_schema
from sizeguard.runtimes.sizeguard.native_tree import OPERATOR_FILES


def test_a_schema_in_full() -> None:
    schema = parse_schema(
        "aten::add.Tensor(Tensor self, Tensor? other, *, Scalar alpha=1) -> Tensor"
    )
    assert (schema.namespace, schema.base, schema.overload, schema.name) == (
        "aten",
        "add",
        "Tensor",
        "aten::add.Tensor",
    )
    assert schema.arguments == (
        Argument("self", Type("Tensor")),
        Argument("other", Type("Tensor", optional=True)),
        Argument("alpha", Type("Scalar"), kwarg_only=True, has_default=True, default=1),
    )
    assert schema.returns == (Return(Type("Tensor")),)


@pytest.mark.parametrize(
    ("text", "type_", "default"),
    [
        ("int x=-1", Type("int"), -1),
        ("SymInt? x=None", Type("SymInt", optional=True), None),
        ("SymInt[2] x=1", Type("SymInt", is_list=True, length=2), (1, 1)),
        ("int[] x=[]", Type("int", is_list=True), ()),
        ("int[2] x=[0, 1]", Type("int", is_list=True, length=2), (0, 1)),
        ("int[1]? x=None", Type("int", optional=True, is_list=True, length=1), None),
        ("float x=1", Type("float"), 1.0),
        ("float x=1e-05", Type("float"), 1e-05),
        ("float? x=inf", Type("float", optional=True), float("inf")),
        ("bool[3] x=True", Type("bool", is_list=True, length=3), (True, True, True)),
        ("Scalar x=0.5", Type("Scalar"), 0.5),
        ("Scalar x=True", Type("Scalar"), True),
        ("str x='none'", Type("str"), "none"),
        ('str x="a b"', Type("str"), "a b"),
        ("MemoryFormat x=contiguous_format", Type("MemoryFormat"), 0),
        ("ScalarType? x=long", Type("ScalarType", optional=True), 4),
        ("int x=Mean", Type("int"), 1),
    ],
)
def test_defaults_are_python_values(text: str, type_: Type, default: Default) -> None:
    (argument,) = parse_schema(f"aten::f({text}) -> ()").arguments
    assert argument == Argument("x", type_, has_default=True, default=default)
    assert type(argument.default) is type(default)


@pytest.mark.parametrize(
    ("text", "type_", "alias"),
    [
        ("Tensor(a!) x", Type("Tensor"), Alias(("a",), ("a",), True)),
        ("Tensor(a!)? x", Type("Tensor", optional=True), Alias(("a",), ("a",), True)),
        ("Tensor(a -> *) x", Type("Tensor"), Alias(("a",), ("*",), False)),
        ("Tensor(a|b) x", Type("Tensor"), Alias(("a", "b"), ("a", "b"), False)),
        ("Tensor(a)[] x", Type("Tensor", is_list=True), Alias(("a",), ("a",), False)),
        ("Tensor?[] x", Type("Tensor", is_list=True, element_optional=True), None),
        ("t[](a) x", Type("t", is_list=True), Alias(("a",), ("a",), False)),
        (
            "__torch__.torch.classes.xnnpack.LinearOpContext x",
            Type("__torch__.torch.classes.xnnpack.LinearOpContext"),
            None,
        ),
    ],
)
def test_types_and_aliases(text: str, type_: Type, alias: Alias | None) -> None:
    (argument,) = parse_schema(f"aten::f({text}) -> ()").arguments
    assert (argument.type, argument.alias) == (type_, alias)
    assert str(argument) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add(Tensor self) -> Tensor", "expected '::', found '('"),
        ("aten::add(Tensor self)", "expected '->', found the end"),
        ("aten::add(Tensr self) -> Tensor", "expected a type, found 'Tensr' (column 11)"),
        ("aten::add(Tensor) -> Tensor", "expected an argument name, found ')'"),
        ("aten::add(Tensor a, Tensor a) -> Tensor", "two arguments are named a"),
        ("aten::add(int a=None) -> Tensor", "expected a default of type int, found 'None'"),
        ("aten::add(int a=1.5) -> Tensor", "expected a default of type int, found '1.5'"),
        ("aten::add(int[] a=1) -> Tensor", "a list without a length"),
        ("aten::add(int[99999999] a=1) -> Tensor", "a list length is 1 to 1000"),
        ("aten::add(int[2.5] a=1) -> Tensor", "a list length is 1 to 1000, not 2.5"),
        ("aten::add(int[1e3] a=1) -> Tensor", "a list length is 1 to 1000, not 1e3"),
        (f"aten::add(int[{'9' * 5000}] a=1) -> Tensor", "a list length is 1 to 1000"),
        ("aten::add(str a='x) -> Tensor", "cannot read"),
        ("aten::add(Tensor a) -> Tensor b c", "expected the end, found 'c'"),
        ("aten::a.b.c() -> ()", "a name is namespace::operator.overload"),
        ("", "expected a namespace such as aten, found the end"),
    ],
)
def test_a_wrong_schema_is_one_line_that_says_where(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="aten::f(Tensor int[2]? x=1, *) -> 'Scalar.!|", max_size=60))
def test_any_text_is_a_schema_or_refused(text: str) -> None:
    try:
        schema = parse_schema(text)
    except SchemaError:
        return
    assert parse_schema(str(schema)) == schema


def test_the_runtimes_operators_read_back_as_they_are_written() -> None:
    entries = [entry for file in OPERATOR_FILES for entry in yaml.safe_load(file.read_text())]
    assert len(entries) > 100
    for entry in entries:
        schema = parse_schema(entry["func"])
        assert parse_schema(str(schema)) == schema
        # A single number as the default of a list is written as a list; other texts are unchanged.
        if not re.search(r"\[\d\][^,]*=\d", entry["func"]):
            assert str(schema) == entry["func"]


def test_the_runtimes_operators() -> None:
    operators = read_operator_libraries(OPERATOR_FILES)
    add = operators["aten::add.Tensor"]
    assert (add.kernel, add.kind, add.dispatch, add.wrap) == ("add", "core", "CPU", None)
    assert operators["aten::pow.Tensor_Scalar"].wrap == "exponent"
    assert operators["prepacked::linear_clamp_run"].library == "prepacked"
    assert add.file.read_text().splitlines()[add.line - 1].startswith('- {func: "aten::add.Tensor(')
    assert {operator.kind for operator in operators.values()} == {"core", "composite", "primitive"}
    assert all(isinstance(operator.schema, FunctionSchema) for operator in operators.values())


RELU = '{func: "aten::relu(Tensor self) -> Tensor", kernel: relu, kind: core}'


def read(tmp_path: Path, text: str) -> None:
    (tmp_path / "operators.yaml").write_text(text)
    read_operator_libraries([tmp_path / "operators.yaml"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"- {RELU}\n\n- {RELU}\n", "operators.yaml:3: operator aten::relu is defined at "),
        (
            "- {func: 'aten::relu(Tensor self) -> Tensor', kernel: relu}\n",
            "operators.yaml:1: an operator needs the field kind",
        ),
        (
            f"- {RELU[:-1]}, kernal: x}}\n",
            (
                "operators.yaml:1: unknown field 'kernal'; fields are func, kernel, kind, dispatch,"
                " wrap"
            ),
        ),
        (f"- {RELU[:-1]}, kernel: x}}\n", "operators.yaml:1: duplicate field kernel"),
        (
            f"- {RELU.replace('core', 'cor')}\n",
            "operators.yaml:1: kind is one of core, composite, primitive, not 'cor'",
        ),
        (
            f"- {RELU[:-1]}, dispatch: GPU}}\n",
            "operators.yaml:1: dispatch is one of CPU, QuantizedCPU, not 'GPU'",
        ),
        (
            f"- {RELU[:-1]}, wrap: self}}\n",
            "operators.yaml:1: wrap names 'self', which is not a Scalar argument of aten::relu",
        ),
        (
            f"- {RELU.replace('kernel: relu', 'kernel: a-b')}\n",
            "operators.yaml:1: kernel 'a-b' is not a C++ name",
        ),
        (
            f"- {RELU.replace('kernel: relu', 'kernel: [a]')}\n",
            "operators.yaml:1: the field kernel must be text",
        ),
        (
            f"# comment\n- {RELU.replace('Tensor self', 'Tensr self')}\n",
            "operators.yaml:2: schema 'aten::relu(Tensr self) -> Tensor': expected a type",
        ),
        ("func: x\n", "operators.yaml:1: expected a list of operators"),
        ("- relu\n", "operators.yaml:1: an operator is a mapping"),
        ("- {func: [\n", "operators.yaml:2: not YAML"),
        ("- !!python/object/apply:os.getcwd []\n", "operators.yaml:1: unknown YAML tag"),
    ],
)
def test_a_wrong_entry_is_one_line_with_file_and_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_operator_of_two_libraries_names_both_places(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "operators.yaml").write_text(f"- {RELU}\n")
    files = [tmp_path / name / "operators.yaml" for name in ("one", "two")]
    assert [
        operator.library for file in files for operator in read_operator_libraries([file]).values()
    ] == ["one", "two"]
    with pytest.raises(
        InputError,
        match=r"two/operators.yaml:1: operator aten::relu is defined at .*one/operators.yaml:1 too",
    ):
        read_operator_libraries(files)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing.yaml: cannot read: No such file"):
        read_operator_libraries([tmp_path / "missing.yaml"])
    (tmp_path / "binary.yaml").write_bytes(b"- \xff")
    with pytest.raises(InputError, match=r"not YAML: .* UTF-8"):
        read_operator_libraries([tmp_path / "binary.yaml"])
    (tmp_path / "empty.yaml").write_text("# nothing\n")
    assert read_operator_libraries([tmp_path / "empty.yaml"]) == {}


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    """Equal content is parsed once, so neither the content nor the folder may be an old one."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    file, link = tmp_path / "one" / "operators.yaml", tmp_path / "link"
    entry = "- func: a::{}() -> int\n  kernel: x\n  kind: core\n"
    for name in ("f", "g", "f"):
        file.write_text(entry.format(name))
        assert list(read_operator_libraries([file])) == [f"a::{name}"]
    (tmp_path / "two" / "operators.yaml").write_text(entry.format("f"))
    for folder in ("one", "two"):
        link.unlink(missing_ok=True)
        link.symlink_to(folder)
        (operator,) = read_operator_libraries([link / "operators.yaml"]).values()
        assert operator.library == folder
