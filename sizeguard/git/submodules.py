"""Fill in the submodules of a worktree from existing repositories; nothing is fetched."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.git.git import common_folder, git, git_bytes
from sizeguard.git.read_only import remove_folder

GITLINK = "160000"  # git's mode of a submodule


def fill_submodules(repository: Path, tree: Path, commit: str, holder: Path | None = None) -> None:
    """Write the files of a commit's submodules into a worktree with that commit.

    repository: the user's repository, whose submodules have the commits
    holder: the .git folder with the commit, if it is another one

    Raises InputError if a submodule's commit is missing.
    """
    for path, wanted in _gitlinks(holder or repository, commit):
        place = tree / path
        if place.is_dir():
            remove_folder(place)
        place.mkdir(parents=True)
        source = submodule_repository(repository, path, wanted)
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            options = (f"--git-dir={source}", f"--work-tree={place}")
            git_bytes(tree, *options, "read-tree", wanted, more=index)
            git_bytes(place, *options, "checkout-index", "--all", "--force", more=index)
        fill_submodules(repository / path, place, wanted, source)


def _gitlinks(holder: Path, commit: str) -> Iterator[tuple[str, str]]:
    """List path and commit of each submodule of a commit."""
    listed = git_bytes(holder, "ls-tree", "-r", "-z", "--full-tree", commit)
    for row in listed.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = row.partition("\t")
        if about.startswith(f"{GITLINK} "):
            yield path, about.split()[2]


def submodule_repository(repository: Path, path: str, wanted: str) -> Path:
    """Find the .git folder that has a submodule's commit."""
    for folder in _folders(repository, path):
        try:
            git(folder, "cat-file", "-e", f"{wanted}^{{commit}}")
        except InputError:
            continue
        return folder
    raise InputError(
        f"{path}: commit {wanted[:12]} of this submodule is missing; run git submodule update "
        f"--init"
    )


def _folders(repository: Path, path: str) -> Iterator[Path]:
    """Yield the .git folders that may have the commits of a submodule."""
    if (repository / path / ".git").exists():
        yield common_folder(repository / path)
    if (repository / ".git").exists():
        modules = common_folder(repository) / "modules"
        if (modules / path).is_dir():
            yield modules / path
