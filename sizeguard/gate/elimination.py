"""Check what a build holds and does: claims on it, and the command that runs after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import files_of
from sizeguard.builds.shipped_libraries import shipped_libraries
from sizeguard.claims.verdict import OK, Verification
from sizeguard.gate.cache.kept_verification import verified
from sizeguard.gate.gate_result import ELIMINATION, FAIL, INCONCLUSIVE, PASS, RUN, Check
from sizeguard.gate.verified_builds import verify_symbols
from sizeguard.projects.head_builds import HeadBuild
from sizeguard.projects.project import App
from sizeguard.snapshots.store import Store
from sizeguard.verify.known_record import with_known_record

METRIC = "elimination"
RUN_RULE = "the command after the build ends with 0"
RULE = "what is not selected is gone, what is selected is there"
NAMED_RULE = "what absent names is gone, what present names is there"


def check_elimination(
    root: Path,
    app: App,
    build: Build,
    store: Store | None = None,
    source: Path | None = None,
    full: Build | None = None,
) -> tuple[Check, Verification | None]:
    """Count the claims that do not hold; the limit is 0.

    source: the folder with the runtime's sources, if that is not the root
    full:   the full build, which says what there is to select from

    Fails closed: a build that cannot be verified does not pass.

    The claims are those of the app's selection file. The selection that the build recorded does not
    count: a build that was given another selection has to fail.
    """
    try:
        found = verified(source or root, build, app.selection, store, full)
    except InconclusiveError as error:
        return _check(app, build, 0, INCONCLUSIVE, str(error)), None
    libraries = [library.name for library in shipped_libraries(build)]
    return judged_elimination(root, app, build, found, libraries), found


def check_named_claims(
    root: Path, app: App, build: Build
) -> tuple[tuple[Check, ...], Verification | None]:
    """Judge what sizeguard.yaml says of symbols; no check if it says nothing."""
    steps = app.steps[build.target]
    if not steps.absent and not steps.present:
        return (), None
    found = verify_symbols(with_known_record(files_of(build)), steps.absent, steps.present)
    check = judged_elimination(root, app, build, found, ())
    id_ = f"{app.name}/{build.target}/{METRIC}"
    return (replace(check, id=id_, rule=NAMED_RULE),), found


def run_checks(app: App, target: str, head: HeadBuild) -> tuple[Check, ...]:
    """Judge the command of the app; no check if there is none, or nothing was built."""
    command = app.steps[target].run
    if not command or head.recipe is None or head.in_place:
        return ()
    failed = bool(head.failed_run)
    return (
        Check(
            id=f"{app.name}/{target}/{RUN}",
            app=app.name,
            target=target,
            metric=RUN,
            limit=0,
            actual=int(failed),
            headroom=-int(failed),
            verdict=FAIL if failed else PASS,
            rule=RUN_RULE,
            advice=f"{command}: {head.failed_run}" if failed else "",
            kind=RUN,
            pattern=RUN,
        ),
    )


def judged_elimination(
    root: Path, app: App, build: Build, found: Verification, libraries: Sequence[str]
) -> Check:
    """Judge a verification: a broken verifier and a failing claim fail, what is unknown is open.

    libraries: that ship beside the image, which alone is verified
    """
    left = found.count(FAIL)
    undecided = found.count(INCONCLUSIVE)
    see = f"see what and why: sizeguard verify {_folder(root, build)}"
    if found.canary != OK:
        why = f"the verifier is broken: {', '.join(found.canary_notes[:1])}"
        return _check(app, build, left, FAIL, why)
    if left:
        return _check(app, build, left, FAIL, see)
    if libraries:
        why = f"nobody verified what ships beside the image: {', '.join(libraries)}"
        return _check(app, build, undecided, INCONCLUSIVE, why)
    if undecided:
        return _check(app, build, undecided, INCONCLUSIVE, see)
    return _check(app, build, 0, PASS, "")


def _check(app: App, build: Build, left: int, verdict: str, advice: str) -> Check:
    return Check(
        f"{app.name}/{METRIC}",
        app.name,
        build.target,
        METRIC,
        0,
        left,
        -left,
        verdict,
        RULE,
        advice,
        kind=ELIMINATION,
    )


def _folder(root: Path, build: Build) -> str:
    folder = build.image.parent
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)
