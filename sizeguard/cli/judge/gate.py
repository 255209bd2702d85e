"""The command `sizeguard gate`: run the gate, or show an earlier result in any format."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError, OutputError, SizeguardError
from sizeguard.base.files import is_folder, is_there
from sizeguard.cli import candidates
from sizeguard.cli.image_options import SCREEN_OPTIONS, Output
from sizeguard.cli.option_groups import (
    FILE,
    OUTPUT_FILE,
    Seconds,
    WrittenCopy,
    given_besides,
    option_group,
)
from sizeguard.cli.policy_line import print_policy
from sizeguard.cli.project_options import (
    RUNTIME_SOURCE,
    in_place_option,
    only_apps,
    only_targets,
    override_compiler,
    override_linker,
)
from sizeguard.cli.worker_options import Workers, worker_options
from sizeguard.measurement.interrupts import handle_interrupts
from sizeguard.report.result_formats import GATE_FORMATS

if TYPE_CHECKING:
    from sizeguard.gate.gate_result import GateResult


class CopyFile(WrittenCopy):
    """FORMAT=FILE, a format and a file to write. Wrong values are refused before any build."""

    name = "FORMAT=FILE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        """Parse a value."""
        # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
        from sizeguard.base.nearest import did_you_mean

        format_, _, file = str(value).partition("=")
        if not format_:
            self.fail(f"'={file}' names no format; write json={file or 'FILE'}", param, ctx)
        if format_ not in GATE_FORMATS:
            hint = did_you_mean(format_, GATE_FORMATS)
            self.fail(f"unknown format '{format_}'{hint}", param, ctx)
        if not file:
            self.fail(f"'{format_}' names no file; write {format_}=FILE", param, ctx)
        if file == "-":
            self.fail(f"-: --format {format_} alone writes to standard output", param, ctx)
        if is_folder(Path(file)):
            self.fail(f"{file}: is a folder, not a file", param, ctx)
        return format_, Path(file)


def _snapshots(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, Path], ...]:
    """Parse APP=FILE or FILE. Raises an error for a missing file before anything is built."""
    pairs = []
    for value in values:
        name, equals, file = value.partition("=")
        if not (file if equals else value):
            raise click.BadParameter("the path is empty", context, parameter)
        is_file = not equals or is_there(Path(value))
        pairs.append(("", Path(value)) if is_file else (name, Path(file)))
        try:
            _check_snapshot(pairs[-1][1])
        except InputError as error:
            raise click.BadParameter(str(error), context, parameter) from error
    return tuple(pairs)


def _check_snapshot(path: Path) -> None:
    """Raise InputError for a file that is neither a snapshot, an image nor a build."""
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.base.input_files import readable
    from sizeguard.base.nearest import nearest_file
    from sizeguard.builds.open_build import is_build
    from sizeguard.formats.describe import describe_file
    from sizeguard.formats.sniff import UNKNOWN, image_format
    from sizeguard.snapshots.magic import is_snapshot

    if is_folder(path):
        raise InputError(f"{path}: is a folder, not a file")
    if not is_there(readable(path)):
        raise InputError(f"{path}: no such file{nearest_file(path)}")
    if is_build(path) or is_snapshot(path) or image_format(path) != UNKNOWN:
        return
    what = describe_file(path)
    message = f"{path}: {what}, not a snapshot or an image; sizeguard report --save makes snapshots"
    raise InputError(message)


@dataclass(frozen=True, slots=True)
class Outputs:
    """The options for the format and the place of the output.

    copies: formats and files of --also
    """

    format: str
    file: Path | None
    copies: tuple[tuple[str, Path], ...]
    ascii: bool = False
    width: int | None = None
    wide: bool = False

    def all(self) -> list[Output]:
        """List the copies, then the main output, which may go to stdout."""
        targets = [*self.copies, (self.format, self.file)]
        return [Output(*target, self.ascii, self.width, self.wide) for target in targets]


_output_options = option_group(
    "outputs",
    Outputs,
    click.option(
        "--format",
        type=click.Choice(GATE_FORMATS),
        default="terminal",
        show_default=True,
        help="Output format.",
    ),
    OUTPUT_FILE,
    click.option(
        "--also",
        "copies",
        multiple=True,
        type=CopyFile(),
        metavar="FORMAT=FILE",
        shell_complete=candidates.one_of(lambda: (f"{each}=" for each in GATE_FORMATS)),
        help="Also write this format to a file.",
    ),
    *SCREEN_OPTIONS,
)


@click.command()
@only_apps
@only_targets
@click.option(
    "--base",
    default=None,  # an empty one means none, too: CI files pass the target of a merge request
    metavar="REF",
    help="Count growth from the merge base with this branch or commit.",
)
@override_compiler
@override_linker
@RUNTIME_SOURCE
@click.option(
    "--again",
    is_flag=True,
    help="Run even if nothing changed since the last pass, and build failed commits once more.",
)
@click.option(
    "--timeout",
    type=Seconds(),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of one model run, in seconds.",
)
@click.option(
    "--from-json",
    "stored",
    type=FILE,
    metavar="FILE",
    help="Show the result of an earlier run from its JSON, and build nothing.",
)
@in_place_option
@click.option(
    "--base-snapshot",
    "base_snapshots",
    multiple=True,
    callback=_snapshots,
    metavar="[APP[/TARGET]=]FILE",
    help="Count growth from this snapshot or image; the base is not built.",
)
@worker_options
@_output_options
@click.pass_context
def command(
    context: click.Context,
    apps: tuple[str, ...],
    targets: tuple[str, ...],
    base: str | None,
    compiler: str | None,
    linker: str | None,
    runtime_source: Path | None,
    again: bool,
    timeout: float,
    stored: Path | None,
    in_place: bool,
    base_snapshots: tuple[tuple[str, Path], ...],
    workers: Workers,
    outputs: Outputs,
) -> None:
    """Build the apps, run their models, and judge the sizes by the limits and the merge base.

    An app with a selection is built in full and selectively, and its models must give equal results
    on both. --format github also writes the step summary ($GITHUB_STEP_SUMMARY).

    \b
    Examples:
      sizeguard gate --app vision --base origin/main
      sizeguard gate --jobs 4
      sizeguard gate --format github --also json=gate.json --also markdown=comment.md
      sizeguard gate --from-json gate.json --format sarif --output gate.sarif
    """
    if stored is not None:
        context.exit(_shown_again(context, stored, outputs))
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.gate.request import Request
    from sizeguard.gate.run import run_gate
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root, source_of

    handle_interrupts()
    root = project_root()
    _forget_earlier(root, outputs)
    try:
        config = read_config(root)
        result = run_gate(
            Request(
                root,
                config,
                apps,
                targets,
                base or "",
                compiler,
                linker,
                again,
                timeout,
                source=source_of(config, runtime_source),
                in_place=in_place,
                base_snapshots=dict(base_snapshots),
                measurer=workers.measurer if workers.are_several else None,
            )
        )
    except SizeguardError as error:
        _emit_error(root, error, outputs)
        raise
    print_policy(root, in_result=outputs.format == "terminal" and outputs.file is None)
    _emit(result, outputs.all())
    context.exit(result.exit_code)


def _emit_error(root: Path, error: SizeguardError, outputs: Outputs) -> None:
    """Say that nothing was measured in each file, and each format but text, that was asked for.

    The run may have ended before it found out that a file is an input.
    """
    from sizeguard.gate.reference.not_measured import not_measured

    asked = [each for each in outputs.all() if each.file or each.format != "terminal"]
    free = [each for each in asked if not _may_be_input(root, each.file)]
    _emit(not_measured(root, error), free)


def _shown_again(context: click.Context, stored: Path, outputs: Outputs) -> int:
    """Write the result of an earlier run; return its exit code.

    Raises UsageError for an option that is about something else than the output.
    """
    _refuse_measuring(context)
    from sizeguard.report.gate.gate_json import read_gate_json

    result = read_gate_json(stored)
    _emit(result, outputs.all())
    return result.exit_code


def _refuse_measuring(context: click.Context) -> None:
    """Raise UsageError for an option that is not about the output: an earlier result stays."""
    shows = {"stored", *(each.name for each in fields(Outputs))}
    if wrong := given_besides(context, shows):
        raise click.UsageError(
            f"{wrong} has no effect with --from-json, which shows an earlier result; leave it out",
            context,
        )


def _forget_earlier(root: Path, outputs: Outputs) -> None:
    """Replace the results of earlier runs, so that a killed run leaves no old result behind.

    A result that the gate would measure as an input is removed instead, if git does not track it.

    Raises OutputError for another file that the gate would measure.
    """
    from sizeguard.gate.reference.not_measured import may_be_written, unfinished
    from sizeguard.report.gate.earlier_results import is_earlier_result

    replaced, removed, wrong = [], [], []
    for each in outputs.all():
        file = each.file
        if file is None or not is_there(file) or not file.is_file():
            continue
        if may_be_written(root, file):
            replaced += [] if _may_be_input(root, file) else [each]
        elif is_earlier_result(file):
            removed.append(file)
        else:
            wrong.append(file)
    if replaced:
        _emit(unfinished(root), replaced, summary=False)
    for file in removed:
        if not _is_tracked(root, file):
            file.unlink()
    if wrong:
        raise OutputError(
            f"{wrong[0]}: is a file of the checkout and no result of a gate; name another file"
        )


def _may_be_input(root: Path, file: Path | None) -> bool:
    """Return whether the gate may read a file: a source of the checkout, or an image anywhere."""
    from sizeguard.gate.reference.not_measured import may_be_written
    from sizeguard.report.gate.earlier_results import is_binary, is_earlier_result

    if file is None or not is_there(file) or not file.is_file():
        return False
    return is_binary(file) if may_be_written(root, file) else not is_earlier_result(file)


def _is_tracked(root: Path, file: Path) -> bool:
    from sizeguard.git.git import git

    try:
        return bool(git(root, "ls-files", "--", str(file.absolute())))
    except InputError:
        return False


def _emit(result: GateResult, outputs: list[Output], *, summary: bool = True) -> None:
    from sizeguard.report.gate.render import gate_text, write_step_summary
    from sizeguard.report.writers.source_links import links_of_runner

    links = links_of_runner()
    for each in outputs:
        each.emit([gate_text(result, each.format, each.style(), links), "\n"])
    if summary and any(each.format == "github" for each in outputs):
        write_step_summary(result)
