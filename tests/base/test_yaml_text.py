"""Strings that are written as YAML are read back unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from sizeguard.base.yaml import text as yaml_text
from sizeguard.base.yaml.nodes import Scalar, YamlTable, parse_nodes, value_of
from tests.support.places import ROOT

WRITERS = (
    yaml_text.yaml_name,
    yaml_text.yaml_command,
    yaml_text.single_quoted,
    yaml_text.ascii_quoted,
    yaml_text.double_quoted,
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.mark.parametrize("write", WRITERS)
@given(TEXT)
@example("")
@example("a\nb")
@example("it's \x00")
@example('"\\\u200b')
@example("y")
@example("1:30")
@example("2026-01-01")
@example("NULL")
@example("a # b")
@example("a: b")
@example("\U0001f600\u2028")
def test_a_string_is_read_back(write: Callable[[str], str], text: str) -> None:
    line = f"{write(text)}: [{write(text)}]\n"
    assert yaml.safe_load(line) == {text: [text]}
    table = parse_nodes(line.encode(), "f", "test")
    assert isinstance(table, YamlTable)
    [(key, _)] = table.pairs
    assert (key.text, key.kind) == (text, "str")
    assert isinstance(key, Scalar)


@pytest.mark.parametrize(
    ("text", "name", "command"),
    [
        ("aten::add.out", "aten::add.out", '"aten::add.out"'),
        ("cmake --build b", "'cmake --build b'", "cmake --build b"),
        ("no", "'no'", '"no"'),
        ("1e3", "1e3", '"1e3"'),
        ("\xfc", '"\\xfc"', '"\xfc"'),
    ],
)
def test_what_is_quoted(text: str, name: str, command: str) -> None:
    assert yaml_text.yaml_name(text) == name
    assert yaml_text.yaml_command(text) == command


def test_a_comment_has_one_line() -> None:
    assert yaml_text.escaped_controls("a\n\x85\xfc'\"") == "a\\x0a\\x85\xfc'\""


def test_no_other_module_quotes_for_yaml() -> None:
    """Two single quotes in a row stand for one in YAML alone."""
    doubled = ("\"''\"", "\\\\U{")
    files = Path(ROOT / "sizeguard").rglob("*.py")
    found = [path.name for path in files if any(part in path.read_text() for part in doubled)]
    assert found == ["text.py"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1\nb: 2\n", "2"),
        ("b: 2\nb: 3\n", "2"),
        ("a: 1\n", None),
        ("- b\n", None),
        ("b\n", None),
    ],
)
def test_one_value_is_read_whatever_the_other_parts_are(text: str, found: str | None) -> None:
    value = value_of(parse_nodes(text.encode(), "f", "test"), "b")
    assert (value.text if isinstance(value, Scalar) else value) == found
    assert value_of(None, "b") is None
