"""Convert dataclasses to JSON, and untrusted JSON to dataclasses with strict types.

Plain data: strings, integers, booleans, None, tuples of one type, mappings with string keys, and
dataclasses of these.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from sizeguard.base.errors import InputError

LARGEST = 1 << 53  # integers; many JSON readers round larger ones
LONGEST = 20_000  # characters in a string
MOST = 200_000  # values in a document

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"
_T = TypeVar("_T")
_SINGLE = frozenset({str, int, bool, type(None)})


def encode(value: object) -> Json:
    """Convert plain data to JSON values.

    Raises TypeError for anything else.
    """
    # A gate's result has 8,000 values for each app; isinstance took half of the time.
    if type(value) in _SINGLE:
        return cast(Json, value)
    if isinstance(value, tuple | list):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): encode(each) for key, each in value.items()}
    names = _field_names(cast(Hashable, type(value)))
    if names is not None:
        return {name: encode(getattr(value, name)) for name in names}
    if isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} is not plain data")


@functools.cache
def _field_names(kind: Hashable) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields; None for other types."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(field.name for field in dataclasses.fields(kind))


def parse(text: bytes, where: str) -> Json:
    """Parse JSON, refusing numbers that are not integers and duplicate keys.

    Raises InputError that begins with `where`.
    """

    def refuse(constant: str) -> Json:
        raise ValueError(f"{constant[:20]} is not a whole number")

    def table(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("duplicate key")
        return found

    try:
        # JSON deeper than Python's stack raises RecursionError. Invalid UTF-8 and a number of 5,000
        # digits raise ValueError.
        value: Json = json.loads(
            text.decode(), parse_float=refuse, parse_constant=refuse, object_pairs_hook=table
        )
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not JSON: not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON: {error}") from error
    return value


def decode(kind: type[_T], value: Json, where: str) -> _T:
    """Build a dataclass from a JSON value; the types of its fields are checked.

    Unknown keys are ignored; a missing key gets the field's default.

    Raises InputError, beginning with `where` and the path to the value, for a value that is too
    large or of another type.
    """
    of_any: Any = kind
    try:
        found = _quick(of_any)(value, _Tally())
    except _MismatchError:
        found = _DataReader(where).read(kind, value, "")  # reports what is wrong, and where
    if not isinstance(found, kind):
        raise TypeError(f"{kind.__name__} is not a dataclass")
    return found


class _MismatchError(Exception):
    """Raised for a value of another type, or for too many values."""


class _Tally:
    """Count the values of a document in the same way as _DataReader."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = 1

    def add(self, count: int) -> None:
        """Count the values of a table or list; an optional value counts twice."""
        self.values += count
        if self.values > MOST:
            raise _MismatchError


_Quick: TypeAlias = Callable[[Any, _Tally], Any]


def _text(value: Any, tally: _Tally) -> str:
    if type(value) is str and len(value) <= LONGEST and (value.isascii() or _is_unicode(value)):
        return value
    raise _MismatchError


def _truth(value: Any, tally: _Tally) -> bool:
    if value is True or value is False:
        return bool(value)
    raise _MismatchError


def _number(value: Any, tally: _Tally) -> int:
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return value
    raise _MismatchError


_SCALARS: Mapping[Any, _Quick] = types.MappingProxyType({str: _text, bool: _truth, int: _number})


@functools.cache
def _quick(kind: Any) -> _Quick:
    """Make the function that reads a type as _DataReader does, without the paths to values.

    A gate's result has 50,000 values, and a stored result needs no error messages.
    """
    if kind in _SCALARS:
        return _SCALARS[kind]
    if dataclasses.is_dataclass(kind):
        return _quick_dataclass(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        rest = [each for each in arguments if each is not type(None)]
        return _quick_optional(rest[0], is_optional=len(rest) < len(arguments))
    if origin is tuple:
        return _quick_list(arguments[0])
    if origin is Mapping:
        return _quick_table(arguments[1])
    raise TypeError(f"{kind} is not plain data")


def _quick_dataclass(kind: Any) -> _Quick:
    @functools.cache
    # when called, since a dataclass may contain itself
    def fields() -> Iterable[tuple[str, _Quick, bool]]:
        return tuple((name, _quick(type_), needed) for name, type_, needed in _fields(kind))

    def read(value: Any, tally: _Tally) -> Any:
        if type(value) is not dict:
            raise _MismatchError
        found = {}
        for name, part, is_needed in fields():
            if name in value:
                found[name] = part(value[name], tally)
            elif is_needed:
                raise _MismatchError
        tally.add(len(found))
        return kind(**found)

    return read


def _quick_optional(kind: Any, *, is_optional: bool) -> _Quick:
    part = _quick(kind)

    def read(value: Any, tally: _Tally) -> Any:
        if value is None and is_optional:
            return None
        tally.add(1)
        return part(value, tally)

    return read


def _quick_list(kind: Any) -> _Quick:
    part = _quick(kind)

    def read(value: Any, tally: _Tally) -> Any:
        if type(value) is not list:
            raise _MismatchError
        tally.add(len(value))
        return tuple([part(each, tally) for each in value])

    return read


def _quick_table(kind: Any) -> _Quick:
    part = _quick(kind)

    def read(value: Any, tally: _Tally) -> Any:
        if type(value) is not dict:
            raise _MismatchError
        tally.add(2 * len(value))
        return {_text(key, tally): part(each, tally) for key, each in value.items()}

    return read


class _DataReader:
    """Check and convert the values of one document."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.values = 0

    def refuse(self, path: str, wanted: str) -> InputError:
        """Make the error for a value other than `wanted`."""
        return InputError(f"{self.where}: {path or 'the document'} is not {wanted}")

    def read(self, kind: Any, value: Json, path: str) -> Any:
        """Convert a value to `kind`, a type of plain data."""
        self.values += 1
        if self.values > MOST:
            raise InputError(f"{self.where}: more than {MOST:,} values")
        if kind is str:
            if not isinstance(value, str) or len(value) > LONGEST or not _is_unicode(value):
                raise self.refuse(path, f"a text of at most {LONGEST:,} characters")
            return value
        if kind is bool:
            if not isinstance(value, bool):
                raise self.refuse(path, "true or false")
            return value
        if kind is int:
            if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
                raise self.refuse(path, "a whole number of at most 53 bits")
            return value
        if dataclasses.is_dataclass(kind):
            return self.dataclass(kind, value, path)
        return self.composite(kind, value, path)

    def composite(self, kind: Any, value: Json, path: str) -> Any:
        """Convert a value to an optional type, a tuple or a mapping."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin in (types.UnionType, typing.Union):
            rest = [each for each in arguments if each is not type(None)]
            return (
                None
                if value is None and len(rest) < len(arguments)
                else self.read(rest[0], value, path)
            )
        if origin is tuple:
            if not isinstance(value, list):
                raise self.refuse(path, "a list")
            return tuple(
                self.read(arguments[0], each, f"{path}[{i}]") for i, each in enumerate(value)
            )
        if origin is Mapping:
            if not isinstance(value, dict):
                raise self.refuse(path, "a table")
            return {
                self.read(str, key, path): self.read(arguments[1], each, f"{path}.{key[:80]}")
                for key, each in value.items()
            }
        raise TypeError(f"{kind} is not plain data")

    def dataclass(self, kind: Any, value: Json, path: str) -> Any:
        """Convert a mapping to a dataclass."""
        if not isinstance(value, dict):
            raise self.refuse(path, f"a table that describes a {kind.__name__}")
        found = {}
        for name, type_, is_needed in _fields(kind):
            here = f"{path}.{name}" if path else name
            if name in value:
                found[name] = self.read(type_, value[name], here)
            elif is_needed:
                raise self.refuse(here, "there")
        make: Callable[..., Any] = kind
        return make(**found)


class _Field(NamedTuple):
    """A field of a dataclass. is_needed: it has no default."""

    name: str
    type: Any
    is_needed: bool


@functools.cache
def _fields(kind: Any) -> tuple[_Field, ...]:
    """List the fields of a dataclass, with their types as objects."""
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    return tuple(
        _Field(
            f.name,
            hints[f.name],
            f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING,
        )
        for f in fields
    )


def _is_unicode(text: str) -> bool:
    """Check that a string has no lone surrogate; JSON allows them, but files cannot store them."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)
