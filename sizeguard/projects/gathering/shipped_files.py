"""Find what ships with an image: the libraries that it needs, and the files that `also` names."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from sizeguard.base import OWN_FOLDER
from sizeguard.base.dataclass import dataclass
from sizeguard.builds.image_tools import MEASURED, image_tools, kind_of_image, spelling_for
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.packages.members import Package, split_pattern
from sizeguard.builds.shipped_libraries import needed_files, search_paths, stated_name
from sizeguard.projects.gathering.linked_globs import files_matching
from sizeguard.projects.project import ImageFiles
from sizeguard.toolchains.recipe import DoesNotBuildError

# Search paths beside the image. Others lead to places of the machine that builds.
_ORIGIN = re.compile(r"(\$ORIGIN|\$\{ORIGIN\}|@(?:loader|executable)_path)/?(.*)")
_HWCAPS = "glibc-hwcaps"
_LIBRARIES = (".so", ".dylib")  # in the names of files that may state another name
# Folders of a system's own libraries, which no build makes.
_SYSTEM = ("/usr/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/bin/", "/sbin/", "/opt/", "/etc/")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The places where the libraries that an image needs are searched for.

    tree:    the resolved folder of the build
    outside: a link of the tree to the folder with the image, as Bazel makes it; None if the image
             is in the tree
    others:  resolved paths in it of images that have sizes of their own
    package: the image's package, whose members count, too
    hidden:  folders at the top of the tree that the build did not make
    origin:  the folder that `$ORIGIN` of the image is; it may be outside of the tree
    """

    tree: Path
    outside: Path | None
    others: frozenset[Path]
    package: Package | None
    hidden: frozenset[str]
    origin: Path

    @classmethod
    def of(
        cls, root: Path, image: str, apart: Iterable[str], *, in_place: bool = False
    ) -> Surroundings:
        """Return where the libraries of an image are looked for.

        image, apart: paths in the folder of the build
        in_place: the folder is the checkout, which also has the builds of other commits
        """
        images = (*apart, image)
        others = frozenset((root / path).resolve() for path in images)
        hidden = frozenset([".git", OWN_FOLDER] if in_place else [".git"])
        tree, package = root.resolve(), Package.of(root, image, images)
        origin = (root / image).resolve().parent
        return cls(tree, _way_out(tree, image), others, package, hidden, origin)

    def needed(
        self, starts: Iterable[Path], unpacked: Path, counted: Iterable[Path] = ()
    ) -> Iterator[tuple[Path, Path]]:
        """Yield the libraries that files which ship need, and those that they need.

        starts: the image, and files that ship with it
        counted: paths of files that count anyway, as this names them

        Each is a file and the path by which it is named. Members of the package are copied into
        the folder `unpacked`.
        """
        users = [start for start in starts if needed_files(start)]
        if not users:
            return
        left = [each for user in users for each in _needs(user)]
        searched = {place for user in users for place in self._searched(user, self.origin)}
        spelled = spelling_for(users[0])
        files = _by_name(self._files(), spelled, stated=_name_of_library)
        packed = sorted(self.package.members()) if self.package is not None else []
        members = _by_name(packed, spelled)
        known, seen = frozenset(counted), set[tuple[str, str]]()
        while left:
            name, machine = left.pop()
            name = spelled(name)
            if (name, machine) in seen:
                continue
            seen.add((name, machine))
            named = [*(place / name for place in searched), *map(Path, files.get(name, ()))]
            places = {path.resolve(): path for path in named}  # named by one in the tree, if any
            paths = sorted(path for path in places if self._is_made(path))
            paths += self._members(name, members, spelled, unpacked)
            names = {path: self._name(path, places, unpacked) for path in paths}
            anyway = {path for path in paths if names[path] in known}
            for variant in sorted({*map(_variant, paths)}):
                alike = [path for path in paths if _variant(path) == variant]
                path = _largest(alike, machine, self.others, anyway)
                if path is not None:
                    left += _needs(path)
                    searched |= self._searched(path, path.parent)
                    yield path, names[path]

    def _members(
        self,
        name: str,
        members: Mapping[str, Sequence[str]],
        spelled: Callable[[str], str],
        unpacked: Path,
    ) -> Iterator[Path]:
        """Copy the package's members whose file name or SONAME is `name`."""
        if self.package is None:
            return
        yield from (self.package.copy(each, unpacked) for each in members.get(name, ()))
        stem = name.partition(".")[0]
        for file in sorted(members.keys() - {name}):
            for each in members[file] if file.partition(".")[0] == stem else ():
                copy = self.package.copy(each, unpacked)
                if spelled(stated_name(copy)) == name:
                    yield copy

    def _name(self, path: Path, places: Mapping[Path, Path], unpacked: Path) -> Path:
        """Return the path that names a library. places: paths in the tree that lead to files."""
        # The folder for members may be in the tree.
        for base in (unpacked, self.tree):
            if path.is_relative_to(base):
                return path.relative_to(base)
        named = places[path]
        if named.is_relative_to(self.tree):
            return named.relative_to(self.tree)
        return path.relative_to(path.anchor)

    def _searched(self, user: Path, origin: Path) -> set[Path]:
        """Return the folders that an image outside of the tree searches, as seen from its own.

        In the tree, all files count anyway, and `..` may lead to builds of the checkout.

        origin: the folder that it is in
        """
        if origin.is_relative_to(self.tree):
            return set()
        found = map(_ORIGIN.fullmatch, search_paths(user))
        return {origin / each[2] for each in found if each}

    def _files(self) -> Iterator[str]:
        """Yield the paths of all files in the tree, and in the folder with the image.

        If the image is in the tree, the files in folders that links lead to count, too. If it is
        not, as with Bazel, such links lead to other builds.
        """
        for top in filter(None, (self.tree, self.outside)):
            for place, folders, files in os.walk(top):
                links = () if self.outside else (f"{place}/{name}" for name in folders)
                for link in filter(os.path.islink, links):
                    yield from _files_outside(link, self.tree)
                folders[:] = sorted(
                    set(folders) - (self.hidden if place == str(self.tree) else frozenset())
                )
                yield from (f"{place}/{name}" for name in sorted(files))

    def _is_made(self, path: Path) -> bool:
        """Return whether the build may have made a file; links of the tree may lead out of it."""
        is_own = path.is_relative_to(self.tree) or not str(path).startswith(_SYSTEM)
        return is_own and path.is_file()


def _files_outside(link: str, tree: Path) -> Sequence[str]:
    """List the files in the folder that a link leads to, unless it is in the tree or a system's."""
    real = f"{os.path.realpath(link)}/"
    if real.startswith((f"{tree}/", *_SYSTEM)):
        return ()
    try:
        return sorted(f"{link}/{name}" for name in os.listdir(link))  # noqa: PTH208
    except OSError:
        return ()  # unreadable


def _needs(path: Path) -> list[tuple[str, str]]:
    """List the names of the libraries that a file needs, each with the file's machine."""
    names = needed_files(path)
    machine = image_tools(path).machine if names else ""
    return [(name, machine) for name in names]


def _way_out(tree: Path, image: str) -> Path | None:
    """Return the first link on the path of an image that leads out of the tree."""
    for place in reversed(Path(image.partition("!")[0]).parents):
        if not (tree / place).resolve().is_relative_to(tree):
            return tree / place
    return None


def _by_name(
    paths: Iterable[str],
    spelled: Callable[[str], str],
    stated: Callable[[str], str] = lambda path: "",
) -> Mapping[str, list[str]]:
    """Group paths by the name of the file, and by that which it states, in the compared form."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for name in {path.rpartition("/")[2], stated(path)} - {""}:
            found.setdefault(spelled(name), []).append(path)
    return found


def _name_of_library(path: str) -> str:
    """Return the stated name of a library; empty for files that are not named like one.

    A loader finds libf.so.1.2 by a link libf.so.1, which may be made when it is installed.
    """
    file = path.rpartition("/")[2]
    return stated_name(Path(path)) if any(each in file for each in _LIBRARIES) else ""


def copy_needed(
    image: Path, also: Sequence[Path], around: Surroundings, folder: Path
) -> Iterator[Path]:
    """Copy the libraries that an image needs into a folder, and yield their paths there.

    also: files in the folder that ship with the image; the libraries that they need ship, too
    """
    counted = [path.relative_to(folder) for path in also]
    with tempfile.TemporaryDirectory(prefix="sizeguard-") as unpacked:
        for path, name in around.needed([image, *also], Path(unpacked), counted):
            to = folder / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
            yield to


def _variant(path: Path) -> str:
    """Return the processors that a library is for; empty for all.

    The loader prefers lib/glibc-hwcaps/x86-64-v3/libf.so to lib/libf.so; both ship.
    """
    parts = path.parts
    return parts[parts.index(_HWCAPS) + 1] if _HWCAPS in parts[:-2] else ""


def _largest(
    paths: Sequence[Path], machine: str, apart: AbstractSet[Path], counted: AbstractSet[Path]
) -> Path | None:
    """Return the library that counts for a name; None if it is an image of its own, or no library.

    Of equal ones, one that counts anyway is taken, else the last.

    Search paths may lead to any file of the name, so a small one cannot stand for a larger one.
    Libraries for other machines count only if there is none for that of the file that needs it.
    """
    libraries = [path for path in paths if kind_of_image(path) in MEASURED]
    if len(libraries) > 1:
        same = [path for path in libraries if image_tools(path).machine == machine]
        libraries = sorted(
            same or libraries, key=lambda path: (measure(path).load, path in apart, path in counted)
        )
    return libraries[-1] if libraries and libraries[-1] not in apart else None


def copy_linked(root: Path, globs: Iterable[str], folder: Path, command: str) -> tuple[Path, ...]:
    """Copy the matching inputs of a link, each to its own relative path, as linkers name it.

    Arguments and errors are those of copy_shipped.
    """

    def place(path: Path) -> Path:
        return path.relative_to(root)

    return _all_matching(globs, lambda glob: _copies(root, glob, folder, place), command)


def copy_shipped(
    root: Path, files: ImageFiles, folder: Path, command: str, apart: frozenset[str]
) -> tuple[Path, ...]:
    """Copy the files that match a pattern of `also`, to their paths below the root.

    If several links lead to a file, it is copied once.

    `app.aar!jni/arm64-v8a/*.so` matches members of a package.

    command: what made them; empty if they are measured as found
    apart: paths of images in packages that have their own sizes

    Raises DoesNotBuildError for a pattern that matches nothing, unless the commit may lack it.
    """

    def copies(glob: str) -> Iterator[Path]:
        return _copies(root, glob, folder, lambda path: _place(root, path), apart)

    known = (glob for glob in files.also if glob not in files.may_lack)
    new = (path for glob in files.may_lack for path in copies(glob))
    return tuple(dict.fromkeys([*_all_matching(known, copies, command), *new]))


def _all_matching(
    globs: Iterable[str], copies_of: Callable[[str], Iterable[Path]], command: str
) -> tuple[Path, ...]:
    """Copy what each pattern matches, at least one file."""
    copies = []
    for pattern in globs:
        found = [*copies_of(pattern)]
        if not found:
            raise DoesNotBuildError(
                f"the build command made no {pattern}" if command else f"no such file: {pattern}"
            )
        copies += found
    return tuple(dict.fromkeys(copies))


def _copies(
    root: Path,
    pattern: str,
    folder: Path,
    place: Callable[[Path], Path],
    apart: frozenset[str] = frozenset(),
) -> Iterator[Path]:
    """Copy the files, or members of packages, that match a pattern.

    place: returns where in the folder a file belongs
    """
    packages, inner = split_pattern(pattern)
    for path in files_matching(root, pattern):
        to = folder / place(path)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
        yield to
    for path in files_matching(root, packages) if packages and inner else ():
        package = Package(root, path.relative_to(root).as_posix(), apart)
        for name in package.members():
            if _is_match(name, inner):
                yield package.copy(name, folder)


def _place(root: Path, path: Path) -> Path:
    """Return the path of a file in a folder; links to it have the same one, so it counts once."""
    real, top = path.resolve(), root.resolve()
    return real.relative_to(top) if real.is_relative_to(top) else path.relative_to(root)


def _is_match(name: str, pattern: str) -> bool:
    """Match a path by a glob whose stars stand for no slash."""
    names, patterns = name.split("/"), pattern.split("/")
    return len(names) == len(patterns) and all(map(fnmatch.fnmatchcase, names, patterns))
