"""Options shared by report and diff: the image's files, and the format and place of the output."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.attribution.levels import LEVELS, OTHER_NAMES, level_hint
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import is_folder, is_there, write_atomic
from sizeguard.base.tuning import keep_freed
from sizeguard.cli import candidates
from sizeguard.cli.lazy_group import LEAST_WIDTH, MOST_WIDTH, terminal_width
from sizeguard.cli.option_groups import EXISTING, OUTPUT_FILE, Decorator, NamedPath, option_group
from sizeguard.formats.link_kind import OBJECT
from sizeguard.report.result_formats import (
    HISTORY_FORMATS,
    JUDGED_FORMATS,
    SIZE_FORMATS,
    TABLE_FORMATS,
)

if TYPE_CHECKING:
    from sizeguard.attribution.analysis import Analysis
    from sizeguard.attribution.known_labels import KnownLabels
    from sizeguard.report.writers.style import Style

# Bytes; freed memory is kept for files from this size on: see keep_freed. The snapshot of
# libtorch_cpu.so has 5 MB; its columns and names take 300 MB.
LARGE, LARGE_SNAPSHOT = 64 << 20, 1 << 20


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """The options that name the files and rules for the analysis of an image."""

    objects: tuple[Path, ...]
    map: Path | None
    debug_file: Path | None
    preset: str
    rules: Path | None
    arch: str
    linker_script: tuple[Path, ...] = ()

    def analysis_of(
        self,
        path: Path,
        known: KnownLabels | None = None,
        levels: Collection[str] | None = None,
        *,
        loaded_only: bool = False,
    ) -> Analysis:
        """Analyze a binary or a build, or read a snapshot.

        known: names that another image also has
        levels: those that will be requested, or DEFAULT; None for all
        loaded_only: whether bytes that are not loaded may be told apart only by section
        """
        # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
        from sizeguard.snapshots.magic import is_snapshot

        if is_snapshot(path):
            return self._of_snapshot(path)
        _prepare_memory(path, LARGE)
        check_objects(self.objects)
        from sizeguard.attribution.open_analysis import analysis_of

        analysis = analysis_of(
            path,
            objects=self.objects,
            map_=self.map,
            debug_file=self.debug_file,
            preset=self.preset,
            rules=self.rules,
            arch=self.arch,
            levels=levels,
            loaded_only=loaded_only,
            scripts=self.linker_script,
            rules_text="" if self.rules is not None else _rules_of_project(),
        )
        self._refuse_for_object(analysis, path)
        if known is not None:
            analysis.look_up(known)
        return analysis

    def _refuse_for_object(self, analysis: Analysis, path: Path) -> None:
        if self.map is not None and analysis.image.kind == OBJECT:
            raise InputError(f"{self.map}: leave it out; {path} is an object, and has no map")

    def of_old(self, path: Path) -> ImageOptions:
        """Return the options for the old image of a diff, whose files are not the new one's.

        A snapshot keeps the names that its image had.
        """
        from sizeguard.snapshots.magic import is_snapshot

        if is_snapshot(path):
            return ImageOptions((), None, None, "auto", None, "")
        return replace(self, objects=(), map=None, debug_file=None)

    def _of_snapshot(self, path: Path) -> Analysis:
        self._refuse_for_snapshot(path)
        _prepare_memory(path, LARGE_SNAPSHOT)
        # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
        from sizeguard.snapshots.snapshot import read_snapshot

        return read_snapshot(path)

    def _refuse_for_snapshot(self, path: Path) -> None:
        """Raise InputError for files of an image: a snapshot keeps what was known of its image."""
        given = {
            "--objects": self.objects,
            "--map": self.map,
            "--debug-file": self.debug_file,
            "--linker-script": self.linker_script,
            "--arch": self.arch,
            "--rules": self.rules,
            "--preset": self.preset != "auto",
        }
        option = next((name for name, value in given.items() if value), "")
        if option:
            raise InputError(
                f"{path}: {option} is for an image, and this is a snapshot; save it again with"
                f" sizeguard report IMAGE {option} … --save FILE"
            )


def check_objects(objects: Sequence[Path]) -> None:
    """Raise InputError for a folder without objects, and for a file that no linker takes."""
    if not objects:
        return
    from sizeguard.formats.describe import describe_file
    from sizeguard.formats.sniff import UNKNOWN, ZIP, image_format
    from sizeguard.linkgraph.inputs.link_inputs import expand

    for path in objects:
        if is_folder(path):
            expand([path])
        elif image_format(path) in (UNKNOWN, ZIP):
            what = describe_file(path)
            raise InputError(f"{path}: not an object or an archive of objects: {what}")


def _rules_of_project() -> str:
    """Return the rules of the project that the command runs in; empty if there are none."""
    from sizeguard.projects.root import find_project, may_have_rules

    folder = find_project()
    if folder is None or not may_have_rules(folder):
        return ""
    from sizeguard.projects.rules.own_rules import rules_for_report

    return rules_for_report(folder)


class ImagePath(NamedPath):
    """A path that exists, or a member of a container that exists: app.zip!lib/x.so."""

    def __init__(self) -> None:
        """Convert values to Path."""
        super().__init__(path_type=Path, exists=True)

    def is_member(self, path: Path) -> bool:
        """Return whether the container exists; its reader reports a missing member."""
        outer, mark, _ = str(path).partition("!")
        return bool(mark) and not is_there(path) and is_there(Path(outer))


def _prepare_memory(path: Path, large: int) -> None:
    """Keep freed memory if the file is large."""
    if is_there(path) and path.is_file() and path.stat().st_size >= large:
        keep_freed()


@dataclass(frozen=True, slots=True)
class Output:
    """The options for the format and the place of the output."""

    format: str
    file: Path | None
    ascii: bool = False
    width: int | None = None
    wide: bool = False

    def style(self) -> Style:
        """Return the width and colours of the terminal.

        Output that is not a terminal gets full names and no colours, unless --width or FORCE_COLOR
        is set.
        """
        from sizeguard.report.writers.style import Style, wants_colour

        is_terminal = self.file is None and sys.stdout.isatty()
        width = self.width or (terminal_width() if is_terminal else 100)
        encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
        return Style(
            max(width, LEAST_WIDTH),
            self.file is None and wants_colour(is_terminal=is_terminal),
            self.ascii or (self.file is None and not encoding.startswith("utf")),
            full=self.wide or not (is_terminal or self.width),
        )

    def emit(self, chunks: Iterable[str]) -> None:
        """Write to stdout, or atomically to a file."""
        if self.file is not None:
            write_atomic(self.file, chunks)
            return

        # As bytes: CSV has its own line ends, and names in damaged files may contain characters
        # that the encoding lacks.
        # Formats for programs are UTF-8 anywhere: a page says so, and JSON has no other encoding.
        sys.stdout.flush()
        encoding = (sys.stdout.encoding or "utf-8") if self.format == "terminal" else "utf-8"
        for chunk in chunks:
            sys.stdout.buffer.write(chunk.encode(encoding, "backslashreplace"))
        sys.stdout.buffer.flush()


# Options for an image's files, names and architecture; the command gets one ImageOptions.
evidence_options = option_group(
    "evidence",
    ImageOptions,
    click.option(
        "--objects",
        multiple=True,
        type=EXISTING,
        metavar="FILE",
        help="Object or archive of the link.",
    ),
    click.option(
        "--map",
        type=EXISTING,
        metavar="FILE",
        help="The linker map made with the image.",
    ),
    click.option(
        "--debug-file",
        type=EXISTING,
        metavar="FILE",
        help="The same build with symbols or debug information.",
    ),
    click.option(
        "--preset",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="Rules for names: sizeguard, executorch or aten.",
        type=candidates.OneOf(candidates.presets, "preset"),
    ),
    click.option(
        "--rules",
        type=EXISTING,
        metavar="FILE",
        help="Your own rules; they take precedence over the preset's.",
    ),
    click.option(
        "--arch",
        default="",
        metavar="NAME",
        help="One image of a universal Mach-O file: arm64, x86_64 …",
    ),
    click.option(
        "--linker-script",
        multiple=True,
        type=EXISTING,
        metavar="FILE",
        help="A script of the link, whose MEMORY names the regions.",
    ),
)


# Options for terminal output, of all commands that print tables.
SCREEN_OPTIONS = (
    click.option("--ascii", is_flag=True, help="Print only ASCII on the terminal."),
    click.option(
        "--width",
        type=click.IntRange(LEAST_WIDTH, MOST_WIDTH),
        metavar="N",
        help="Fit tables to N columns. Default: the terminal's width; no limit in a pipe.",
    ),
    click.option("--wide", is_flag=True, help="Do not shorten names."),
)


def _output_options(formats: Sequence[str]) -> Decorator:
    """Make the options of a printed result; the command gets one Output."""
    return option_group(
        "output",
        Output,
        click.option(
            "--format",
            type=click.Choice(formats),
            default="terminal",
            show_default=True,
            help="Output format.",
        ),
        OUTPUT_FILE,
        *SCREEN_OPTIONS,
    )


# Each set offers the formats of its kind of result.
output_options = _output_options(SIZE_FORMATS)
history_output_options = _output_options(HISTORY_FORMATS)
table_output_options = _output_options(TABLE_FORMATS)
judged_output_options = _output_options(JUDGED_FORMATS)


_ALSO = {level: f"{level} (or {other})" for other, level in OTHER_NAMES.items()}
NAMES_OF_LEVELS = ", ".join(_ALSO.get(level, level) for level in LEVELS)


def levels_option(default: str) -> Decorator:
    """Make the option --by; default: what its help says of the levels without it."""
    return click.option(
        "--by",
        default=None,
        metavar="A,B",
        help=f"Levels, outermost first: {NAMES_OF_LEVELS}. Default: {default}",
        shell_complete=candidates.list_of(candidates.levels),
    )


rows_option = click.option(
    "-n",
    "limit",
    default=25,
    show_default=True,
    type=click.IntRange(min=0),
    help="Rows to show; 0 for all. JSON, CSV and HTML have all.",
)

filters_option = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="LEVEL=TEXT",
    help="Show only these rows: TEXT, GLOB*, /REGEX/ or unattributed; LEVEL!=TEXT leaves them out.",
    shell_complete=candidates.filters,
)


def levels_of(by: str) -> list[str]:
    """Split the levels of --by, and give them the names of LEVELS.

    Raises InputError for an unknown, repeated or empty level.
    """
    given = [level.strip() for level in by.split(",")]
    levels = [OTHER_NAMES.get(level, level) for level in given]
    if not any(levels):
        raise InputError(f"--by needs a level{level_hint('')}")
    if not all(levels):
        raise InputError(f"--by: '{by}' has an empty level; write {','.join(filter(None, levels))}")
    for level in levels:
        parts = [part for part in re.split(r"[\s/;:+|]+", level) if part]
        if len(parts) > 1 and set(parts) <= set(LEVELS):
            raise InputError(f"--by: '{level}': separate levels by commas: {','.join(parts)}")
        if level not in LEVELS:
            raise InputError(f"--by: unknown level '{level}'{level_hint(level)}")
        if levels.count(level) > 1:
            raise InputError(f"--by: level '{level}' is given twice")
    return levels
