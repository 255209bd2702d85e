"""Hash the files of a commit that a build of our runtime reads."""

from __future__ import annotations

import functools
import glob
from collections.abc import Mapping
from pathlib import Path

from sizeguard.base.fingerprint import fingerprint
from sizeguard.git.git import is_id
from sizeguard.git.trees import tree_entries
from sizeguard.runtimes.sizeguard.native_tree import FOLDER, VERSION_FILE, is_source


def runtime_hash(repository: Path, commit: str, selection: str) -> str:
    """Hash the sources of our runtime in a commit, and the selection file.

    The generator is the running package, not the commit's.
    """
    hashed = _hash_of_id if is_id(commit) else _hash
    return hashed(repository, commit, selection)


def _hash(repository: Path, commit: str, selection: str) -> str:
    top = tree_entries(repository, commit, "--full-tree")
    native = top.get(FOLDER, "").split()  # mode, type and id
    files = _native_files(repository, native[2]) if native[1:2] == ["tree"] else {}
    sources = [f"{entry}\t{path}" for path, entry in files.items() if is_source(path)]
    chosen: object = files.get(selection)
    if selection and not selection.startswith(f"{FOLDER}/"):
        chosen = tree_entries(repository, commit, "--full-tree", "--", selection)
    # The root is in the include path before the compiler's folders, so a file there can replace a
    # system header.
    shadows = {name: entry for name, entry in sorted(top.items()) if _is_header(name)}
    version = tree_entries(repository, commit, "--full-tree", "--", VERSION_FILE)
    return fingerprint(
        {
            "files": sources,
            "selection": chosen,
            "shadows": shadows,
            "version": version,
            "top": sorted(top),  # builds look for files and folders there
        }
    )


# The id of a commit never changes meaning. A gate hashes one commit for each app and target, and
# each hash takes 3 ms.
_hash_of_id = functools.lru_cache(512)(_hash)


@functools.cache
def _is_header(name: str) -> bool:
    """Return whether this machine's compilers have a header or header folder of this name."""
    folders = ("include", "include/c++/*", "lib/gcc/*/*/include", "include/*-linux-gnu")
    return any(any(Path("/usr").glob(f"{folder}/{glob.escape(name)}")) for folder in folders)


@functools.lru_cache(256)
def _native_files(repository: Path, tree: str) -> Mapping[str, str]:
    """List the files of native/ in a git tree: path → mode, type and id.

    Cached by the tree's id: only 8 of 200 commits of this project changed such a file.
    """
    return {
        f"{FOLDER}/{path}": entry
        for path, entry in sorted(tree_entries(repository, tree, "-r").items())
    }
