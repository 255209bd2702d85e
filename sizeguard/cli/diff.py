"""Turns the command line of `sizeguard diff` into one diff."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.evidence import LEVELS, Evidence, Output, evidence_options, levels_of, output_options


@click.command()
@click.argument("old", type=click.Path(path_type=Path), metavar="OLD")
@click.argument("new", type=click.Path(path_type=Path), metavar="NEW")
@click.option("--by", default="operator", show_default=True, metavar="A,B", help=f"Levels, outermost first: {LEVELS}.")
@click.option(
    "-n", "limit", default=25, show_default=True, type=click.IntRange(min=0), help="Rows to show; 0 for all. JSON, CSV and HTML have all."
)
@click.option(
    "--metric", type=click.Choice(["load", "file", "ram"]), default="load", show_default=True, help="The bytes that are compared."
)
@click.option("--filter", "filters", multiple=True, metavar="LEVEL=TEXT", help="Only these rows: TEXT, GLOB* or /REGEX/; or: unattributed.")
@output_options
@evidence_options
def command(
    old: Path, new: Path, by: str, limit: int, metric: str, filters: tuple[str, ...], output: Output, evidence: Evidence
) -> None:  # fmt: skip
    """Show what changed between two images, builds or snapshots, each change with its cause; the rows sum to the difference.

    Clones (.cold, .isra.0, .llvm.…) and hashes in names do not count as new names, names of folded functions are one, and what
    another object brings in has moved. --objects, --map and --debug-file are for NEW; OLD is best a build or a snapshot.

    \b
    Examples:
      sizeguard diff old/build/vision build/vision --by operator,dtype
      sizeguard diff yesterday.snapshot libtorch_cpu.so --by symbol -n 50
      sizeguard diff a b --by section --metric file --format markdown
    """
    from dataclasses import replace

    from sizeguard.attribution.diff import diff_of
    from sizeguard.attribution.known_names import KnownNames
    from sizeguard.report.diff import diff_chunks

    of_old = replace(evidence, objects=(), map=None, debug_file=None)
    known = KnownNames()
    result = diff_of(lambda: of_old.analysis_of(old, known), lambda: evidence.analysis_of(new, known), levels_of(by), filters, metric)
    output.emit(diff_chunks(result, output.format, limit, output.style()))
