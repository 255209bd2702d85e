"""Make: a Makefile in a source folder, written by hand or by configure."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from sizeguard.base.files import text_of_file
from sizeguard.proposals.build_folder import (
    BUILD_ID,
    DEBUG,
    MAP,
    SECTIONS,
    SYMBOLS,
    BuildFolder,
    Commands,
    LinkedFile,
    Place,
    is_tracked,
    map_option,
    shell_words,
    untracked,
)
from sizeguard.proposals.build_systems.automake import automake_files
from sizeguard.proposals.build_systems.make_rules import (
    STANDARD,
    calls_for,
    makefiles,
    makes_a_file,
)

_CONFIGURED = re.compile(r"^  \$ (\S*configure\b.*)$", re.M)
_CALLS_MAKE = re.compile(r"\$[({]MAKE[)}]|\bmake\s+-C\b|^SUBDIRS\s*=", re.M)
RECURSIVE = "recursive"  # fact: the Makefile calls Makefiles in folders below


class Make:
    """GNU make."""

    name = "Make"
    packages = ("make", "g++")

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder has a Makefile, or another one that made a file here."""
        return any((folder / name).is_file() for name in STANDARD) or makes_a_file(folder)

    def read(self, folder: Path) -> BuildFolder:
        """Read how it was configured; only Automake's makefiles list what they link."""
        configured = _CONFIGURED.search(text_of_file(folder / "config.log"))
        line = configured[1] if configured else ""
        script = _script(folder, line)
        source = script.parent if script is not None else folder
        facts = {
            "configured": line if script is not None else "",
            "generated": "yes" if script is not None and not is_tracked(script) else "",
            RECURSIVE: "yes" if _CALLS_MAKE.search(_makefile(folder)) else "",
        }
        return BuildFolder(source, folder, automake_files(folder), facts)

    def commands(self, build: BuildFolder, place: Place, images: Sequence[LinkedFile]) -> Commands:
        """Make the images with their rules, from scratch if the tree may have old outputs."""
        names = [str(image.path.relative_to(build.folder)) for image in images]
        folders = []  # made first: configure is run in its own folder
        made = []
        for call in calls_for(build.folder, names):
            if call.folder:
                below = os.path.normpath(f"{place.folder}/{call.folder}")
                folders.append(shell_words(["mkdir", "-p", below], place.root))
            words = ["make", *([] if place.is_fresh else ["-B"]), *call.words(place.folder)]
            made.append(shell_words(words, place.root))
        configure = _configure(build, place)
        setup = " && ".join(filter(None, [*folders, configure]))
        return Commands(setup, " && ".join(made), _notes(build, configure))

    def advice(self, missing: str, build: BuildFolder, image: LinkedFile) -> str:
        """Return the make variable to set."""
        name = image.path.name
        return {
            SECTIONS: (
                "CFLAGS and CXXFLAGS with -ffunction-sections -fdata-sections, LDFLAGS with"
                " -Wl,--gc-sections"
            ),
            MAP: f"-Wl,{map_option(image, f'{name}.map')} in the command that links {name}",
            BUILD_ID: "LDFLAGS with -Wl,--build-id",
            DEBUG: "CFLAGS and CXXFLAGS with -g; the gate strips its own copy",
            SYMBOLS: "leave -s and strip out of the Makefile; the gate strips its own copy",
        }[missing]


def _notes(build: BuildFolder, configure: str) -> tuple[str, ...]:
    """Tell that the command which writes the makefile is unknown, as with nginx's configure."""
    name = next(iter(makefiles(build.folder)), "")
    return () if configure or not name else untracked(build.folder, name)


def _configure(build: BuildFolder, place: Place) -> str:
    """Return the configure command from config.log; empty if nothing was configured."""
    line = build.fact("configured")
    if not line:
        return ""
    there = os.path.relpath(place.root / place.source, place.root / place.folder)
    script = f"{there}/configure"
    steps = []
    if build.fact("generated"):
        steps.append(shell_words(["autoreconf", "-fi", place.source], place.root))
    if place.folder != ".":
        folder = shlex.quote(place.folder)
        steps.append(f"mkdir -p {folder} && cd {folder}")
    steps.append(shell_words([script, *shlex.split(line)[1:]], place.root))
    return " && ".join(steps)


def _script(folder: Path, line: str) -> Path | None:
    """Find the configure script of a command line; None if it does not exist."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    path = Path(os.path.normpath(folder / words[0])) if words else None
    return path if path is not None and path.is_file() else None


def _makefile(folder: Path) -> str:
    return next((text_of_file(folder / name) for name in makefiles(folder)), "")
