"""Read what a commit's own sizeguard.yaml says of its builds: selections, tools and options.

It is read as the configuration is, with aliases and in any encoding: the base has to be built as
its own gate built it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.yaml.nodes import Node, Scalar, YamlTable, parse_nodes, value_of
from sizeguard.git.file_versions import CommitFiles
from sizeguard.runtimes.runtime import OPTIMIZATIONS
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain

_CONFIG = "sizeguard.yaml"
_EXECUTABLE = "executable"


@dataclass(frozen=True, slots=True)
class TargetBuild:
    """The tools and the options that build a target.

    refused: why they build no image from a commit alone; empty if they do
    """

    toolchain: Toolchain
    optimize: str
    refused: str = ""


def selection_of_commit(repository: Path, commit: str, app: str) -> str | None:
    """Return the path of an app's selection in a commit; None if its sizeguard.yaml has none."""
    text = CommitFiles(repository, commit).text(_CONFIG)
    return selection_in(text, app) if text is not None else None


@functools.lru_cache(512)
def selection_in(text: bytes, app: str) -> str | None:
    """Read apps: APP: selection: in a sizeguard.yaml; None if missing or malformed."""
    found = value_of(value_of(value_of(_root(text), "apps"), app), "selection")
    path = _text(found)
    is_inside = path and not path.startswith("/") and ".." not in PurePosixPath(path).parts
    return str(PurePosixPath(path)) if is_inside else None


def target_of_commit(repository: Path, commit: str, target: str, given: TargetBuild) -> TargetBuild:
    """Return what builds a target in a commit; `given` if the commit has no such target.

    A change of a target's tools and options changes sizes, so each commit's own ones count.
    """
    text = CommitFiles(repository, commit).text(_CONFIG)
    options = target_in(text, target) if text is not None else None
    if options is None:
        return given
    link, lto = options.get("link", _EXECUTABLE), options.get("lto", "")
    if link != _EXECUTABLE or lto:
        how = f"lto: {lto}" if lto else f"link: {link}"
        why = f"its target {target} has {how}, and commits build only executables without LTO"
        return TargetBuild(given.toolchain, given.optimize, why)
    tools = (options.get("compiler"), options.get("linker"), options.get("machine", target))
    try:
        toolchain = _toolchain(*tools)
    except (BuildError, InputError) as error:
        return TargetBuild(given.toolchain, given.optimize, f"of its target {target}: {error}")
    return TargetBuild(toolchain, options.get("optimize", OPTIMIZATIONS[0]))


@functools.lru_cache(64)
def target_in(text: bytes, target: str) -> Mapping[str, str] | None:
    """Read targets: TARGET: in a sizeguard.yaml; None if missing or malformed."""
    targets = value_of(_root(text), "targets")
    if not isinstance(targets, YamlTable) or all(key.text != target for key, _ in targets.pairs):
        return None
    options = value_of(targets, target)
    pairs = options.pairs if isinstance(options, YamlTable) else []
    return {key.text: _text(value) for key, value in pairs if _text(value)}


_toolchain = functools.lru_cache(16)(find_toolchain)


# A gate asks for each app and target; parsing takes 2 ms for a hundred apps.
@functools.lru_cache(16)
def _root(text: bytes) -> Node | None:
    try:
        return parse_nodes(text, _CONFIG, "configuration")
    except InputError:
        return None


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, Scalar) and node.kind != "null" else ""
