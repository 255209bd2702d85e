"""A `dataclass` decorator that compiles methods when they are first called.

The standard decorator compiles five or more methods of each class while its module is imported,
which takes 0.45 ms. A diff imports 170 classes, and creates objects of half of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError
from inspect import get_annotations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Decorate a class as `dataclasses.dataclass` does."""

        def decorated(cls: type) -> type:
            if _can_wait(cls, options):
                return _Waiting(cls, options).made
            return dataclasses.dataclass(**options)(cls)

        return decorated if cls is None else decorated(cls)


_ABOUT = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
_OTHERS = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")
_MADE = frozenset((*_ABOUT, *_ORDER, *_OTHERS, "__slots__", "__getstate__", "__setstate__"))
# Annotations of names that are not fields, or are fields of another kind.
_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")


def _can_wait(cls: type, options: Mapping[str, bool]) -> bool:
    """Return whether a class has slots, no base class, and none of the methods to be made."""
    kinds = get_annotations(cls).values()
    return (
        cls.__bases__ == (object,)
        and type(cls) is type
        and options.get("slots", False)
        and options.keys() <= {"frozen", "slots", "eq", "order"}
        and _MADE.isdisjoint(cls.__dict__)
        and all(type(kind) is str and not any(s in kind for s in _SPECIAL) for kind in kinds)
        and all(
            v.init and v.kw_only is not True for v in cls.__dict__.values() if isinstance(v, Field)
        )
    )


class _Waiting:
    """A class with slots whose methods are made when they are needed.

    made: the class
    """

    def __init__(self, source: type, options: Mapping[str, bool]) -> None:
        """Make the class. source: the decorated class, which stays as it is."""
        self._source = source
        self._frozen, eq = options.get("frozen", False), options.get("eq", True)
        order = options.get("order", False)
        self._about = {name: chosen for name, chosen in options.items() if name != "slots"}
        # Without `frozen`, which also compiles methods that refuse assignments.
        self._compared = {"eq": eq, "order": order, "unsafe_hash": eq and self._frozen}
        self._others = ["__repr__", *(_ORDER if order else ())]
        self._others += [name for name in ("__eq__", "__hash__") if eq]
        fields = tuple(get_annotations(source))
        content = {**_content(source, without=fields), "__slots__": fields}
        content |= _FROZEN if self._frozen else {}
        content |= {name: _Description(self, name) for name in _ABOUT}
        content |= {name: self._waiting(name, self._make_others) for name in self._others}
        content["__init__"] = self._waiting("__init__", self._make_init)
        if eq and not self._frozen:
            content["__hash__"] = None
        self.made = type(source.__name__, (object,), content)
        self.made.__qualname__ = source.__qualname__

    def make_about(self) -> None:
        """Make the description of the fields."""
        self._take(_ABOUT, self._about)

    def _make_init(self) -> None:
        made: Any = self.made
        made.__init__ = _init(self._source, is_frozen=self._frozen)

    def _make_others(self) -> None:
        self._take(self._others, self._compared)

    def _take(self, names: Collection[str], options: Mapping[str, bool]) -> None:
        """Take attributes that the standard decorator makes for a copy of the class."""
        copy = type(self._source.__name__, (object,), _content(self._source))
        dataclasses.dataclass(init=False, **options)(copy)
        for name in names:
            setattr(self.made, name, copy.__dict__[name])

    def _waiting(self, name: str, make: Callable[[], None]) -> Callable[..., Any]:
        """Return a method that replaces itself, and then calls the new one."""

        def method(*args: Any, **options: Any) -> Any:
            make()
            return getattr(self.made, name)(*args, **options)

        return method


class _Description:
    """An attribute of a class that describes its fields."""

    def __init__(self, waiting: _Waiting, name: str) -> None:
        self._waiting, self._name = waiting, name

    def __get__(self, instance: object, owner: type) -> Any:
        self._waiting.make_about()
        return getattr(self._waiting.made, self._name)


def _content(source: type, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the attributes of a class, from which to make another."""
    dropped = {"__dict__", "__weakref__", *without}
    content = {name: value for name, value in source.__dict__.items() if name not in dropped}
    # Where there is none, the standard decorator formats the signature.
    content["__doc__"] = source.__doc__ or source.__name__
    return content


def _init(source: type, *, is_frozen: bool) -> Callable[..., None]:
    """Compile the constructor.

    The standard decorator also compiles the methods that refuse assignments, which takes 0.17 ms.
    """
    known: dict[str, Any] = {"SET": object.__setattr__, "MISSING": MISSING}
    parameters, lines = ["self"], []
    for name in get_annotations(source):
        value, default = name, source.__dict__.get(name, MISSING)
        if isinstance(default, Field) and default.default_factory is not MISSING:
            known[f"MAKE_{name}"] = default.default_factory
            value = f"MAKE_{name}() if {name} is MISSING else {name}"
            parameters.append(f"{name}=MISSING")
        else:
            default = default.default if isinstance(default, Field) else default
            known[f"DEFAULT_{name}"] = default
            parameters.append(name if default is MISSING else f"{name}=DEFAULT_{name}")
        lines.append(f"SET(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(source, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{source.__qualname__}.__init__"
    return init


def _refuse_assignment(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    """Return the values of the fields for pickle, which cannot assign them."""
    return [getattr(self, name) for name in self.__slots__]


def _restore(self: Any, state: list[object]) -> None:
    for name, value in zip(self.__slots__, state, strict=True):
        object.__setattr__(self, name, value)


_FROZEN: Mapping[str, Callable[..., Any]] = {
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    "__getstate__": _state,
    "__setstate__": _restore,
}
