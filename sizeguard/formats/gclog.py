"""Turns what a linker prints of --print-gc-sections into the sections that it removed."""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass
from pathlib import Path

from sizeguard.errors import InputError

_MARK = "removing unused section "

# GNU ld `PROGRAM: removing unused section '.text.f' in file 'lib.a(m.o)'`; gold `from '.text.f'`; lld and mold `FILE:(.text.f)`.
_QUOTED = re.compile(r"(from )?'([^']*)' in file '(.*)'")
_SIGNATURE = re.compile(r"([^\[]*)\[(.*)\]")


@dataclass(frozen=True, slots=True)
class Removed:
    """A section that was removed, of a file as the linker calls it with its path made plain.

    signature: of the COMDAT group that it was in; only GNU ld says so, and it lists the copies that lost, too.
    """

    section: str
    file: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class GcLog:
    """What the linkers do not say alike: GNU ld leaves out sections of no size, mold those of mergeable strings.

    style: bfd, gold, or lld, which mold's is like; empty for a log without removals. Rows in the log's order, .group left out.
    """

    style: str
    removed: tuple[Removed, ...]


def read_gc_log(path: Path) -> GcLog:
    """Other lines than removals are other messages of the linker. Raises InputError for a removal that is cut or unreadable."""
    try:
        text = path.read_text(encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    return parse_gc_log(path, text)


def parse_gc_log(path: Path, text: str) -> GcLog:
    """The same for a log that is there; the path is for messages."""
    style = ""
    removed = []
    for number, line in enumerate(text.split("\n"), 1):
        _, mark, what = line.partition(_MARK)
        if not mark:
            continue
        quoted = _QUOTED.fullmatch(what)
        if quoted:
            style = "gold" if quoted[1] else "bfd"
            section, file = quoted[2], quoted[3]
        else:
            style = "lld"
            file, section = file_and_section(what)
            if not file:
                raise InputError(f"{path}:{number}: a damaged linker log: no section and file after '{_MARK.strip()}'")
        decorated = _SIGNATURE.fullmatch(section) if style == "bfd" else None
        if section != ".group":
            name, signature = (decorated[1], decorated[2]) if decorated else (section, "")
            removed.append(Removed(name, plain_file(file), signature))
    return GcLog(style, tuple(removed))


def plain_file(file: str) -> str:
    """/usr/lib/gcc/x/12/../../../x/crti.o as /usr/lib/x/crti.o: mold prints it so, the others as the compiler gave it."""
    return os.path.normpath(file) if "/.." in file or "//" in file else file


def file_and_section(text: str) -> tuple[str, str]:
    """`FILE:(SECTION)` in two; empty if it is not that."""
    file, _, section = text.rpartition(":(")
    return (file, section[:-1]) if file and section.endswith(")") else ("", "")
