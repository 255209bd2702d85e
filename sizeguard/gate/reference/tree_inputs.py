"""Find the inputs of a build that differ between a commit and the checked-out files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sizeguard.base.kept.moment import kept_now
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
    records = list(inputs)
    # A gate asks three times for each build
    key = ("differing inputs", root, commit, *map(id, records))
    found, _ = kept_now(key, lambda: (_differing_inputs(root, commit, records), records))
    return found


def _differing_inputs(root: Path, commit: str, records: Sequence[BuildInputs]) -> frozenset[str]:
    files = commit_files(root, commit)
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
    asked = kept_now(("tree", root, commit), _Asked)
    asked.differing.update(differing(root, files, set(own) - asked.paths))
    asked.paths.update(own)
    for pattern in patterns - asked.globbed.keys():
        asked.globbed[pattern] = globbed(root, files, [pattern], glob_paths, glob_matches)
    return frozenset(
        asked.differing.intersection(filter(None, (inside[path] for path in own)))
        | appeared(root, files, absent)
        | frozenset().union(*(asked.globbed[pattern] for pattern in patterns))
    )


@dataclass(slots=True)
class _Asked:
    """The files and patterns of builds that were compared with a commit at one moment.

    paths: absolute; differing: those that differ, relative to the root
    globbed: pattern → the paths that it matches only on disk or only in the commit
    """

    paths: set[str] = field(default_factory=set)
    differing: set[str] = field(default_factory=set)
    globbed: dict[str, frozenset[str]] = field(default_factory=dict)
