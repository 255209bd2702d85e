"""Run git commands without side effects for the user: no hooks, locks or maintenance."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from sizeguard.base.errors import BuildError, InconclusiveError, InputError, SizeguardError

_CONFIG = (
    # Hooks, watchers and maintenance that the user configured are for the user's own work.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "advice.graftFileDeprecated=false",  # a hint would stand for the error of a command
    "core.sparseCheckout=false",
    "worktree.useRelativePaths=false",
    # Other values change what commands print.
    "core.quotePath=false",
    "log.showSignature=false",
    "i18n.logOutputEncoding=UTF-8",
    "status.showUntrackedFiles=normal",
    "diff.interHunkContext=0",
    "diff.submodule=short",
    "trailer.separators=:",
    "core.safecrlf=false",  # or git refuses files whose line ends a commit would change
)

# Compare all submodules, including those with `ignore` in .gitmodules.
DIFF = ("diff", "--ignore-submodules=none")

# Prefixes of a branch's full name, tried before any other revision of that name. Those of remotes
# come first, because a change may be on a branch that is called origin/main.
_PLACES = ("refs/remotes/", "refs/heads/", "")

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")  # SHA-1 or SHA-256

# git's message for a file of Git LFS whose content is neither here nor at the server.
_LACKS = re.compile(r"fatal: (.+): smudge filter lfs failed")

# Start of git's message for a repository that it refuses to read.
_UNSAFE = "fatal: detected dubious ownership"


class UnsafeFolderError(InconclusiveError):
    """A repository that belongs to another user, which git does not read."""


# Ignore replace refs and grafts, which would change commits and their parents.
_HISTORY = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}


# Where the user's settings are, and how to reach a server.
_KEPT_VARIABLES = frozenset(
    ["GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"]
)


def git_environment() -> dict[str, str]:
    """Return the environment without the variables that git sets for hooks and aliases.

    They name the user's index and worktree.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT_VARIABLES
    }
    return {
        **kept,
        **_safe_folders(),
        **_HISTORY,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
    }


def _safe_folders() -> dict[str, str]:
    """Keep the folders of other users that the environment tells git to read, as CI jobs do.

    Other settings there are left out, because hooks set them, too.
    """
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    numbers = range(int(count) if count.isdecimal() and len(count) < 4 else 0)
    given = [
        os.environ.get(f"GIT_CONFIG_VALUE_{number}", "")
        for number in numbers
        if os.environ.get(f"GIT_CONFIG_KEY_{number}", "").lower() == "safe.directory"
    ]
    settings = {"GIT_CONFIG_COUNT": str(len(given))}
    for number, folder in enumerate(given):
        settings[f"GIT_CONFIG_KEY_{number}"] = "safe.directory"
        settings[f"GIT_CONFIG_VALUE_{number}"] = folder
    return settings if given else {}


def _command(folder: Path, arguments: Sequence[str]) -> list[str]:
    """Make the command line."""
    return [
        "git",
        *(word for setting in _CONFIG for word in ("-c", setting)),
        "-C",
        str(folder),
        *arguments,
    ]


def _subcommand(arguments: Sequence[str]) -> str:
    """Return the name of git's command, behind options: `-c name=value --git-dir=x add`."""
    words = iter(arguments)
    for word in words:
        if word == "-c":
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def git_bytes(
    folder: Path,
    *arguments: str,
    stdin: bytes | IO[bytes] = b"",
    more: Mapping[str, str] | None = None,
) -> bytes:
    """Return the output of a git command.

    more: additional environment variables

    Raises InputError with git's message, UnsafeFolderError for a repository of another user,
    BuildError if there is no git.
    """
    given: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    try:
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            _command(folder, arguments),
            capture_output=True,
            env={**git_environment(), **(more or {})},
            check=False,
            **given,
        )
    except FileNotFoundError as error:
        raise BuildError("git not found; install with: apt-get install git") from error
    if done.returncode != 0:
        raise _failure(folder, arguments, done)
    return done.stdout


def git_finds(folder: Path, *arguments: str) -> bool:
    """Return whether a command such as `git grep -q` finds something; git exits with 1 if not.

    Raises as git_bytes for any other failure.
    """
    done = subprocess.run(
        _command(folder, arguments), capture_output=True, env=git_environment(), check=False
    )
    if done.returncode > 1 or done.returncode < 0:
        raise _failure(folder, arguments, done)
    return done.returncode == 0


def _failure(
    folder: Path, arguments: Sequence[str], done: subprocess.CompletedProcess[bytes]
) -> SizeguardError:
    """Make the error of a git command that failed, from its messages."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    if any(line.startswith(_UNSAFE) for line in lines):
        return UnsafeFolderError(
            f"{folder}: git does not read a repository of another user; if it is yours: git"
            f" config --global --add safe.directory {shlex.quote(str(folder.absolute()))}"
        )
    for line in lines:
        if lacks := _LACKS.fullmatch(line):
            return InputError(
                f"{lacks[1]}: the clone lacks its content in Git LFS; run git lfs fetch --all"
            )
    told = next(
        (line for line in lines if line.startswith(("fatal: ", "error: "))),
        lines[-1] if lines else f"ended with {done.returncode}",
    )
    return InputError(
        f"{folder}: git {_subcommand(arguments)}:"
        f" {told.partition(': ')[2] if told.startswith(('fatal: ', 'error: ')) else told}"
    )


def git_piped(folder: Path, first: Sequence[str], then: Sequence[str]) -> bytes:
    """Pipe the output of one git command into another, and return the second one's output.

    The first output is never in memory as a whole, because patches of years have gigabytes.
    """
    with subprocess.Popen(
        _command(folder, first),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=git_environment(),
    ) as source:
        if source.stdout is None:
            raise ValueError("a pipe was requested")
        output = git_bytes(folder, *then, stdin=source.stdout)
    if source.returncode != 0:
        raise InputError(f"{folder}: git {_subcommand(first)} ended with {source.returncode}")
    return output


def git(folder: Path, *arguments: str) -> str:
    """Return the output as a string, without the final newline."""
    return git_bytes(folder, *arguments).decode("utf-8", "replace").rstrip("\n")


def git_path(folder: Path, *arguments: str) -> Path:
    """Return the output as a path, which need not be UTF-8."""
    return Path(os.fsdecode(git_bytes(folder, *arguments).removesuffix(b"\n")))


def top_folder(here: Path) -> Path:
    """Return the root of the worktree that contains a folder.

    Raises InputError if there is none.
    """
    try:
        return git_path(here, "rev-parse", "--show-toplevel")
    except InputError as error:
        raise InputError(f"{here}: not inside a git worktree; change to a clone") from error


def common_folder(repository: Path) -> Path:
    """Return the .git folder that all worktrees of the repository share."""
    return git_path(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")


def top_and_head(here: Path) -> tuple[Path, str]:
    """Return the root of the worktree that contains a folder, and the commit that is checked out.

    Raises InputError if there is none.
    """
    told = git_bytes(here, "rev-parse", "--show-toplevel", "HEAD^{commit}")
    top, _, commit = told.removesuffix(b"\n").rpartition(b"\n")
    return Path(os.fsdecode(top)), commit.decode("ascii")


def branch_id(repository: Path, name: str) -> str:
    """Return the commit of a branch, or of any revision if there is no such branch.

    Raises InputError for a revision that is not a commit.
    """
    found = branch_ids(repository, [name])
    if name not in found:
        raise InputError(f"{name}: no such commit in {repository}")
    return found[name]


def branch_ids(repository: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the commits of branches, or of other revisions if no such branch exists.

    Git itself prefers a tag of that name, which a change can add. A full id names its commit, even
    if a branch has that name. Names without a commit are left out; the others are in the given
    order. Raises InputError outside a repository.
    """
    asked = [
        (name, place + name)
        for name in names
        if "\n" not in name
        for place in (("",) if is_id(name) else _PLACES)
    ]
    lines = "".join(f"{revision}^{{commit}}\n" for _, revision in asked)
    told = git_bytes(
        repository,
        "cat-file",
        "--batch-check=%(objectname) %(objecttype)",
        stdin=lines.encode("utf-8", "surrogateescape"),
    ).splitlines()
    found: dict[str, str] = {}
    for (name, _), line in zip(asked, told, strict=True):
        id_, _, kind = line.decode("utf-8", "replace").partition(" ")
        if kind == "commit" and name not in found:
            found[name] = id_
    return found


def is_id(revision: str) -> bool:
    """Return whether a revision is a full id, which never names anything else."""
    return _ID.fullmatch(revision) is not None


def head_id(repository: Path) -> str:
    """Return the id of the checked-out commit; empty in a repository without any commit.

    Raises InputError if HEAD names no commit although there are some, and outside a repository.
    """
    try:
        return git(repository, "rev-parse", "--verify", "HEAD^{commit}")
    except InputError:
        # --all would also list the HEADs of worktrees
        if git(repository, "rev-list", "--glob=refs/*", "--max-count=1"):
            raise
        git(repository, "symbolic-ref", "--quiet", "HEAD")  # else HEAD is a lost commit
        return ""


_NAMED_REFS = ("refs/heads/", "refs/remotes/", "refs/tags/")


def commit_id(repository: Path, revision: str) -> str:
    """Return the full id of a commit from any name that git understands.

    Raises InputError for a revision that is not a commit.
    """
    return (_commit_of_id if is_id(revision) else _commit)(repository, revision)


# A gate asks for its base once per app and target, and a process takes 3 ms.
@functools.lru_cache(256)
def _commit_of_id(repository: Path, id_: str) -> str:
    """Return the id of a commit, or of the commit that a tag object names."""
    return _commit(repository, id_)


def _commit(repository: Path, revision: str) -> str:
    try:
        return git(
            repository,
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
        )
    except InputError as error:
        if not head_id(repository):
            raise InputError(
                f"{repository}: there is no commit yet; git commit makes one"
            ) from error
        hint = nearest_revision(repository, revision)
        raise InputError(
            f"'{revision}': no such commit in {repository}"
            f"{hint or '; git log and git branch -a list commits and branches'}"
        ) from error


def nearest_revision(repository: Path, revision: str) -> str:
    """End a message on an unknown revision: suggest the most similar branch or tag, if any."""
    from sizeguard.base.nearest import nearest_names  # 3 ms, which known revisions save

    names = git(repository, "for-each-ref", "--format=%(refname:short)", *_NAMED_REFS).splitlines()
    near = nearest_names(revision, names)
    return f"; did you mean '{near[0]}'?" if near else ""
