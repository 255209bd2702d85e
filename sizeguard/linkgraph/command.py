"""Turns a linker's command line into what goes into the link."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sizeguard.errors import InconclusiveError, InputError
from sizeguard.linkgraph.inputs import Input, Linker, LinkInputs, kind_of
from sizeguard.linkgraph.version_script import Visible, parse_version_script

# Options whose value is the next word; of those that matter here the long ones may come as --option=value, too.
_TAKES_VALUE = {
    *("-o", "-m", "-z", "-L", "-l", "-T", "-e", "-u", "-y", "-Y", "-h", "-R", "-A", "-b", "-f", "-F", "-I", "-a", "-O"),
    *("-plugin", "--plugin", "-plugin-opt", "--plugin-opt", "-soname", "--soname", "-rpath", "--rpath", "-rpath-link", "--rpath-link"),
    *("-dynamic-linker", "--dynamic-linker", "-Map", "--Map", "-init", "--init", "-fini", "--fini", "--entry", "--undefined", "--output"),
    *("--version-script", "--dynamic-list", "--export-dynamic-symbol", "--export-dynamic-symbol-list", "--exclude-libs", "--script"),
    *("--defsym", "-defsym", "--wrap", "-wrap", "--library", "--library-path", "--sysroot", "--retain-symbols-file", "--format"),
    *("-Ttext", "-Tdata", "-Tbss", "--section-start", "--hash-style", "--build-id-link-dir", "-mllvm", "--require-defined"),
}
# The same options in their one-letter form, joined with the value: -ofile, -Lfolder.
_JOINED = ("-L", "-l", "-o", "-e", "-u", "-m", "-z", "-h", "-T", "-y")
_OPTIONAL_VALUE = {"--hash-style", "-O"}  # never in a word of its own
_LONG = {"--entry": "-e", "--undefined": "-u", "--library": "-l", "--library-path": "-L", "--output": "-o", "--script": "-T"}


def parse_command(arguments: Sequence[str], folder: Path, linker: Linker) -> LinkInputs:
    """Read a linker's arguments, its own name left out. `folder` is where it ran.

    Raises InconclusiveError for what decides over sections and is not modelled: a linker script of one's own, --wrap.
    """
    return _Command(folder, linker).parse(list(_expand(arguments, folder)))


def _expand(arguments: Sequence[str], folder: Path) -> Iterator[str]:
    for word in arguments:
        if word.startswith("@") and (folder / word[1:]).is_file():
            yield from _expand((folder / word[1:]).read_text().split(), folder)
        else:
            yield word


@dataclass(slots=True)
class _State:
    """What --push-state saves."""

    whole: bool = False
    as_needed: bool = False
    static: bool = False


@dataclass(slots=True)
class _Command:
    folder: Path
    linker: Linker
    files: list[Input] = field(default_factory=list)
    searched: list[Path] = field(default_factory=list)
    libraries: list[tuple[int, str, _State, int]] = field(default_factory=list)
    state: _State = field(default_factory=_State)
    saved: list[_State] = field(default_factory=list)
    group: int = 0
    groups: int = 0
    values: dict[str, list[str]] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)

    def parse(self, words: list[str]) -> LinkInputs:
        # Libraries are looked up in all folders, also those named after them (GNU ld and lld agree).
        waiting: list[tuple[str, str]] = []
        i = 0
        while i < len(words):
            option, value, i = self._option(words, i)
            if option == "-L":
                self.searched.append(self._path(value))
            waiting.append((option, value))
        for option, value in waiting:
            self._apply(option, value)
        return self._result()

    def _option(self, words: list[str], i: int) -> tuple[str, str, int]:
        """Option, value and the index of the next word. Files are the option ""."""
        word = words[i]
        if not word.startswith("-") or word == "-":
            return "", word, i + 1
        name, equals, value = word.partition("=")
        if equals and (name.startswith("--") or name in _TAKES_VALUE or len(name) > 2):
            return _LONG.get(name, name), value, i + 1
        if word in _TAKES_VALUE and word not in _OPTIONAL_VALUE:
            if i + 1 >= len(words):
                raise InputError(f"the recorded link ends in {word}, which takes a value")
            return _LONG.get(word, word), words[i + 1], i + 2
        for short in _JOINED:
            if word.startswith(short) and not word.startswith("--") and len(word) > 2 and not self._is_word(word):
                return short, word[2:], i + 1
        return word, "", i + 1

    @staticmethod
    def _is_word(word: str) -> bool:
        """-init and the like begin like a joined -i; of those that begin like ours only these exist."""
        return word in ("-export-dynamic", "-shared", "-static", "-nostdlib", "-no-pie", "-melf_x86_64") or word.startswith(
            ("-eh-", "-hash")
        )

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
            self.flags.add(option)
        elif option in ("-Bdynamic", "-dy", "-call_shared"):
            self.state.static = False
        elif option in ("--push-state", "-push-state"):
            self.saved.append(_State(self.state.whole, self.state.as_needed, self.state.static))
        elif option in ("--pop-state", "-pop-state"):
            if self.saved:
                self.state = self.saved.pop()
        elif option in ("--start-group", "-("):
            self.groups += 1
            self.group = self.groups
        elif option in ("--end-group", "-)"):
            self.group = 0
        elif option in ("-T", "--wrap", "-wrap", "--defsym", "-defsym") and option != "-defsym":
            if option != "--defsym":
                raise InconclusiveError(f"the link uses {option} {value}, which the section graph does not model")
        else:
            self.flags.add(option)
            self.values.setdefault(option, []).append(value)

    def _path(self, text: str) -> Path:
        return Path(text) if text.startswith("/") else self.folder / text

    def _library(self, name: str) -> None:
        exact = name.startswith(":")
        candidates = [name[1:]] if exact else [f"lib{name}.a"] if self.state.static else [f"lib{name}.so", f"lib{name}.a"]
        for folder in self.searched:
            for candidate in candidates:
                if (folder / candidate).is_file():
                    self._file(folder / candidate, f"-l{name}")
                    return
        raise InputError(f"the link needs -l{name}, which is in none of its folders {', '.join(map(str, self.searched))}")

    def _file(self, path: Path, shown: str) -> None:
        kind = kind_of(path)
        if kind == "script":
            self._script(path, shown)
        else:
            self.files.append(Input(path, kind, self.state.whole, self.state.as_needed, self.group))

    def _script(self, path: Path, shown: str) -> None:
        """libc.so and libm.a are texts: GROUP ( a b AS_NEEDED ( c ) )."""
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: neither an object, an archive nor a linker script") from error
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
        if re.search(r"\bSECTIONS\b", text) or not re.search(r"\b(GROUP|INPUT)\b", text):
            raise InconclusiveError(f"the link uses the linker script {shown}, which the section graph does not model")
        outer, outer_group = _State(self.state.whole, self.state.as_needed, self.state.static), self.group
        depth: list[str] = []
        for word in re.findall(r"[()]|[^\s(),;]+", text):
            if word in ("GROUP", "INPUT", "AS_NEEDED", "OUTPUT_FORMAT", "OUTPUT_ARCH", "SEARCH_DIR", "ENTRY"):
                depth.append(word)
                if word == "GROUP" and not outer_group:
                    self.groups += 1
                    self.group = self.groups
            elif word == ")" and depth:
                depth.pop()
            elif word == "(" or not depth or depth[-1] not in ("GROUP", "INPUT", "AS_NEEDED"):
                continue
            else:
                self.state.as_needed = outer.as_needed or depth[-1] == "AS_NEEDED"
                if word.startswith("-l"):
                    self._library(word[2:])
                else:
                    self._file(self._found(word, path.parent), word)
        self.state, self.group = outer, outer_group

    def _found(self, name: str, beside: Path) -> Path:
        """A file that a script names: absolute, beside it, or in the folders of libraries."""
        places = [] if name.startswith("/") else [folder / name for folder in (beside, *self.searched)]
        return next((place for place in places if place.is_file()), self._path(name))

    def _last(self, *options: str) -> str | None:
        found = [value for option in options for value in self.values.get(option, [])]
        return found[-1] if found else None

    def _has(self, on: Sequence[str], off: Sequence[str] = ()) -> bool:
        return any(flag in self.flags for flag in on) and not any(flag in self.flags for flag in off)

    def _result(self) -> LinkInputs:
        shared = self._has(("-shared", "--shared", "-Bshareable"))
        relocatable = self._has(("-r", "-i", "--relocatable"))
        pie = self._has(("-pie", "--pie", "--pic-executable", "-static-pie"), ("-no-pie", "--no-pie"))
        dynamic = shared or pie or any(file.kind == "shared" for file in self.files)
        keywords = self.values.get("-z", [])
        output = self._last("-o")
        return LinkInputs(
            files=tuple(self.files),
            mode="relocatable" if relocatable else "shared" if shared else "executable" if dynamic else "static",
            linker=self.linker,
            pic=shared or pie,
            gc_sections=self._has(("--gc-sections", "-gc-sections"), ("--no-gc-sections",)),
            start_stop_gc="nostart-stop-gc" not in keywords if self.linker.family == "lld" else "start-stop-gc" in keywords,
            export_dynamic=self._has(("-E", "--export-dynamic", "-export-dynamic"), ("--no-export-dynamic",)),
            entry=self._last("-e") or "_start",
            init=self._last("-init", "--init") or "_init",
            fini=self._last("-fini", "--fini") or "_fini",
            undefined=tuple(self.values.get("-u", []) + self.values.get("--require-defined", [])),
            exported=self._exported(),
            version_script=self._visible(self.values.get("--version-script", [])),
            exclude_libs=tuple(name for value in self.values.get("--exclude-libs", []) for name in re.split("[,:]", value)),
            folder=self.folder,
            output=self._path(output) if output else None,
        )

    def _exported(self) -> Visible | None:
        lists = self._visible(self.values.get("--dynamic-list", []) + self.values.get("--export-dynamic-symbol-list", []))
        shown = (*lists.shown, *self.values.get("--export-dynamic-symbol", []))
        return Visible(shown) if shown else None

    def _visible(self, paths: Sequence[str]) -> Visible:
        shown: list[str] = []
        hidden: list[str] = []
        for text in paths:
            try:
                found = parse_version_script(self._path(text).read_text(), text)
            except OSError as error:
                raise InputError(f"{text}: cannot read: {error.strerror}") from error
            shown += found.shown
            hidden += found.hidden
        return Visible(tuple(shown), tuple(hidden))
