"""The build steps that a commit's own sizeguard.yaml names for an image."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from sizeguard.base.errors import BuildError, InputError
from sizeguard.git.file_versions import CommitFiles
from sizeguard.projects.project import CONFIG, App, BuildSteps, ImageFiles
from sizeguard.projects.reader import parse_config


def scope_of_commit(repository: Path, commit: str, app: str, target: str) -> list[list[str]]:
    """Return the inputs and ignored files of an app in a commit's own sizeguard.yaml.

    Empty if the commit has no such file or app, or an unreadable file.
    """
    steps = [each.steps.get(target) for each in _apps_of_commit(repository, commit).get(app, ())]
    return [[*each.inputs, "", *each.ignore] for each in steps if each is not None]


def lacks_app(repository: Path, commit: str, app: str) -> bool:
    """Return whether a commit's own sizeguard.yaml names apps, but not this one."""
    known = _apps_of_commit(repository, commit)
    return bool(known) and app not in known


def steps_of_commit(
    repository: Path, commit: str, app: str, target: str, given: BuildSteps
) -> BuildSteps:
    """Return the steps that make an image of a commit as the commit itself makes it.

    These are the given steps if they run the same commands and ship the same file. They are also
    the given ones if the commit's sizeguard.yaml does not build the image. Otherwise a change of
    commands, such as another level of optimization, would make no growth: both sides would be built
    with it.
    """
    apps = _apps_of_commit(repository, commit).get(app, ())
    own = next((each for each in apps if each.name == app and target in each.steps), None)
    if own is None:
        return given
    steps = own.steps[target]
    if not steps.build:
        return given
    if _made_by(steps, own.image) == _made_by(given, own.image):
        return _with_lacks(steps, given)
    images = {name: _like(files, given.images.get(name)) for name, files in steps.images.items()}
    return replace(steps, images=images, rules=given.rules or steps.rules)


def _with_lacks(own: BuildSteps, given: BuildSteps) -> BuildSteps:
    """Let a commit lack the files that only the given steps name in `also`: they are growth."""
    images = {}
    for name, files in given.images.items():
        then = own.images.get(name, files).also
        images[name] = replace(files, may_lack=tuple(p for p in files.also if p not in then))
    return given if images == given.images else replace(given, images=images)


def images_apart(
    repository: Path, commit: str, app: str, target: str, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Return those images that a commit's sizeguard.yaml names as images, too.

    A library that a change makes an image of its own counts for the base of the images that need
    it. All are returned if the commit does not name the app.
    """
    known = _apps_of_commit(repository, commit)
    if app not in known:
        return given
    images = {
        files.image
        for apps in known.values()
        for each in apps
        if target in each.steps
        for files in each.steps[target].images.values()
    }
    return tuple(path for path in given if path in images)


def _like(own: ImageFiles, given: ImageFiles | None) -> ImageFiles:
    """Leave out the files that ship with an image only by the commit's own terms.

    Otherwise the change could drop a library from its terms, and grow by the library's size.
    """
    if given is None:
        return own
    wanted = [PurePosixPath(pattern).name for pattern in given.also]
    kept = (
        pattern
        for pattern in own.also
        if any(fnmatch.fnmatchcase(PurePosixPath(pattern).name, name) for name in wanted)
    )
    return replace(own, also=tuple(kept))


def _made_by(steps: BuildSteps, image: str) -> tuple[object, ...]:
    """Collect the commands, and the files that ship; other files only add names."""
    files = steps.images.get(image)
    ships = (files.image, files.shipped, files.strip) if files is not None else ()
    return (steps.setup, steps.build, steps.clean, dict(steps.env), ships)


# Parsing takes 0.2 s for 100 apps with 3 targets, and each of the 300 pairs asks.
@functools.lru_cache(16)
def _apps_of_commit(repository: Path, commit: str) -> Mapping[str, Sequence[App]]:
    """Read the apps of a commit's own sizeguard.yaml, by their names and those of their groups."""
    try:
        data = CommitFiles(repository, commit).text(CONFIG)
        apps = parse_config(repository, data).apps if data is not None else ()
    except (BuildError, InputError):
        return {}
    found: dict[str, list[App]] = {}
    for app in apps:
        for name in {app.name, app.group} - {""}:
            found.setdefault(name, []).append(app)
    return found
