"""Find the inputs of a build that differ between a commit and the checked-out files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sizeguard.builds.build_inputs import BuildInputs, glob_matches, glob_paths
from sizeguard.git.tree_contents import (
    appeared,
    commit_files,
    differing,
    globbed,
    may_be_inside,
    relative_to,
)
from sizeguard.toolchains.installed import installed_folders, is_below_any


def differing_inputs(root: Path, commit: str, inputs: Iterable[BuildInputs]) -> frozenset[str]:
    """List the build inputs that a commit lacks or has with other content, relative to the root.

    New and removed files at places where the build looked for a file also count.
    """
    files = commit_files(root, commit)
    records = list(inputs)
    read = {path for each in records for path in (*each.files, *each.tools)}
    inside = {path: relative_to(root, path) for path in may_be_inside(root, read)}
    installed = installed_folders(root)
    own = [
        path
        for path, at in inside.items()
        if at is not None and (at in files.entries or not is_below_any(path, installed))
    ]
    absent = {path for each in records for path in each.absent}
    patterns = {pattern for each in records for pattern in each.globs}
    return (
        differing(root, files, own)
        | appeared(root, files, absent)
        | globbed(root, files, patterns, glob_paths, glob_matches)
    )
