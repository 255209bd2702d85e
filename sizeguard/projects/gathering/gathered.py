"""Gather the outputs of a build into a separate folder, with its record."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path, PurePosixPath

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.files import write_atomic
from sizeguard.builds import RECORD
from sizeguard.builds.build_record import IMAGE, Build, read_build
from sizeguard.builds.image_tools import (
    MEASURED,
    described,
    image_tools,
    is_before_lto,
    is_thin,
    kind_of_image,
)
from sizeguard.builds.link_record import image_identity
from sizeguard.builds.measured_sizes import measure, refuse_debug_file
from sizeguard.builds.packages.members import copy_of_member, member_of
from sizeguard.builds.shipped_libraries import (
    STRIPPED,
    is_linked,
    shipped_libraries,
    with_libraries,
)
from sizeguard.builds.sizes import Sizes
from sizeguard.projects.gathering.shipped_files import (
    Surroundings,
    copy_linked,
    copy_needed,
    copy_shipped,
)
from sizeguard.projects.kept_link import keep_link
from sizeguard.projects.project import NO_STRIP, SHIPS, ImageFiles
from sizeguard.toolchains.recipe import DoesNotBuildError, OtherImageError
from sizeguard.toolchains.stripped import strip, strip_tool

_DSYM = ".dSYM"
_BUILD_IDS = ".build-id"
_LINKED = "linked"  # folder of objects
_ALIKE = "alike"  # folder of files whose names are taken


@dataclass(frozen=True, slots=True)
class MadeImage:
    """An image that was built, or that is measured as found.

    fingerprint: hash of everything that it depends on
    command:     the command that made it; empty if it is measured as found
    rules:       text of the project's own rules
    apart:       paths of the project's other images, which have their own sizes
    """

    app: str
    target: str
    files: ImageFiles
    fingerprint: str
    command: str = ""
    rules: str = ""
    apart: tuple[str, ...] = ()


# More than 40 lines: a line for each field of the record.
def gather(root: Path, made: MadeImage, folder: Path, records: Path | None = None) -> Build:
    """Copy an image and its files, and write their build.json.

    root: the folder of the build
    folder: replaced if it exists
    records: folder with the build's recorded links, if any

    Raises DoesNotBuildError for a missing file, BuildError if it cannot be copied or stripped, and
    OtherImageError if the stripped file is of another image.
    """
    made = replace(made, files=with_own_tool(root, made.files))
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    try:
        copies = _copy_files(root, made, folder)
    except OSError as error:
        raise BuildError(f"{error.filename}: cannot copy: {error.strerror}") from error
    image, shipped, debug = copies.image, copies.shipped, copies.debug
    # The copy of a member is found by its build id
    made_at = image if member_of(root / made.files.image) else root / made.files.image
    link = keep_link(made_at, root, records, folder) if records else None
    tools = image_tools(image)
    has_names = debug is not None and debug.is_file()
    if has_names:
        # The image has the bytes and the debug file the names; nothing else is stored
        shipped = shipped.replace(image)
    refuse_debug_file(shipped)
    build = Build(
        variant=IMAGE,
        app=made.app,
        target=made.target,
        toolchain=tools.name,
        optimize="",
        image=debug if has_names and debug is not None else image,
        shipped=shipped,
        map=copies.map,
        gc_log=None,
        objects=copies.objects,
        selection=None,
        model_tracer=None,
        fingerprint=made.fingerprint,
        sizes=Sizes(0, 0, 0, 0),
        debug=debug if not has_names else None,
        link_command=link,
        tools=tools.text,
        rules=made.rules,
    )
    sizes = with_libraries(measure(build.shipped), shipped_libraries(build))
    return _recorded(replace(build, sizes=sizes), folder)


@dataclass(frozen=True, slots=True)
class _Copies:
    """The copied files of an image. shipped: the image itself if it ships unstripped."""

    image: Path
    shipped: Path
    debug: Path | None
    map: Path | None
    objects: tuple[Path, ...]


def _copy_files(root: Path, made: MadeImage, folder: Path) -> _Copies:
    """Copy the image and its files, and strip those that ship."""
    files = made.files
    image = _copied(root, files.image, folder, made.command)
    _check_measured(files.image, image)
    debug = _debug_file(root, files, image, folder, made.command) if files.debug else None
    shipped = _shipped(root, made, image)
    map_ = _copied(root, files.map, folder, made.command) if files.map else None
    objects = copy_linked(root, files.objects, folder / _LINKED, made.command)
    also = _with_needed(root, made, image, folder / SHIPS)
    if files.strip != NO_STRIP:
        for library in also:
            if files.strip or is_linked(library):
                _stripped(files, library)
    return _Copies(image, shipped, debug, map_, objects)


def _with_needed(root: Path, made: MadeImage, image: Path, folder: Path) -> tuple[Path, ...]:
    """Copy the files that ship with the image."""
    files, apart = made.files, frozenset((*made.apart, made.files.image))
    also = copy_shipped(root, files, folder, made.command, apart)
    for path in also:
        _check_measured(f"{path.relative_to(folder)}, a file of also,", path)
    around = Surroundings.of(root, files.image, made.apart, in_place=not made.command)
    ships = tuple(dict.fromkeys([*also, *copy_needed(image, also, around, folder)]))
    for path in ships:
        _check_no_twin(path.relative_to(folder), path)
    return ships


def _check_measured(name: str, path: Path) -> None:
    """Raise DoesNotBuildError for a file whose bytes cannot be measured."""
    kind = kind_of_image(path)
    if kind not in MEASURED:
        raise DoesNotBuildError(f"{name} is not an image that can be measured: {described(path)}")
    if is_thin(path):
        raise DoesNotBuildError(
            f"{name} is a thin archive, whose members are other files; make it without `T`"
        )
    if is_before_lto(path):
        raise DoesNotBuildError(
            f"{name} has objects of link-time optimization, which have no size before they"
            " are linked; measure what they are linked into"
        )


def _check_no_twin(name: Path, path: Path) -> None:
    """Raise DoesNotBuildError for a shipped file that would stand for the bytes of another."""
    if path.name.endswith(STRIPPED) and path.with_name(path.stem).is_file():
        raise DoesNotBuildError(
            f"{name} and {name.with_name(name.stem)} ship with the image; {STRIPPED} marks the"
            " stripped copy of a file, so leave one of them out or rename it"
        )


def with_own_tool(root: Path, files: ImageFiles) -> ImageFiles:
    """Run a strip program that is a file of the project from the folder of the build."""
    is_own = "/" in files.strip and not Path(files.strip).is_absolute()
    return replace(files, strip=str(root.resolve() / files.strip)) if is_own else files


def moved(folder: Path, to: Path, fingerprint: str, was: Path | None = None) -> Build:
    """Move a gathered build, and write its record for the new place.

    fingerprint: hash of everything that it depends on, as known now
    was: the folder in its record, if another machine gathered it
    """
    if to.exists():
        shutil.rmtree(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    folder.replace(to)
    build = read_build(to)

    def at(path: Path) -> Path:
        return to / path.relative_to(was or folder)

    return _recorded(
        replace(
            build,
            fingerprint=fingerprint,
            image=at(build.image),
            shipped=at(build.shipped),
            map=at(build.map) if build.map else None,
            debug=at(build.debug) if build.debug else None,
            link_command=at(build.link_command) if build.link_command else None,
            objects=tuple(map(at, build.objects)),
        ),
        to,
    )


def _recorded(build: Build, folder: Path) -> Build:
    write_atomic(folder / RECORD, json.dumps(build.to_json(), indent=2) + "\n")
    return build


def _shipped(root: Path, made: MadeImage, image: Path) -> Path:
    """Copy the stripped twin, or make it; return the image itself if it ships unstripped."""
    files = made.files
    if files.shipped:
        twin = image.with_name(image.name + STRIPPED)
        shutil.copyfile(_found(root, files.shipped, made.command), twin)
        _check_twin(files, image, twin)
        return twin
    # strip would remove what a linker needs of an object or an archive
    is_stripped = files.strip or is_linked(image)
    return _stripped(files, image) if is_stripped and files.strip != NO_STRIP else image


def _check_twin(files: ImageFiles, image: Path, twin: Path) -> None:
    """Raise OtherImageError if the given stripped file is of another image."""
    mine, its = measure(image), measure(twin)
    if (mine.load, mine.ram) != (its.load, its.ram):
        raise OtherImageError(
            f"{files.shipped} is not {files.image} stripped: load {its.load} and ram {its.ram},"
            f" not {mine.load} and {mine.ram}"
        )


def _stripped(files: ImageFiles, image: Path) -> Path:
    twin = image.with_name(image.name + STRIPPED)
    tool = files.strip or strip_tool(image)
    if tool is None:
        raise BuildError(
            f"{files.image}: no installed program can strip it; name one with strip:, or write "
            f"strip: false"
        )
    strip(tool, image, twin)
    return twin


def _found(root: Path, path: str, command: str) -> Path:
    found = root / path
    if not found.is_file():
        raise DoesNotBuildError(
            f"the build command made no file {path}"
            if command
            else f"no such file: {path}; build it first"
        )
    return found


def _copied(root: Path, path: str, folder: Path, command: str) -> Path:
    """Copy a file, or a .dSYM folder, under its own name, and beside no other of this name."""
    member = member_of(root / path)
    to = folder / PurePosixPath(member or path).name
    while to.exists():  # a debug file may have the name of its image
        to = to.parent / _ALIKE / to.name
    to.parent.mkdir(parents=True, exist_ok=True)
    if (root / path).is_dir() and to.suffix == _DSYM:
        shutil.copytree(root / path, to)
    elif member:
        _copy_member(root, path, to, command)
    else:
        shutil.copyfile(_found(root, path, command), to)
    return to


def _copy_member(root: Path, path: str, to: Path, command: str) -> None:
    """Copy a member of a container that the build made."""
    try:
        copy_of_member(root / path, to)
    except InputError as error:
        text = str(error).replace(f"{root}/", "")
        made = f"the build command made no {path}" if command else f"no such file: {path}"
        raise DoesNotBuildError(f"{made}: {text}") from error


def _debug_file(root: Path, files: ImageFiles, image: Path, folder: Path, command: str) -> Path:
    """Copy the debug file; from a folder, the file with the image's build id."""
    place = root / files.debug
    if not place.is_dir() or place.suffix == _DSYM:
        return _copied(root, files.debug, folder, command)
    build_id = image_identity(image).build_id
    if not build_id:
        raise DoesNotBuildError(
            f"{files.image} has no build id to find its debug file in {files.debug} by"
        )
    name = f"{build_id[:2]}/{build_id[2:]}.debug"
    for found in (place / _BUILD_IDS / name, place / name):
        if found.is_file():
            to = folder / f"{image.name}.debug"
            shutil.copyfile(found, to)
            return to
    raise DoesNotBuildError(
        f"{files.debug} has no {_BUILD_IDS}/{name}, the debug file of {image.name}"
    )
