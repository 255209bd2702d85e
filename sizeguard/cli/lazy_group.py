"""Import a command's file when the command is called.

`sizeguard --help` takes 0.05 s; with the imports of all commands it would take 0.6 s.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizeguard.base.errors import InputError, OutputError
from sizeguard.cli.exit_codes import exit_code_help, words_help
from sizeguard.cli.option_groups import outputs_apart, paths_of
from sizeguard.cli.streams import fit_output, print_ascii

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


# Its output is for shells.
_READ_BY_PROGRAMS = ("completion",)
# Prints a selection file to stdout, which must keep its lines; its messages go to stderr.
_PRINTS_FILES = ("select merge",)

LEAST_WIDTH = 40  # columns of the narrowest terminal
MOST_WIDTH = 10_000  # columns; a line of more is not read on a screen
_AGAIN = " May be given again."  # the end of an option's help
WIDTH = "sizeguard.width"  # in the context's meta: the width at which lines are broken, if any
_WIDE = "sizeguard.wide"


class PlainGroup(click.Group):
    """A group of commands that suggests the nearest name for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the words name. Raises UsageError with the nearest name."""
        known = self.list_commands(ctx)
        is_named = bool(args) and not args[0].startswith("-")
        if is_named and args[0] not in known and not ctx.resilient_parsing:  # not in completion
            # Imported on call: 3 ms that a valid command line need not wait for.
            from sizeguard.cli.usage_errors import unknown_command

            raise click.UsageError(unknown_command(args[0], args[1:], known, ctx), ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(PlainGroup):
    """A group of commands that are imported when they are called.

    sections: heading in --help → name → (module in sizeguard.cli, help of one line); the module has
          `command`
    path: the words after `sizeguard` that call the group
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, tuple[str, str]]],
        path: str = "",
        **options: Any,
    ) -> None:
        """Make a group; other arguments go to click.Group."""
        super().__init__(*args, **options)
        self._sections = sections
        self._by_name = {name: each for part in sections.values() for name, each in part.items()}
        self._path = path

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names in the order of the sections."""
        return list(self._by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; None for an unknown name."""
        if cmd_name not in self._by_name:
            return None
        module = f"sizeguard.cli.{self._by_name[cmd_name][0]}"
        command = importlib.import_module(module).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.command is not a click command")
        command.name = cmd_name
        complete_command(f"{self._path} {cmd_name}".strip(), command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the commands without importing them, and the group's options."""
        # Imported when a shell asks: 5 ms.
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=text)
            for name, (_, text) in self._by_name.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of each section without importing them."""
        for heading, commands in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items()])


def complete_command(path: str, command: click.Command) -> None:
    """Give a command the options, checks and help that all commands have.

    path: the words after `sizeguard` that call the command
    """
    _tell_exit_codes(path, command)
    for words, each in _leaves(path, command):
        _name_options(each)
        _refuse_repeats(each)
        _tell_values(each)
        if path not in _READ_BY_PROGRAMS:
            _add_screen(words, each)


def _tell_exit_codes(path: str, command: click.Command) -> None:
    """Add the exit codes to the help of a command and of its sub-commands."""
    command.epilog = "\n\n".join(filter(None, (words_help(path), exit_code_help(path))))
    if isinstance(command, click.Group) and not isinstance(command, LazyGroup):
        for name, each in command.commands.items():
            _tell_exit_codes(f"{path} {name}", each)


def _leaves(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """Yield the words and the command of each imported command that has no sub-commands."""
    if not isinstance(command, click.Group):
        yield path, command
    elif not isinstance(command, LazyGroup):
        for name, each in command.commands.items():
            yield from _leaves(f"{path} {name}", each)


def _name_options(command: click.Command) -> None:
    """Keep inputs from being overwritten; errors about a file name the option it was given with."""
    run = command.callback
    if run is None:
        return

    @functools.wraps(run)
    def named(*arguments: Any, **values: Any) -> Any:
        context = click.get_current_context()
        try:
            with outputs_apart(context):
                return run(*arguments, **values)
        except (InputError, OutputError) as error:
            option = _option_of(str(error), context)
            if option:
                error.args = (f"{option}: {error}",)
            raise

    command.callback = named


def _refuse_repeats(command: click.Command) -> None:
    """Make a second value of an option an error, and an empty one that would mean the default.

    click takes the last value and says nothing.
    """
    parse = command.parse_args

    def parse_once(ctx: click.Context, args: list[str]) -> list[str]:
        _, _, given = command.make_parser(ctx).parse_args(list(args))
        once = [each for each in given if isinstance(each, click.Option) and _has_one_value(each)]
        for option in once:
            if once.count(option) > 1 and not ctx.resilient_parsing:
                # Imported on call: 3 ms that a valid command line need not wait for.
                from sizeguard.cli.usage_errors import repeated_option

                raise click.UsageError(repeated_option(option, ctx), ctx)
        left = parse(ctx, args)
        for option in once:
            # An unset variable must not widen a waiver from --app "$APP" to all apps.
            is_empty = option.default == "" == ctx.params.get(option.name or "")
            if is_empty and not ctx.resilient_parsing:
                from sizeguard.cli.usage_errors import empty_option

                raise click.UsageError(empty_option(option), ctx)
        return left

    command.parse_args = parse_once  # type: ignore[method-assign]


def _tell_values(command: click.Command) -> None:
    """Name numbers alike in the help of all commands, and say which options may be repeated."""
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        if option.metavar is None and isinstance(option.type, click.IntRange):
            option.metavar = "N"
        if option.multiple and not (option.help or "").endswith(_AGAIN):
            option.help = f"{option.help}{_AGAIN}"


def _has_one_value(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.count)


def _option_of(message: str, context: click.Context) -> str:
    """Return the option whose file a message begins with; empty if it is of none, or named."""
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        names = parameter.opts if isinstance(parameter, click.Option) else ()
        for path in paths_of(given):
            is_its = _begins_with(message, path)
            if names and is_its and not any(name in message for name in names):
                return max(names, key=len)
    return ""


def _begins_with(message: str, path: Path) -> bool:
    """Return whether a message begins with a path, which a line number may follow."""
    rest = message.removeprefix(f"{path}:")
    return message.startswith(f"'{path}'") or (rest != message and rest[:1] in " 0123456789")


def _add_screen(path: str, command: click.Command) -> None:
    """Add --ascii, --width and --wide to a command if it lacks them."""
    known = {word for parameter in command.params for word in parameter.opts}
    options = [_ascii_option(), *_width_options("stderr" if path in _PRINTS_FILES else "stdout")]
    command.params += [option for option in options if option.opts[0] not in known]


def _ascii_option() -> click.Option:
    return click.Option(
        ["--ascii"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_ascii,
        help="Print only ASCII on the terminal.",
    )


def _width_options(stream: str) -> list[click.Option]:
    """Make --width and --wide; stream: where the command prints for people, stdout or stderr."""
    return [
        click.Option(
            ["--width"],
            type=click.IntRange(LEAST_WIDTH, MOST_WIDTH),
            metavar="N",
            expose_value=False,
            callback=functools.partial(_fit_width, stream),
            help="Break lines at N columns. Default: the terminal's width; no limit in a pipe.",
        ),
        click.Option(
            ["--wide"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_keep_lines,
            help="Do not break lines.",
        ),
    ]


def _print_ascii(context: click.Context, option: click.Parameter, is_given: bool) -> None:
    if is_given:
        print_ascii()


def _keep_lines(context: click.Context, option: click.Parameter, is_given: bool) -> None:
    context.meta[_WIDE] = is_given


def _fit_width(
    stream: str, context: click.Context, option: click.Parameter, width: int | None
) -> None:
    """Break the lines of a stream at the width that is asked for, or at that of the terminal."""
    if context.resilient_parsing or context.meta.get(_WIDE) or context.params.get("wide"):
        return
    if width is None:
        if not getattr(sys, stream).isatty():
            return
        width = terminal_width()

    context.meta[WIDTH] = width
    context.call_on_close(fit_output(stream, width, lambda: _is_for_people(context)))


def terminal_width() -> int:
    """Return the columns of the terminal, or of the variable COLUMNS, within sensible limits."""
    import shutil  # 1 ms, which output to a pipe saves

    return min(max(shutil.get_terminal_size((100, 24)).columns, LEAST_WIDTH), MOST_WIDTH)


def screen_width() -> int | None:
    """Return the width at which the running command's lines are broken; None for any width."""
    width: int | None = click.get_current_context().meta.get(WIDTH)
    return width


def _is_for_people(context: click.Context) -> bool:
    """Return whether the command prints a table or sentences, and no format for programs."""
    formats = [p.name for p in context.command.params if "--format" in p.opts]
    return all(context.params.get(name or "") == "terminal" for name in formats)
