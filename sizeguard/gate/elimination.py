"""Check the claims on a build, and run the command that follows it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import files_of
from sizeguard.builds.shipped_libraries import shipped_libraries
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, OK, PASS, Verification
from sizeguard.gate.cache.kept_verification import verified
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.gate_result import ELIMINATION, RUN, Check
from sizeguard.projects.head_builds import HeadBuild
from sizeguard.projects.project import App, BuildSteps
from sizeguard.snapshots.store import Store

METRIC = "elimination"
RUN_RULE = "the command after the build ends with 0"
RULE = "deselected code is absent, selected code is present"
NAMED_RULE = "names under absent are absent, names under present are present"


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
    full: the full build, which has everything that can be selected

    Fails closed: a build that cannot be verified does not pass.

    The claims come from the app's selection file, not from the selection that the build recorded: a
    build of another selection has to fail.
    """
    try:
        requested = RequestedClaims(full=full)
        found = verified(source or root, build, app.selection, store, requested)
    except InconclusiveError as error:
        return _check(app, build, 0, INCONCLUSIVE, str(error)), None
    libraries = [library.name for library in shipped_libraries(build)]
    return judged_elimination(root, app, build, found, libraries), found


def check_named_claims(
    root: Path, app: App, build: Build, store: Store | None = None, source: Path | None = None
) -> tuple[tuple[Check, ...], Verification | None]:
    """Judge what sizeguard.yaml says of symbols and by a selection; no check if it says nothing.

    source: the folder with the runtime's sources, if that is not the root

    An image with a selection is verified whole, so what ships beside it leaves the answer open.
    """
    steps = app.steps[build.target]
    selection = app.claimed(build.target)
    if not (steps.absent or steps.present or selection):
        return (), None
    id_ = f"{app.name}/{build.target}/{METRIC}"
    if not selection:
        # Takes 90 ms, which a run without symbols saves.
        from sizeguard.gate.verified_builds import verify_symbols
        from sizeguard.verify.known_record import with_known_record

        found = verify_symbols(with_known_record(files_of(build)), steps.absent, steps.present)
        check = judged_elimination(root, app, build, found, (), _options(steps))
        return (replace(check, id=id_, rule=NAMED_RULE),), found
    others = tuple(root / each for each in steps.shared_with(app.image))
    claims = RequestedClaims(None, steps.absent, steps.present, shared_with=others)
    try:
        found = verified(source or root, build, root / selection, store, claims)
    except InconclusiveError as error:
        return (replace(_check(app, build, 0, INCONCLUSIVE, str(error)), id=id_),), None
    libraries = [library.name for library in shipped_libraries(build)]
    chosen = [("--selection", selection)]
    chosen += [("--shared-with", each) for each in steps.shared_with(app.image)]
    options = "".join(f" {name} {shlex.quote(str(value))}" for name, value in chosen)
    check = judged_elimination(root, app, build, found, libraries, options + _options(steps))
    return (replace(check, id=id_),), found


def _options(steps: BuildSteps) -> str:
    """Return the options of verify for the symbols that sizeguard.yaml names."""
    named = (("--absent", steps.absent), ("--present", steps.present))
    return "".join(f" {name} {shlex.quote(each)}" for name, names in named for each in names)


def run_checks(app: App, target: str, head: HeadBuild) -> tuple[Check, ...]:
    """Run the app's command and judge its exit code; no check without a command or a build."""
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
    root: Path,
    app: App,
    build: Build,
    found: Verification,
    libraries: Sequence[str],
    options: str = "",
) -> Check:
    """Judge a verification.

    libraries: that ship beside the image; they are not verified
    options:   of the command that shows the claims, besides the build's folder
    """
    left = found.count(FAIL)
    undecided = found.count(INCONCLUSIVE)
    see = f"see the claims and their evidence: sizeguard verify {_folder(root, build)}{options}"
    if found.canary != OK:
        why = f"the verifier is broken: {', '.join(found.canary_notes[:1])}"
        return _check(app, build, left, FAIL, why)
    if left:
        return _check(app, build, left, FAIL, see)
    if libraries:
        why = f"libraries beside the image are not verified: {', '.join(libraries)}"
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
