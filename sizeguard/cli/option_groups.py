"""Options that several commands share: groups of them, and the output format."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import click

_Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[_Command], _Command]


def format_option(formats: Sequence[str] = ("terminal", "json")) -> Decorator:
    """Make the option --format; its parameter is `format_`."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(formats),
        default="terminal",
        show_default=True,
        help="Output format.",
    )


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
