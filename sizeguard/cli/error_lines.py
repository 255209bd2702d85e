"""Print the error that ends a command as one line, and keep the traceback of an internal one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from sizeguard import __version__
from sizeguard.base.errors import InputError, SizeguardError
from sizeguard.base.files import NO_ROOM

DEBUG = "SIZEGUARD_DEBUG"  # the variable that shows tracebacks; --debug sets it
INTERRUPTED = 130
INTERNAL = 4
_LONGEST = 300  # characters of an internal error's message


def print_error(error: BaseException) -> int:
    """Print the error on stderr and return the exit code.

    An internal error leaves its traceback in a log. With --debug the traceback is printed, too.
    """
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        import traceback  # 4 ms with what it needs

        click.echo("".join(traceback.format_exception(error)), nl=False, err=True)
    if _is_interrupt(error):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    if isinstance(error, SizeguardError):
        _echo(str(error))
        return error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)  # the help of the group
        return 2
    if isinstance(error, click.ClickException):
        # Escape as SizeguardError does: the message contains words of the command line. Imported on
        # call: 3 ms that a valid command line need not wait for.
        from sizeguard.cli.usage_errors import usage_message

        try:
            message = usage_message(error)
        except OSError:  # a hint looked at files that cannot be read
            message = error.format_message()
        _echo(str(SizeguardError(message)))
        return error.exit_code if isinstance(error, click.UsageError) else 2
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        # No log: there is hardly room for one, and the cause is not in this program.
        _echo(f"{error.filename or 'output'}: {error.strerror}")
        return INTERNAL
    if isinstance(error, FileNotFoundError) and not _is_somewhere():
        _echo("the current folder was removed; change to another one")
        return InputError.exit_code
    _echo(str(SizeguardError(_internal(error))))
    return INTERNAL


def _is_somewhere() -> bool:
    """Return whether the current folder exists."""
    try:
        return bool(Path.cwd())
    except FileNotFoundError:
        return False


def _echo(message: str) -> None:
    """Print one line of error; the word is red on a terminal."""
    # Imported here: it takes 3 ms, and only invalid command lines need it.
    from sizeguard.report.writers.style import Style, wants_colour

    style = Style(colour=wants_colour(is_terminal=sys.stderr.isatty()))
    click.echo(f"{style.paint('error:', 'bold red')} {message}", err=True, color=style.colour)


def _is_interrupt(error: BaseException) -> bool:
    # click raises Abort for Ctrl-C, but also for an EOFError, which is a bug in sizeguard.
    return isinstance(error, KeyboardInterrupt | click.Abort) and not isinstance(
        error.__cause__, EOFError
    )


def _internal(error: BaseException) -> str:
    """Describe an internal error in one line that names the log with its traceback."""
    kind = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    message = " ".join(str(error).split())
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]} …"
    what = f"{kind}: {message}" if message else kind
    try:
        return f"internal error: {what}; log: {_write_log(error)}"
    except OSError as failure:
        return f"internal error: {what}; no log: {failure.strerror}; --debug shows the traceback"


def _write_log(error: BaseException) -> Path:
    """Write the traceback to a new file in the folder for temporary files."""
    import tempfile
    import traceback

    handle, name = tempfile.mkstemp(prefix="sizeguard-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as log:
        python = sys.version.split()[0]
        log.write(f"sizeguard {__version__}, Python {python}, {sys.platform}\n{sys.argv}\n\n")
        log.writelines(traceback.format_exception(error))
    return Path(name)
