"""Read the inputs of a link from the linker's command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.builds.linker_options import DEFINES, read_options
from sizeguard.formats.linkmap.linker_script import script_number
from sizeguard.linkgraph.inputs.link_inputs import Linker, LinkInput, LinkInputs, kind_of
from sizeguard.linkgraph.inputs.version_script import Visible, parse_version_script

_NO_COPIES: Mapping[Path, Path] = MappingProxyType({})


def parse_command(
    arguments: Sequence[str],
    folder: Path,
    linker: Linker,
    *,
    copies: Mapping[Path, Path] = _NO_COPIES,
    lto: Sequence[Path] = (),
) -> LinkInputs:
    """Read a linker's arguments, without the program name.

    folder: the linker's working directory
    copies: absolute path of a deleted file → its copy
    lto:    objects that the linker generated

    Raises InconclusiveError for options that affect which sections are kept and are not modelled,
    such as a custom linker script or --wrap.
    """
    options = list(read_options(arguments, folder, copies))
    made = tuple(LinkInput(path, "object", copy=copies.get(path)) for path in lto)
    return replace(_Command(folder, linker, copies).parse(options), lto=made)


@dataclass(slots=True)
class _State:
    """State that --push-state saves."""

    whole: bool = False
    as_needed: bool = False
    static: bool = False


@dataclass(slots=True)
class _Command:
    """State while the options are read in order.

    searched: folders to search for libraries
    saved:    states of --push-state
    group:    number of the open --start-group; 0 for none
    groups:   number of groups so far
    values:   options that are not state → their values
    flags:    the same options, and those for static libraries, in the order of their last use
    """

    folder: Path
    linker: Linker
    copies: Mapping[Path, Path]
    files: list[LinkInput] = field(default_factory=list)
    searched: list[Path] = field(default_factory=list)
    state: _State = field(default_factory=_State)
    saved: list[_State] = field(default_factory=list)
    group: int = 0
    groups: int = 0
    values: dict[str, list[str]] = field(default_factory=dict)
    flags: dict[str, None] = field(default_factory=dict)

    def parse(self, options: Sequence[tuple[str, str]]) -> LinkInputs:
        # GNU ld and lld search all folders for a library, including those that are named later.
        self.searched += [self._path(value) for option, value in options if option == "-L"]
        for option, value in options:
            self._apply(option, value)
        return self._result()

    def _apply(self, option: str, value: str) -> None:
        if option == "":
            self._file(self._path(value), value)
        elif option == "-l":
            self._library(value)
        elif option in ("--whole-archive", "-whole-archive"):
            self.state.whole = True
        elif option in ("--no-whole-archive", "-no-whole-archive"):
            self.state.whole = False
        elif option in ("--as-needed", "-as-needed"):
            self.state.as_needed = True
        elif option in ("--no-as-needed", "-no-as-needed"):
            self.state.as_needed = False
        elif option in ("-Bstatic", "-dn", "-non_shared", "-static", "--static"):
            self.state.static = True
            self._note(option)
        elif option in ("-Bdynamic", "-dy", "-call_shared"):
            self.state.static = False
        elif option in ("--push-state", "-push-state"):
            self.saved.append(replace(self.state))
        elif option in ("--pop-state", "-pop-state"):
            if self.saved:
                self.state = self.saved.pop()
        elif option in ("--start-group", "-("):
            self.groups += 1
            self.group = self.groups
        elif option in ("--end-group", "-)"):
            self.group = 0
        elif option in _NOT_MODELLED or (option in DEFINES and not _is_constant(value)):
            used = " ".join(filter(None, (option, value)))
            raise InconclusiveError(f"the link uses {used}, which the section graph does not model")
        else:
            self._note(option)
            self.values.setdefault(option, []).append(value)

    def _note(self, option: str) -> None:
        self.flags.pop(option, None)
        self.flags[option] = None

    def _path(self, text: str) -> Path:
        return Path(text) if text.startswith("/") else self.folder / text

    def _content(self, path: Path) -> Path:
        """Return the file to read for a path of the link."""
        return self.copies.get(Path(os.path.normpath(path)), path)

    def _library(self, name: str) -> None:
        exact = name.startswith(":")
        candidates = (
            [name[1:]]
            if exact
            else [f"lib{name}.a"]
            if self.state.static
            else [f"lib{name}.so", f"lib{name}.a"]
        )
        for folder in self.searched:
            for candidate in candidates:
                if self._content(folder / candidate).is_file():
                    self._file(folder / candidate, f"-l{name}")
                    return
        raise InputError(
            f"the link needs -l{name}, which is in none of its folders"
            f" {', '.join(map(str, self.searched))}"
        )

    def _file(self, path: Path, shown: str) -> None:
        content = self._content(path)
        kind = kind_of(content)
        if kind == "script":
            self._script(path, shown)
            return
        state = self.state
        copy = content if content != path else None
        self.files.append(LinkInput(path, kind, state.whole, state.as_needed, self.group, copy))

    def _script(self, path: Path, shown: str) -> None:
        """Add the files that a script such as libc.so names: GROUP ( a b AS_NEEDED ( c ) )."""
        text = _file_list(self._content(path), shown)
        outer, outer_group = replace(self.state), self.group
        commands: list[str] = []
        for word in re.findall(r"[()]|[^\s(),;]+", text):
            if word in _SCRIPT_COMMANDS:
                commands.append(word)
                if word == "GROUP" and not outer_group:
                    self.groups += 1
                    self.group = self.groups
            elif word == ")" and commands:
                commands.pop()
            elif word == "(" or not commands or commands[-1] not in _FILE_COMMANDS:
                continue
            else:
                self.state.as_needed = outer.as_needed or commands[-1] == "AS_NEEDED"
                if word.startswith("-l"):
                    self._library(word[2:])
                else:
                    self._file(self._found(word, path.parent), word)
        self.state, self.group = outer, outer_group

    def _found(self, name: str, beside: Path) -> Path:
        """Find a file that a script names: absolute, next to the script, or in a -L folder."""
        places = (
            [] if name.startswith("/") else [folder / name for folder in (beside, *self.searched)]
        )
        return next((place for place in places if place.is_file()), self._path(name))

    def _last(self, *options: str) -> str | None:
        found = [value for option in options for value in self.values.get(option, [])]
        return found[-1] if found else None

    def _has(self, on: Sequence[str], off: Sequence[str] = ()) -> bool:
        """Return whether the last of these options is one of `on`."""
        given = [flag for flag in self.flags if flag in on or flag in off]
        return bool(given) and given[-1] in on

    def _result(self) -> LinkInputs:
        is_shared = self._has(("-shared", "--shared", "-Bshareable"))
        is_pie = self._has(
            ("-pie", "--pie", "--pic-executable", "-static-pie"), ("-no-pie", "--no-pie")
        )
        output = self._last("-o")
        return LinkInputs(
            files=tuple(self.files),
            mode=self._mode(is_shared, is_pie),
            linker=self.linker,
            pic=is_shared or is_pie,
            gc_sections=self._has(("--gc-sections", "-gc-sections"), ("--no-gc-sections",)),
            start_stop_gc=self._collects_start_stop(usually=self.linker.family == "lld"),
            export_dynamic=self._has(
                ("-E", "--export-dynamic", "-export-dynamic"), ("--no-export-dynamic",)
            ),
            entry=self._last("-e") or "_start",
            init=self._last("-init", "--init") or "_init",
            fini=self._last("-fini", "--fini") or "_fini",
            undefined=tuple(self.values.get("-u", []) + self.values.get("--require-defined", [])),
            exported=self._exported(),
            version_script=self._visible(self.values.get("--version-script", [])),
            exclude_libs=tuple(
                name
                for value in self.values.get("--exclude-libs", [])
                for name in re.split("[,:]", value)
            ),
            folder=self.folder,
            output=self._path(output) if output else None,
        )

    def _mode(self, is_shared: bool, is_pie: bool) -> str:
        if self._has(("-r", "-i", "--relocatable")):
            return "relocatable"
        if is_shared:
            return "shared"
        is_dynamic = is_pie or any(file.kind == "shared" for file in self.files)
        return "executable" if is_dynamic else "static"

    def _collects_start_stop(self, *, usually: bool) -> bool:
        """Return whether the last of -z start-stop-gc and -z nostart-stop-gc is the first."""
        on, off = "start-stop-gc", "nostart-stop-gc"
        given = [value for value in self.values.get("-z", []) if value in (on, off)]
        return given[-1] == on if given else usually

    def _exported(self) -> Visible | None:
        lists = self._visible(
            self.values.get("--dynamic-list", [])
            + self.values.get("--export-dynamic-symbol-list", [])
        )
        shown = (*lists.shown, *self.values.get("--export-dynamic-symbol", []))
        return Visible(shown) if shown else None

    def _visible(self, paths: Sequence[str]) -> Visible:
        shown: list[str] = []
        hidden: list[str] = []
        for text in paths:
            try:
                path = self._content(self._path(text))
                found = parse_version_script(readable(path).read_text(), text)
            except OSError as error:
                raise cannot_read(text, error) from error
            shown += found.shown
            hidden += found.hidden
        return Visible(tuple(shown), tuple(hidden))


# Linker scripts, names that mean others, objects that are loaded on demand, and more roots.
_NOT_MODELLED = frozenset(
    (
        *("-T", "-dT", "--default-script", "-default-script", "--mri-script", "--wrap", "-wrap"),
        *("--start-lib", "-start-lib", "--undefined-glob", "-undefined-glob"),
        "--gc-keep-exported",
    )
)


def _is_constant(definition: str) -> bool:
    """Return whether NAME=VALUE defines a number; else the name may mean another symbol."""
    return script_number(definition.partition("=")[2].strip()) is not None


_FILE_COMMANDS = ("GROUP", "INPUT", "AS_NEEDED")
_SCRIPT_COMMANDS = (*_FILE_COMMANDS, "OUTPUT_FORMAT", "OUTPUT_ARCH", "SEARCH_DIR", "ENTRY")


def _file_list(path: Path, shown: str) -> str:
    """Read a linker script that only lists files, without its comments.

    Raises InputError for a file that is not text, InconclusiveError for another script.
    """
    try:
        text = readable(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: neither an object, an archive nor a linker script") from error
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    if re.search(r"\bSECTIONS\b", text) or not re.search(r"\b(GROUP|INPUT)\b", text):
        raise InconclusiveError(
            f"the link uses the linker script {shown}, which the section graph does not model"
        )
    return text
