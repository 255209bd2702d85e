"""The command `sizeguard report`."""

from __future__ import annotations

from pathlib import Path

import click

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


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="IMAGE|BUILD|SNAPSHOT")
@levels_option("depends on the image.")
@rows_option
@click.option(
    "--sort",
    type=click.Choice(["load", "file", "ram", "count", "name"]),
    default="load",
    show_default=True,
)
@filters_option
@output_options
@evidence_options
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
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
    # Imported on call: `sizeguard --help` takes 0.05 s, with the imports of all commands 0.6 s.
    from sizeguard.attribution.filters import no_match, parse_filters
    from sizeguard.attribution.group import default_levels, group, require_regions
    from sizeguard.attribution.leaving import with_shares
    from sizeguard.attribution.owners.inline_pieces import asks_for_pieces, levels_asked
    from sizeguard.report.sizes.render import report_chunks

    # A snapshot needs all levels; otherwise read only the levels that are shown.
    given = levels_of(by) if by is not None else []
    asked = None if save is not None else levels_asked(given, filters)
    analysis = evidence.analysis_of(path, levels=asked)
    levels = given or default_levels(analysis)
    if asked is not None and asks_for_pieces(levels) and not asks_for_pieces(asked):
        analysis = evidence.analysis_of(path, levels=levels_asked(levels, filters))
    require_regions(analysis, levels)
    report = with_shares(group(analysis, levels, filters, sort), analysis)
    if filters and not len(report):
        raise no_match(analysis, parse_filters(filters))
    if save is not None:
        from sizeguard.measurement.snapshot_origin import origin_of_build
        from sizeguard.snapshots.snapshot import write_snapshot

        write_snapshot(save, analysis, origin_of_build(path))
    output.emit(report_chunks(report, output.format, limit, output.style()))
