"""Find the dependencies whose version a change edits, in the files that package managers lock."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InputError
from sizeguard.git.git import DIFF, git, git_bytes
from sizeguard.git.trees import file_of, tree_entries

_SUBMODULE = "160000 "  # how git's entry of a submodule begins
_SHORT = 12  # characters of a commit
_LARGEST = 4 << 20  # bytes of a file with versions
_WORD = r"[\w.+-]+"
_FETCHED = re.compile(
    r"\b(?:FetchContent_Declare|ExternalProject_Add|CPMAddPackage)\s*\(\s*(?:NAME\s+)?([\w.+-]+)"
    r"([^)]*)\)",
    re.I,
)
_FETCHED_AT = re.compile(r"\b(?:GIT_TAG|VERSION|URL|GIT_REPOSITORY)\s+\"?([^\s\")]+)")
_SHORT_CPM = re.compile(
    rf"\bCPMAddPackage\s*\(\s*\"\w+:[\w.-]+/({_WORD})[#@]([^\"\s]+)\"\s*\)", re.I
)
_BAZEL = re.compile(r"\bbazel_dep\s*\(\s*name\s*=\s*\"([^\"]+)\"\s*,\s*version\s*=\s*\"([^\"]+)\"")
_GO = re.compile(r"^\s*(?:require\s+)?([\w.~-]+\.[\w.~/-]+)\s+(v[\w.+-]+)", re.M)
_CONAN = re.compile(rf"(?<![\w/])({_WORD})/({_WORD})(?=[@#\"'\s]|$)")
_WRAP = re.compile(r"^\s*(directory|revision|source_hash)\s*=\s*(\S+)", re.M)
Versions = dict[str, str]


@dataclass(frozen=True, slots=True)
class ChangedDependency:
    """A dependency with another version than in the base. old, new: empty if it has none.

    file: that states the version, or the folder of a submodule
    """

    name: str
    file: str
    old: str
    new: str


def changed_files(root: Path, commit: str) -> frozenset[str]:
    """List the files that differ from a commit or are new, relative to the root."""
    try:
        told = git_bytes(root, *DIFF, "--name-only", "--no-ext-diff", "-z", "--relative", commit)
        new = git_bytes(root, "ls-files", "--others", "--exclude-standard", "-z")
    except (BuildError, InputError):
        return frozenset()
    return frozenset(name.decode(errors="replace") for name in (told + new).split(b"\0") if name)


def changed_dependencies(
    root: Path, commit: str, changed: Iterable[str]
) -> tuple[ChangedDependency, ...]:
    """List the dependencies with another version than in a commit, by name.

    changed: files that differ from the commit
    """
    found: list[ChangedDependency] = []
    for path in sorted(changed):
        before = _submodule(root, commit, path)
        if before is not None:
            name = posixpath.basename(path)
            found.append(ChangedDependency(name, path, before, _checked_out(root / path)))
            continue
        read = _reader(path)
        if read is not None:
            old, new = read(_at(root, commit, path)), read(_now(root / path))
            found += [
                ChangedDependency(name, path, old.get(name, ""), new.get(name, ""))
                for name in sorted({*old, *new})
                if old.get(name) != new.get(name)
            ]
    return tuple(found)


def _submodule(root: Path, commit: str, path: str) -> str | None:
    """Return the short commit of a submodule; empty if it is new, None for anything else."""
    try:
        entry = tree_entries(root, commit, "--", path).get(path, "")
    except (BuildError, InputError):
        return None
    if entry.startswith(_SUBMODULE):
        return entry.split()[2][:_SHORT]
    return "" if not entry and (root / path / ".git").exists() else None


def _checked_out(folder: Path) -> str:
    try:
        return git(folder, "rev-parse", "HEAD")[:_SHORT] if (folder / ".git").exists() else ""
    except (BuildError, InputError):
        return ""


def _at(root: Path, commit: str, path: str) -> str:
    try:
        prefix = git(root, "rev-parse", "--show-prefix")
        return (file_of(root, commit, prefix + path) or "")[:_LARGEST]
    except (BuildError, InputError):
        return ""


def _now(path: Path) -> str:
    if not path.is_file():
        return ""  # a link may lead to a pipe, which has to be waited for
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""


def _reader(path: str) -> Callable[[str], Versions] | None:
    """Return the function that reads the versions of a file; None if it has none."""
    name = posixpath.basename(path)
    if name == "CMakeLists.txt" or name.endswith(".cmake"):
        return _of_cmake
    if name.endswith(".wrap"):
        return lambda text: _of_wrap(name.removesuffix(".wrap"), text)
    return _READERS.get(name)


def _of_cargo(text: str) -> Versions:
    """Read Cargo.lock; several versions of a crate are joined."""
    try:
        packages = tomllib.loads(text).get("package", [])
    except tomllib.TOMLDecodeError:
        return {}
    found: dict[str, list[str]] = {}
    for package in packages if isinstance(packages, list) else ():
        if isinstance(package, dict):
            version = str(package.get("version", ""))
            found.setdefault(str(package.get("name", "")), []).append(version)
    return {name: ", ".join(sorted(versions)) for name, versions in found.items()}


def _of_vcpkg(text: str) -> Versions:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    found: Versions = {}
    if isinstance(content, dict):
        listed = [content.get("overrides"), content.get("dependencies")]
        for each in (row for rows in listed if isinstance(rows, list) for row in rows):
            if isinstance(each, dict) and "name" in each:
                version = each.get("version", each.get("version>=", each.get("version-string", "")))
                found.setdefault(str(each["name"]), str(version))
            elif isinstance(each, str):
                found.setdefault(each, "")
    return {name: version for name, version in found.items() if version}


def _of_cmake(text: str) -> Versions:
    found = {}
    for name, words in _FETCHED.findall(text):
        at = _FETCHED_AT.findall(words)
        tag = re.search(r"\b(?:GIT_TAG|VERSION)\s+\"?([^\s\")]+)", words)
        if at:
            found[name] = tag[1] if tag else at[0]
    return found | {name.removesuffix(".git"): tag for name, tag in _SHORT_CPM.findall(text)}


def _of_wrap(name: str, text: str) -> Versions:
    """Read a wrap of Meson: its folder has the version, or a revision does."""
    words = dict(_WRAP.findall(text))
    version = words.get("revision") or words.get("directory") or words.get("source_hash", "")
    return {name: version} if version else {}


def _pairs(pattern: re.Pattern[str]) -> Callable[[str], Versions]:
    return lambda text: dict(pattern.findall(text))


_READERS: Mapping[str, Callable[[str], Versions]] = {
    "Cargo.lock": _of_cargo,
    "vcpkg.json": _of_vcpkg,
    "MODULE.bazel": _pairs(_BAZEL),
    "go.mod": _pairs(_GO),
    "conanfile.txt": _pairs(_CONAN),
    "conanfile.py": _pairs(_CONAN),
    "conan.lock": _pairs(_CONAN),
}
