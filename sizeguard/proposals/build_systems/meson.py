"""Meson: its introspection files and the options of its command line."""

from __future__ import annotations

import configparser
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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
)

_INFO = Path("meson-info")
_OPTIONS, _LANGUAGES = "options", "languages"  # names of BuildFolder.facts
_FLAGS = re.compile(r"(c|cpp)_args")  # the option for a language's flags, if the project has it
_LINKS = ("executable", "shared library", "shared module", "static library")


class Meson:
    """Meson with ninja."""

    name = "Meson"
    packages = ("meson", "ninja-build", "g++")

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder has Meson's introspection files."""
        return (folder / _INFO / "meson-info.json").is_file()

    def read(self, folder: Path) -> BuildFolder:
        """Read targets, tests and the given options."""
        info = _json(folder / _INFO / "meson-info.json", {})
        directories = info.get("directories", {}) if isinstance(info, dict) else {}
        source = Path(directories.get("source", folder)).resolve()
        built = Path(directories.get("build", folder))
        facts = {
            _OPTIONS: json.dumps(list(_options(folder))),
            _LANGUAGES: " ".join(_languages(folder)),
        }
        return BuildFolder(source, folder, tuple(_linked(folder, built)), facts)

    def commands(self, build: BuildFolder, place: Place, images: Sequence[LinkedFile]) -> Commands:
        """Set up with the options of the command line, and compile the targets of the images."""
        options = json.loads(build.fact(_OPTIONS) or "[]")
        setup = ["meson", "setup", place.folder, place.source, *options]
        made = ["meson", "compile", "-C", place.folder]
        if images and all(image.target for image in images):
            made += dict.fromkeys(image.target for image in images)
        return Commands(shell_words(setup, place.root), shell_words(made, place.root))

    def advice(self, missing: str, build: BuildFolder, image: LinkedFile) -> str:
        """Return the option of meson setup."""
        option = map_option(image, f"{path_from(build.folder, image.path)}.map")
        languages = (build.fact(_LANGUAGES) or "cpp").split()
        compiled = [f"-D{each}_args='-ffunction-sections -fdata-sections'" for each in languages]
        linked = [f"-D{each}_link_args=-Wl,--gc-sections" for each in languages]
        named = [f"-D{each}_link_args=-Wl,--build-id" for each in languages]
        return {
            SECTIONS: f"{' '.join((*compiled, *linked))} in setup",
            MAP: f"link_args: '-Wl,{option}' of the target in meson.build",
            BUILD_ID: f"{' '.join(named)} in setup",
            DEBUG: "-Ddebug=true in setup; the gate strips its own copy",
            SYMBOLS: "-Dstrip=false in setup, and no -s; the gate strips its own copy",
        }[missing]


def _languages(folder: Path) -> Iterator[str]:
    """Yield the project's languages; Meson ignores options for others."""
    for option in _json(folder / _INFO / "intro-buildoptions.json", []):
        if isinstance(option, dict) and (found := _FLAGS.fullmatch(str(option.get("name")))):
            yield found[1]


def _linked(folder: Path, built: Path) -> Iterator[LinkedFile]:
    targets = [
        each
        for each in _json(folder / _INFO / "intro-targets.json", [])
        if isinstance(each, dict) and each.get("type") in _LINKS and each.get("filename")
    ]
    tests = {
        str(word)
        for each in _json(folder / _INFO / "intro-tests.json", [])
        for word in each.get("cmd", [])[:1]
    }
    names = Counter(str(each.get("name")) for each in targets)
    for each in targets:
        told = Path(each["filename"][0])
        path = folder / told.relative_to(built) if told.is_relative_to(built) else told
        name = str(each.get("name"))
        objects = path.with_name(f"{path.name}.p")
        yield LinkedFile(
            path,
            name if names[name] == 1 else "",
            bool(each.get("installed")) and not each.get("subproject"),
            str(told) in tests,
            (objects,) if objects.is_dir() else (),
        )


def _options(folder: Path) -> Iterator[str]:
    """Yield the command-line options that Meson stores."""
    parser = configparser.RawConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text_of_file(folder / "meson-private" / "cmd_line.txt"))
    except configparser.Error:
        return
    given: Mapping[str, Mapping[str, str]] = parser
    if parser.has_section("properties"):
        for kind in ("cross", "native"):
            text = given["properties"].get(f"{kind}_file", "")
            for path in _names(text):
                yield f"--{kind}-file={path}"
    if parser.has_section("options"):
        for name, value in given["options"].items():
            yield f"-D{name}={value}"


def _names(text: str) -> list[str]:
    """Read a list of paths in Meson's form: ['a', 'b']."""
    return [name for name in text.strip("[] ").replace('"', "'").split("'") if name.strip(", ")]


def _json(path: Path, default: Any) -> Any:
    try:
        found = json.loads(text_of_file(path))
    except (ValueError, RecursionError):
        return default
    return found if isinstance(found, type(default)) else default
