"""The command `sizeguard record`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sizeguard.base.errors import BuildError, InputError
from sizeguard.cli.option_groups import FOLDER, PATH

NOTHING = 3  # exit code: nothing was linked


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--records",
    type=PATH,
    metavar="DIR",
    help="Folder for the records. Default: .sizeguard/links.",
)
@click.option(
    "--wrappers",
    is_flag=True,
    help="Wrap the linkers instead of preloading a library into them.",
)
@click.option(
    "--built",
    type=FOLDER,
    metavar="DIR",
    help="Run nothing; read the links of a finished Ninja or CMake build.",
)
@click.argument("build", nargs=-1, type=click.UNPROCESSED, metavar="[-- BUILD COMMAND...]")
@click.pass_context
def command(
    context: click.Context,
    records: Path | None,
    wrappers: bool,
    built: Path | None,
    build: tuple[str, ...],
) -> None:
    """Run a build and record each link: the linker, its arguments and its working directory.

    Inputs that the build removes are copied: response files, version scripts, temporary objects and
    LTO objects. The build's outputs do not change. `why`, `verify` and `report` find the record of
    an image.

    A library that is preloaded into the linkers records the links. A C compiler builds it once. If
    it cannot be loaded, wrappers on COMPILER_PATH and PATH record the linkers instead.

    \b
    Examples:
      sizeguard record -- cmake --build build
      sizeguard record -- make -j8
      sizeguard record --built build
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.builds.recorded_links import LINK_RECORDS
    from sizeguard.report.build.link_lines import link_lines
    from sizeguard.toolchains.links.built_links import record_built
    from sizeguard.toolchains.links.recording import RecordedBuild, record_build

    if build and build[0].startswith("-"):
        raise click.NoSuchOption(build[0], ctx=context)
    if bool(build) == (built is not None):
        raise InputError("give a build command or --built: sizeguard record -- make")
    folder = records or Path.cwd() / LINK_RECORDS
    if built is not None:
        done = RecordedBuild(0, record_built(built, folder))
    else:
        done = record_build(build, Path.cwd(), os.environ, folder, wrappers=wrappers)
    lines = link_lines(
        done.links.links, done.links.failed, folder, Path.cwd(), has_ended_well=done.code == 0
    )
    if lines:
        click.echo(lines, err=True)
    if done.code != 0:
        how = f"signal {-done.code}" if done.code < 0 else f"exit code {done.code}"
        raise BuildError(f"{build[0]}: the build ended with {how}")
    if not done.links.links:
        context.exit(NOTHING)
