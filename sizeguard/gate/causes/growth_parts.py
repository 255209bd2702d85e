"""Split the growth of a change by the files that it touches, and by its changed dependencies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from sizeguard.attribution.analysis import Analysis
from sizeguard.columns.label import rows_with
from sizeguard.gate.causes.dependencies import ChangedDependency
from sizeguard.gate.causes.growth_result import MOVED, Cause, DependencyGrowth, FileGrowth

_LINE = re.compile(r":\d+$")
_SPLIT = re.compile(r"[/\\()!]")
_LIBRARY = re.compile(r"^lib|(?:-[0-9a-f]{16})?\.(?:a|rlib|so|lib|dll|dylib)(?:\.[\d.]+)?$")
_SYSTEM = ("/usr/lib", "/lib")  # a dependency may be in a folder of that name, too
_OF_TOOLS = re.compile(r"-(?:src|build|subbuild)$|-v?\d[\w.+-]*$|\.dir$")


def growth_by_file(causes: Iterable[Cause], changed: Collection[str]) -> tuple[FileGrowth, ...]:
    """Sum causes by their source file; the rows sum to the change of the load.

    Causes without a file are one row without a name.

    changed: files that the change touches
    """
    sums: dict[str, tuple[int, int]] = {}
    for cause in causes:
        if cause.kind != MOVED:
            file = _LINE.sub("", cause.place)
            old, new = sums.get(file, (0, 0))
            sums[file] = old + cause.old, new + cause.new
    rows = [
        FileGrowth(file, file in changed, old, new)
        for file, (old, new) in sums.items()
        if old != new
    ]
    return tuple(sorted(rows, key=lambda row: (not row.changed, -abs(row.delta), row.file)))


def growth_by_dependency(
    old: Analysis, new: Analysis, changed: Iterable[ChangedDependency]
) -> tuple[DependencyGrowth, ...]:
    """Sum the loaded bytes of dependencies before and now, the largest change first."""
    rows = [
        DependencyGrowth(
            each.name,
            each.file,
            each.old,
            each.new,
            _bytes_of(old, each),
            _bytes_of(new, each),
        )
        for each in changed
    ]
    return tuple(sorted(rows, key=lambda row: (-abs(row.delta), row.name)))


def _bytes_of(analysis: Analysis, dependency: ChangedDependency) -> int:
    """Sum the rows of a package of that name, or of objects in a library or folder of that name."""
    name = _plain(dependency.name)
    folder = f"/{dependency.file}/"

    def is_package(text: str) -> bool:
        return _plain(text) == name or text.startswith(f"{dependency.name}/")

    def is_object(text: str) -> bool:
        if text.startswith(_SYSTEM):
            return False
        parts = _SPLIT.split(text)
        return folder in f"/{text}" or any(_plain(_LIBRARY.sub("", part)) == name for part in parts)

    chosen = rows_with(analysis.label("package"), is_package)
    chosen |= rows_with(analysis.label("object"), is_object)
    return int(analysis.load[chosen].sum())


def _plain(name: str) -> str:
    """Return what package managers and compilers write alike in a name; empty if the name is."""
    plain = _OF_TOOLS.sub("", name) or name
    plain = plain.lower().replace("-", "_")
    return plain.removeprefix("lib") or plain
