"""Read fields of untrusted JSON as values of expected types.

Errors name the path of the field.
"""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


@dataclass(frozen=True, slots=True)
class Json:
    """A value inside a JSON document.

    parent, step: give its path, which is only built for errors
    """

    value: object
    step: str
    parent: Json | None = None

    @property
    def where(self) -> str:
        """The path of the value."""
        return f"{self.parent.where}{self.step}" if self.parent else self.step

    def wrong(self, wanted: str) -> InputError:
        """Make an error with the expected and the actual value."""
        shown = (
            ascii(self.value)[:40]
            if isinstance(self.value, str | float | None)
            else type(self.value).__name__
        )
        if isinstance(self.value, int) and abs(self.value) < 2**70:
            shown = str(self.value)
        return InputError(f"{self.where}: expected {wanted}, found {shown}")

    def get(self, name: str) -> Json | None:
        """Return a field, or None if it is absent or null."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        found = self.value.get(name)
        return None if found is None else Json(found, f".{name}", self)

    def field(self, name: str) -> Json:
        """Return a required field."""
        found = self.get(name)
        if found is None:
            raise InputError(f"{self.where}: the field {name} is missing")
        return found

    def fields(self) -> Iterator[tuple[str, Json]]:
        """Return the fields of an object."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        for name, value in self.value.items():
            yield Json(name, f".{ascii(name)[1:-1]}", self).name(), Json(value, f".{name}", self)

    def union(self) -> tuple[str, Json]:
        """Return the one field of an object that has exactly one."""
        if not isinstance(self.value, dict) or len(self.value) != 1:
            raise self.wrong("an object with one field")
        return next(self.fields())

    def items(self) -> Iterator[Json]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        for i, value in enumerate(self.value):
            yield Json(value, f"[{i}]", self)

    def text(self) -> str:
        """Return a string."""
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        try:
            self.value.encode()
        except UnicodeEncodeError as error:
            raise self.wrong("a string of Unicode characters") from error
        return self.value

    def name(self) -> str:
        """Return a string that fits on a line."""
        if not self.text().isprintable():
            raise self.wrong("a name")
        return self.text()

    def boolean(self) -> bool:
        """Return a boolean."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def integer(self) -> int:
        """Return an integer of 64 bits."""
        if (
            not isinstance(self.value, int)
            or isinstance(self.value, bool)
            or not INT64_MIN <= self.value <= INT64_MAX
        ):
            raise self.wrong("an integer of 64 bits")
        return self.value

    def size(self) -> int:
        """Return an integer that is not negative."""
        if self.integer() < 0:
            raise self.wrong("a number that is not negative")
        return self.integer()

    def number(self) -> float:
        """Return a float; in .pt2 files infinities and NaN are strings."""
        if isinstance(self.value, str) and self.value in ("Infinity", "-Infinity", "NaN"):
            return float(self.value)
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self.wrong("a number")
        try:
            return float(self.value)
        except OverflowError as error:
            raise self.wrong("a number of 64 bits") from error
