"""Turns the command line of `sizeguard build` into one call of the build driver."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("variant", metavar="full|instrumented|core|selective")
@click.option("--app", default="", metavar="NAME", help="An app of native/apps with its selected_operators.yaml.")
@click.option("--selection", type=FILE, metavar="FILE", help="A selection file, in place of an app's.")
@click.option("--target", metavar="TARGET", help="x86_64-linux, aarch64-linux, arm64-macos or x86_64-macos; this machine if left out.")
@click.option("--compiler", metavar="gcc|clang", help="The compiler; gcc if left out, clang for macOS.")
@click.option(
    "--linker",
    metavar="bfd|gold|lld|mold",
    help="The linker; bfd with gcc and lld with clang if left out. lld-14 and lld-22 are other versions of lld.",
)
@click.option(
    "--link",
    default="executable",
    show_default=True,
    metavar="executable|static|static-pie|shared",
    help="run_program, statically linked or not, or libsizeguard as a shared library.",
)
@click.option("--lto", default="", metavar="full|thin", help="Optimize at link time; thin is for clang with lld.")
@click.option("-O", "optimize", default="s", show_default=True, metavar="s|2", help="Optimize for size or for speed.")
@click.option("--no-dtypes", is_flag=True, help="Select operators alone, and keep all dtypes.")
@click.option("--sanitize", default="", metavar="LIST", help="Sanitizers, such as address,undefined.")
@click.option("--output-dir", type=FILE, metavar="DIR", help="Where to build; build/<variant or app> if left out.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="How many compilers at once; all cores if left out.")
@click.option(
    "--format", "format_", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True, help="How to print the result."
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
    output_dir: Path | None,
    jobs: int | None,
    format_: str,
) -> None:
    """Build a variant of the runtime; writes build.json beside the image.

    With gcc, GNU ld and -Os the result goes to build/full, build/core, build/instrumented or build/APP; with others to
    build/TARGET-COMPILER-LINKER-OPTIMIZATION-LINK-LTO/….

    Example: sizeguard build selective --app vision
    """
    from sizeguard.build.driver import build
    from sizeguard.build.toolchain import find_toolchain
    from sizeguard.build.variants import default_folder, make_variant
    from sizeguard.project import project_root
    from sizeguard.report.build import build_text

    root = project_root()
    toolchain = find_toolchain(compiler, linker, target)
    what = make_variant(root, variant, app, selection, dtypes=not no_dtypes, optimize=optimize, sanitize=sanitize, link=link, lto=lto)
    result = build(root, what, toolchain, output_dir or default_folder(root, what, toolchain), jobs)
    click.echo(build_text(result, format_))
