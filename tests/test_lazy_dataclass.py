"""Dataclasses with methods that are compiled later behave as the standard ones do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from sizeguard.base import lazy_dataclass

Decorator = Callable[..., Any]


def _frozen(decorator: Decorator) -> Any:
    @decorator(frozen=True, slots=True)
    class Row:
        """A row."""

        name: str
        size: int = 0
        parts: tuple[int, ...] = field(default=(), compare=False)
        notes: list[str] = field(default_factory=list, repr=False, hash=False)

        @property
        def double(self) -> int:
            return 2 * self.size

    return Row


def _ordered(decorator: Decorator) -> Any:
    @decorator(frozen=True, slots=True, order=True)
    class Row:
        name: str
        size: int = 0

    return Row


def _mutable(decorator: Decorator) -> Any:
    @decorator(slots=True)
    class Row:
        name: str
        size: int = 0
        notes: list[str] = field(default_factory=list)

        def __post_init__(self) -> None:
            self.size += 1

    return Row


def _by_identity(decorator: Decorator) -> Any:
    @decorator(frozen=True, slots=True, eq=False)
    class Row:
        name: str
        size: int = 0

    return Row


KINDS = (_frozen, _ordered, _mutable, _by_identity)
USES: tuple[Callable[[Any], object], ...] = (
    lambda row: row("a"),
    lambda row: row("a", 2),
    lambda row: row(size=2, name="a"),
    lambda row: row(),
    lambda row: row("a", size="b", other=1),
    lambda row: row("a", notes=["n"]).notes,
    lambda row: row("a").notes is row("a").notes,
    lambda row: row("a") == row("a"),
    lambda row: row("a") == row("a", 1),
    lambda row: row("a") == "a",
    lambda row: row("a", 1) < row("a", 2),
    lambda row: sorted([row("b"), row("a", 2), row("a", 1)]),
    lambda row: hash(row("a")) == hash(row("a")),
    lambda row: {row("a"), row("a")},
    lambda row: setattr(row("a"), "size", 3),
    lambda row: delattr(row("a"), "size"),
    lambda row: row("a").__dict__,
    lambda row: row.__slots__,
    lambda row: row.__match_args__,
    lambda row: row.__qualname__,
    lambda row: row("a").double,
    lambda row: (row("a"), inspect.signature(row).parameters.keys()),
    lambda row: [(f.name, f.type, f.default, f.compare, f.repr) for f in dataclasses.fields(row)],
    lambda row: dataclasses.fields(row("a")) == dataclasses.fields(row),
    lambda row: dataclasses.is_dataclass(row),
    lambda row: dataclasses.asdict(row("a", 2)),
    lambda row: dataclasses.astuple(row("a", 2)),
    lambda row: dataclasses.replace(row("a", 2), size=3),
    lambda row: copy.copy(row("a", 2)).size,
    lambda row: copy.deepcopy(row("a", 2)).name,
    lambda row: _more(row)("a", 2, 3),
    lambda row: _more(row)("a", 2, 3) == _more(row)("a", 2, 3),
)


def _more(row: Any) -> Any:
    @dataclasses.dataclass(frozen=row.__setattr__ is not object.__setattr__, slots=True)
    class More(row):  # type: ignore[misc]
        more: int = 0

    return More


def _result(use: Callable[[Any], object], row: Any) -> str:
    try:
        return repr(use(row))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("use", range(len(USES)))
@pytest.mark.parametrize("kind", KINDS)
def test_each_use_gives_what_the_standard_one_gives(
    kind: Callable[[Decorator], Any], use: int
) -> None:
    ours, theirs = kind(lazy_dataclass.dataclass), kind(dataclasses.dataclass)
    assert "method" in ours.__init__.__qualname__, "nothing is compiled yet"
    expected = _result(USES[use], theirs)
    assert _result(USES[use], ours) == expected
    assert _result(USES[use], ours) == expected, "nor does it change"


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Pickled:
    name: str
    size: int = 0


def test_frozen_objects_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled("a", 2))) == Pickled("a", 2)
    with pytest.raises(FrozenInstanceError):
        pickle.loads(pickle.dumps(Pickled("a"))).size = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "options", [{}, {"frozen": True}, {"slots": True, "unsafe_hash": True}, {"slots": True}]
)
def test_other_classes_are_made_at_once(options: dict[str, bool]) -> None:
    class Base:
        __slots__ = ()

    class Row(Base):
        name: str

    made: Any = lazy_dataclass.dataclass(**options)(Row)  # type: ignore[call-overload]
    assert made("a").name == "a"
    assert "_waiting" not in made.__init__.__qualname__


def test_a_method_of_the_class_is_kept() -> None:
    @lazy_dataclass.dataclass(frozen=True, slots=True)
    class Row:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

        def __len__(self) -> int:
            return 7

    assert repr(Row("a")) == "<a>"
    assert len(Row("a")) == 7


def test_frozen_objects_get_no_other_attributes() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
        Pickled("a").other = 1  # type: ignore[attr-defined]


def test_fields_of_other_kinds_are_as_in_the_standard_one() -> None:
    @lazy_dataclass.dataclass(slots=True)
    class Row:
        name: str
        derived: int = field(init=False, default=3)
        named: int = field(kw_only=True, default=4)

    assert list(inspect.signature(Row).parameters) == ["name", "named"]
    assert (Row("a").derived, Row("a", named=5).named) == (3, 5)
