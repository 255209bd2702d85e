"""Options that several commands share: option groups, paths, time limits, output format."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from sizeguard.base.errors import InputError
from sizeguard.base.files import is_there

_Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[_Command], _Command]
_MOST_SECONDS = 100_000_000
_WRITTEN = {"--output", "--also", "--save", "--stamp"}
# It reads and writes selections, so a selection may be replaced by its merger.
_IN_PLACE = "sizeguard select merge"


class NamedPath(click.Path):
    """A path on the command line. An empty path, for example from an unset variable, is an error.

    click.Path reads an empty string as the current folder, and raises OSError for too long names.
    With allow_dash, `-` is a standard stream, for which the value is None.
    """

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Check the path before click does."""
        if not os.fspath(value):
            self.fail("the path is empty", param, ctx)
        if os.fspath(value) == "-":
            if self.allow_dash:
                return None
            is_read = self.exists or isinstance(param, click.Argument)
            stream = "input cannot be read" if is_read else "output cannot be written"
            self.fail(f"-: standard {stream} here; name a file", param, ctx)
        try:
            Path(value).stat()
        except (FileNotFoundError, NotADirectoryError):
            pass  # a file to write, or reported by click or the reader
        except (OSError, ValueError) as error:
            if "!" not in os.fspath(value):  # a member of a container may have a long name
                why = error.strerror if isinstance(error, OSError) else str(error)
                self.fail(f"{os.fspath(value)}: {why}", param, ctx)
        return Path(value) if self.is_member(Path(value)) else super().convert(value, param, ctx)

    def is_member(self, path: Path) -> bool:
        """Return whether it names a file in a container, which click cannot find."""
        return False


class OutputPath(NamedPath):
    """The path of an output file; `-` is standard output, for which the value is None."""

    def __init__(self) -> None:
        """Make the values of type Path."""
        super().__init__(path_type=Path, dir_okay=False, allow_dash=True)


class Seconds(click.FloatRange):
    """A time limit. `nan` would never end, and the system's clocks have no room for `1e300`."""

    def __init__(self) -> None:
        """Allow up to three years."""
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that it is a number, and not too large."""
        number = super().convert(value, param, ctx)
        if not number <= _MOST_SECONDS:
            self.fail(f"{value} is not a number of seconds up to {_MOST_SECONDS:,}", param, ctx)
        return number


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


def refuse_inputs_as_outputs(context: click.Context) -> None:
    """Raise InputError if an option for the output names a file that another value names."""
    if context.command_path == _IN_PLACE:
        return
    inputs = [path for name, path in _files(context) if name not in _WRITTEN]
    for name, path in _files(context):
        if name in _WRITTEN and any(path.samefile(each) for each in inputs):
            raise InputError(f"{name}: {path}: is an input of this command; name another file")


def _files(context: click.Context) -> Iterator[tuple[str, Path]]:
    """Yield the regular files that values name, each with its option; arguments have none."""
    for parameter in context.command.params:
        name = max(parameter.opts, key=len) if isinstance(parameter, click.Option) else ""
        for path in _paths(context.params.get(parameter.name or "")):
            if is_there(path) and path.is_file():
                yield name, path


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _paths(each)
