"""Write the CI file that runs the gate: a GitHub workflow, or a GitLab job."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.base.yaml.text import single_quoted
from sizeguard.git.git import git

GITHUB, GITLAB, NONE = "github", "gitlab", "none"

# Steps, pins and the cache's scheme stand in measure.yml and the GitLab template of this repository
# alone. A written file names them at the tag that releases move.
_GITHUB = """\
# Written by sizeguard init: builds the apps of sizeguard.yaml, and fails if they grew too much.
# docs/ci.md of sizeguard has the workflow that comments, and steps for a job of your own.
name: size
on:
  pull_request: {{types: [opened, synchronize, reopened, edited, ready_for_review]}}
  merge_group:
  push: {{branches: [{branch}]}}  # its runs write the store, and changes read it
permissions: {{}}
jobs:
  size:
    # Measures without rights or secrets. The tag moves to compatible releases: a commit pins it.
    uses: sizeguard/sizeguard/.github/workflows/measure.yml@v1
    permissions: {{contents: read}}
    with:
      packages: {packages}  # of apt: add what the build needs
"""

_GITLAB = """\
# Written by sizeguard init: builds the apps of sizeguard.yaml, and fails if they grew too much.
# The tag moves to compatible releases: a commit pins it.
include:
  - remote: https://raw.githubusercontent.com/sizeguard/sizeguard/v1/ci/gitlab/sizeguard.gitlab-ci.yml
size-gate:
  variables:
    SIZEGUARD_PACKAGES: {packages}  # of apt: add what the build needs
"""


@dataclass(frozen=True, slots=True)
class CiFile:
    """A CI file. path: from the project's root; note: remaining work for the user, or empty."""

    path: str
    text: str
    note: str = ""


def ci_file(root: Path, kind: str | None, packages: tuple[str, ...]) -> CiFile | None:
    """Write the file for a CI system, by default the repository's; None if it has none."""
    kind = kind or _kind(root)
    listed = single_quoted(" ".join(packages))
    if kind == GITHUB:
        text = _GITHUB.format(branch=_branch(root), packages=listed)
        return CiFile(".github/workflows/size.yml", text)
    if kind == GITLAB:
        path = ".gitlab/sizeguard.gitlab-ci.yml"
        text = _GITLAB.format(packages=listed)
        return CiFile(path, text, f"add to .gitlab-ci.yml: include: [{{local: {path}}}]")
    return None


def _kind(root: Path) -> str:
    """Detect the CI system of a repository from its files, else from its remotes."""
    if (root / ".github").is_dir():
        return GITHUB
    if (root / ".gitlab-ci.yml").is_file() or (root / ".gitlab").is_dir():
        return GITLAB
    remotes = _asked(root, "remote", "-v").lower()
    if "github" in remotes:
        return GITHUB
    return GITLAB if "gitlab" in remotes else NONE


def _branch(root: Path) -> str:
    """Name the default branch: the remote's, else main or master, else the current one."""
    head = _asked(root, "symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    names = _asked(root, "for-each-ref", "--format=%(refname:short)", "refs/heads/").splitlines()
    usual = [name for name in ("main", "master") if name in names]
    current = _asked(root, "symbolic-ref", "--short", "HEAD")
    name = head.removeprefix("origin/") or next(iter(usual), "") or current or "main"
    return single_quoted(name)


def _asked(root: Path, *arguments: str) -> str:
    """Return git's output; empty if it fails, as outside of a repository."""
    try:
        return git(root, *arguments)
    except SizeguardError:
        return ""
