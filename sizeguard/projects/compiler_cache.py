"""Run compilers through ccache, so that its objects are those that the compiler would make."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from sizeguard.base.files import write_if_changed
from sizeguard.git.trees import FILE_MODES, Reads, tree_entries
from sizeguard.git.worktrees import Worktree
from sizeguard.toolchains.unseen_reads import has_unseen_reads

_MASQUERADE = Path("/usr/lib/ccache")  # Debian's ccache has links with the compilers' names here
# The preprocessor shows these files to ccache. It does not show what assembler directives in code
# read (.include), the programs and specs of `gcc -B tools`, and plug-ins.
_SHOWN = frozenset((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".ipp", ".tpp"))
_EXTRA = "CCACHE_EXTRAFILES"
_BAZEL = re.compile(r"(?<![\w.-])bazel(isk)?(-[\d.]+)?(?![\w.-])")


def ccache_path(command: str) -> dict[str, str]:
    """Return the PATH variable that puts ccache before compilers; empty without ccache.

    Empty also for a shell command that runs Bazel: its sandbox does not let ccache write, so every
    compilation would fail. Bazel has a cache of its own.
    """
    if not _MASQUERADE.is_dir() or _BAZEL.search(command):
        return {}
    return {"PATH": f"{_MASQUERADE}{os.pathsep}{os.environ.get('PATH', '')}"}


def note_other_inputs(tree: Worktree, commit: str, reads: Reads | None) -> None:
    """Write the ids of a commit's files that a compiler may read unseen by ccache.

    reads: files that builds open; None counts all. Others count as soon as a build opens them.
    """
    known = None if reads is None or reads.unwatchable else reads.files
    lines = [
        f"{entry}\t{path}\n"
        for path, entry in sorted(
            tree_entries(tree.repository, commit, "-r", "--full-tree").items()
        )
        if not entry.startswith(FILE_MODES)
        or ((known is None or path in known) and Path(path).suffix not in _SHOWN)
    ]
    write_if_changed(_noted(tree), "".join(lines).encode("utf-8", "surrogateescape"))
    if has_unseen_reads(tree.repository, commit):
        _off(tree).touch()
    else:
        _off(tree).unlink(missing_ok=True)


def other_inputs(tree: Worktree, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variable by which ccache counts the noted files, besides those it counts now.

    It compiles everything if sources read files that it does not see, or if the path has a $, which
    ccache takes for a variable.
    """
    noted = _noted(tree)
    if _off(tree).is_file() or "$" in str(noted):
        return {"CCACHE_DISABLE": "1"}
    before = given.get(_EXTRA, "")
    if not noted.is_file():
        return {}
    return {_EXTRA: f"{before}{os.pathsep}{noted}" if before else str(noted)}


def _noted(tree: Worktree) -> Path:
    return tree.path.with_suffix(".others")


def _off(tree: Worktree) -> Path:
    return tree.path.with_suffix(".uncached")
