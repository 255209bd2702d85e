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
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from sizeguard.base.errors import InputError

LARGEST = 1 << 53  # integers; many JSON readers round larger ones
LONGEST = 20_000  # characters in a string
MOST = 200_000  # values in a document

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"
_T = TypeVar("_T")


def encode(value: object) -> Json:
    """Convert plain data to JSON values.

    Raises TypeError for anything else.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple | list):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): encode(each) for key, each in value.items()}
    if dataclasses.is_dataclass(value):
        return {
            field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    raise TypeError(f"{type(value).__name__} is not plain data")


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
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON: {error}") from error
    return value


def decode(kind: type[_T], value: Json, where: str) -> _T:
    """Build a dataclass from a JSON value; the types of its fields are checked.

    Unknown keys are ignored; a missing key gets the field's default.

    Raises InputError, beginning with `where` and the path to the value, for a value that is too
    large or of another type.
    """
    found = _DataReader(where).read(kind, value, "")
    if not isinstance(found, kind):
        raise TypeError(f"{kind.__name__} is not a dataclass")
    return found


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


@functools.cache
def _fields(kind: Any) -> Iterable[tuple[str, Any, bool]]:
    """Return name, type, and whether it is required, for each field."""
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    return tuple(
        (
            f.name,
            hints[f.name],
            f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING,
        )
        for f in fields
    )


def _is_unicode(text: str) -> bool:
    """Check that a string has no lone surrogate; JSON allows them, but files cannot store them."""
    return not any("\ud800" <= c <= "\udfff" for c in text) if not text.isascii() else True
