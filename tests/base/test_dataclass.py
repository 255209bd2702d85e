"""Our dataclass makes classes that behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import itertools
import math
import operator
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

import pytest

import sizeguard
from sizeguard.base.dataclass import dataclass

Decorator = Callable[[type], type]
OURS, THEIRS = dataclass, dataclasses.dataclass
PARAMETERS = [
    {"frozen": True, "slots": slots, "eq": eq, "order": order}
    for slots, eq, order in itertools.product([True, False], repeat=3)
    if eq or not order
]


class Plain:
    """Fields with and without defaults."""

    shared: ClassVar[int] = 7
    one: int
    two: Any = 2
    three: list[int] = field(default_factory=list, compare=False)
    four: str = field(default="4", repr=False, hash=False)


class Checked:
    """A field that no caller sets, and one that __post_init__ sets."""

    one: int
    two: int = field(default=5, init=False)
    three: list[int] = field(default_factory=list, init=False, hash=False)
    four: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "four", self.one + 1)


class OwnMethods:
    """A class that compares and prints as it likes."""

    one: int
    two: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and other == self.one

    def __repr__(self) -> str:
        return "own"


class OwnHash:
    """A class with a hash of its own."""

    one: int

    def __hash__(self) -> int:
        return 3


class Empty:
    """A class without fields."""


class Single:
    """A class with one field."""

    one: Any


BODIES = {
    Plain: [(1,), (1, 3), (2, 2), (1, 2, [3]), (1, 2, [], "5")],
    Checked: [(1,), (2,), (1,)],
    OwnMethods: [(1,), (1, 2), (2,)],
    OwnHash: [(1,), (2,)],
    Empty: [()],
    Single: [(1,), ("a",), (math.nan,), ((1, 2),), ([],)],
}


def copied(body: type) -> type:
    """Make the same class once more, since a decorator may change it."""
    names = {k: v for k, v in vars(body).items() if k not in ("__dict__", "__weakref__")}
    return type(body.__name__, body.__bases__, names)


def outcome(what: Callable[[], object]) -> object:
    """Return a value, or the type and text of the exception."""
    try:
        return what()
    except Exception as error:
        return type(error), str(error)


def behaviour(made: type, values: list[tuple[object, ...]]) -> Iterator[object]:
    """Yield what a caller can observe of a class, in a fixed order."""
    yield made.__doc__, made.__name__, made.__module__, getattr(made, "__match_args__", None)
    yield getattr(made, "__slots__", None)
    fields = {each.name: each.default for each in dataclasses.fields(made)}
    yield fields
    yield [(each.name, each.default) for each in parameters(made)]
    yield outcome(made), outcome(lambda: made(1, 2, 3, 4, 5)), outcome(lambda: made(nine=9))
    objects = [made(*each) for each in values]
    for each in objects:
        yield repr(each), outcome(lambda each=each: dataclasses.asdict(each))
        yield outcome(lambda each=each: repr(copy.copy(each)))
        yield outcome(lambda each=each: repr(copy.deepcopy(each)))
        yield outcome(lambda each=each: repr(dataclasses.replace(each, one=9)))
        for name in fields:
            yield outcome(lambda each=each, name=name: setattr(each, name, 5))
            yield outcome(lambda each=each, name=name: delattr(each, name))
        # Python 3.11 gives a TypeError here for classes with slots, by mistake.
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            each.unknown = 5
        yield each == 1, each != 1, repr(each)
    hashes = [outcome(lambda each=each: hash(each)) for each in objects]
    usual = made.__hash__ is object.__hash__
    for one, two in itertools.product(range(len(objects)), repeat=2):
        for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.ge):
            yield outcome(lambda c=compare, o=one, t=two: c(objects[o], objects[t]))
        yield one == two or usual or hashes[one] == hashes[two]
    yield usual, [isinstance(each, int) for each in hashes]


def parameters(made: type) -> list[inspect.Parameter]:
    return list(inspect.signature(made).parameters.values())


@pytest.mark.parametrize("given", PARAMETERS, ids=str)
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_behaves_like_a_class_of_the_standard_library(body: type, given: dict[str, bool]) -> None:
    ours = list(behaviour(OURS(**given)(copied(body)), BODIES[body]))
    theirs = list(behaviour(THEIRS(**given)(copied(body)), BODIES[body]))
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        assert repr(one) == repr(two)


@dataclass(frozen=True, slots=True)
class Base:
    """A class that another inherits from."""

    one: int
    two: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Derived(Base):
    """A class with the fields of its base and one more."""

    three: int = 3


@dataclass(frozen=True, eq=False)
class Cached:
    """A class without slots, for a value that is found once."""

    one: int

    @cached_property
    def doubled(self) -> int:
        """Twice the number."""
        return 2 * self.one


def test_inherited_fields() -> None:
    assert repr(Derived(1, [2])) == "Derived(one=1, two=[2], three=3)"
    assert Derived(1) == Derived(1, [], 3) != Base(1)
    assert Base(1) != Derived(1)


def test_objects_can_be_sent_to_another_process() -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(Derived(1, [2]), protocol)) == Derived(1, [2])
        assert pickle.loads(pickle.dumps(Cached(4), protocol)).doubled == 8


def test_a_cached_property_can_be_kept() -> None:
    cached = Cached(4)
    assert (cached.doubled, cached.doubled, vars(cached)) == (8, 8, {"one": 4, "doubled": 8})


def test_a_list_is_made_for_each_object() -> None:
    assert Base(1).two is not Base(1).two


def test_keyword_only_fields_are_refused() -> None:
    class Named:
        """A class with a field that only a keyword can set."""

        one: int = field(kw_only=True)

    with pytest.raises(TypeError, match="keyword-only"):
        dataclass(frozen=True)(Named)


def test_other_classes_are_those_of_the_standard_library() -> None:
    made = dataclass(slots=True)(copied(Plain))
    changed = made(1)
    changed.one = 2
    assert repr(changed) == "Plain(one=2, two=2, three=[])"


def test_every_class_of_the_package_has_the_usual_signature() -> None:
    """Make each frozen class once more from its fields, and compare what calls may pass."""
    seen = 0
    for module in pkgutil.walk_packages(sizeguard.__path__, "sizeguard."):
        if module.name.endswith("__main__"):
            continue
        for made in vars(importlib.import_module(module.name)).values():
            if not (isinstance(made, type) and "__dataclass_fields__" in vars(made)):
                continue
            again = dataclasses.make_dataclass(
                made.__name__,
                [(each.name, each.type, copy_of(each)) for each in dataclasses.fields(made)],
            )
            assert named(parameters(made)) == named(parameters(again)), made
            seen += 1
    assert seen > 500


def copy_of(each: dataclasses.Field[Any]) -> Any:
    factory = each.default_factory
    if factory is not dataclasses.MISSING:
        return field(default_factory=factory, init=each.init)
    return field(default=each.default, init=each.init)


def named(parameters: list[inspect.Parameter]) -> list[tuple[str, object, bool]]:
    return [(each.name, each.kind, each.default is each.empty) for each in parameters]
