"""The command `sizeguard build`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli import candidates
from sizeguard.cli.option_groups import OUTPUT_FILE, PATH, NamedPath, format_option, print_result
from sizeguard.cli.project_options import (
    COMPILER,
    LINKER,
    OPTIMIZATION,
    RUNTIME_SOURCE,
    TARGET,
    configured_selection,
)


@click.command()
@click.argument(
    "variant",
    metavar="full|instrumented|core|selective",
    type=candidates.OneOf(candidates.variants, "variant"),
)
@click.option(
    "--app",
    default="",
    metavar="NAME",
    help="An app of sizeguard.yaml or native/apps with a selection.",
    shell_complete=candidates.one_of(candidates.apps),
)
@click.option(
    "--selection", type=PATH, metavar="FILE", help="Use this selection file instead of an app's."
)
@TARGET
@COMPILER
@LINKER
@click.option(
    "--link",
    default="executable",
    show_default=True,
    metavar="executable|static|static-pie|shared",
    help="run_program, statically linked or not, or libsizeguard as a shared library.",
    type=candidates.OneOf(candidates.links, "kind of link"),
)
@click.option(
    "--lto",
    default="",
    metavar="full|thin",
    help="Optimize at link time (LTO); thin needs clang and lld.",
    type=candidates.OneOf(candidates.lto_kinds, "kind of LTO"),
)
@OPTIMIZATION
@click.option("--no-dtypes", is_flag=True, help="Select operators only, and keep all dtypes.")
@click.option(
    "--sanitize", default="", metavar="LIST", help="Sanitizers, such as address,undefined."
)
@RUNTIME_SOURCE
@click.option(
    "--output-dir",
    type=NamedPath(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Build folder. Default: build/<variant or app>.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Parallel compiler jobs. Default: all cores.",
)
@format_option()
@OUTPUT_FILE
def command(
    variant: str,
    app: str,
    selection: Path | None,
    target: str | None,
    compiler: str | None,
    linker: str | None,
    link: str,
    lto: str,
    optimize: str,
    no_dtypes: bool,
    sanitize: str,
    runtime_source: Path | None,
    output_dir: Path | None,
    jobs: int | None,
    format_: str,
    file: Path | None,
) -> None:
    """Build a variant of the runtime, and write build.json beside the image.

    With gcc, GNU ld and -Os the result goes to build/full, build/core, build/instrumented or
    build/APP; other builds go to build/TARGET-COMPILER-LINKER-OPTIMIZATION-LINK-LTO/….

    Example: sizeguard build selective --app vision
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.projects.root import build_root, source_root
    from sizeguard.report.build.render import build_text
    from sizeguard.report.writers.printable import plain_text
    from sizeguard.runtimes.sizeguard.building.driver import build
    from sizeguard.runtimes.sizeguard.building.variants import (
        Variant,
        checked_variant,
        default_folder,
    )
    from sizeguard.runtimes.sizeguard.native_tree import translation
    from sizeguard.selection.foreign.translation import translation_notes
    from sizeguard.selection.read import read_selection
    from sizeguard.toolchains.toolchain import find_toolchain

    source = source_root(runtime_source)
    if variant == "selective" and app and selection is None:
        selection = configured_selection(app)
    asked = Variant(variant, app, selection, not no_dtypes, optimize, sanitize, link, lto)
    what = checked_variant(source, asked)
    toolchain = find_toolchain(compiler, linker, target)
    folder = output_dir or default_folder(build_root(), what, toolchain)
    if what.selection is not None:
        made = translation(source, read_selection(what.selection).selection)
        for note in translation_notes(what.selection.name, made, dtypes=what.dtypes):
            click.echo(plain_text([note]), err=True)
    if any((folder / name).exists() for name in ("CMakeLists.txt", "native")):
        raise InputError(f"--output-dir: {folder}: has sources; name a folder for the build")
    result = build(source, what, toolchain, folder, jobs)
    print_result(build_text(result, format_), file)
