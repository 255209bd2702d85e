"""Candidates for the values of options and arguments, which shells complete.

This module imports only click, so that it costs nothing at start-up; the functions import what they
need when a shell asks. A project that cannot be read has no candidates: an error would end up in
the user's command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from sizeguard.base.errors import SizeguardError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Names = Callable[[], Iterable[str]]
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


class OneOf(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A value that must be one of some names; the error for another one suggests the nearest.

    prefix: prefix of short names, such as -O; an error lists all of them with it and suggests none
    """

    name = "name"

    def __init__(self, names: Names, what: str, prefix: str = "") -> None:
        """Take the function that lists the names, and the word for their kind."""
        self.names, self.what, self.prefix = names, what, prefix

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the value; empty is the default of some options."""
        known = list(self.names())
        is_default = param is not None and param.default == value == ""
        if value not in known and not is_default:
            from sizeguard.base.nearest import did_you_mean

            hint = did_you_mean(value, known)
            if self.prefix:
                hint = f"; there are {', '.join(f'{self.prefix}{each}' for each in known)}"
            self.fail(f"unknown {self.what} '{value}'{hint}", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete a name."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in _starting(self.names, incomplete)]


def one_of(names: Names) -> Complete:
    """Complete one name."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        return _starting(names, incomplete)

    return complete


def list_of(names: Names) -> Complete:
    """Complete the last name of a comma-separated list with names that are not in it yet."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        head, comma, last = incomplete.rpartition(",")
        taken = head.split(",")
        return [f"{head}{comma}{name}" for name in _starting(names, last) if name not in taken]

    return complete


def filters(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete LEVEL=, and the name of an operator."""
    level, equals, name = incomplete.partition("=")
    if not equals:
        return [f"{each}=" for each in _starting(levels, level)]
    return [f"{level}={each}" for each in _starting(operators, name)] if level == "operator" else []


def metrics(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete a metric's path, and the name of an operator."""
    from sizeguard.measurement.metric_kinds import NAMED, TOTALS

    kind, slash, name = incomplete.partition("/")
    if not slash:
        return _starting(lambda: (*TOTALS, *(f"{each}/" for each in NAMED)), kind)
    return [f"{kind}/{each}" for each in _starting(operators, name)] if kind == "operator" else []


def _starting(names: Names, text: str) -> list[str]:
    try:
        return [name for name in names() if name.startswith(text)]
    except (SizeguardError, OSError):
        return []


def levels() -> Iterable[str]:
    """List the levels of reports and diffs."""
    from sizeguard.attribution.levels import LEVELS

    return LEVELS


def apps() -> Iterable[str]:
    """List the apps of sizeguard.yaml."""
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root

    return [app.name for app in read_config(project_root()).apps]


def targets() -> Iterable[str]:
    """List the targets of sizeguard.yaml."""
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root

    return [target.name for target in read_config(project_root()).targets]


def operators() -> Iterable[str]:
    """List the operators of the project's runtime, else of this package's own; takes 0.1 s."""
    from sizeguard.projects.root import find_sources
    from sizeguard.runtimes.known import library

    return library(find_sources(None))


def presets() -> Iterable[str]:
    """List the runtimes that --preset accepts."""
    from sizeguard.runtimes.known import NAMES

    return ("auto", *NAMES)


def words() -> Iterable[str]:
    """List the words that `sizeguard explain` explains."""
    from sizeguard.report.screen.glossary import WORDS

    return WORDS


def machines() -> Iterable[str]:
    """List the machines that the runtime can be built for."""
    from sizeguard.toolchains.targets import TARGETS

    return TARGETS


def compilers() -> Iterable[str]:
    """List the compilers that can build the runtime."""
    from sizeguard.toolchains.toolchain import COMPILERS

    return COMPILERS


def linkers() -> Iterable[str]:
    """List the linkers that can link the runtime."""
    from sizeguard.toolchains.toolchain import LINKERS

    return LINKERS


def variants() -> Iterable[str]:
    """List the variants of the runtime."""
    from sizeguard.runtimes.runtime import VARIANTS

    return VARIANTS


def optimizations() -> Iterable[str]:
    """List the values of -O."""
    from sizeguard.runtimes.runtime import OPTIMIZATIONS

    return OPTIMIZATIONS


def links() -> Iterable[str]:
    """List the kinds of link."""
    from sizeguard.runtimes.runtime import LINKS

    return LINKS


def lto_kinds() -> Iterable[str]:
    """List the kinds of LTO."""
    from sizeguard.runtimes.runtime import LTO

    return LTO
