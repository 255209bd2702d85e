"""The command `sizeguard verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.base.errors import InputError
from sizeguard.cli.exit_codes import BY_VERDICT
from sizeguard.cli.image_options import Output, check_objects, judged_output_options
from sizeguard.cli.option_groups import PATH
from sizeguard.cli.project_options import RUNTIME_SOURCE

if TYPE_CHECKING:
    from sizeguard.builds.open_build import Files

_CANARY_PASSED = 4  # exit code: the verifier is broken, so no verdict is given


@click.command()
@click.argument("path", type=PATH, metavar="[IMAGE|BUILD]", required=False)
@click.option("--image", type=PATH, metavar="FILE", help="The image, instead of the argument.")
@click.option(
    "--selection",
    type=PATH,
    metavar="FILE",
    help="Selection to verify. Default: the build's selection.",
)
@click.option(
    "--shared-with",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Selection of another app whose dtypes and features the kernels also have.",
)
@click.option(
    "--objects",
    type=PATH,
    multiple=True,
    metavar="FILE|DIR",
    help="Objects and archives of the link.",
)
@click.option(
    "--map", "link_map", type=PATH, metavar="FILE", help="The linker map made with the image."
)
@click.option(
    "--gc-log", type=PATH, metavar="FILE", help="Output of the linker's --print-gc-sections."
)
@click.option(
    "--shipped", type=PATH, metavar="FILE", help="The stripped image; claims must also hold on it."
)
@click.option(
    "--absent",
    multiple=True,
    metavar="SYMBOL[@0x…]",
    help="Claim that a symbol, operator or glob is absent; @0x… finds inlined copies.",
)
@click.option(
    "--present",
    multiple=True,
    metavar="SYMBOL[@0x…]",
    help="Claim that a symbol, operator or glob is present.",
)
@click.option(
    "--base", type=PATH, metavar="IMAGE|BUILD", help="An earlier image; its names count as known."
)
@click.option(
    "--unknown",
    type=click.Choice(["inconclusive", "ok"]),
    default="inconclusive",
    show_default=True,
    help="Verdict on unknown names; ok accepts them as absent.",
)
@click.option(
    "--full",
    type=PATH,
    metavar="BUILD",
    help="The full build, which has everything that can be selected. Default: the one beside the "
    "build.",
)
@click.option("--list", "is_list", is_flag=True, help="Print the claims; judge nothing.")
@RUNTIME_SOURCE
@judged_output_options
@click.pass_context
def command(
    context: click.Context,
    path: Path | None,
    image: Path | None,
    selection: Path | None,
    shared_with: tuple[Path, ...],
    objects: tuple[Path, ...],
    link_map: Path | None,
    gc_log: Path | None,
    shipped: Path | None,
    absent: tuple[str, ...],
    present: tuple[str, ...],
    base: Path | None,
    unknown: str,
    full: Path | None,
    is_list: bool,
    runtime_source: Path | None,
    output: Output,
) -> None:
    """Prove that deselected code is absent from an image, and that selected code is present.

    \b
    Examples:
      sizeguard verify build/vision
      sizeguard verify build/vision --list --format json
      sizeguard verify app --objects obj/ --map app.map --absent 'kernels::erf' --present main
      sizeguard verify vision --objects obj/ --selection vision.yaml --shared-with language.yaml
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.builds.build_record import read_build
    from sizeguard.builds.open_build import Files, is_build, open_build, record_beside
    from sizeguard.gate.cache.requested_claims import RequestedClaims
    from sizeguard.gate.verified_builds import list_claims, verify_path
    from sizeguard.projects.root import sources_of
    from sizeguard.report.verify.render import claims_text, verification_text

    subject = path or image
    if subject is None or (path and image):
        raise InputError("give one image or build: sizeguard verify IMAGE|BUILD")
    check_objects(objects)
    if not (objects or link_map or shipped):
        subject = record_beside(subject) or subject  # its record has them
    given = Files(
        image=subject,
        twin=shipped,
        objects=objects,
        link_map=link_map,
        gc_log=gc_log,
        folder=link_map.resolve().parent if link_map else None,
    )
    given = _with_link(open_build(subject, given))
    full_build = read_build(full) if full is not None else None
    _check_kinds(base, gc_log)
    claims = RequestedClaims(
        selection, absent, present, base, unknown == "ok", full_build, shared_with
    )
    source = Path.cwd()  # without a selection, nothing reads the runtime's sources
    build = open_build(subject, given).build if is_build(subject) else None
    if selection is not None or (build is not None and build.selection is not None):
        source = sources_of(subject, runtime_source)
    if is_list:
        if output.format not in ("terminal", "json"):
            raise InputError(f"--list prints terminal or json, not {output.format}")
        listed = list_claims(source, subject, claims, given).all
        output.emit([claims_text(listed, output.format), "\n"])
        return
    result = verify_path(source, subject, claims, given)
    output.emit([verification_text(result, output.format, output.style()), "\n"])
    context.exit(_CANARY_PASSED if result.canary != "ok" else BY_VERDICT[result.verdict])


def _with_link(files: Files) -> Files:
    """Add the recorded link; with objects, a record that cannot be used is no error."""
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.linkgraph.recorded_files import with_record
    from sizeguard.verify.known_record import with_known_record

    return with_known_record(files) if files.objects else with_record(files)


def _check_kinds(base: Path | None, gc_log: Path | None) -> None:
    """Raise InputError for a base that is no image, and for a log that no linker wrote."""
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.builds.open_build import open_build
    from sizeguard.formats.elf import read_elf
    from sizeguard.formats.gc_log import check_gc_log
    from sizeguard.formats.magics import UNKNOWN
    from sizeguard.formats.sniff import image_format

    if base is not None and image_format(open_build(base).image) == UNKNOWN:
        read_elf(open_build(base).image)  # raises an error that names the kind of file
    if gc_log is not None:
        check_gc_log(gc_log)
