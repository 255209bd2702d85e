"""Describe an error of the command line in one line: what, where, and what to type instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from sizeguard.base.errors import SizeguardError
from sizeguard.base.nearest import did_you_mean, nearest_file, nearest_names

ARGUMENTS = "sizeguard.arguments"  # in the context's meta: all words of the command line
# Units that people write after numbers, by the placeholder of the option.
_SIZES = {"b": 1, "bytes": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "k": 1_000, "px": 1}
_UNITS = {
    "SECONDS": {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3_600},
    "DAYS": {"d": 1, "days": 1, "w": 7, "weeks": 7},
}
_QUOTED = re.compile(r"'([^']*)'")
_PATH = re.compile(
    r"^(?:File|Directory|Path) '(.*)' (does not exist|is a \w+|is not \w+)\.?$", re.DOTALL
)
_EXTRA = re.compile(r"^Got unexpected extra arguments? \((.*)\)$", re.DOTALL)
# Hints for a command with one argument too many.
_TWO = {
    "report": "sizeguard diff OLD NEW compares two images",
    "history": "--since REF begins at a release or commit",
}


def usage_message(error: click.ClickException) -> str:
    """Write an error of click in our own words."""
    if not isinstance(error, click.UsageError):
        return error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption):
        return _no_such_option(error)
    if isinstance(error, click.MissingParameter):
        return _missing(error)
    if isinstance(error, click.BadOptionUsage):
        return _bad_option(error)
    if isinstance(error, click.BadParameter):
        return _bad_value(error)
    extra = _EXTRA.match(error.message)
    if extra is not None:
        name = error.ctx.info_name if error.ctx is not None else ""
        hint = f"{_TWO[name]}; " if name in _TWO else _named(extra[1], error.ctx)
        return f"unexpected argument '{extra[1]}'; {hint}{_see(error.ctx)}"
    return error.format_message().rstrip(".")


def _named(word: str, context: click.Context | None) -> str:
    """Suggest the option for an argument that names an app or a target."""
    from sizeguard.cli import candidates

    known = {"--app": candidates.apps, "--target": candidates.targets}
    for option in known.keys() & set(_options(context)):
        try:
            if word in known[option]():
                return f"did you mean '{option} {word}'? "
        except SizeguardError:
            return ""
    return ""


def _is_app(word: str) -> bool:
    from sizeguard.cli import candidates

    try:
        return word in candidates.apps()
    except SizeguardError:
        return False


def unknown_command(name: str, words: list[str], known: list[str], context: click.Context) -> str:
    """Say that a command is unknown, and name the nearest. words: those after the name."""
    if name == "help":
        of = [*words[:1]] if words[:1] and words[0] in known else []
        return f"unknown command 'help'; write {' '.join([_words(context), *of, '--help'])}"
    if f"--{name}" in _options(context):
        return f"unknown command '{name}'; did you mean '--{name}'?"
    near = nearest_names(name, known)
    hint = f"did you mean '{near[0]}'?" if near else f"{_words(context)} --help lists all commands"
    return f"unknown command '{name}'; {hint}"


def repeated_option(option: click.Option, context: click.Context) -> str:
    """Say that an option is given more than once but takes one value."""
    name = max(option.opts, key=len)
    return f"option '{name}' is given more than once{_example(context, option.opts)}"


def empty_option(option: click.Option) -> str:
    """Say that an option's value is empty."""
    name = max(option.opts, key=len)
    return f"{name}: the value is empty; leave out {name} for its default"


def _no_such_option(error: click.NoSuchOption) -> str:
    name, known = error.option_name, _options(error.ctx)
    # Without the dashes, which all options have in common
    words = [option.removeprefix("--") for option in known]
    near = nearest_names(name.removeprefix("--"), words) if name.startswith("--") else ()
    meant = f"--{near[0]}" if near else _meant(name, error.ctx)
    if name in ("--no-color", "--no-colour"):
        return f"unknown option '{name}'; the variable NO_COLOR=1 does it"
    hint = f"did you mean '{meant}'?" if meant else _see(error.ctx)
    return f"unknown option '{name}'; {hint}"


# Options of bloaty, twiggy, nm, git and others, and ours that mean the same.
_ELSEWHERE = {
    "-d": "--by",
    "-s": "--sort",
    "-o": "--output",
    "-f": "--format",
    "-w": "--wide",
    "-v": "--debug",
    "--verbose": "--debug",
    "--max-rows": "-n",
    "--limit": "-n",
    "--sort": "--metric",
    "--group-by": "--by",
    "--levels": "--by",
}


def _meant(name: str, context: click.Context | None) -> str:
    """Find our option for an option of other tools, or for --json; empty if there is none."""
    known = _options(context, short=True)
    meant = _ELSEWHERE.get(name, "")
    if meant in known:
        return meant
    parameters = context.command.get_params(context) if context is not None else []
    for parameter in parameters:
        kind = parameter.type
        if isinstance(kind, click.Choice) and name.removeprefix("--") in kind.choices:
            return f"{max(parameter.opts, key=len)} {name.removeprefix('--')}"
    # The parser reads only -b of -by
    typed = [word for word in _typed(context) if word.startswith(name) and f"-{word}" in known]
    return f"-{typed[0]}" if typed and len(name) == 2 else ""


def _missing(error: click.MissingParameter) -> str:
    parameter, context = error.param, error.ctx
    if parameter is None:
        return error.format_message().rstrip(".")
    if isinstance(parameter, click.Option):
        what = f"option '{' / '.join(parameter.opts)}' is required"
        return f"{what}{_example(context, parameter.opts)}"
    name = (parameter.metavar or parameter.name or "").strip(".").upper()
    hint = ""
    if isinstance(parameter.type, click.Choice):
        hint = f": {', '.join(map(str, parameter.type.choices))}"
    return f"missing argument {name}{hint}{_example(context, ())}"


def _bad_option(error: click.BadOptionUsage) -> str:
    if "does not take a value" in error.message:
        return f"option '{error.option_name}' takes no value: write {error.option_name} alone"
    if "requires" not in error.message and "expected" not in error.message:
        return f"{error.option_name}: {error.message.rstrip('.')}"
    return f"option '{error.option_name}' needs a value{_example(error.ctx, (error.option_name,))}"


def _bad_value(error: click.BadParameter) -> str:
    parameter = error.param
    where = ""
    if isinstance(parameter, click.Option):
        where = f"{max(parameter.opts, key=len)}: "
    elif parameter is not None:
        where = f"{(parameter.metavar or parameter.name or '').strip('[].').upper()}: "
    message = error.message.rstrip(".")
    given = _QUOTED.search(message)
    if parameter is not None and isinstance(parameter.type, click.Choice) and given is not None:
        known = [str(each) for each in parameter.type.choices]
        several = given[1].split(",")
        if len(several) > 1 and set(several) <= set(known):
            return f"{where}'{given[1]}' is several values; give one of them"
        return f"{where}unknown value '{given[1]}'{did_you_mean(given[1], known)}"
    if given is not None and message.startswith("unknown variant") and _is_app(given[1]):
        return f"{where}'{given[1]}' is an app; write selective --app {given[1]}"
    path = _PATH.match(error.message)
    if path is not None:
        return f"{where}{_path(path[1], path[2], parameter, error.ctx)}"
    message = message.replace("is not a valid float range", "is not a valid number")
    message = message.replace("is not a valid integer range", "is not a valid integer")
    plain = _plain_number(given[1], parameter) if given and "is not a valid" in message else ""
    return f"{where}{_range(message)}{plain}"


def _plain_number(text: str, parameter: click.Parameter | None) -> str:
    """End a message with the number that a text with a unit means; empty if it is none."""
    found = re.fullmatch(r"(\d[\d,_]*) *([A-Za-z]*)", text, re.ASCII)
    if found is None or parameter is None:
        return ""
    units = _UNITS.get(str(parameter.metavar), _SIZES)
    factor = 1 if not found[2] else units.get(found[2].casefold())
    number = int(re.sub("[,_]", "", found[1]))
    return f"; write {number * factor}" if factor else ""


def _path(
    name: str, why: str, parameter: click.Parameter | None, context: click.Context | None
) -> str:
    if why == "is a directory":
        return f"{name}: is a folder, not a file"
    if why == "is a file":
        return f"{name}: is a file, not a folder"
    if why == "is not readable":
        return f"{name}: cannot read: Permission denied"
    if why != "does not exist":
        return f"{name} {why}"
    is_folder = (
        parameter is not None
        and isinstance(parameter.type, click.Path)
        and not parameter.type.file_okay
    )
    what = "folder" if is_folder else "file"
    first, *others = [word for word in _typed(context) if not word.startswith("-")] or [""]
    if first == "why" and others[:1] == [name] and Path(others[-1]).exists():
        command = shlex.join(["sizeguard", "why", others[-1], name])
        return f"{name}: no such {what}; the image comes first: {command}"
    return f"{name}: no such {what}{nearest_file(Path(name))}"


def _range(message: str) -> str:
    """Write click's `x>=0` and `0<=x<=5` in words."""
    message = re.sub(r"\bx>=(-?[\d.]+)", r"of at least \1", message)
    message = re.sub(r"\bx>(-?[\d.]+)", r"above \1", message)
    message = re.sub(r"(-?[\d.]+)<=x<=(-?[\d.]+)", r"from \1 to \2", message)
    return message.replace("is not in the range", "is not a value")


def _typed(context: click.Context | None) -> list[str]:
    """Return the words of the command line after `sizeguard`."""
    words = context.meta.get(ARGUMENTS, ()) if context is not None else ()
    return [str(word) for word in words]


def _words(context: click.Context | None) -> str:
    return context.command_path if context is not None else "sizeguard"


def _see(context: click.Context | None) -> str:
    return f"see {_words(context)} --help"


def _options(context: click.Context | None, *, short: bool = False) -> list[str]:
    parameters = context.command.get_params(context) if context is not None else []
    options = [each for each in parameters if isinstance(each, click.Option) and not each.hidden]
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    return [*(name for name in names if short or name.startswith("--")), "--debug"]


def _example(context: click.Context | None, options: tuple[str, ...] | list[str]) -> str:
    """Return the first example of the help that has one of the options, as the end of a message."""
    for line in _examples(context):
        words = line.split()
        if not options or any(option in words for option in options):
            return f"; for example: {line} ({_words(context)} --help)"
    return f"; {_see(context)}"


def _examples(context: click.Context | None) -> Iterator[str]:
    """Read the example command lines of a command's help, with continued lines joined."""
    text = (context.command.help or "") if context is not None else ""
    _, _, text = text.partition("Example")
    joined = re.sub(r"\s*\\\n\s*", " ", text)
    yield from (
        line.strip()
        for line in re.findall(r"(?:^|:)[ \t]*(sizeguard (?:[^\n ]| (?! ))+)", joined, re.M)
    )
