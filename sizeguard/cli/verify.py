"""Turns the command line of `sizeguard verify` into one verification."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(path_type=Path)
FORMATS = ("terminal", "json", "markdown", "csv", "junit", "sarif", "github")
EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}
BROKEN = 4


@click.command()
@click.argument("path", type=FILE, metavar="[IMAGE|BUILD]", required=False)
@click.option("--image", type=FILE, metavar="FILE", help="The image, in place of the argument.")
@click.option("--selection", type=FILE, metavar="FILE", help="What must be there and what must be gone; a build's own if left out.")
@click.option("--objects", type=FILE, multiple=True, metavar="FILE|DIR", help="Objects and archives of the link. May be given again.")
@click.option("--map", "link_map", type=FILE, metavar="FILE", help="The linker's map.")
@click.option("--gc-log", type=FILE, metavar="FILE", help="What the linker printed of --print-gc-sections.")
@click.option("--shipped", type=FILE, metavar="FILE", help="The image, stripped: claims must hold on it, too.")
@click.option("--absent", multiple=True, metavar="SYMBOL[@0x…]", help="Must be gone; with a constant that stands in its code alone.")
@click.option("--present", multiple=True, metavar="SYMBOL[@0x…]", help="Must be there.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="terminal", show_default=True)
@click.option("--output", type=FILE, metavar="FILE", help="Write there instead of to the terminal.")
@click.pass_context
def command(
    context: click.Context,
    path: Path | None,
    image: Path | None,
    selection: Path | None,
    objects: tuple[Path, ...],
    link_map: Path | None,
    gc_log: Path | None,
    shipped: Path | None,
    absent: tuple[str, ...],
    present: tuple[str, ...],
    format_: str,
    output: Path | None,
) -> None:
    """Prove that what a selection leaves out is gone from an image, and that what it keeps is there.

    Exit code 0: all claims hold. 1: one fails. 3: evidence is missing. 4: a claim that must fail did not, so the verifier is broken.

    \b
    Examples:
      sizeguard verify build/vision
      sizeguard verify app --objects obj/ --map app.map --absent 'kernels::erf' --present main
    """
    from sizeguard.errors import InputError
    from sizeguard.files import write_atomic
    from sizeguard.project import project_root
    from sizeguard.report.verify import verification_text
    from sizeguard.verify.evidence import Files
    from sizeguard.verify.verify import Claims, verify_path

    subject = path or image
    if subject is None or (path and image):
        raise InputError("give one image or build: sizeguard verify IMAGE|BUILD")
    given = Files(subject, shipped, objects, link_map, gc_log, link_map.resolve().parent if link_map else None)
    result = verify_path(project_root(), subject, Claims(selection, absent, present), given)
    text = verification_text(result, format_)
    if output is None:
        click.echo(text)
    else:
        write_atomic(output, text + "\n")
    context.exit(BROKEN if result.canary != "ok" else EXIT_CODES[result.verdict])
