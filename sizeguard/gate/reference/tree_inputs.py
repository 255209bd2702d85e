"""Find the inputs of a build that differ between a commit and the checked-out files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
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
    asked = kept_now(("tree", root, commit), _Asked)
    read = set[str]().union(*(names for each in records for names in (each.files, each.tools)))
    unknown = {path: relative_to(root, path) for path in may_be_inside(root, read - asked.read)}
    installed = installed_folders(root)
    own = [
        path
        for path, at in unknown.items()
        if at is not None and (at in files.entries or not is_below_any(path, installed))
    ]
    differ = differing(root, files, own)
    asked.differing.update((path, at) for path in own if (at := unknown[path]) in differ and at)
    asked.read |= read
    absent = set[str]().union(*(each.absent for each in records))
    asked.has_appeared |= bool(appeared(root, files, absent - asked.absent))
    asked.absent |= absent
    patterns = set[str]().union(*(each.globs for each in records))
    for pattern in patterns - asked.globbed.keys():
        asked.globbed[pattern] = globbed(root, files, [pattern], glob_paths, glob_matches)
    return frozenset(
        {asked.differing[path] for path in asked.differing.keys() & read}
        | (appeared(root, files, absent) if asked.has_appeared else frozenset())
        | frozenset().union(*(asked.globbed[pattern] for pattern in patterns))
    )


@dataclass(slots=True)
class _Asked:
    """The paths and patterns of builds that were compared with a commit at one moment.

    read: paths of files; differing: those that differ, with their paths relative to the root
    absent: paths of missing files; has_appeared: whether the commit has any of them
    globbed: pattern → the paths that it matches only on disk or only in the commit
    """

    read: set[str] = field(default_factory=set)
    differing: dict[str, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    has_appeared: bool = False
    globbed: dict[str, frozenset[str]] = field(default_factory=dict)
