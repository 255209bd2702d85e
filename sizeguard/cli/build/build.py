"""The command `sizeguard build`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli import candidates
from sizeguard.cli.project_options import RUNTIME_SOURCE

FILE = click.Path(path_type=Path)


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
    help="An app of native/apps with its selected_operators.yaml.",
    shell_complete=candidates.one_of(candidates.apps),
)
@click.option(
    "--selection", type=FILE, metavar="FILE", help="Use this selection file instead of an app's."
)
@click.option(
    "--target",
    metavar="TARGET",
    help=(
        "x86_64-linux, aarch64-linux, arm64-macos, x86_64-macos, arm64-android or arm64-ios. "
        "Default: this machine."
    ),
    type=candidates.OneOf(candidates.machines, "target"),
)
@click.option(
    "--compiler",
    metavar="gcc|clang",
    help="The compiler. Default: gcc; clang for macOS, iOS and Android.",
    type=candidates.OneOf(candidates.compilers, "compiler"),
)
@click.option(
    "--linker",
    metavar="bfd|gold|lld|mold",
    help=(
        "The linker. Default: bfd with gcc, lld with clang. lld-14 and lld-22 are other versions "
        "of lld."
    ),
    type=candidates.OneOf(candidates.linkers, "linker"),
)
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
@click.option(
    "-O",
    "optimize",
    default="s",
    show_default=True,
    metavar="s|2",
    help="Optimize for size or for speed.",
    type=candidates.OneOf(candidates.optimizations, "optimization", "-O"),
)
@click.option("--no-dtypes", is_flag=True, help="Select operators only, and keep all dtypes.")
@click.option(
    "--sanitize", default="", metavar="LIST", help="Sanitizers, such as address,undefined."
)
@RUNTIME_SOURCE
@click.option(
    "--output-dir",
    type=FILE,
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
@click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "json"]),
    default="terminal",
    show_default=True,
    help="Output format.",
)
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
) -> None:
    """Build a variant of the runtime, and write build.json beside the image.

    With gcc, GNU ld and -Os the result goes to build/full, build/core, build/instrumented or
    build/APP; other builds go to build/TARGET-COMPILER-LINKER-OPTIMIZATION-LINK-LTO/….

    Example: sizeguard build selective --app vision
    """
    # Imported on call: `sizeguard --help` takes 0.05 s, with the imports of all commands 0.6 s.
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
    asked = Variant(variant, app, selection, not no_dtypes, optimize, sanitize, link, lto)
    what = checked_variant(source, asked)
    toolchain = find_toolchain(compiler, linker, target)
    folder = output_dir or default_folder(build_root(), what, toolchain)
    if what.selection is not None:
        made = translation(source, read_selection(what.selection).selection)
        for note in translation_notes(what.selection.name, made, dtypes=what.dtypes):
            click.echo(plain_text([note]), err=True)
    result = build(source, what, toolchain, folder, jobs)
    click.echo(build_text(result, format_))
