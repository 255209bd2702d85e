"""Turns an app's build into the check that what its selection leaves out is gone, and that what it keeps is there."""

from __future__ import annotations

from pathlib import Path

from sizeguard.attribution.store import Store
from sizeguard.build.record import Build
from sizeguard.errors import InconclusiveError
from sizeguard.gate.config import App
from sizeguard.gate.result import ELIMINATION, FAIL, INCONCLUSIVE, PASS, Check
from sizeguard.gate.verified import verified
from sizeguard.verify.result import OK, Verification

METRIC = "elimination"
RULE = "what is not selected is gone, what is selected is there"


def check_elimination(root: Path, app: App, build: Build, store: Store | None = None) -> tuple[Check, Verification | None]:
    """The number of claims that do not hold must be 0. Fails closed: what cannot be verified does not pass.

    The claims are those of the app's selection file, not of what the build made of it: a build that was told
    something else has to fail.
    """
    try:
        found = verified(root, build, app.selection, store)
    except InconclusiveError as error:
        return _check(app, build, 0, INCONCLUSIVE, str(error)), None
    left = found.count(FAIL)
    undecided = found.count(INCONCLUSIVE)
    see = f"see what and why: sizeguard verify {_folder(root, build)}"
    if found.canary != OK:
        return _check(app, build, left, FAIL, f"the verifier is broken: {found.canary_notes[0]}"), found
    if left:
        return _check(app, build, left, FAIL, see), found
    if undecided:
        return _check(app, build, undecided, INCONCLUSIVE, see), found
    return _check(app, build, 0, PASS, ""), found


def _check(app: App, build: Build, left: int, verdict: str, advice: str) -> Check:
    return Check(f"{app.name}/{METRIC}", app.name, build.target, METRIC, 0, left, -left, verdict, RULE, advice, kind=ELIMINATION)


def _folder(root: Path, build: Build) -> str:
    folder = build.image.parent
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)
