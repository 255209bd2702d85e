"""Options that name parts of a project: apps, targets, tools, the runtime's sources."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli import candidates
from sizeguard.cli.option_groups import PATH, Decorator


def _compiler_option(text: str) -> Decorator:
    kind = candidates.OneOf(candidates.compilers, "compiler")
    return click.option("--compiler", metavar="gcc|clang", help=text, type=kind)


def _linker_option(names: str, text: str) -> Decorator:
    kind = candidates.OneOf(candidates.linkers, "linker")
    return click.option("--linker", metavar=names, help=text, type=kind)


RUNTIME_SOURCE = click.option(
    "--runtime-source",
    type=PATH,
    metavar="DIR",
    help="Folder that contains the runtime's sources in native/. Default: the project's.",
)
# The target machine and the tools of a build of the runtime.
TARGET = click.option(
    "--target",
    metavar="TARGET",
    help=(
        "x86_64-linux, aarch64-linux, arm64-macos, x86_64-macos, arm64-android or arm64-ios. "
        "Default: this machine."
    ),
    type=candidates.OneOf(candidates.machines, "target"),
)
COMPILER = _compiler_option("The compiler. Default: gcc; clang for macOS, iOS and Android.")
LINKER = _linker_option(
    "bfd|gold|lld|mold",
    "The linker. Default: bfd with gcc, lld with clang. lld-14 and lld-22 are other versions of "
    "lld.",
)
OPTIMIZATION = click.option(
    "-O",
    "optimize",
    default="s",
    show_default=True,
    metavar="s|2",
    help="Optimize for size or for speed.",
    type=candidates.OneOf(candidates.optimizations, "optimization", "-O"),
)
# Tools for the targets of sizeguard.yaml, instead of those that it names.
override_compiler = _compiler_option(
    "Override the targets' tools (not for macOS, iOS and Android)."
)
override_linker = _linker_option("bfd|lld", "The linker. Default: bfd with gcc, lld with clang.")
only_apps = click.option(
    "--app",
    "apps",
    multiple=True,
    metavar="NAME",
    help="Only this app of sizeguard.yaml.",
    shell_complete=candidates.one_of(candidates.apps),
)
only_targets = click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="Only this target of sizeguard.yaml.",
    shell_complete=candidates.one_of(candidates.targets),
)

in_place_option = click.option(
    "--in-place",
    is_flag=True,
    help="Measure the images that the build in the checkout made; paths in them may differ.",
)


def configured_selection(name: str) -> Path | None:
    """Return the selection of an app of sizeguard.yaml; None without such an app.

    Raises InputError for an app without a selection.
    """
    from sizeguard.projects.project import CONFIG
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import find_project

    root = find_project()
    if root is None:
        return None
    for app in read_config(root).apps:
        if app.name == name:
            selection = app.selection_file or app.claimed(app.targets[0])
            if not selection:
                raise InputError(f"--app: app '{name}' of {CONFIG} has no selection")
            return root / selection
    return None
