"""Read options and values from a linker's command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable

# Options whose value is the next word. Long ones that matter here are also read as --option=value.
_SHORT = "-o -m -z -L -l -T -e -u -y -Y -h -R -A -b -c -f -F -I -a -G -P -dT -mllvm"
# Names for one dash or two, of GNU ld, gold, lld and mold. One dash before an o means -o.
_LONG_NAMES = """
    plugin plugin-opt soname rpath rpath-link dynamic-linker Map init fini entry undefined output
    version-script version-exports-section dynamic-list export-dynamic-symbol
    export-dynamic-symbol-list exclude-libs exclude-modules-for-implib script default-script
    defsym wrap library library-path sysroot retain-symbols-file format oformat architecture
    mri-script Ttext Tdata Tbss Ttext-segment Trodata-segment Tldata-segment section-start
    image-base build-id-link-dir require-defined trace-symbol audit depaudit auxiliary
    filter just-symbols gpsize assert dependency-file out-implib sort-section spare-dynamic-tags
    task-link unresolved-symbols ignore-unresolved-symbol orphan-handling error-handling-script
    max-cache-size section-ordering-file remap-inputs remap-inputs-file keep-unique
    symbol-ordering-file call-graph-ordering-file undefined-glob chroot reproduce why-extract
    warn-backrefs-exclude error-limit shuffle-sections
"""
_TAKES_VALUE = frozenset(
    [
        *_SHORT.split(),
        *(f"--{name}" for name in _LONG_NAMES.split()),
        *(f"-{name}" for name in _LONG_NAMES.split() if not name.startswith("o")),
    ]
)
# One-letter options that may be joined with their value: -ofile, -Lfolder.
_JOINED = ("-L", "-l", "-o", "-e", "-u", "-m", "-z", "-h", "-T", "-y")
_DEEPEST = 16  # nesting of response files
DEFINES = ("--defsym", "-defsym")  # options that define a symbol: NAME=VALUE
_LONG = {
    "--entry": "-e",
    "--undefined": "-u",
    "--library": "-l",
    "--library-path": "-L",
    "--output": "-o",
    "--script": "-T",
}
_NO_COPIES: Mapping[Path, Path] = MappingProxyType({})
# Options that begin like a joined one.
_NOT_JOINED = ("-export-dynamic", "-shared", "-static", "-nostdlib", "-no-pie", "-melf_x86_64")


def read_options(
    arguments: Sequence[str], folder: Path, copies: Mapping[Path, Path] = _NO_COPIES
) -> Iterator[tuple[str, str]]:
    """Yield options and their values; a file has the option "".

    Response files (@file) are expanded, and long spellings replaced by the short ones.

    folder: the working directory of the linker
    copies: path of a deleted response file → its copy

    Raises InputError if the last option lacks its value.
    """
    words = list(_expand(arguments, folder, copies, 0))
    if words[:1] == ["-flavor"]:
        words = words[2:]
    i = 0
    while i < len(words):
        option, value, i = _option(words, i)
        yield option, value


def _expand(
    arguments: Sequence[str], folder: Path, copies: Mapping[Path, Path], depth: int
) -> Iterator[str]:
    for word in arguments:
        path = Path(os.path.normpath(folder / word[1:])) if word.startswith("@") else None
        path = copies.get(path, path) if path is not None else None
        if path is None or not path.is_file() or depth > _DEEPEST:
            yield word
        else:
            content = os.fsdecode(readable(path).read_bytes())
            yield from _expand(response_words(content), folder, copies, depth + 1)


def response_words(text: str) -> list[str]:
    """Split a response file: quotes join words, a backslash escapes any character."""
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    characters = iter(text)
    for character in characters:
        if not quote and character in " \t\r\n\v\f":
            if word is not None:
                words.append("".join(word))
            word = None
            continue
        word = [] if word is None else word
        if character == "\\":
            word.append(next(characters, ""))
        elif quote:
            quote = "" if character == quote else quote
            word += [character] if quote else []
        elif character in "\"'":
            quote = character
        else:
            word.append(character)
    return words if word is None else [*words, "".join(word)]


class _Option(NamedTuple):
    """An option of a command line; name: empty for a file. next: index of the word behind it."""

    name: str
    value: str
    next: int


def _option(words: Sequence[str], i: int) -> _Option:
    """Read the option at word i."""
    word = words[i]
    if not word.startswith("-") or word == "-":
        return _Option("", word, i + 1)
    name, equals, value = word.partition("=")
    if equals and (name.startswith("--") or name in _TAKES_VALUE or len(name) > 2):
        return _Option(_LONG.get(name, name), value, i + 1)
    if word in _TAKES_VALUE:
        if i + 1 >= len(words):
            raise InputError(f"the recorded command line ends in {word}, which takes a value")
        return _Option(_LONG.get(word, word), words[i + 1], i + 2)
    if len(word) > 2 and word[:2] in _JOINED and not _is_long(word):
        return _Option(word[:2], word[2:], i + 1)
    return _Option(word, "", i + 1)


def _is_long(word: str) -> bool:
    """Return whether a word is a long option with one dash, not a joined one-letter option."""
    return word in _NOT_JOINED or word.startswith(("-eh-", "-hash"))
