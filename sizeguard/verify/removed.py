"""Turns what the linker printed of its removals, or lists as dead in its map, into what is said of a definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sizeguard.errors import InconclusiveError
from sizeguard.formats.gclog import GcLog, parse_gc_log
from sizeguard.formats.icflog import Folded, parse_icf_log
from sizeguard.formats.linkmap.row import LinkMap
from sizeguard.verify.objects import Objects, Piece
from sizeguard.verify.placement import Placement, file_key

# A file as maps and logs name it, and a section, or of Mach-O a symbol.
Key = tuple[tuple[str, str], str]


@dataclass(frozen=True, eq=False)
class Removed:
    """The linker's own word. It lists no archive member that it did not take, and GNU ld no empty section, so silence says nothing."""

    objects: Objects
    sections: Mapping[Key, int]
    symbols: Mapping[Key, int]
    folded: Mapping[Key, str]

    def says(self, piece: Piece) -> str:
        """One line, empty if the linker lists no such section, or symbol."""
        file = file_key(self.objects.label(piece))
        section = (file, self.objects.section(piece).name)
        if section in self.folded:
            return f"the linker folded {section[1]} into {self.folded[section]}"
        if section in self.sections or (file, piece.symbol) in self.symbols:
            return f"the linker's own list of what it removed has {self.objects.label(piece)}"
        return ""


def read_removed(objects: Objects, placement: Placement, link_map: LinkMap | None, log: Path | None) -> Removed:
    """Raises InconclusiveError for a log that says removed what the map places: it is another build's."""
    text = log.read_text(encoding="utf-8", errors="backslashreplace") if log is not None and log.is_file() else ""
    gone = parse_gc_log(log, text) if log is not None else GcLog("", ())
    folds: tuple[Folded, ...] = parse_icf_log(log, text) if log is not None else ()
    sections = Counter((file_key(row.file), row.section) for row in gone.removed)
    if log is not None:
        _check(objects, placement, sections, log)
    dead = (
        Counter((file_key(row.file), row.name.removeprefix("_")) for row in link_map.discarded) if _is_macho(link_map) and link_map else {}
    )
    folded = {(file_key(row.file), row.section): f"{row.kept_section} of {row.kept_file}" for row in folds}
    return Removed(objects, sections, dead, folded)


def _is_macho(link_map: LinkMap | None) -> bool:
    return link_map is not None and link_map.linker == "ld64"


def _check(objects: Objects, placement: Placement, removed: Mapping[Key, int], log: Path) -> None:
    """An object has some sections of a name; those that are in the image and those that were removed cannot be more."""
    if not removed or not placement.has_map:
        return
    having: Counter[Key] = Counter()
    for file in objects.files:
        key = file_key(file.label)
        having.update((key, section.name) for section in file.elf.sections)
    there = Counter((file_key(objects.files[number].label), placement.section((number, index)).name) for number, index in placement.address)
    for (where, name), count in there.items():
        if removed.get((where, name), 0) + count > having[where, name]:
            shown = f"{where[0]}({where[1]})" if where[1] else where[0]
            raise InconclusiveError(f"{log} is the log of another build: it removes {name} of {shown}, which is in the image")
