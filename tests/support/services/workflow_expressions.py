"""Evaluate the expressions that our GitHub workflows use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||==|!=|[!(),]|[A-Za-z_][\w.*-]*|\d+)")
_CONTEXTS = ("github", "inputs", "steps", "runner", "matrix")
_STATUS = ("always", "success", "failure", "cancelled")

Value = str | bool


@dataclass(frozen=True)
class Context:
    """What expressions refer to.

    values: by their whole names, such as github.event.number; what a step or an event does not say
            is empty
    """

    values: Mapping[str, str]
    is_failed: bool = False

    def text(self, template: object) -> str:
        """Replace the expressions in a string."""
        return re.sub(
            r"\$\{\{\s*(.+?)\s*\}\}", lambda found: shown(self.evaluate(found[1])), str(template)
        )

    def holds(self, condition: str) -> bool:
        """Evaluate the `if` of a step: without a status function it asks for success."""
        text = condition.strip().removeprefix("${{").removesuffix("}}").strip()
        asks = any(f"{name}()" in text.replace(" ", "") for name in _STATUS)
        if not asks and self.is_failed:
            return False
        return not text or bool(self.evaluate(text))

    def evaluate(self, text: str) -> Value:
        """Evaluate an expression; raise ValueError for one that is unknown here."""
        found = _Reader([*_tokens(text)], self)
        value = found.either()
        if found.rest:
            raise ValueError(f"{text}: {found.rest[0]!r} is not understood")
        return value


def shown(value: Value) -> str:
    """Write a value as GitHub does."""
    return value if isinstance(value, str) else str(value).lower()


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"{text}: {text[at:]!r} is not understood")
        yield found[1]
        at = found.end()


@dataclass
class _Reader:
    rest: list[str]
    context: Context

    def either(self) -> Value:
        value = self.both()
        while self._takes("||"):
            other = self.both()
            value = value or other
        return value

    def both(self) -> Value:
        value = self.equal()
        while self._takes("&&"):
            other = self.equal()
            value = other if value else value
        return value

    def equal(self) -> Value:
        value = self.one()
        while self.rest[:1] in (["=="], ["!="]):
            is_equal = self.rest.pop(0) == "=="
            other = self.one()
            value = (shown(value).lower() == shown(other).lower()) == is_equal
        return value

    def one(self) -> Value:
        token = self.rest.pop(0)
        if token == "!":
            return not self.one()
        if token == "(":
            value = self.either()
            assert self._takes(")")
            return value
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token.isdigit():
            return token
        if self._takes("("):
            return self._call(token)
        if token in ("true", "false"):
            return token == "true"
        if token.partition(".")[0] not in _CONTEXTS:
            raise ValueError(f"{token} is not a context")
        return self.context.values.get(token, "")

    def _call(self, name: str) -> Value:
        given = []
        while not self._takes(")"):
            given.append(shown(self.either()))
            self._takes(",")
        failed = self.context.is_failed
        match name:
            case "always":
                return True
            case "success" | "failure":
                return failed == (name == "failure")
            case "cancelled":
                return False
            case "startsWith":
                return given[0].lower().startswith(given[1].lower())
            case "format":
                return re.sub(r"\{(\d)\}", lambda found: given[int(found[1]) + 1], given[0])
        raise ValueError(f"{name} is not a function")

    def _takes(self, token: str) -> bool:
        if self.rest[:1] == [token]:
            del self.rest[0]
            return True
        return False
