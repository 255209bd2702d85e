"""Read the rules of makefiles, and find the arguments of make that build given files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from sizeguard.base.dataclass import dataclass
from sizeguard.base.files import text_of_file

STANDARD = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make prefers them
# Other names, which make takes with -f. Those of automake and of backups are no makefiles.
_OTHER = re.compile(
    r"(?:GNU)?[Mm]akefile[._-](?!(?:am|in|inc|bak|orig|old|rej)$)[\w.-]*\w|[\w.+-]+\.(?:mk|mak|make)"
)
_RULE = re.compile(r"^([^\s#:=][^#:=\n]*?)\s*:(?![:=])", re.M)
_SETTING = re.compile(r"^\s*(?:export\s+)?(\w+)\s*[:?]?:?=[ \t]*([^#\n]*)", re.M)
_USE = re.compile(r"\$[({](\w+)[)}]")
_NO_PRODUCTS = frozenset(
    [".o", ".obj", ".a", ".d", ".h", ".hpp", ".c", ".cc", ".cpp", ".cxx", ".s", ".S", ".mk"]
)
_DEPTH = 5  # levels of settings that refer to settings
_HOLE = "\0"  # a setting whose value is searched for


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments of make that build files.

    folder:    in which make runs, below the folder with the makefile: `build`; empty for the same
    makefile:  its name, if make has to be told; empty for a standard name
    variables: settings of the command line: O=out
    targets:   names of the files for make; empty if no rule names them
    """

    folder: str = ""
    makefile: str = ""
    variables: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def words(self, place: str) -> list[str]:
        """Return the arguments. place: the folder with the makefile, from where make starts."""
        at = os.path.normpath(f"{place}/{self.folder}")
        words = ["-C", at] if at != "." else []
        name = self.makefile
        if self.folder and name:
            name = os.path.relpath(name, self.folder)
        if name:
            words += ["-f", name]
        return [*words, *self.variables, *self.targets]


def makefiles(folder: Path) -> list[str]:
    """List the makefiles of a folder: the one that make reads without -f first."""
    standard = [name for name in STANDARD if (folder / name).is_file()]
    try:
        names = sorted(path.name for path in folder.iterdir() if _OTHER.fullmatch(path.name))
    except OSError:
        names = []
    return [*standard[:1], *(name for name in names if (folder / name).is_file())]


def makes_a_file(folder: Path) -> bool:
    """Return whether make with -f made a file of a folder: a rule of a makefile names it."""
    return any(
        (folder / target).is_file()
        for name in makefiles(folder)
        for target in _Rules.of(folder / name).targets()
        if PurePosixPath(target).suffix not in _NO_PRODUCTS
    )


def calls_for(folder: Path, files: Sequence[str]) -> list[Call]:
    """Find the calls of make that build files, given by their paths from the folder.

    One call without targets if the rules do not name all of them.
    """
    found = makefiles(folder)
    if not found:
        return [Call()]
    unknown = [Call(makefile=_told(found[0]))]
    if not files or any(name[0] == "-" or "=" in name for name in files):
        return unknown
    known = {name: _Rules.of(folder / name) for name in found}
    if call := _call_for(folder, files, known):
        return [call]
    calls: dict[Call, tuple[str, ...]] = {}
    for name in files:
        call = _call_for(folder, [name], known)
        if call is None:
            return unknown
        alike = replace(call, targets=())
        calls[alike] = (*calls.get(alike, ()), *call.targets)
    return [replace(call, targets=targets) for call, targets in calls.items()]


def _call_for(folder: Path, files: Sequence[str], known: Mapping[str, _Rules]) -> Call | None:
    """Find one call of make that builds all files; None if there is none."""
    for name, rules in known.items():
        if rules.targets().issuperset(files):
            return Call("", _told(name), (), tuple(files))
    for name, rules in known.items():
        for setting in rules.settings_for(files):
            return Call("", _told(name), (setting,), tuple(files))
    for name, rules in known.items():
        below, names = rules.run_below(folder, files)
        if below:
            return Call(below, name, (), names)
    return None


def _told(name: str) -> str:
    return "" if name in STANDARD else name


@dataclass(frozen=True, slots=True)
class _Rules:
    """The text of a makefile without continued lines, and its settings with plain values."""

    text: str
    settings: Mapping[str, str]

    @staticmethod
    def of(path: Path) -> _Rules:
        """Read a makefile."""
        text = text_of_file(path).replace("\\\n", " ")
        return _Rules(text, {each[1]: each[2].strip() for each in _SETTING.finditer(text)})

    def targets(self, given: Mapping[str, str] | None = None) -> set[str]:
        """Return the targets of the rules, with plain variables expanded.

        given: settings of the command line
        """
        settings = {**self.settings, **(given or {})}
        found: set[str] = set()
        for each in _RULE.finditer(self.text):
            names = each[1]
            for _ in range(_DEPTH):
                names = _USE.sub(lambda use: settings.get(use[1], use[0]), names)
            found.update(names.split())
        return {name.removeprefix("./") for name in found}

    def settings_for(self, files: Sequence[str]) -> Iterator[str]:
        """Yield settings of one variable with which all files are targets: O=out."""
        for name, value in self.settings.items():
            if not value or " " in value:
                continue
            for text in sorted(self.targets({name: _HOLE})):
                if text.count(_HOLE) != 1 or "/" not in text:
                    continue
                begin, _, end = text.partition(_HOLE)
                file = files[0]
                is_alike = file.startswith(begin) and file.endswith(end)
                other = file[len(begin) : len(file) - len(end)] if is_alike else ""
                if other and self.targets({name: other}).issuperset(files):
                    yield f"{name}={other}"

    def run_below(self, folder: Path, files: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Return the folder where make ran with this makefile, and its targets; else empty.

        There, the targets are names without a folder, and the makefile does not name the folder.
        """
        below = os.path.commonpath([Path(name).parent for name in files])
        if below in ("", ".") or any((folder / below / name).is_file() for name in STANDARD):
            return "", ()
        names = tuple(os.path.relpath(name, below) for name in files)
        is_named = re.search(rf"(?<![\w.-]){re.escape(below)}(?![\w.-])", self.text)
        return (below, names) if self.targets().issuperset(names) and not is_named else ("", ())
