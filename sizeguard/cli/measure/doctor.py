"""The command `sizeguard doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.image_options import ImagePath, Output, table_output_options


@click.command()
@click.argument("path", type=ImagePath(), metavar="IMAGE|BUILD")
@click.option(
    "-n",
    "most",
    default=10,
    show_default=True,
    type=click.IntRange(min=0),
    help="Findings to show; 0 for all. JSON and CSV have all.",
)
@table_output_options
def command(path: Path, most: int, output: Output) -> None:
    """Show bytes that an ELF image does not need, largest finding first.

    Each finding has an interval of bytes, their kind, and the change that saves them. The interval
    is for this change only. A finding without evidence is unknown. Unused sections need the link,
    as `sizeguard record` records it.

    \b
    Examples:
      sizeguard doctor build/app
      sizeguard doctor libparse.so --format json
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.builds.open_build import open_build
    from sizeguard.doctor.examine import examine
    from sizeguard.report.doctor.render import doctor_chunks

    diagnosis = examine(open_build(path))
    output.emit(doctor_chunks(diagnosis, most, output.format, output.style()))
