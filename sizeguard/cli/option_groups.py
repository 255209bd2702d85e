"""Groups of options that several commands share."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeAlias

_Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[_Command], _Command]


def option_group(parameter: str, kind: type[Any], *options: Decorator) -> Decorator:
    """Make a decorator that adds options to a command.

    The command gets their values as one object in its argument `parameter`.

    kind: a dataclass with a field for each option's value
    """
    names = [field.name for field in dataclasses.fields(kind)]

    def add(command: _Command) -> _Command:
        @functools.wraps(command)
        def with_group(**values: Any) -> Any:
            given = kind(**{name: values.pop(name) for name in names})
            return command(**{parameter: given}, **values)

        decorated: _Command = with_group
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return add
