"""Options that name parts of a project: apps, targets, tools, the runtime's sources."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli import candidates
from sizeguard.cli.option_groups import NamedPath

RUNTIME_SOURCE = click.option(
    "--runtime-source",
    type=NamedPath(path_type=Path),
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
COMPILER = click.option(
    "--compiler",
    metavar="gcc|clang",
    help="The compiler. Default: gcc; clang for macOS, iOS and Android.",
    type=candidates.OneOf(candidates.compilers, "compiler"),
)
LINKER = click.option(
    "--linker",
    metavar="bfd|gold|lld|mold",
    help=(
        "The linker. Default: bfd with gcc, lld with clang. lld-14 and lld-22 are other versions "
        "of lld."
    ),
    type=candidates.OneOf(candidates.linkers, "linker"),
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
override_compiler = click.option(
    "--compiler",
    metavar="gcc|clang",
    help="Override the targets' tools (not for macOS, iOS and Android).",
    type=candidates.OneOf(candidates.compilers, "compiler"),
)
override_linker = click.option(
    "--linker",
    metavar="bfd|lld",
    help="The linker. Default: bfd with gcc, lld with clang.",
    type=candidates.OneOf(candidates.linkers, "linker"),
)
only_apps = click.option(
    "--app",
    "apps",
    multiple=True,
    metavar="NAME",
    help="Only this app of sizeguard.yaml. May be given again.",
    shell_complete=candidates.one_of(candidates.apps),
)
only_targets = click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="Only this target of sizeguard.yaml. May be given again.",
    shell_complete=candidates.one_of(candidates.targets),
)
