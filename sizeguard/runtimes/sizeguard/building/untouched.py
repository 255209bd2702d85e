"""Recognise a build folder in which nothing changed since its last complete build.

Then CMake, ninja and strip have nothing to do. Starting them to find this out would take 900
processes in a gate of 100 apps on 3 targets. Every file of the folder counts, by its state on disk.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic, write_if_changed
from sizeguard.base.fingerprint import code_hash, fingerprint
from sizeguard.base.kept.hash_cache import SETTLED, HashCache
from sizeguard.base.kept.moment import kept_now
from sizeguard.builds.build_inputs import content_hash, input_changes
from sizeguard.builds.build_record import RECORD, Build, read_build
from sizeguard.runtimes.sizeguard.building.made_files import folder_states
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.toolchain import Toolchain

_FILE = ".untouched.json"
HASHES = ".hashes.json"  # in a build's folder
# Files that are written although nothing changes, and that are no results: records of ninja and of
# the driver.
_ASIDE = (_FILE, HASHES, ".lock", ".ninja_log", ".ninja_deps", "build.log")
_LOG = "Nothing to do: inputs and outputs are those of the last build.\n"


def untouched_build(
    root: Path, variant: Variant, toolchain: Toolchain, folder: Path
) -> Build | None:
    """Read the last build in a folder if it was asked for like this one and nothing changed."""
    try:
        content = json.loads((folder / _FILE).read_bytes())
        if content["asked"] != _asked(root, variant, toolchain, folder):
            return None
        if content["files"] != _files(folder):
            return None
        built = read_build(folder / RECORD)
    except (OSError, ValueError, KeyError, TypeError, InputError, RecursionError):
        return None
    # Builds of a gate for the same target share the hashes of the files that all of them read.
    target = ("hashes of builds", toolchain.target)
    hashes = kept_now(target, lambda: HashCache(folder / HASHES, content_hash))
    if built.inputs is None or input_changes(built.inputs, hashes, recorded_environment()):
        return None
    write_if_changed(folder / "build.log", _LOG)
    return built


def keep_untouched(root: Path, variant: Variant, toolchain: Toolchain, folder: Path) -> None:
    """Record the states of all files of a complete build, unless one was written just now.

    A second write in the same tick of the clock would not change its state. Then the next build
    records the states, if it has nothing to do.
    """
    now, files = time.time_ns(), _files(folder)
    if now - max(max(state[3:]) for state in files.values()) <= SETTLED:
        (folder / _FILE).unlink(missing_ok=True)
        return
    asked = _asked(root, variant, toolchain, folder)
    write_atomic(folder / _FILE, json.dumps({"asked": asked, "files": files}))


def _asked(root: Path, variant: Variant, toolchain: Toolchain, folder: Path) -> str:
    """Hash everything that a build's record depends on besides the files that it read."""
    return fingerprint(
        {
            "code": code_hash(),
            "programs": str(Path(sys.executable).parent),
            "root": str(root),
            "folder": str(folder),
            "variant": _plain(asdict(variant)),
            "toolchain": _plain(asdict(toolchain)),
        }
    )


def _plain(values: Mapping[str, object]) -> Mapping[str, str]:
    return {name: str(value) for name, value in values.items()}


def _files(folder: Path) -> dict[str, list[int]]:
    """Return the states of a folder's files, by relative path."""
    top = len(f"{folder}/")
    states = ((path[top:], state) for path, state in folder_states(folder).items())
    return {path: [*state] for path, state in states if path not in _ASIDE}
