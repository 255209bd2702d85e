"""Plain data becomes classes; what has another type or too many values is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from sizeguard.base import plain_data
from sizeguard.base.errors import InputError
from sizeguard.base.plain_data import LONGEST, decode


@dataclass(frozen=True)
class Nested:
    """A class with each kind of plain data, and with its own type."""

    name: str
    number: int = 0
    told: str | None = None
    parts: tuple[Nested, ...] = ()
    table: Mapping[str, tuple[bool, ...]] | None = None


# One for the document, for each value, for each key, and a second one for each optional value.
NESTED_VALUES = 1 + 2 + (1 + 1) + (1 + 2 + (1 + 1 + 1)) + (1 + 1 + 2 * 2 + 3) + 0
NESTED = {
    "name": "a", "number": 3, "told": "b",
    "parts": [{"name": "c"}, {"name": "d", "told": None, "unknown": 4}],
    "table": {"e": [True, False], "f": [True]},
}  # fmt: skip


def test_values_of_a_document_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick and the careful reader refuse a document at the same number of values."""
    monkeypatch.setattr(plain_data, "MOST", NESTED_VALUES)
    read = decode(Nested, NESTED, "x")
    parts = (Nested("c"), Nested("d"))
    assert read == Nested("a", 3, "b", parts, {"e": (True, False), "f": (True,)})
    monkeypatch.setattr(plain_data, "MOST", NESTED_VALUES - 1)
    with pytest.raises(InputError, match=f"more than {NESTED_VALUES - 1} values"):
        decode(Nested, NESTED, "x")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", 1), ("name", None), ("number", True), ("number", 1 << 54), ("number", 1.5),
        ("told", 1), ("parts", {}), ("parts", [None]), ("parts", [{}]), ("table", []),
        ("table", {"e": [1]}), ("table", {"\ud800": []}), ("name", "x" * (LONGEST + 1)),
    ],
)  # fmt: skip
def test_plain_data_of_another_type_is_refused_by_its_path(path: str, value: object) -> None:
    """The quick reader refuses the value, and the careful reader reports its path."""
    with pytest.raises(InputError, match=rf"^x: {path}"):
        decode(Nested, {**NESTED, path: value}, "x")
