"""Count growth from a given snapshot of the base.

A snapshot that records its commit, commands and tools is compared with those of the base's build.
An app that is built by commands needs such a snapshot.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.image_tools import image_tools
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.sizes import Sizes
from sizeguard.gate.gate_result import Base
from sizeguard.gate.policy.baselines import inseparable, tools_text
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.history import History
from sizeguard.gate.reference.reference import MeasuredApp, counted_from, measured_as
from sizeguard.git.git import commit_id
from sizeguard.measurement.snapshot_origin import RULES, parts_of, rules_part
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.gathering.gathered import with_own_tool
from sizeguard.snapshots.magic import is_snapshot
from sizeguard.snapshots.origin import Origin
from sizeguard.snapshots.snapshot import read_snapshot
from sizeguard.toolchains.stripped import strip, strip_tool

# Parts that a measurement depends on, with their names in messages.
_FILES = ("tree", "scope")
_COMMANDS = {
    "commands": "commands",
    "build": "commands",
    "image": "image and its files",
    "lists": "objects and libraries",
    "environment": "environment variables",
}
_TOOLS = "toolchain"
# The gate notes these and accepts the snapshot: the first two differ between machines, the third
# means that a build has no record of its link.
_PATHS, _PACKAGES, _LINKS = "path_length", "packages", "links"
_STRIPPED = frozenset({"debug", "symbol table"})  # kinds of bytes
_BUILD_IT = "leave out --base-snapshot to build the base"


def snapshot_reference(
    path: Path, subject: MeasuredApp, history: History, base: Base | None
) -> SizeReference:
    """Read a snapshot or an image as the base.

    Raises InputError for a file that is neither.
    """
    text = f"snapshot {path.name}"
    analysis: Analysis
    strip_with: str | None = None
    if is_snapshot(path):
        analysis = snapshot = read_snapshot(path)
        origin = snapshot.origin or Origin()
    else:
        analysis = analysis_of(path, rules_text=subject.build.rules)
        origin = Origin(parts=rules_part(subject.build), tools=image_tools(path).text)
        strip_with = _strip_program(path, subject, history.root)
    then, now = analysis.image, subject.now.analysis
    why = notes = ""
    if now is not None and (then.format, then.arch) != (now.image.format, now.image.arch):
        why = (
            f"{path} is {then.format} for {then.arch}, but the image is {now.image.format} for "
            f"{now.image.arch}; give a snapshot of its base with --base-snapshot"
        )
    elif subject.recipe is not None:
        why, notes = _compared(path, origin, subject, history, base)
    else:
        why = _other_rules(path, origin, subject) or _other_tools(path, origin, subject)
        if not why and strip_with is None:
            why = _not_as_shipped(path, analysis, subject)
        notes = _unnamed(origin)
    if why:
        return SizeReference(text, None, why)
    measured = measured_as(analysis, subject)
    if strip_with is not None:
        measured = replace(measured, sizes=_stripped_sizes(path, strip_with))
    return SizeReference(text + notes, measured)


def _strip_program(path: Path, subject: MeasuredApp, root: Path) -> str | None:
    """Find the program that strips an image as the app's is; None if it counts as it is given.

    Otherwise what strip removes of the base would hide as much growth of the file. What the build
    makes of its own stripped file is not known, so the base has to be such a file.
    """
    steps = subject.app.steps.get(subject.target)
    files = with_own_tool(root, steps.images[subject.app.image]) if steps else None
    if _ships_as_built(subject) or (files and files.shipped):
        return None
    tool = (files and files.strip) or strip_tool(path)
    if tool is None:
        raise InputError(f"{path}: no installed program can strip it, as the app's image is")
    return tool


def _ships_as_built(subject: MeasuredApp) -> bool:
    return subject.build.shipped == subject.build.image


def _stripped_sizes(path: Path, tool: str) -> Sizes:
    with tempfile.TemporaryDirectory() as folder:
        twin = Path(folder) / path.name
        try:
            strip(tool, path, twin)
        except BuildError as error:
            raise InputError(f"{path}: cannot be measured as it ships: {error}") from error
        return measure(twin)


def _not_as_shipped(path: Path, analysis: Analysis, subject: MeasuredApp) -> str:
    """Say that a base is of an image that is not stripped, as the app's is; else empty."""
    if _ships_as_built(subject):
        return ""
    rows = group(analysis, ("kind",)).rows
    stripped = sum(row.file - row.load for row in rows if row.keys[0] in _STRIPPED)
    if not stripped:
        return ""
    return (
        f"{path} counts {stripped:,} bytes of symbols and debug information, and the app is"
        f" measured stripped; give the base's image as it ships, or {_save_it(subject)}"
    )


def _save_it(subject: MeasuredApp) -> str:
    folder = f".sizeguard/builds/{subject.app.name}.{subject.target}"
    return f"on the base, run sizeguard gate, then sizeguard report {folder} --save FILE"


def _compared(
    path: Path, origin: Origin, subject: MeasuredApp, history: History, base: Base | None
) -> tuple[str, str]:
    """Say why a snapshot cannot stand for the base, or what else differs."""
    recipe = subject.recipe
    if not isinstance(recipe, AnyBuildRecipe):
        return f"{path}: a snapshot cannot stand for apps of a known runtime; {_BUILD_IT}", ""
    if not origin.commit:
        return f"{path} does not name its commit; {_save_it(subject)}", ""
    commit = counted_from(history, base, subject)
    if not commit:
        return f"{path} is of {origin.commit[:7]}, and the base is not known: name it by --base", ""
    wanted = parts_of(recipe.at(history.root, commit), history.root, commit)
    differing = {name for name in {*wanted, *origin.parts} if _differs(name, wanted, origin.parts)}
    if differing & {*_FILES} and not _reads_the_same(recipe, history, origin.commit, commit):
        return (
            f"{path} is of {origin.commit[:7]}, and growth is counted from {commit[:7]}, whose"
            f" files differ; {_BUILD_IT}"
        ), ""
    for name, words in _COMMANDS.items():
        if name in differing:
            return f"{path} was made by other {words} than {_shown(subject)}; {_BUILD_IT}", ""
    if _TOOLS in differing:
        return f"{path} was made by another compiler or linker than is here; {_BUILD_IT}", ""
    why = _other_rules(path, origin, subject) or _other_tools(path, origin, subject)
    return why, "" if why else _notes(differing)


def _other_rules(path: Path, origin: Origin, subject: MeasuredApp) -> str:
    """Say that other rules named the components of a snapshot; empty if they are the same."""
    if not _differs(RULES, rules_part(subject.build), origin.parts):
        return ""
    instead = "give the base's image" if subject.recipe is None else _BUILD_IT
    return f"{path} was made by other {RULES} than {_shown(subject)}; {instead}"


def _differs(name: str, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return one.get(name) != other.get(name)


def _shown(subject: MeasuredApp) -> str:
    return f"{subject.app.name} for {subject.target} has now"


def _reads_the_same(recipe: AnyBuildRecipe, history: History, one: str, other: str) -> bool:
    """Return whether builds of two commits read equal files, by the reads of earlier builds."""
    if one == other:
        return True
    try:
        commit_id(history.root, one)
    except InputError:
        return False  # a shallow clone need not have it
    return history.key(one, recipe) == history.key(other, recipe)


def _other_tools(path: Path, origin: Origin, subject: MeasuredApp) -> str:
    """Say that other tools made the snapshot; empty if they are the same or not known."""
    tools = tools_text(subject.toolchain, subject.build)
    if not origin.tools or not tools or origin.tools == tools:
        return ""
    return f"{path} is by {inseparable(origin.tools, tools)}"


def _unnamed(origin: Origin) -> str:
    """Say what a base does not name, and what therefore was not compared."""
    named = {
        "commit": origin.commit,
        "inputs": not origin.parts.keys().isdisjoint(_FILES),
        "toolchain": origin.tools,
    }
    missing = [name for name, is_named in named.items() if not is_named]
    return f" (names no {' or '.join(missing)})" if missing else ""


def _notes(differing: set[str]) -> str:
    """List what differs and need not change a size."""
    notes = {
        _PATHS: ", built at another path",
        _PACKAGES: ", built with other installed packages",
        _LINKS: ", with the record of a link, which this image lacks, so bytes may seem to move"
        " between operators",
    }
    return "".join(text for name, text in notes.items() if name in differing)
