"""Turns the repository into the commits that growth and creep are counted from, and those into measurements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from sizeguard.attribution.commits import Measured, Place, measure_commit, measurement_key, try_commit
from sizeguard.attribution.store import Store, default_store
from sizeguard.build.fingerprint import SUFFIXES
from sizeguard.build.git import commit_id, git, git_bytes, top_folder
from sizeguard.build.recipes import RuntimeRecipe
from sizeguard.errors import InconclusiveError, InputError
from sizeguard.gate.result import Base
from sizeguard.gate.waivers import TRAILER

# Branches that work goes into, if nobody says which. A feature branch's own upstream would be the work itself.
_USUAL = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
# What continuous integration says of the branch that a change is for.
_VARIABLES = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
_RUNTIME = "native/"
_DATA = ("native/models/", "native/examples/", "native/fuzzing/")
# The generator of the package that runs builds the base, too: what a change of it does is seen against the baseline alone.
_GENERATOR = ("sizeguard/codegen/", "sizeguard/selection/")


@dataclass(frozen=True, slots=True)
class Commit:
    """id: in full."""

    id: str
    subject: str
    date: str

    @property
    def short(self) -> str:
        return self.id[:7]


class History:
    """The repository whose root is the source tree."""

    def __init__(self, root: Path, store: Store | None = None) -> None:
        self.root = root
        self.place = Place(root, root / ".sizeguard" / "worktrees", store or default_store(root))

    @cached_property
    def head(self) -> Commit | None:
        """None outside of git, in a repository without commits, and in a folder that is no root of one."""
        try:
            if top_folder(self.root).resolve() != self.root.resolve():
                return None
            return self.commit("HEAD")
        except InputError:
            return None

    def commit(self, revision: str) -> Commit:
        """Raises InputError for what is none."""
        full = commit_id(self.root, revision)
        subject, date = git(self.root, "show", "--no-patch", "--format=%s%x00%cs", full).split("\0")
        return Commit(full, subject, date)

    def base(self, asked: str, configured: str) -> Base | None:
        """The merge base with the branch that is asked for, or configured, or that CI names, or the usual one. None outside of git.

        Raises InconclusiveError if a branch that was named is not there, or shares no history with what is checked out.
        """
        if self.head is None:
            if asked:
                raise InconclusiveError(f"{self.root}: not the root of a git repository with commits: there is no --base {asked}")
            return None
        named = asked or configured or next((f"origin/{os.environ[name]}" for name in _VARIABLES if os.environ.get(name)), "")
        for ref in (named,) if named else _USUAL:
            if not self._exists(ref):
                continue
            try:
                found = self.commit(git(self.root, "merge-base", "HEAD", commit_id(self.root, ref)))
            except InputError as error:
                if named:
                    hint = "the clone may be shallow: git fetch --unshallow"
                    raise InconclusiveError(f"{ref} and what is checked out have no commit in common; {hint}") from error
                continue
            return Base(found.id, ref, found.subject)
        if named:
            raise InconclusiveError(f"there is no {named} to count growth from; git fetch origin, or give another with --base")
        return Base("", "", text=f"none of {', '.join(_USUAL)} is there: growth is counted from the baselines")

    def _exists(self, ref: str) -> bool:
        try:
            commit_id(self.root, ref)
        except InputError:
            return False
        return True

    def changed(self, commit: str) -> frozenset[str]:
        """Paths that differ between a commit and the files that are here; those that git does not know yet, too."""
        known = git_bytes(self.root, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", commit, "--")
        unknown = git_bytes(self.root, "ls-files", "--others", "--exclude-standard", "-z")
        return frozenset(os.fsdecode(path) for path in (known + unknown).split(b"\0") if path)

    def text_at(self, commit: str, path: str) -> bytes | None:
        """A file's bytes in a commit; None if it has none."""
        if not git_bytes(self.root, "ls-tree", "-z", "--full-tree", commit, "--", path):
            return None
        return git_bytes(self.root, "cat-file", "blob", f"{commit}:{path}")

    def trailers(self, base: str) -> Sequence[tuple[str, str]]:
        """Commit and text of each waiver in the messages from the base to what is checked out."""
        form = f"--format=%H%x00%(trailers:key={TRAILER},valueonly,unfold,separator=%x01)%x00"
        words = git(self.root, "log", form, f"{base}..HEAD", "--").split("\0")
        pairs = zip(words[::2], words[1::2], strict=False)
        return [(commit.strip(), text) for commit, texts in pairs for text in texts.split("\x01") if text.strip()]

    def commits(self, since: str) -> Sequence[Commit]:
        """From the one after `since` to HEAD, the oldest first, as the main line has them."""
        listing = git(self.root, "log", "--first-parent", "--reverse", "--format=%H%x00%s%x00%cs", f"{since}..HEAD", "--")
        return [Commit(*line.split("\0")) for line in listing.split("\n") if line]

    def measure(self, commit: str, recipe: RuntimeRecipe) -> Measured:
        """Raises DoesNotBuildError if the commit does not, BuildError if the machine fails."""
        return measure_commit(self.place, commit, recipe)

    def try_measure(self, commit: str, recipe: RuntimeRecipe) -> Measured:
        return try_commit(self.place, commit, self.key(commit, recipe), recipe)

    def key(self, commit: str, recipe: RuntimeRecipe) -> str:
        return measurement_key(self.place, commit, recipe)


def is_input(path: str, selection: str) -> bool:
    """Whether a file goes into an app's build."""
    if path == selection or path.startswith(_GENERATOR):
        return True
    if not path.startswith(_RUNTIME) or path.startswith(_DATA) or PurePosixPath(path).suffix not in SUFFIXES:
        return False
    return not path.startswith("native/apps/") or path.count("/") == 2


def is_generator(path: str) -> bool:
    return path.startswith(_GENERATOR)
