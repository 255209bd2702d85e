"""Note which files the setup of a kept worktree read, so that their changes set it up again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from sizeguard.base.files import write_atomic
from sizeguard.base.fingerprint import files_key, fingerprint
from sizeguard.git.trees import Reads, Scope, reads_hash
from sizeguard.git.worktrees import Worktree
from sizeguard.projects.project import BuildSteps
from sizeguard.toolchains.host import host_toolchain
from sizeguard.toolchains.installed import package_lists
from sizeguard.toolchains.read_files import ReadFiles

_FILES, _ASKS_GIT, _TAKES_FILES, _HASH = "files", "asks_git", "takes_files", "hash"


def setup_key(app: str, target: str, steps: BuildSteps, environment: Mapping[str, str]) -> str:
    """Hash what a kept build depends on besides files.

    Build tools such as make do not notice other commands, variables or compilers.
    """
    told = [app, target, steps.setup, steps.build, steps.clean]
    tools = [host_toolchain(), *files_key(package_lists())]
    return fingerprint({"setup": told, "environment": environment, "tools": tools})


def note_setup(tree: Worktree, commit: str, scope: Scope, key: str, read: ReadFiles | None) -> None:
    """Write what the setup depends on. read: None if its reads were not watched."""
    noted: dict[str, object] = {}
    if read is not None:
        noted[_FILES] = sorted(read.files)
        noted[_ASKS_GIT], noted[_TAKES_FILES] = read.asks_git, read.takes_files
    noted[_HASH] = _hash(tree.repository, commit, scope, key, noted)
    write_atomic(tree.setup, json.dumps(noted) + "\n")


def is_as_noted(tree: Worktree, commit: str, scope: Scope, key: str) -> bool:
    """Return whether the setup would be the same for a commit as for the one that was set up."""
    try:
        noted = json.loads(tree.setup.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(noted, dict):
        return False
    return noted.get(_HASH) == _hash(tree.repository, commit, scope, key, noted)


def _hash(repository: Path, commit: str, scope: Scope, key: str, noted: dict[str, object]) -> str:
    files = noted.get(_FILES)
    if isinstance(files, list):
        reads = Reads(frozenset(map(str, files)), bool(noted[_ASKS_GIT]), bool(noted[_TAKES_FILES]))
    else:
        reads = Reads(frozenset(), unwatchable=True)
    # With the names of baselines, a change that adds one would set up again for it and its base
    hashed = reads_hash(repository, commit, scope, reads, names=False)
    return fingerprint({"key": key, "reads": hashed})
