"""Levels that follow from others: source, directory, owner, namespace, package."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from sizeguard.columns.label import Label
from sizeguard.columns.pool import Pool
from sizeguard.columns.texts import Int32, Texts
from sizeguard.ledger.region_use import RegionUse, region_by_section

# Functions that every Go program has.
_OF_GO = frozenset({"runtime.mallocgc", "runtime.main", "main.main"})
# The folder of a target's objects, below that of its CMakeLists.txt, and __ for each .. in a source
_OBJECT_FOLDER = re.compile(r"(?P<place>.*/|)CMakeFiles/[^/]+\.dir/(?P<up>(?:__/)*)")
_SUFFIX = re.compile(r"\.(?:o|obj|lo|os|pic\.o)\Z")

Labels = Callable[[str], Label]


def derived_label(level: str, label: Labels) -> Label:
    """Return the label of a level of levels.DERIVED, computed from other levels."""
    if level in ("namespace", "package"):
        return _scopes(label("symbol"), level)
    if level == "source":
        return mapped(label("object"), source_of_object)
    if level == "directory":
        return mapped(label("source"), posixpath.dirname)
    if level == "archive":
        return mapped(label("object"), archive_of)
    from sizeguard.attribution.teams.code_owners import find_code_owners

    return mapped(label("source"), find_code_owners(Path.cwd()).of)


def mapped(label: Label, make: Callable[[str], str]) -> Label:
    """Replace each text of a label."""
    return _with_texts(label.ids, (make(label.texts[i]) for i in range(len(label.texts))))


def source_of_object(path: str) -> str:
    """Return the source that an object was compiled from, by CMake's naming of objects.

    Ninja's paths begin in the build folder, where each folder has that of its sources.
    """
    if not path:
        return ""
    member = _SUFFIX.sub("", path.rpartition("(")[2].rstrip(")"))
    if found := _OBJECT_FOLDER.match(member):
        place = "" if found["place"].startswith(("/", "..")) else found["place"]
        path = f"{place}{found['up'].replace('__', '..')}{member[found.end() :]}"
        return posixpath.normpath(path) if "../" in path else path
    return posixpath.normpath(member) if "/../" in member else member  # start code of a compiler


def regions(section: Label, known: Sequence[RegionUse] | None) -> Label:
    """Label rows with the memory region that stores their section."""
    found = region_by_section(known or ())
    return mapped(section, lambda name: found.get(name, ""))


def archive_of(path: str) -> str:
    """Return the archive in an object's path: libx.a for libx.a(y.o)."""
    place, bracket, _ = path.partition("(")
    return place if bracket and path.endswith(")") else ""


def _scopes(symbols: Label, level: str) -> Label:
    from sizeguard.names.scan.scopes import ScopeReader  # 2 ms, which other levels save

    texts = [symbols.texts[i] for i in range(len(symbols.texts))]
    reader = ScopeReader(is_go=not _OF_GO.isdisjoint(texts))
    found = reader.read(texts)
    of = reader.namespace if level == "namespace" else reader.package
    return _with_texts(symbols.ids, map(of, found))


def _with_texts(ids: Int32, texts: Iterable[str]) -> Label:
    pool = Pool()
    numbers = np.array([pool.number(text) for text in texts] or [0], np.int32)
    return Label(numbers[ids], Texts.of(pool.texts))
