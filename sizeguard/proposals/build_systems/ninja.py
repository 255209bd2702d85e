"""Ninja without CMake or Meson: GN or a script of the project wrote build.ninja."""

from __future__ import annotations

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
    map_option,
    path_from,
    shell_words,
    untracked,
)

_FILE, _ARGUMENTS = "build.ninja", "args.gn"


class Ninja:
    """Ninja with any generator."""

    name = "Ninja"
    packages = ("ninja-build", "g++")

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder has build.ninja."""
        return (folder / _FILE).is_file()

    def read(self, folder: Path) -> BuildFolder:
        """Find the folder in which GN ran."""
        if not (folder / _ARGUMENTS).is_file():
            return BuildFolder(folder, folder)
        source = next((each for each in folder.parents if (each / ".gn").is_file()), folder)
        lines = text_of_file(folder / _ARGUMENTS).splitlines()
        arguments = " ".join(line for line in lines if line.strip() and line.lstrip()[0] != "#")
        return BuildFolder(source, folder, None, {"gn": arguments or " "})

    def commands(self, build: BuildFolder, place: Place, images: Sequence[LinkedFile]) -> Commands:
        """Build the images by their paths; the generator of build.ninja is known only for GN."""
        names = [str(image.path.relative_to(build.folder)) for image in images]
        at = ["-C", place.folder] if place.folder != "." else []
        made = shell_words(["ninja", *at, *names], place.root)
        if build.fact("gn"):
            words = ["gn", "gen", place.folder, f"--args={build.fact('gn').strip()}"]
            words += ["--root", place.source] if place.source != "." else []
            return Commands(shell_words(words, place.root), made)
        if build.folder == build.source and place.is_fresh and place.folder == place.source:
            return Commands("", made, untracked(build.folder, _FILE))
        return Commands(
            "",
            "",
            (f"the command that writes {_FILE} is unknown: set it as setup, with build: {made}",),
        )

    def advice(self, missing: str, build: BuildFolder, image: LinkedFile) -> str:
        """Return the flag to add."""
        option = map_option(image, f"{path_from(build.folder, image.path)}.map")
        return {
            SECTIONS: "compile with -ffunction-sections, link with -Wl,--gc-sections",
            MAP: f"link with -Wl,{option}",
            BUILD_ID: "link with -Wl,--build-id",
            DEBUG: "compile with -g; the gate strips its own copy",
            SYMBOLS: "link without -s, and do not strip; the gate strips its own copy",
        }[missing]
