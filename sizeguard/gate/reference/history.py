"""The commits that growth and creep are counted from, and their measurements."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from pathlib import Path

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.gate.gate_result import IS_HEAD, Base
from sizeguard.gate.reference.base_branch import (
    check_change,
    exists,
    how_to_fetch,
    is_shallow,
    named_base,
    usual_branches,
)
from sizeguard.gate.reference.ci_event import Candidate, ci_event
from sizeguard.git.commits import CommitLine, lines_after, read_line
from sizeguard.git.file_versions import CommitFiles
from sizeguard.git.git import (
    branch_id,
    branch_ids,
    commit_id,
    git,
    git_finds,
    head_id,
    is_id,
    top_and_head,
    top_folder,
)
from sizeguard.git.tree_contents import blob_id
from sizeguard.git.trees import tree_entries
from sizeguard.measurement.measured_commits import (
    MeasuredCommit,
    MeasurementPlace,
    measure_commit,
    measurement_key,
    try_commit,
)
from sizeguard.measurement.store_place import in_ci, project_store
from sizeguard.projects.project import CONFIG
from sizeguard.projects.reader import parse_base
from sizeguard.projects.steps.commit_steps import lacks_app
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.recipe import DoesNotBuildError, Recipe


class History:
    """The repository whose root is the source tree."""

    def __init__(
        self, root: Path, store: Store | None = None, *, again: bool = False, config: str = CONFIG
    ) -> None:
        """Read the repository at `root`; measurements are kept in `store`, if given.

        again: build commits once more that did not build before
        config: path of the configuration that may name the base
        """
        self.root, self._config = root, config
        # By id, for this run: --unshallow gives a commit the parents that it lacked
        self._parents: dict[str, str] = {}
        self._branches: dict[str, bool] = {}
        self._keys: dict[tuple[Hashable, ...], tuple[Recipe, str]] = {}
        self.place = MeasurementPlace(
            root,
            root / ".sizeguard" / "worktrees",
            store or project_store(root),
            build_failed_again=again,
        )
        # Commits that did not build in this run, and others, by commit and recipe
        self._failed: dict[tuple[str, str], DoesNotBuildError] = {}
        self._built: set[tuple[str, str]] = set()

    @cached_property
    def head(self) -> CommitLine | None:
        """The commit that is checked out.

        None outside git, in a repository without commits, and below a repository's root.
        """
        try:
            top, commit = top_and_head(self.root)
            if top.resolve() != self.root.resolve():
                return None
            return read_line(self.root, commit)
        except InputError:
            return None

    @cached_property
    def is_new(self) -> bool:
        """Return whether it is the root of a repository in which nothing was committed yet."""
        if self.head is not None:
            return False
        try:
            is_root = top_folder(self.root).resolve() == self.root.resolve()
            return is_root and not head_id(self.root)
        except InputError:
            return False

    @cached_property
    def may_have_commits(self) -> bool:
        """Return whether there may be commits that cannot be read, as below a repository's root."""
        if self.head is not None or self.is_new:
            return False
        try:
            return bool(top_folder(self.root))
        except InputError:
            return False  # outside git

    @property
    def why_no_head(self) -> str:
        """Say why there is no checked-out commit."""
        other = "not the root of a git repository with a checked-out commit"
        return "there is no commit yet" if self.is_new else other

    def commit(self, revision: str) -> CommitLine:
        """Read a commit.

        Raises InputError if the revision names none, or only a branch of this clone: a change can
        give its branch the name of a release, whose tag a clone may lack.
        """
        if revision not in self._branches:
            self._branches[revision] = not is_id(revision) and self._is_branch(revision)
        if self._branches[revision]:
            raise InputError(f"'{revision}' is a branch in {self.root}, not a tag or commit")
        return read_line(self.root, commit_id(self.root, revision))

    def _is_branch(self, name: str) -> bool:
        found = (
            git_finds(self.root, "show-ref", "--verify", "--quiet", f"refs/{kind}/{name}")
            for kind in ("heads", "tags")
        )
        return next(found) and not next(found)

    def base(self, asked: str = "") -> Base | None:
        """Find the merge base with the branch that growth and terms are compared with.

        That is the requested branch, else the revision that CI names: the target branch of a
        change, the commit before a push. Otherwise it is `base:` in the default branch's
        sizeguard.yaml, else the default branch. The checked-out sizeguard.yaml does not count,
        because a change could choose its own base. None outside git.

        Raises InconclusiveError if the named branch does not exist, or shares no history with HEAD.
        """
        if self.head is None:
            if asked:
                raise InconclusiveError(
                    f"{self.root}: {self.why_no_head}, so there is no --base {asked}"
                )
            return _no_base(self.why_no_head) if self.is_new else None
        event = ci_event()
        named = named_base(self.root, asked, event)
        if named is not None:
            found = self._merge_base(named, is_pushed=event.pushed and not asked)
            if found.text == IS_HEAD and not asked:
                check_change(self.root, event, found.commit)
            return found
        usual = usual_branches()
        ref, id_ = next(iter(branch_ids(self.root, usual).items()), ("", ""))
        if not ref:
            return self._without_branch(usual)
        configured = self._configured(ref, id_)
        if not configured:
            return self._merge_base(Candidate(ref, ref), is_pushed=event.pushed, other=id_)
        if not exists(self.root, configured):
            fetch = how_to_fetch(self.root)
            raise InconclusiveError(
                f"there is no commit '{configured}' to count growth from; {fetch}, or name another"
                " with --base"
            )
        return self._merge_base(Candidate(configured, configured), is_pushed=event.pushed)

    def _without_branch(self, names: Sequence[str]) -> Base:
        """Return no base if no branch has one of the names.

        Raises InconclusiveError in CI and in a shallow clone, where the branch may be missing.
        """
        none = f"no branch {', '.join(names)} exists"
        if in_ci() or is_shallow(self.root):
            fetch = how_to_fetch(self.root)
            raise InconclusiveError(f"{none}; {fetch}, or name the base of growth with --base")
        return _no_base(none)

    def _configured(self, branch: str, commit: str) -> str:
        """Read `base:` of a branch's sizeguard.yaml; empty if it is missing."""
        text = self.text_at(commit, self._config)
        try:
            return parse_base(text) if text is not None else ""
        except InputError as error:
            raise InconclusiveError(
                f"{branch}: {error}; name the base of growth with --base"
            ) from error

    def _merge_base(self, ref: Candidate, *, is_pushed: bool, other: str = "") -> Base:
        """Find the merge base of HEAD and an existing branch or commit.

        other: the commit of that branch, if it was read already

        Raises InconclusiveError if it shares no commit with HEAD, or several of equal rank.
        """
        try:
            other = other or branch_id(self.root, ref.revision)
            is_same = self.head is not None and self.head.id == other
            common = other if is_same else self._common(ref, other)
            found = read_line(self.root, common)
        except InputError as error:
            shallow = is_shallow(self.root)
            hint = how_to_fetch(self.root) if shallow else "name another with --base"
            raise InconclusiveError(
                f"{ref.name} and HEAD have no commit in common; {hint}"
            ) from error
        is_head = self.head is not None and found.id == self.head.id
        # A checkout of CI can have files that earlier steps left; they are no change of their own.
        merged = is_pushed or (is_head and (in_ci() or self._is_clean()))
        text = IS_HEAD if is_head else ""
        return Base(found.id, ref.name, found.subject, text, merged)

    def _common(self, ref: Candidate, commit: str) -> str:
        """Find the merge base of HEAD and a branch; of several, the one on the branch's main line.

        The others were merged into the branch, perhaps without their terms.

        Raises InconclusiveError if none of several is on it.
        """
        common = git(self.root, "merge-base", "--all", "HEAD", commit).split()
        if len(common) == 1:
            return common[0]
        line = git(self.root, "rev-list", "--first-parent", commit).split()
        found = next((each for each in line if each in common), "")
        if not found:
            raise InconclusiveError(
                f"HEAD and {ref.name} have several merge bases, and none is on the main line of"
                f" {ref.name}; merge {ref.name}, or name another base with --base"
            )
        return found

    def _is_clean(self) -> bool:
        """Return whether the checked-out files equal those of HEAD."""
        return not git(self.root, "status", "--porcelain", "--ignore-submodules=none")

    def changes_since(self, base: Base) -> str:
        """Return the commit before the change's own commits, the only ones with valid trailers.

        If the change is already merged, HEAD itself is the change.
        """
        is_head = self.head is not None and self.head.id == base.commit
        return (self.first_parent(base.commit) if is_head and base.merged else "") or base.commit

    def first_parent(self, commit: str) -> str:
        """Return the id of a commit's first parent; empty for one without parents."""
        if commit not in self._parents:
            words = git(self.root, "rev-list", "--parents", "--max-count=1", commit).split()
            self._parents[commit] = words[1] if len(words) > 1 else ""
        return self._parents[commit]

    def lacks_parents(self, commit: str) -> bool:
        """Return whether a commit has parents that this shallow clone does not have."""
        if self.first_parent(commit) or not is_shallow(self.root):
            return False
        header, _, _ = git(self.root, "cat-file", "commit", commit).partition("\n\n")
        return any(line.startswith("parent ") for line in header.splitlines())

    def text_at(self, commit: str, path: str) -> bytes | None:
        """Read a file's bytes in a commit, through links; None if it does not have the file."""
        return CommitFiles(self.root, commit).text(path)

    def has_bytes(self, commit: str, path: str, data: bytes) -> bool:
        """Return whether a commit has a file of exactly these bytes; compares git's ids."""
        entry = tree_entries(self.root, commit, "-r", "--full-tree").get(path, "")
        id_ = entry.split()[2] if " blob " in entry else ""
        return bool(id_) and blob_id(data, id_) == id_

    def trailers(self, base: str, key: str) -> Sequence[tuple[str, str]]:
        """Read each trailer of that key in the messages from base to HEAD: commit and text."""
        form = f"--format=%H%x00%(trailers:key={key},valueonly,unfold,separator=%x01)%x00"
        words = git(self.root, "log", form, f"{base}..HEAD", "--").split("\0")
        pairs = zip(words[::2], words[1::2], strict=False)
        return [
            (commit.strip(), text)
            for commit, texts in pairs
            for text in texts.split("\x01")
            if text.strip()
        ]

    def commits(self, since: str) -> Sequence[CommitLine]:
        """List the commits of the main line after `since` up to HEAD, the oldest first."""
        return lines_after(self.root, since)

    def measure(self, commit: str, recipe: Recipe, tools: str = "") -> MeasuredCommit:
        """Measure a commit.

        tools: of the build to compare with; a measurement by other ones is made anew, because
            tools outside of the system's packages are no part of its key. The commit may also ask
            for other tools itself.

        Raises DoesNotBuildError if the commit does not build, BuildError if the machine fails.
        """
        recipe = self.recipe_at(commit, recipe)
        told = (commit, recipe.text)
        if told in self._failed:
            raise self._failed[told]
        try:
            found = measure_commit(self.place, commit, recipe)
            if not found.was_built and told not in self._built and _differs(found.tools, tools):
                found = measure_commit(self.place, commit, recipe, anew=True)
            self._built.add(told)
            return found
        except DoesNotBuildError as error:
            self._failed[told] = error
            raise

    def try_measure(self, commit: str, recipe: Recipe) -> MeasuredCommit:
        """Measure a commit; one that does not build has a measurement without an analysis."""
        recipe = self.recipe_at(commit, recipe)
        return try_commit(self.place, commit, self.key(commit, recipe), recipe)

    def recipe_at(self, commit: str, recipe: Recipe) -> Recipe:
        """Return the recipe as the commit's own sizeguard.yaml has it: its changes are growth."""
        return recipe.at(self.root, commit)

    def lacks_app(self, commit: str, app: str) -> bool:
        """Return whether the commit's own sizeguard.yaml names apps, but not this one."""
        return lacks_app(self.root, commit, app)

    def key(self, commit: str, recipe: Recipe) -> str:
        """Return the key of the commit's measurement in the store."""
        recipe = self.recipe_at(commit, recipe)
        if not is_id(commit):
            return measurement_key(self.place, commit, recipe)
        # A gate asks twelve times for each app and target, and new reads alone change a key.
        told = (commit, *recipe.identity)
        if told not in self._keys:
            # The steps, which are named by their id, must live as long
            self._keys[told] = recipe, measurement_key(self.place, commit, recipe)
        return self._keys[told][1]


def _no_base(reason: str) -> Base:
    text = f"{reason}; growth is counted from the baselines, and terms are not compared"
    return Base("", "", text=text)


def _differs(one: str, other: str) -> bool:
    """Return whether two names of tools are known and differ."""
    return bool(one and other) and one != other


def counts_from_parent(history: History, base: Base | None, *, is_equal: bool) -> bool:
    """Return whether HEAD is the base, so that growth is counted from its first parent.

    is_equal: no input of the build differs from HEAD's. Changes that no commit has yet are counted
    from HEAD, except in a checkout of CI.
    """
    if base is None or history.head is None or history.head.id != base.commit:
        return False
    return is_equal or base.merged
