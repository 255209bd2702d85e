"""The command `sizeguard report`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.attribution.levels import SORTS
from sizeguard.base.files import is_there
from sizeguard.cli.image_options import (
    ImageOptions,
    Output,
    evidence_options,
    filters_option,
    levels_of,
    levels_option,
    output_options,
    rows_option,
)
from sizeguard.cli.option_groups import PATH, WrittenPath
from sizeguard.formats.link_kind import LIBRARY, PIE, PROGRAM

if TYPE_CHECKING:
    from sizeguard.attribution.size_report import Report

_OF_LINKS = ("object", "archive")  # levels that need a map, objects or a recorded link
# Levels that need one of these, or debug information.
_OF_SOURCES = ("source", "directory", "owner")


@click.command()
@click.argument("path", type=PATH, metavar="IMAGE|BUILD|SNAPSHOT")
@levels_option("depends on the image.")
@rows_option
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="load",
    show_default=True,
    help="Order of the rows, largest first.",
)
@filters_option
@output_options
@evidence_options
@click.option(
    "--save",
    type=WrittenPath(),
    metavar="SNAPSHOT",
    help="Save a snapshot for later reports and diffs.",
)
def command(
    path: Path,
    by: str | None,
    limit: int,
    sort: str,
    filters: tuple[str, ...],
    save: Path | None,
    output: Output,
    evidence: ImageOptions,
) -> None:
    """Show where the bytes went. Each byte counts once; rows sum to the file's size and load.

    For a build (its folder or build.json), shows the shipped file, with operators from its objects.
    For a binary without a build, uses its symbols and tables. A snapshot made with --save can
    replace its binary.

    Reads ELF, Mach-O, PE, COFF and WebAssembly. Each native member of an archive, a folder, a
    universal binary or a package (.whl .zip .apk .aar .ipa .deb .jar) is an image; FILE!MEMBER
    selects one.

    \b
    Examples:
      sizeguard report build/vision --by operator,dtype -n 6
      sizeguard report libtorch_cpu.so --by component,symbol --filter symbol=gemm
      sizeguard report app --map app.map --by object --format json --output sizes.json
      sizeguard report build/full --by section,symbol --filter unattributed
      sizeguard report 'app.aar!jni/arm64-v8a/libfoo.so' --by section,symbol
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.attribution.filters import no_match, parse_filters
    from sizeguard.attribution.group import default_levels, group, require_regions
    from sizeguard.attribution.leaving import with_shares
    from sizeguard.attribution.owners.inline_pieces import DEFAULT, levels_asked
    from sizeguard.report.sizes.render import report_chunks

    # A snapshot needs all levels; otherwise read only the levels that are shown.
    given = levels_of(by) if by is not None else []
    asked = None if save is not None else levels_asked(given or [DEFAULT], filters)
    analysis = evidence.analysis_of(path, levels=asked)
    levels = given or default_levels(analysis)
    require_regions(analysis, levels)
    report = with_shares(group(analysis, levels, filters, sort), analysis)
    report = replace(
        report, unknown=(*_before_lto(path, analysis.image.kind), *_unknown(path, report))
    )
    if filters and not len(report):
        raise no_match(analysis, parse_filters(filters))
    if save is not None:
        from sizeguard.measurement.snapshot_origin import origin_of_build
        from sizeguard.snapshots.snapshot import write_snapshot

        write_snapshot(save, analysis, origin_of_build(path))
    output.emit(report_chunks(report, output.format, limit, output.style()))


def _before_lto(path: Path, kind: str) -> Iterator[str]:
    """Say that sizes lack LTO code of an object, or of an object in an archive."""
    if kind in (PROGRAM, PIE, LIBRARY) or not is_there(path) or path.is_dir():
        return
    from sizeguard.builds.image_tools import is_before_lto  # 4 ms

    if is_before_lto(path):
        yield "load: LTO code, which has no size before it is linked"


def _unknown(path: Path, report: Report) -> Iterator[str]:
    """Say for levels without any name why there is none, and how to get names."""
    empty = [
        level
        for level, label in zip(report.by, report.labels, strict=True)
        if level in (*_OF_LINKS, *_OF_SOURCES)
        and not any(label.texts[i] for i in set(label.ids.tolist()))
    ]
    if not empty or not is_there(path) or path.is_dir():
        return
    from sizeguard.formats.sniff import ELF, MACHO, image_format
    from sizeguard.linkgraph.recorded_files import missing_record
    from sizeguard.snapshots.magic import is_snapshot

    if is_snapshot(path):
        yield f"{', '.join(empty)}: the snapshot was made without them"
        return
    format_ = image_format(path)
    if format_ not in (ELF, MACHO):
        yield f"{', '.join(empty)}: known only for one ELF or Mach-O image"
        return
    why = missing_record(path) if format_ == ELF else "no map is given"
    flag = ", or build with -g" if set(empty) <= {*_OF_SOURCES} else ""
    if why:
        yield f"{', '.join(empty)}: {why}, or name its map: --map {_map_beside(path)}{flag}"
    else:
        yield f"{', '.join(empty)}: its recorded link names none"


def _map_beside(image: Path) -> str:
    """Return the map beside an image, if it has the image's name; else FILE."""
    names = dict.fromkeys((image.name, image.resolve().name, image.stem))
    places = (image.with_name(f"{name}.map") for name in names)
    return next((shlex.quote(str(place)) for place in places if place.is_file()), "FILE")
