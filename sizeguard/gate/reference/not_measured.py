"""The result of a run that measured nothing, with its commit and the reason."""

from __future__ import annotations

import os
from pathlib import Path

from sizeguard.base.errors import InconclusiveError, SizeguardError
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE
from sizeguard.gate.gate_result import GateResult, Problem
from sizeguard.git.git import commit_id, git

# Variables in which CI services name the commit of a run.
_COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA")
UNFINISHED = "the run did not end: it was cancelled, killed or timed out"


def not_measured(root: Path, error: SizeguardError) -> GateResult:
    """Make the result of a run that ended with an error."""
    commit = _commit(root)
    at = f"not measured at {commit[:7]}" if commit else "not measured"
    problem = Problem("", "", f"{at}: {error}", "", error.exit_code)
    verdict = INCONCLUSIVE if error.exit_code == InconclusiveError.exit_code else FAIL
    return GateResult(verdict, (), problems=(problem,), head=commit)


def unfinished(root: Path) -> GateResult:
    """Make the result to show until a run has its own."""
    return not_measured(root, InconclusiveError(UNFINISHED))


def may_be_written(root: Path, path: Path) -> bool:
    """Return whether a file is no input of the gate.

    Such a file is outside the checkout or ignored by git.
    """
    place = path.absolute()
    if not place.is_relative_to(root.absolute()):
        return True
    try:
        return bool(git(root, "check-ignore", "--", str(place)))
    except SizeguardError:
        return False  # not ignored, or git failed


def _commit(root: Path) -> str:
    """Return the checked-out commit, else the one that CI names; empty if unknown."""
    try:
        return commit_id(root, "HEAD")
    except SizeguardError:
        return next((os.environ[name] for name in _COMMITS if os.environ.get(name)), "")
