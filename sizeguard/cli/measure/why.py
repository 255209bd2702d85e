"""The command `sizeguard why`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli import candidates
from sizeguard.cli.image_options import ImagePath, Output, output_options
from sizeguard.cli.option_groups import EXISTING


@click.command()
@click.argument("path", type=ImagePath(), metavar="IMAGE|BUILD")
@click.argument(
    "subject",
    shell_complete=candidates.one_of(candidates.operators),
)
@click.option(
    "--objects",
    multiple=True,
    type=EXISTING,
    metavar="FILE|DIR",
    help="Objects of the link.",
)
@click.option(
    "--map",
    "link_map",
    type=EXISTING,
    metavar="FILE",
    help="The linker map made with the image.",
)
@click.option(
    "--roots",
    default=3,
    show_default=True,
    type=click.IntRange(min=0),
    help="Chains to show, one per root; 0 for all.",
)
@output_options
def command(
    path: Path,
    subject: str,
    objects: tuple[Path, ...],
    link_map: Path | None,
    roots: int,
    output: Output,
) -> None:
    """Show why something is in the image.

    Prints the chain of references from a root of the link, and the bytes that removing each
    reference would free.

    SUBJECT is an operator (aten::erf), a dtype of it (aten::erf:Float), a symbol (mangled or as it
    is written) or a section. The link comes from the build or from `sizeguard record`; otherwise
    pass its objects with --objects. An absent SUBJECT has no chain; the output says so.

    \b
    Examples:
      sizeguard why build/vision aten::convolution
      sizeguard why build/vision 'conv_body<float>' --roots 0
      sizeguard why app --objects out/objects register_extras --format json
    """
    if not subject.strip():
        raise click.UsageError("SUBJECT is empty; name an operator, a symbol or a section")
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.builds.open_build import Files, open_build
    from sizeguard.linkgraph.chains import why
    from sizeguard.linkgraph.open_graph import graph_of_files
    from sizeguard.linkgraph.recorded_files import with_record
    from sizeguard.linkgraph.subjects import find_subject
    from sizeguard.names.dtype_of import dtype_of
    from sizeguard.report.why.render import why_chunks
    from sizeguard.verify.evidence.image_presence import (
        check_not_merged,
        check_one_link,
        check_presence,
    )

    folder = link_map.resolve().parent if link_map is not None else None
    given = Files(path, objects=objects, link_map=link_map, folder=folder)
    files = with_record(open_build(path, given))
    graph = graph_of_files(files)
    meant = find_subject(graph, subject, dtype_of)
    evidence = check_one_link(files)
    check_not_merged(evidence, graph, meant)
    check_presence(evidence, graph, meant)
    result = why(graph, meant, roots)
    output.emit(why_chunks(result, output.format, output.style()))
