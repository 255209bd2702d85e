"""Make: a Makefile in a source folder, written by hand or by configure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from sizeguard.proposals.build_folder import (
    BUILD_ID,
    MAP,
    SECTIONS,
    SYMBOLS,
    BuildFolder,
    Commands,
    LinkedFile,
    Place,
    shell_words,
    text_of_file,
)

_FILES = ("GNUmakefile", "makefile", "Makefile")
_RULE = re.compile(r"^([^\s#:=][^#:=\n]*?)\s*:(?![:=])", re.M)
_SETTING = re.compile(r"^\s*(?:export\s+)?(\w+)\s*[:?]?:?=[ \t]*([^#\n]*)", re.M)
_USE = re.compile(r"\$[({](\w+)[)}]")
_CONFIGURED = re.compile(r"^  \$ (\S*configure\b.*)$", re.M)
_CALLS_MAKE = re.compile(r"\$[({]MAKE[)}]|\bmake\s+-C\b|^SUBDIRS\s*=", re.M)
RECURSIVE = "recursive"  # fact: the Makefile calls those in folders below
_DEPTH = 5  # of settings that name settings


class Make:
    """GNU make."""

    name = "Make"
    packages = ("make", "g++")

    def recognises(self, folder: Path) -> bool:
        """Whether a folder has a Makefile."""
        return any((folder / name).is_file() for name in _FILES)

    def read(self, folder: Path) -> BuildFolder:
        """Read how it was configured; the links are those that are found."""
        configured = _CONFIGURED.search(text_of_file(folder / "config.log"))
        facts = {
            "configured": configured[1] if configured else "",
            RECURSIVE: "yes" if _CALLS_MAKE.search(_makefile(folder)) else "",
        }
        return BuildFolder(folder, folder, None, facts)

    def commands(self, build: BuildFolder, place: Place, images: Sequence[LinkedFile]) -> Commands:
        """Make the images by their rules, all of them anew if products may lie in the tree."""
        known = _targets(build.folder)
        words = ["make", *([] if place.is_fresh else ["-B"])]
        if place.source != ".":
            words += ["-C", place.source]
        names = [str(image.path.relative_to(build.folder)) for image in images]
        if names and all(name in known for name in names):
            words += names
        setup, notes = _configure(build, place)
        return Commands(setup, shell_words(words, place.root), notes)

    def advice(self, missing: str, image: str) -> str:
        """Name the variable of make."""
        return {
            SECTIONS: (
                "CFLAGS and CXXFLAGS with -ffunction-sections -fdata-sections, LDFLAGS with"
                " -Wl,--gc-sections"
            ),
            MAP: f"-Wl,-Map,{image}.map in the command that links {image}",
            BUILD_ID: "LDFLAGS with -Wl,--build-id",
            SYMBOLS: "leave -s and strip out of the Makefile; the gate strips its own copy",
        }[missing]


def _configure(build: BuildFolder, place: Place) -> tuple[str, tuple[str, ...]]:
    """Return the configure command of config.log, and what is to be known of it."""
    line = build.fact("configured")
    if not line:
        return "", ()
    try:
        given = shlex.split(line)[1:]
    except ValueError:
        given = []
    command = shell_words(["./configure", *given], place.root)
    if not (build.folder / "configure").is_file():
        return "", (f"configure does not lie in the folder of the build; it was: {line}",)
    at = f"cd {shlex.quote(place.source)} && " if place.source != "." else ""
    return f"{at}{command}", ()


def _makefile(folder: Path) -> str:
    return next((text_of_file(folder / name) for name in _FILES if (folder / name).is_file()), "")


def _targets(folder: Path) -> set[str]:
    """Read the targets of a Makefile's own rules, with its plain settings put in."""
    text = _makefile(folder).replace("\\\n", " ")
    settings = {each[1]: each[2].strip() for each in _SETTING.finditer(text)}
    found: set[str] = set()
    for each in _RULE.finditer(text):
        names = each[1]
        for _ in range(_DEPTH):
            names = _USE.sub(lambda use: settings.get(use[1], use[0]), names)
        found.update(names.split())
    return {name.removeprefix("./") for name in found}
