"""Changes of terms in a repository, and those that the gate finds."""

from __future__ import annotations

from pathlib import Path

from sizeguard.gate.changed_terms import changed_terms
from sizeguard.gate.policy.changes.policy_changes import compare_terms
from sizeguard.gate.policy.terms_result import PolicyChange
from sizeguard.gate.request import Request
from sizeguard.gate.run import all_waivers
from sizeguard.projects.reader import read_config
from tests.support.histories.drawn_history import run_git
from tests.support.tricks.changed_projects import PROJECT, Files
from tests.support.tricks.given_terms import changed, terms


def difference(files: Files, *accepted: str) -> tuple[PolicyChange, ...]:
    trailers = [("4f2a91cdeadbeef", text) for text in accepted]
    return compare_terms(terms(PROJECT), terms(changed(files)), trailers)


def write(root: Path, files: Files) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)


def commit(root: Path, message: str) -> None:
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "--allow-empty", "-m", message)


def compared(root: Path) -> tuple[PolicyChange, ...]:
    request = Request(root, read_config(root))
    base = request.history.base()
    return changed_terms(request, base, all_waivers(request, base)[0])
