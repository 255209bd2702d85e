"""Read CMake's build folders: the cache, link commands, tests and installed files."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sizeguard.base import OWN_FOLDER
from sizeguard.base.dataclass import dataclass
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
    files_of_build,
    map_option,
    shell_words,
)
from sizeguard.proposals.build_systems.cmake_cache import given_settings, read_cache
from sizeguard.proposals.build_systems.ninja_file import statements

_CACHE = "CMakeCache.txt"
# Ninja rules that link an image, such as CXX_EXECUTABLE_LINKER__app_Release.
_LINK = re.compile(
    r".*_(?:EXECUTABLE|SHARED_LIBRARY|STATIC_LIBRARY|MODULE_LIBRARY|SHARED_MODULE)_LINKER__"
)
_TARGET = re.compile(r"(?:^|/)CMakeFiles/([^/]+)\.dir/")
# The program of add_test(NAME "program" …) in CTestTestfile.cmake; NAME may be [=[in brackets]=].
_TEST = re.compile(
    r'^add_test\(\s*(?:\[(=*)\[.*?\]\1\]|"(?:[^"\\]|\\.)*"|\S+)\s+"((?:[^"\\]|\\.)*)"', re.M
)
# The files of file(INSTALL … TYPE EXECUTABLE FILES "file" …) in cmake_install.cmake.
_INSTALL = re.compile(
    r"file\(INSTALL\b[^\n]*?\bTYPE (?:EXECUTABLE|(?:SHARED|STATIC)_LIBRARY|MODULE)\b(.*?)\)\s*$",
    re.M | re.S,
)
_AR_MODE = re.compile(r"[qr][A-Za-z]*")
_CONFIGURATION = re.compile(r"impl-(.+)\.ninja")  # a file of Ninja Multi-Config
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SKIPPED = frozenset({".git", OWN_FOLDER, "CMakeTmp", "CMakeScratch", "_CMakeLTOTest-CXX"})
_GENERATOR, _TYPE, _SETTINGS = "generator", "type", "settings"  # names of BuildFolder.facts


@dataclass(frozen=True, slots=True)
class _LinkCommand:
    """A link command: the path of its output, and other fields of LinkedFile."""

    output: Path
    target: str
    objects: tuple[Path, ...]
    configuration: str = ""


class CMake:
    """CMake with any of its generators."""

    name = "CMake"
    packages = ("cmake", "g++", "make", "ninja-build")

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder has a cache of CMake."""
        return (folder / _CACHE).is_file()

    def read(self, folder: Path) -> BuildFolder:
        """Read the cache, the link commands, the tests and the installed files."""
        cache = read_cache(folder / _CACHE)
        home = cache.get("CMAKE_HOME_DIRECTORY")
        source = Path(home.value).resolve() if home else folder
        known = {
            name: cache[name].value
            for name in ("CMAKE_GENERATOR", "CMAKE_BUILD_TYPE")
            if name in cache
        }
        settings = list(given_settings(cache, source, folder)) if source.is_dir() else []
        facts = {
            _GENERATOR: known.get("CMAKE_GENERATOR", ""),
            _TYPE: known.get("CMAKE_BUILD_TYPE", ""),
            _SETTINGS: json.dumps(settings),
        }
        return BuildFolder(source, folder, _of_newest_configuration(_linked(folder)), facts)

    def commands(self, build: BuildFolder, place: Place, images: Sequence[LinkedFile]) -> Commands:
        """Configure with the cache's settings, and build the targets of the images."""
        words = ["cmake", "-S", place.source, "-B", place.folder]
        if build.fact(_GENERATOR):
            words += ["-G", build.fact(_GENERATOR)]
        if build.fact(_TYPE):
            words.append(f"-DCMAKE_BUILD_TYPE={build.fact(_TYPE)}")
        words += [f"-D{name}={value}" for name, value in json.loads(build.fact(_SETTINGS) or "[]")]
        made = ["cmake", "--build", place.folder]
        notes = []
        if build.fact(_GENERATOR).endswith("Multi-Config"):
            configs = sorted({each.configuration or each.path.parent.name for each in images})
            made += ["--config", configs[0]] if configs else []
        elif not build.fact(_TYPE):
            notes.append(
                "the build has no CMAKE_BUILD_TYPE: -DCMAKE_BUILD_TYPE=MinSizeRel optimizes"
            )
        targets = [image.target for image in images]
        if targets and all(targets):
            made += ["--target", *dict.fromkeys(targets)]
        return Commands(shell_words(words, place.root), shell_words(made, place.root), tuple(notes))

    def advice(self, missing: str, build: BuildFolder, image: LinkedFile) -> str:
        """Return the CMake setting."""
        is_library = ".so" in image.path.name or image.path.suffix == ".dylib"
        target = image.target or "TARGET"
        option = map_option(image, f"$<TARGET_FILE:{target}>.map")
        flags = f"-DCMAKE_{'SHARED' if is_library else 'EXE'}_LINKER_FLAGS"
        return {
            SECTIONS: (
                # A language that the project does not have ignores its flags.
                "-DCMAKE_C_FLAGS='-ffunction-sections -fdata-sections'"
                " -DCMAKE_CXX_FLAGS='-ffunction-sections -fdata-sections'"
                f" {flags}=-Wl,--gc-sections in setup"
            ),
            MAP: f"target_link_options({target} PRIVATE LINKER:{option}) in CMakeLists.txt",
            BUILD_ID: f"{flags}=-Wl,--build-id in setup",
            # A setting of CMAKE_C_FLAGS would replace that for sections.
            DEBUG: (
                "add_compile_options(-g) after project() in CMakeLists.txt; the gate strips its"
                " own copy"
            ),
            SYMBOLS: "leave -s and strip out of the build; the gate strips its own copy",
        }[missing]


def _linked(folder: Path) -> Iterator[LinkedFile]:
    """Yield the files that the build links, from build.ninja or the makefiles' link.txt."""
    tests, installed = _tests_and_installed(folder)
    for link in _links(folder):
        path = Path(os.path.normpath(folder / link.output))
        real = path.resolve()
        yield LinkedFile(
            *(path, link.target, real in installed, real in tests, link.objects),
            configuration=link.configuration,
        )


def _of_newest_configuration(links: Iterable[LinkedFile]) -> tuple[LinkedFile, ...]:
    """Leave out the files of all configurations but one, because a command builds one."""
    found = tuple(links)
    built = [each for each in found if each.configuration and each.path.is_file()]
    if not built:
        return found
    newest = max(built, key=lambda each: each.path.stat().st_mtime_ns).configuration
    return tuple(each for each in found if each.configuration in ("", newest))


def _links(folder: Path) -> Iterator[_LinkCommand]:
    """Read the link commands of Ninja; if there are none, those of the makefiles."""
    found = False
    for file in (folder / "build.ninja", *sorted(folder.glob("CMakeFiles/impl-*.ninja"))):
        for each in statements(text_of_file(file), _LINK):
            found = True
            inputs = [folder / name for name in each.inputs]
            # A second output is the import library, or another name of the same file.
            output, name = folder / each.outputs[0], _CONFIGURATION.fullmatch(file.name)
            configuration = name[1] if name else ""
            objects = _objects(inputs, configuration)
            yield _LinkCommand(output, _target(each.inputs), objects, configuration)
    if found:
        return
    for path in files_of_build(folder, skipped=_SKIPPED):
        if path.name == "link.txt" and path.parent.suffix == ".dir":
            yield from _links_of_file(path)


def _links_of_file(path: Path) -> Iterator[_LinkCommand]:
    """Read a makefile's FOLDER/CMakeFiles/TARGET.dir/link.txt, whose paths begin in FOLDER."""
    base = path.parents[2]
    for line in text_of_file(path).splitlines():
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        if "-o" in words[:-1]:
            output = words[words.index("-o") + 1]
        elif len(words) > 3 and _AR_MODE.fullmatch(words[1]):  # ar qc libwords.a words.cpp.o
            output = words[2]
        else:
            continue
        inputs = [base / word for word in words if word.endswith((".o", ".obj", ".a"))]
        objects = tuple(each for each in _objects(inputs) if each != base / output)
        yield _LinkCommand(base / output, path.parent.stem, objects)


def _target(inputs: Sequence[str]) -> str:
    """Name the target by the folder of its objects."""
    return next((found[1] for name in inputs if (found := _TARGET.search(name))), "")


def _objects(inputs: Sequence[Path], configuration: str = "") -> tuple[Path, ...]:
    """Return archives, and for objects the folder TARGET.dir that they are in, each once."""
    found = []
    for path in inputs:
        if path.suffix in (".o", ".obj"):
            home = next((each for each in path.parents if each.suffix == ".dir"), None)
            found.append(home / configuration if home else path)
        elif path.suffix == ".a":
            found.append(path)
    return tuple(dict.fromkeys(found))


def _tests_and_installed(folder: Path) -> tuple[set[Path], set[Path]]:
    """Return the programs that tests run, and the images that an installation copies."""
    tests: set[Path] = set()
    installed: set[Path] = set()
    for path in files_of_build(folder, skipped=_SKIPPED):
        if path.name == "CTestTestfile.cmake":
            tests |= {_path(each[2]) for each in _TEST.finditer(text_of_file(path))}
        elif path.name == "cmake_install.cmake":
            for each in _INSTALL.finditer(text_of_file(path)):
                installed |= {_path(name) for name in _STRING.findall(each[1])}
    return tests, installed


def _path(text: str) -> Path:
    """Return the path of a quoted argument of CMake; a backslash escapes a character."""
    return Path(re.sub(r"\\(.)", r"\1", text)).resolve()
