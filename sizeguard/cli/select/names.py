"""The command `sizeguard select names`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.project_options import RUNTIME_SOURCE


@click.command()
@RUNTIME_SOURCE
def command(runtime_source: Path | None) -> None:
    """Write the names that can be selected: operators, kernels, tags, dtypes, classes, features.

    Makes a full build, and for each feature a build without it, and reads the names from them. Lint
    and verify use the file, native/operators/names.json, if there is no full build.

    Example: sizeguard select names
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.gate.selection.full_names import update_names
    from sizeguard.projects.root import find_project, source_root
    from sizeguard.runtimes.runtime import BuildOptions
    from sizeguard.toolchains.toolchain import find_toolchain

    source = source_root(runtime_source)
    root = find_project() or source
    path, is_new = update_names(root, source, BuildOptions(find_toolchain(None, None)))
    click.echo(f"{path}: {'written' if is_new else 'unchanged'}")
