"""Read the sections that a linker removed from its output with --print-gc-sections."""

from __future__ import annotations

import os.path
import re
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import read_input

_MARK = "removing unused section "
# Words of a log without removals: other lists that linkers print, and warnings.
_LINKERS_WORDS = (_MARK, "ICF folding section", "selected section", "identical section", "warning")

# GNU ld `PROGRAM: removing unused section '.text.f' in file 'lib.a(m.o)'`; gold `from '.text.f'`;
# lld and mold `FILE:(.text.f)`.
_QUOTED = re.compile(r"(from )?'([^']*)' in file '(.*)'")
_SIGNATURE = re.compile(r"([^\[]*)\[(.*)\]")


@dataclass(frozen=True, slots=True)
class RemovedSection:
    """A removed section, and its file as the linker names it, with a normalized path.

    signature: of the COMDAT group that contained it. Only GNU ld prints it, and GNU ld also lists
    discarded copies.
    """

    section: str
    file: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class GcLog:
    """Removed sections, in the log's order and without .group sections.

    style: bfd, gold, or lld, which includes mold; empty for a log without removals.

    GNU ld does not list empty sections, mold does not list mergeable strings.
    """

    style: str
    removed: tuple[RemovedSection, ...]


def check_gc_log(path: Path) -> None:
    """Raise InputError for a file that is no output of a linker with --print-gc-sections.

    A linker that removes nothing writes an empty log, or only warnings.
    """
    text = read_input(path).decode("utf-8", "backslashreplace")
    if text.strip() and not any(word in text for word in _LINKERS_WORDS):
        raise InputError(f"{path}: has no line of a linker's --print-gc-sections")


def parse_gc_log(path: Path, text: str) -> GcLog:
    """Parse a log; other lines are unrelated messages of the linker. path appears in messages.

    Raises InputError for a removal that is truncated or unreadable.
    """
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
                raise InputError(
                    f"{path}:{number}: a damaged linker log: no section and file after"
                    f" '{_MARK.strip()}'"
                )
        decorated = _SIGNATURE.fullmatch(section) if style == "bfd" else None
        if section != ".group":
            name, signature = (decorated[1], decorated[2]) if decorated else (section, "")
            removed.append(RemovedSection(name, plain_file(file), signature))
    return GcLog(style, tuple(removed))


def plain_file(file: str) -> str:
    """Normalize a path: /usr/lib/gcc/x/12/../../../x/crti.o becomes /usr/lib/x/crti.o.

    mold prints it normalized, the others print the compiler's spelling.
    """
    return os.path.normpath(file) if "/.." in file or "//" in file else file


def file_and_section(text: str) -> tuple[str, str]:
    """Split `FILE:(SECTION)`; both are empty for other texts."""
    file, _, section = text.rpartition(":(")
    return (file, section[:-1]) if file and section.endswith(")") else ("", "")
