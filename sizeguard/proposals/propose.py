"""Propose sizeguard.yaml for the build of a project."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, InputError, SizeguardError
from sizeguard.base.files import path_below
from sizeguard.git.git import git, git_bytes, top_folder
from sizeguard.proposals.build_folder import BuildFolder, BuildSystem, Place
from sizeguard.proposals.build_systems.make import RECURSIVE
from sizeguard.proposals.build_systems.systems import SYSTEMS, built_folders
from sizeguard.proposals.copied_images import originals
from sizeguard.proposals.found_images import MAYBE, WORDS, FoundImage, find_images
from sizeguard.proposals.image_files import parts_of
from sizeguard.proposals.proposal import Proposal, ProposedImage
from sizeguard.runtimes.runtime import VARIANTS
from sizeguard.selection.read import read_selection
from sizeguard.toolchains.read_files import records_reads

_MARKDOWN = "*.md"
# Code that makes a Markdown file a part of an image, or takes files out of git's objects, whose
# reads are not seen
_EMBEDS = (
    r"(include_str!|include_bytes!|#embed|incbin|xxd|objcopy|file\(READ|configure_file).*\.md"
    r"|git (show|cat-file|archive)"
)
_MAKE = "Make"
_BAZEL = "bazel-out"  # folder of all outputs, to which Bazel makes links in the checkout
_MOST = 12  # images to propose at most
_OWN_FOLDER = (
    "sizeguard-build"  # build folder for the commands if git does not ignore the checkout's
)
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SELECTION = re.compile(rb"^(?:include_all_operators|operators|kernel_metadata)\s*:", re.M)
_LARGEST_SELECTION = 4 << 20


@dataclass(frozen=True, slots=True)
class _Built:
    """A build folder with images; copies: of images, under other names."""

    system: BuildSystem
    build: BuildFolder
    images: list[FoundImage]
    copies: list[tuple[Path, Path]]

    @property
    def time(self) -> float:
        """The link time of its newest image."""
        return max(image.path.stat().st_mtime for image in self.images)


def propose(start: Path) -> Proposal:
    """Propose an app for a build folder, or for the newest build below a folder.

    Raises InconclusiveError if no build with images is found.
    """
    is_bazel = _BAZEL in start.resolve().parts
    builds = [] if is_bazel else _builds(start)
    if is_bazel or (not builds and (start / _BAZEL).is_symlink()):
        raise InconclusiveError(
            f"{start}: a build by Bazel, which init does not read; write sizeguard.yaml yourself,"
            " with a build command that copies the image into the checkout"
        )
    if not builds:
        names = ", ".join(system.name for system in SYSTEMS)
        raise InconclusiveError(
            f"{start}: no build by {names} has linked an image here; build the project, or name"
            " the build folder"
        )
    built = max(builds, key=lambda each: each.time)
    others = [str(each.build.folder) for each in builds if each is not built]
    if not built.build.source.is_dir():
        raise InputError(f"{built.build.folder}: its sources no longer exist: {built.build.source}")
    root, is_git = _root(built.build.source)
    chosen, left_out = _chosen(built.images)
    left_out += [
        (path, f"a copy of {os.path.relpath(first, root)}") for path, first in built.copies
    ]
    proposal = _proposal(built, root, is_git, chosen)
    more = tuple(f"{each} is also a build: sizeguard init {shlex.quote(each)}" for each in others)
    return _with(proposal, left_out, more)


def _with(
    proposal: Proposal, left_out: Iterable[tuple[Path, str]], notes: tuple[str, ...]
) -> Proposal:
    gone = tuple((os.path.relpath(path, proposal.root), why) for path, why in left_out)
    return replace(proposal, left_out=(*proposal.left_out, *gone), notes=(*proposal.notes, *notes))


def _builds(start: Path) -> list[_Built]:
    folders = list(built_folders(start))
    others = [folder for system, folder in folders if system.name != _MAKE]
    found: list[_Built] = []
    called: list[Path] = []  # folders with a Makefile that calls those below it
    for system, folder in folders:
        if system.name == _MAKE and any(folder.is_relative_to(each) for each in called):
            continue
        build = system.read(folder)
        own = [other for other in others if other != folder]
        if system.name == _MAKE and build.fact(RECURSIVE):
            called.append(folder)
        elif system.name == _MAKE:
            own = [other for _, other in folders if other != folder]
        images, copies = originals(
            find_images(build, _tracked(folder), own), is_listed=build.linked is not None
        )
        if images:
            found.append(_Built(system, build, images, copies))
    # A Makefile beside a build of another system only calls it.
    real = [each for each in found if each.system.name != _MAKE]
    return real or found


def _root(source: Path) -> tuple[Path, bool]:
    try:
        return top_folder(source).resolve(), True
    except SizeguardError:
        return source, False


def _tracked(folder: Path) -> frozenset[Path]:
    """List the files of a folder that git tracks; none outside git."""
    try:
        names = git_bytes(folder, "ls-files", "-z").split(b"\0")
    except SizeguardError:
        return frozenset()
    return frozenset(folder / os.fsdecode(name) for name in names if name)


def _chosen(
    images: Sequence[FoundImage],
) -> tuple[list[FoundImage], list[tuple[Path, str]]]:
    """Choose the images of the best rank and the project's own libraries, for one target.

    Also returns why others are left out.
    """
    best = min(image.rank for image in images)
    target = next(image.target for image in images if image.rank == best)
    chosen: list[FoundImage] = []
    left_out = []
    for image in images:
        if not _is_text(image.path):
            left_out.append((image.path, "its name is not valid UTF-8"))
        elif image.rank != best and not (image.is_library and image.rank == MAYBE):
            left_out.append((image.path, WORDS.get(image.rank, "")))
        elif image.target != target:
            left_out.append((image.path, f"for {image.target}"))
        elif len(chosen) == _MOST:
            left_out.append((image.path, f"smaller than {_MOST} others"))
        else:
            chosen.append(image)
    if not chosen:
        raise InconclusiveError(f"{images[0].path}: no image has a valid UTF-8 name")
    return chosen, left_out


def _is_text(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _proposal(built: _Built, root: Path, is_git: bool, chosen: Sequence[FoundImage]) -> Proposal:
    build, system = built.build, built.system
    chosen_place = _place(build, root, is_git, chosen)
    place = chosen_place.place
    commands = system.commands(build, place, [image.link for image in chosen])

    def in_tree(path: Path) -> str:
        if path.is_relative_to(build.folder):
            return (Path(place.folder) / path.relative_to(build.folder)).as_posix()
        return path_below(path, root)

    images = []
    left_out = []
    taken: set[str] = set()
    for image in chosen:
        where = in_tree(image.path)
        if not where:
            left_out.append((str(image.path), "outside the project"))
            continue
        name = _name((image.shipped or image.path).name, taken)
        images.append(_image(image, where, in_tree, built, name))
    if not images:
        raise InputError(f"{chosen[0].path}: is outside the project, {root}")
    app = images[0].name if len(images) == 1 else _name(root.name, set())
    return Proposal(
        root,
        is_git,
        system.name,
        system.packages,
        build.folder,
        app,
        chosen[0].target,
        commands.setup,
        commands.build,
        tuple(images),
        (*((_MARKDOWN,) if is_git and _ignores_markdown(root) else ()), *chosen_place.ignore),
        tuple(_selections(root)) if is_git else (),
        tuple(left_out),
        (*chosen_place.notes, *commands.notes),
    )


def _image(
    image: FoundImage, where: str, name_of: Callable[[Path], str], built: _Built, name: str
) -> ProposedImage:
    parts = parts_of(image, name_of)
    link = replace(image.link, path=image.path)
    return ProposedImage(
        name,
        where,
        image.path,
        image.sizes,
        name_of(parts.map) if parts.map else "",
        name_of(parts.debug) if parts.debug else "",
        name_of(parts.shipped) if parts.shipped else "",
        parts.objects,
        tuple((each, built.system.advice(each, built.build, link)) for each in parts.missing),
    )


@dataclass(frozen=True, slots=True)
class _ChosenPlace:
    """The folder in which the commands build.

    ignore: patterns for the key `ignore` of sizeguard.yaml: outputs that git does not ignore
    notes:  steps that the user has to take
    """

    place: Place
    ignore: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _place(
    build: BuildFolder, root: Path, is_git: bool, chosen: Sequence[FoundImage]
) -> _ChosenPlace:
    """Choose the commands' build folder: the same folder, if git ignores its files."""
    source = path_below(build.source, root) or "."
    folder = path_below(build.folder, root)
    if not is_git:
        note = f"{root} is not a git repository; use `sizeguard gate --in-place`"
        return _ChosenPlace(Place(root, source, folder or _OWN_FOLDER, True), notes=(note,))
    if folder and _is_ignored(root, chosen[0].path):
        return _ChosenPlace(Place(root, source, folder, True))
    if not folder:
        return _ChosenPlace(Place(root, source, _OWN_FOLDER, True))
    is_own = build.folder != build.source
    ignore = (f"{folder}/**",) if is_own else ()
    entry = f"/{folder}/" if is_own else f"/{path_below(chosen[0].path, root)}"
    note = f"git does not ignore the build's outputs: add {entry} to .gitignore"
    new = _OWN_FOLDER if is_own else folder
    return _ChosenPlace(Place(root, source, new, False), ignore, (note,))


def _is_ignored(root: Path, image: Path) -> bool:
    if not image.is_relative_to(root):
        return True
    name = str(image.relative_to(root))
    return not git(
        root, "--literal-pathspecs", "ls-files", "--others", "--exclude-standard", "--", name
    )


def _name(text: str, taken: set[str]) -> str:
    """Make a unique name for an app or image from letters, digits, '.', '-' and '_'."""
    for suffix in (".exe", ".elf", ".dll", ".wasm", ".dylib", ".so", ".a", ".lib"):
        text = text.removesuffix(suffix)
    text = _NO_NAME.sub("_", text.split(".so.")[0]).strip("-.") or "app"
    if text in VARIANTS or text.strip("_") == "":
        text = f"{text}-app".lstrip("-")
    name, number = text, 1
    while name in taken:
        number += 1
        name = f"{text}-{number}"
    taken.add(name)
    return name


def _ignores_markdown(root: Path) -> bool:
    """Return whether Markdown files cannot change an image, even of a build that asks git.

    A file that a build opens counts even if it is ignored, if the file system records that.
    """
    if _finds(root, "-E", _EMBEDS):
        return False
    return records_reads(root) or not _finds(root, "-F", _MARKDOWN[1:])


def _finds(root: Path, *pattern: str) -> bool:
    """Return whether a file that may be a part of the build has a pattern, as git grep takes it."""
    others = (":!*.md", ":!.github", ":!.gitlab-ci.yml", ":!*.yaml", ":!*.yml")
    try:
        return bool(git(root, "grep", "-l", "-I", *pattern, "--", ".", *others))
    except InputError:
        return False  # git exits with 1 if there is none


def _selections(root: Path) -> list[str]:
    """List the tracked files that select operators."""
    found = []
    for name in git_bytes(root, "ls-files", "-z", "--", "*.yaml", "*.yml").split(b"\0"):
        path = root / os.fsdecode(name)
        if not name or not path.is_file() or path.stat().st_size > _LARGEST_SELECTION:
            continue
        if not _SELECTION.search(path.read_bytes()):
            continue
        try:
            read_selection(path)
        except SizeguardError:
            continue
        found.append(os.fsdecode(name))
    return found
