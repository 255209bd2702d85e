"""Turns decoded JSON of unknown origin into values of expected types; errors name the path to what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sizeguard.errors import InputError
from sizeguard.model_import.program import INT64_MAX, INT64_MIN


@dataclass(frozen=True, slots=True)
class Json:
    """A value inside a JSON document. `parent` and `step` give its path, spelled only when something is wrong."""

    value: object
    step: str
    parent: Json | None = None

    @property
    def where(self) -> str:
        return f"{self.parent.where}{self.step}" if self.parent else self.step

    def wrong(self, wanted: str) -> InputError:
        shown = ascii(self.value)[:40] if isinstance(self.value, str | float | None) else type(self.value).__name__
        if isinstance(self.value, int) and abs(self.value) < 2**70:
            shown = str(self.value)
        return InputError(f"{self.where}: expected {wanted}, found {shown}")

    def get(self, name: str) -> Json | None:
        """A field, or None if it is absent or null."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        found = self.value.get(name)
        return None if found is None else Json(found, f".{name}", self)

    def field(self, name: str) -> Json:
        found = self.get(name)
        if found is None:
            raise InputError(f"{self.where}: the field {name} is missing")
        return found

    def fields(self) -> Iterator[tuple[str, Json]]:
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        for name, value in self.value.items():
            yield Json(name, f".{ascii(name)[1:-1]}", self).name(), Json(value, f".{name}", self)

    def union(self) -> tuple[str, Json]:
        """The one field of an object that has exactly one."""
        if not isinstance(self.value, dict) or len(self.value) != 1:
            raise self.wrong("an object with one field")
        return next(self.fields())

    def items(self) -> Iterator[Json]:
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        for i, value in enumerate(self.value):
            yield Json(value, f"[{i}]", self)

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        try:
            self.value.encode()
        except UnicodeEncodeError as error:
            raise self.wrong("a text of Unicode characters") from error
        return self.value

    def name(self) -> str:
        """A text that fits on a line."""
        if not self.text().isprintable():
            raise self.wrong("a name")
        return self.text()

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def integer(self) -> int:
        """A number of 64 bits."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not INT64_MIN <= self.value <= INT64_MAX:
            raise self.wrong("an integer of 64 bits")
        return self.value

    def size(self) -> int:
        if self.integer() < 0:
            raise self.wrong("a number that is not negative")
        return self.integer()

    def number(self) -> float:
        """A float; the infinite ones and NaN are texts in .pt2 files."""
        if isinstance(self.value, str) and self.value in ("Infinity", "-Infinity", "NaN"):
            return float(self.value)
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self.wrong("a number")
        try:
            return float(self.value)
        except OverflowError as error:
            raise self.wrong("a number of 64 bits") from error
