"""Candidates for the values of options and arguments, which shells complete.

Nothing is imported here but click, so that options can name their candidates at no cost; what names
them is imported when a shell asks. No candidates are better than an error in a line that somebody
types: a project that cannot be read has none.
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
    """A value out of names that are read when one is given; for another, the nearest is told.

    prefix: of short names, such as -O: all are listed with it, and none is nearest
    """

    name = "name"

    def __init__(self, names: Names, what: str, prefix: str = "") -> None:
        """Describe the names: a function that lists them, and what they are."""
        self.names, self.what, self.prefix = names, what, prefix

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the value; an empty one stands for none."""
        known = list(self.names())
        if value and value not in known:
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
    """Complete the last name of a list with commas, by a name that is not in it."""

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
    """Levels of reports and diffs."""
    from sizeguard.attribution.levels import LEVELS

    return LEVELS


def apps() -> Iterable[str]:
    """Apps of sizeguard.yaml."""
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root

    return [app.name for app in read_config(project_root()).apps]


def targets() -> Iterable[str]:
    """Targets of sizeguard.yaml."""
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root

    return [target.name for target in read_config(project_root()).targets]


def operators() -> Iterable[str]:
    """Operators of the project's runtime, or of the one that this package knows: 0.1 s to read."""
    from sizeguard.projects.root import find_sources
    from sizeguard.runtimes.known import library

    return library(find_sources(None))


def presets() -> Iterable[str]:
    """Runtimes that names are read as."""
    from sizeguard.runtimes.known import NAMES

    return ("auto", *NAMES)


def words() -> Iterable[str]:
    """Words that `sizeguard explain` knows."""
    from sizeguard.report.screen.glossary import WORDS

    return WORDS


def machines() -> Iterable[str]:
    """Machines that the runtime is built for."""
    from sizeguard.toolchains.targets import TARGETS

    return TARGETS


def compilers() -> Iterable[str]:
    """Compilers of the runtime."""
    from sizeguard.toolchains.toolchain import COMPILERS

    return COMPILERS


def linkers() -> Iterable[str]:
    """Linkers of the runtime."""
    from sizeguard.toolchains.toolchain import LINKERS

    return LINKERS


def variants() -> Iterable[str]:
    """Variants of the runtime."""
    from sizeguard.runtimes.runtime import VARIANTS

    return VARIANTS


def optimizations() -> Iterable[str]:
    """Values of -O."""
    from sizeguard.runtimes.runtime import OPTIMIZATIONS

    return OPTIMIZATIONS


def links() -> Iterable[str]:
    """Ways in which the runtime is linked."""
    from sizeguard.runtimes.runtime import LINKS

    return LINKS


def lto_kinds() -> Iterable[str]:
    """Kinds of optimization at link time."""
    from sizeguard.runtimes.runtime import LTO

    return LTO
