"""Read the linker's removals from its log or its map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError
from sizeguard.base.input_files import readable
from sizeguard.formats.gc_log import GcLog, parse_gc_log
from sizeguard.formats.icf_log import Folded, parse_icf_log
from sizeguard.formats.linkmap.link_map import LinkMap, file_key
from sizeguard.verify.evidence.object_evidence import NamedPiece, Objects
from sizeguard.verify.evidence.placement import Placement

# A file as maps and logs name it, and a section; for Mach-O a symbol.
Key = tuple[tuple[str, str], str]


@dataclass(frozen=True, eq=False)
class LinkerRemovals:
    """Sections that the linker reports as removed.

    The list is incomplete: linkers do not list archive members that they did not load, and GNU ld
    does not list empty sections.
    """

    objects: Objects
    sections: Mapping[Key, int]
    symbols: Mapping[Key, int]
    folded: Mapping[Key, str]

    def says(self, piece: NamedPiece) -> str:
        """Return one line for a removed section or symbol; empty if the linker does not list it."""
        file = file_key(self.objects.label(piece))
        section = (file, self.objects.section(piece).name)
        if section in self.folded:
            return f"the linker folded {section[1]} into {self.folded[section]}"
        if section in self.sections or (file, piece.symbol) in self.symbols:
            return f"the linker's own list of removals has {self.objects.label(piece)}"
        return ""


def read_removed(
    objects: Objects, placement: Placement, link_map: LinkMap | None, log: Path | None
) -> LinkerRemovals:
    """Read the removals in a log or map.

    Raises InconclusiveError for a log of another build, which removes sections that the map places.
    """
    text = (
        readable(log).read_text(encoding="utf-8", errors="backslashreplace")
        if log is not None and log.is_file()
        else ""
    )
    gone = parse_gc_log(log, text) if log is not None else GcLog("", ())
    folds: tuple[Folded, ...] = parse_icf_log(log, text) if log is not None else ()
    sections = Counter((file_key(row.file), row.section) for row in gone.removed)
    if log is not None:
        _check(objects, placement, sections, log)
    dead = (
        Counter((file_key(row.file), row.name.removeprefix("_")) for row in link_map.discarded)
        if _is_macho(link_map) and link_map
        else {}
    )
    folded = {
        (file_key(row.file), row.section): f"{row.kept_section} of {row.kept_file}" for row in folds
    }
    return LinkerRemovals(objects, sections, dead, folded)


def _is_macho(link_map: LinkMap | None) -> bool:
    return link_map is not None and link_map.linker == "ld64"


def _check(objects: Objects, placement: Placement, removed: Mapping[Key, int], log: Path) -> None:
    """Check that an object has at least as many sections of a name as are placed and removed."""
    if not removed or not placement.has_map:
        return
    having: Counter[Key] = Counter()
    for file in objects.files:
        key = file_key(file.label)
        having.update((key, section.name) for section in file.elf.sections)
    there = Counter(
        (file_key(objects.files[number].label), placement.section((number, index)).name)
        for number, index in placement.address
    )
    for (where, name), count in there.items():
        if removed.get((where, name), 0) + count > having[where, name]:
            shown = f"{where[0]}({where[1]})" if where[1] else where[0]
            raise InconclusiveError(
                f"{log} is the log of another build: it removes {name} of {shown}, which is in the"
                " image"
            )
