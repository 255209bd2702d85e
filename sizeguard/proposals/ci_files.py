"""Write the CI file that runs the gate: a GitHub workflow, or a GitLab job."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sizeguard import __version__
from sizeguard.base.errors import SizeguardError
from sizeguard.base.yaml_text import single_quoted
from sizeguard.git.git import git

GITHUB, GITLAB, NONE = "github", "gitlab", "none"
_BASICS = ("ca-certificates", "git", "binutils", "python3", "python3-venv")

_GITHUB = """\
# Written by sizeguard init: builds the apps of sizeguard.yaml, and fails if they grew too much.
name: size
on:
  pull_request:
  push:
    branches: [{branch}]  # fills the store that pull requests start from
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-24.04
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0  # fetches the merge base
          persist-credentials: false
      - uses: actions/cache@v4
        with:
          path: ~/.cache/sizeguard/store
          key: sizeguard-store-${{{{ runner.os }}}}-${{{{ github.sha }}}}
          restore-keys: sizeguard-store-${{{{ runner.os }}}}-
      - name: Install
        run: |
          sudo apt-get update -qq
          # add the packages that the build needs
          sudo apt-get install -y -qq --no-install-recommends {packages}
          python3 -I -m venv "$RUNNER_TEMP/sizeguard"
          "$RUNNER_TEMP/sizeguard/bin/pip" install --quiet 'sizeguard=={version}'
      - name: Gate
        env:
          BASE_REF: ${{{{ github.base_ref }}}}
        run: |
          export SIZEGUARD_STORE="$HOME/.cache/sizeguard/store"
          base=${{BASE_REF:+--base=origin/$BASE_REF}}
          "$RUNNER_TEMP/sizeguard/bin/sizeguard" gate --format github ${{base:+"$base"}}
"""

_GITLAB = """\
# Written by sizeguard init: builds the apps of sizeguard.yaml, and fails if they grew too much.
size-gate:
  image: debian:12
  stage: test
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  variables:
    GIT_DEPTH: "0"  # fetches the merge base
  before_script:
    - apt-get update -qq
    # add the packages that the build needs
    - apt-get install -y -qq --no-install-recommends {packages}
    - python3 -I -m venv /opt/sizeguard
    - /opt/sizeguard/bin/pip install --quiet 'sizeguard=={version}'
  script:
    - mkdir -p sizeguard-results
    - base=${{CI_MERGE_REQUEST_TARGET_BRANCH_NAME:+origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME}}
    - /opt/sizeguard/bin/sizeguard gate "--base=$base" --also junit=sizeguard-results/gate.xml
  artifacts:
    when: always
    paths: [sizeguard-results]
    reports:
      junit: sizeguard-results/gate.xml
    expire_in: 4 weeks
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
    if kind == GITHUB:
        text = _GITHUB.format(
            branch=_branch(root), packages=" ".join(packages), version=__version__
        )
        return CiFile(".github/workflows/size.yml", text)
    if kind == GITLAB:
        path = ".gitlab/sizeguard.gitlab-ci.yml"
        text = _GITLAB.format(packages=" ".join((*_BASICS, *packages)), version=__version__)
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
