"""Options that several commands share: option groups, paths, time limits, output format."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.core import ParameterSource

from sizeguard.base.errors import OutputError
from sizeguard.base.files import apart, is_there, write_atomic

_Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[_Command], _Command]
_MOST_SECONDS = 100_000_000
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
            mode = Path(value).stat().st_mode
            # click takes a FIFO for a folder.
            if not self.file_okay and not stat.S_ISDIR(mode):
                self.fail(f"{os.fspath(value)}: is a file, not a folder", param, ctx)
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


PATH = NamedPath(path_type=Path)  # of a file or a folder
EXISTING = NamedPath(path_type=Path, exists=True)
FILE = NamedPath(path_type=Path, dir_okay=False)
FOLDER = NamedPath(path_type=Path, exists=True, file_okay=False)


class WrittenPath(NamedPath):
    """The path of a file that the command writes."""

    def __init__(self, *, allow_dash: bool = False) -> None:
        """Convert values to Path."""
        super().__init__(path_type=Path, dir_okay=False, allow_dash=allow_dash)


class WrittenFolder(NamedPath):
    """A folder in which the command writes files that may be inputs, too.

    files: the names of these files
    """

    def __init__(self, *files: str) -> None:
        """Convert values to Path."""
        super().__init__(path_type=Path)
        self.files = files


class WrittenCopy(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A value that contains the path of a file that the command writes."""


class OutputPath(WrittenPath):
    """The path of an output file; `-` is standard output, for which the value is None."""

    def __init__(self) -> None:
        """Allow `-`."""
        super().__init__(allow_dash=True)


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


# Where a result is written; the command gets it as `file`.
OUTPUT_FILE = click.option(
    "-o",
    "--output",
    "file",
    type=OutputPath(),
    metavar="FILE",
    help="Write to this file instead of to the terminal.",
)


def print_result(text: str, file: Path | None) -> None:
    """Print a result, or write it atomically to a file; add the last newline.

    An empty text is nothing on the terminal, and an empty file.
    """
    if file is not None:
        write_atomic(file, f"{text}\n" if text else "")
    elif text:
        click.echo(text)


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


def given_besides(context: click.Context, names: Collection[str]) -> str:
    """Return an option of the command line whose parameter is not among these; empty for none."""
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if is_given and name not in names:
            return max(parameter.opts, key=len)
    return ""


@contextlib.contextmanager
def outputs_apart(context: click.Context) -> Iterator[None]:
    """Keep the outputs of a command apart from each other and from its inputs while it runs.

    Raises OutputError if an option for an output names the file of another option. Later, a file
    that the command finds by itself is refused when the command reads it.
    """
    if context.command_path == _IN_PLACE:
        yield
        return
    files = list(_files(context))
    written = [(name, path) for name, path, is_written in files if is_written]
    for i, (name, path) in enumerate(written):
        if any(_are_same(path, other) for _, other, is_written in files if not is_written):
            raise OutputError(f"{name}: {path}: is an input of this command; name another file")
        for earlier, other in written[:i]:
            if _are_same(path, other):
                both = f"{earlier} writes it, too" if earlier != name else "is named twice"
                raise OutputError(f"{name}: {path}: {both}; name another file")
    with apart(written):
        yield


def _are_same(path: Path, other: Path) -> bool:
    """Return whether two paths name one regular file, which may not exist yet."""
    if is_there(path) and is_there(other):
        return path.is_file() and path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


def _files(context: click.Context) -> Iterator[tuple[str, Path, bool]]:
    """Yield the paths that values name, each with its option, and whether the command writes it.

    Arguments have no option.
    """
    for parameter in context.command.params:
        name = max(parameter.opts, key=len) if isinstance(parameter, click.Option) else ""
        kind = parameter.type
        for path in paths_of(context.params.get(parameter.name or "")):
            if isinstance(kind, WrittenFolder):
                yield from ((name, path / file, True) for file in kind.files)
            else:
                yield name, path, isinstance(kind, WrittenPath | WrittenCopy)


def paths_of(value: Any) -> Iterator[Path]:
    """Yield the paths in the value of an option or argument."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from paths_of(each)
