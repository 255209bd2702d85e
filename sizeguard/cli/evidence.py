"""Turns the options that report and diff share into the evidence of an image, and into where and how a result is printed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sizeguard.attribution.analysis import Analysis
    from sizeguard.attribution.known_names import KnownNames
    from sizeguard.report.style import Style

FORMATS = ("terminal", "json", "csv", "markdown", "html")
LARGE = 64 << 20  # bytes of an image whose analysis fetches the same memory again and again
LEVELS = "operator kernel dtype component kind section segment object symbol analyzer"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the command line says about how an image was made."""

    objects: tuple[Path, ...]
    map: Path | None
    debug_file: Path | None
    preset: str
    rules: Path | None
    arch: str

    def analysis_of(self, path: Path, known: KnownNames | None = None) -> Analysis:
        """Of a binary, a build or a snapshot. known: names that another image has, too."""
        from sizeguard.attribution.snapshot_magic import is_snapshot

        if is_snapshot(path):
            from sizeguard.attribution.snapshot import read_snapshot

            return read_snapshot(path)
        _prepare_memory(path)
        from sizeguard.attribution.sources import analysis_of

        analysis = analysis_of(
            path,
            objects=self.objects,
            map_=self.map,
            debug_file=self.debug_file,
            preset=self.preset,
            rules=self.rules,
            arch=self.arch,
        )
        if known is not None:
            analysis.look_up(known)
        return analysis


def _prepare_memory(path: Path) -> None:
    if path.is_file() and path.stat().st_size >= LARGE:
        from sizeguard.memory import keep_freed

        keep_freed()


@dataclass(frozen=True, slots=True)
class Output:
    """How and where a result is printed."""

    format: str
    file: Path | None
    ascii: bool

    def style(self) -> Style:
        """As wide as the terminal, 100 where there is none; colours on a terminal only, and not with NO_COLOR."""
        import os
        import shutil
        import sys

        from sizeguard.report.style import Style

        width = shutil.get_terminal_size((100, 24)).columns if self.file is None else 100
        colour = self.file is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
        return Style(max(width, 60), colour, self.ascii or (self.file is None and not encoding.startswith("utf")))

    def emit(self, chunks: Iterable[str]) -> None:
        """To stdout, or into a file, atomically."""
        if self.file is not None:
            from sizeguard.files import write_atomic

            write_atomic(self.file, chunks)
            return
        import sys

        # As bytes: CSV has its own line ends, and names out of damaged files may hold what an encoding lacks.
        sys.stdout.flush()
        for chunk in chunks:
            sys.stdout.buffer.write(chunk.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()


def evidence_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--objects, --map, --debug-file, --preset, --rules and --arch, handed over as one Evidence."""

    @functools.wraps(function)
    def with_evidence(
        objects: tuple[Path, ...], map_: Path | None, debug_file: Path | None, preset: str, rules: Path | None, arch: str, **others: Any
    ) -> Any:
        return function(evidence=Evidence(objects, map_, debug_file, preset, rules, arch), **others)

    existing = click.Path(path_type=Path, exists=True)
    return _add(
        with_evidence,
        click.option("--objects", multiple=True, type=existing, metavar="FILE", help="Object or archive of the link. May be given again."),
        click.option("--map", "map_", type=existing, metavar="FILE", help="The linker map made with the image."),
        click.option("--debug-file", type=existing, metavar="FILE", help="The same build with symbols or debug information."),
        click.option("--preset", default="auto", show_default=True, metavar="NAME", help="Rules for names: sizeguard executorch aten."),
        click.option("--rules", type=existing, metavar="FILE", help="Rules of your own, which come before those of the preset."),
        click.option("--arch", default="", metavar="NAME", help="One image of a fat Mach-O file: arm64, x86_64 …"),
    )


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--format, --output and --ascii, handed over as one Output."""

    @functools.wraps(function)
    def with_output(format_: str, output: Path | None, ascii_: bool, **others: Any) -> Any:
        return function(output=Output(format_, output, ascii_), **others)

    return _add(
        with_output,
        click.option("--format", "format_", type=click.Choice(FORMATS), default="terminal", show_default=True),
        click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write there instead of to the terminal."),
        click.option("--ascii", "ascii_", is_flag=True, help="Print nothing but ASCII on the terminal."),
    )


def _add(function: Callable[..., Any], *options: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[..., Any]:
    for option in reversed(options):
        function = option(function)
    return function


def levels_of(by: str) -> list[str]:
    return [level.strip() for level in by.split(",") if level.strip()]
