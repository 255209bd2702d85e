"""Find the places of the objects' input sections in an image from its map.

The map's places are checked against the bytes, to detect a map or objects of another build.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import SHF_MERGE, SHT_NOTE, Section
from sizeguard.formats.elf.machines import place_of, shortened_code
from sizeguard.formats.linkmap.fit import check_fit
from sizeguard.formats.linkmap.link_map import (
    MEMBER,
    InputSection,
    LinkMap,
    file_key,
    nearest_first,
)
from sizeguard.formats.sniff import is_thin
from sizeguard.verify.evidence.code_search import DECISIVE, ImageBytes, Pattern
from sizeguard.verify.evidence.object_evidence import NamedPiece, Objects

# Number of an object, index of its section.
Node = tuple[int, int]

# Linkers edit these sections: they drop entries and merge equal ones.
_EDITED = (".eh_frame", ".comment", ".stab", ".ARM.exidx", ".sframe", ".reginfo")
# Sections that GNU ld makes and lists under an object, if a script puts them beside code.
_OF_LINKER = (
    *(".plt", ".iplt", ".got", ".igot", ".rel", ".dyn", ".gnu", ".note", ".hash", ".interp"),
    *(".glue_7", ".vfp11", ".v4_bx", ".stm32l4xx", ".glink", ".sfpr", ".branch_lt", ".stub"),
    *(".MIPS", ".eh_frame", ".sframe", ".ARM.exidx", "COMMON", ".data.rel.ro"),
)
_OF_DATA = re.compile(r"\.(?:data|bss|rodata|tdata|tbss)(?:\..+)?")
# Names in a map for sections that the linker made.
_NO_FILES = ("", "<internal>", "linker stubs")

MOST_OF_WRAPPER = 16  # bytes of a function that continues in another: gcc merges equal ones


@dataclass(frozen=True, eq=False)
class Placement:
    """Places of input sections.

    address: address of each placed section
    missing: objects that the map names but that were not given
    """

    objects: Objects
    image: ImageBytes
    address: Mapping[Node, int]
    missing: tuple[str, ...]
    has_map: bool
    _starts: list[int] = field(default_factory=list, repr=False)
    _nodes: list[Node] = field(default_factory=list, repr=False)
    _patterns: dict[Node, Pattern] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Index the placed sections by address."""
        for address, node in sorted((address, node) for node, address in self.address.items()):
            self._starts.append(address)
            self._nodes.append(node)

    def section(self, node: Node) -> Section:
        """Return the input section of a node."""
        return self.objects.files[node[0]].elf.sections[node[1]]

    def is_wrapper(self, node: Node) -> bool:
        """Return whether a section is a function that only continues in another of its object.

        gcc writes such a function, without debug information, in place of one with equal code.
        """
        file = self.objects.files[node[0]]
        table = file.relocations.get(node[1])
        if table is None or len(table.offset) != 1 or self.section(node).size > MOST_OF_WRAPPER:
            return False
        home = file.symbols[int(table.symbol[0])].section
        return 0 < home < len(file.elf.sections) and file.elf.sections[home].is_executable

    def pattern(self, node: Node) -> Pattern:
        """Return the bytes that a node has in the image."""
        if node not in self._patterns:
            self._patterns[node] = self.objects.files[node[0]].pattern(self.section(node))
        return self._patterns[node]

    def read_patterns(self, nodes: Iterable[Node]) -> None:
        """Read the patterns of nodes, those of an object at once."""
        of_object: dict[int, list[Node]] = {}
        for node in nodes:
            if node not in self._patterns:
                of_object.setdefault(node[0], []).append(node)
        for number, each in of_object.items():
            patterns = self.objects.files[number].patterns([self.section(node) for node in each])
            self._patterns.update(zip(each, patterns, strict=True))

    def where(self, piece: NamedPiece) -> int | None:
        """Return the address of a piece; None if its section was not placed."""
        start = self.address.get((piece.object, piece.section))
        return None if start is None else start + piece.offset

    def owner(self, address: int) -> Node | None:
        """Return the input section that contains an address."""
        i = bisect_right(self._starts, address) - 1
        if i < 0:
            return None
        node = self._nodes[i]
        return node if address < self._starts[i] + self.section(node).size else None

    def copies(self, piece: NamedPiece) -> list[int] | None:
        """Return the addresses of a piece's bytes outside placed sections with these bytes.

        Returns None if the piece is too small to recognise.
        """
        pattern = self.code_of(piece)
        if pattern is None:
            return None
        return [
            address for address in self.image.find(pattern) if not self._is_other(address, pattern)
        ]

    def code_of(self, piece: NamedPiece) -> Pattern | None:
        """Return the machine code of a piece; None if it has none, or too little to recognise."""
        section = self.section((piece.object, piece.section))
        if section.is_nobits or not section.is_executable:
            return None
        pattern = self.pattern((piece.object, piece.section)).part(piece.offset, piece.size)
        return None if pattern.strength < DECISIVE else pattern

    def _is_other(self, address: int, pattern: Pattern) -> bool:
        """Return whether a placed section of code accounts for bytes of the image.

        Two functions may have the same code except for an end that linking rewrites: a jump of 6
        bytes matches one of 5 and any byte after it.
        """
        node = self.owner(address)
        if node is None or not self.section(node).is_executable:
            return False
        offset = address - self.address[node]
        own = self.pattern(node).part(offset, len(pattern.data))
        if pattern.fixed[len(own.data) :].any():
            return False  # bytes that count are beyond the section
        pattern = pattern.part(0, len(own.data))
        return own.matches(pattern.data) or (
            pattern.strength <= own.strength
            and bool((own.data == pattern.data)[own.fixed & pattern.fixed].all())
        )


def place(
    objects: Objects, image: Binary, link_map: LinkMap | None, map_path: Path | None, own: int
) -> Placement:
    """Find the objects' sections in the image.

    own: number of objects that were given; the objects after them are the toolchain's, whose bytes
        are not checked

    Raises InconclusiveError if the map or the objects are of another build.
    """
    content = ImageBytes(image)
    if link_map is None:
        return Placement(objects, content, by_symbols(objects, image, content), (), False)
    check_outputs(image, link_map, map_path)
    placement = Placement(
        objects,
        content,
        _by_map(objects, link_map.placed, content, own),
        missing_files(objects, link_map),
        True,
    )
    check_bytes(placement, own)
    return placement


def check_outputs(image: Binary, link_map: LinkMap, path: Path | None) -> None:
    """Check that the map's output sections are those of the image.

    Raises InconclusiveError for a map of another build.
    """
    placed = (
        (section.name, section.address, section.size, section.is_executable)
        for section in image.sections
        if section.is_allocated and section.address and section.size
    )
    check_fit(image.path, placed, link_map, path)


def _by_map(
    objects: Objects, rows: Sequence[InputSection], content: ImageBytes, own: int
) -> dict[Node, int]:
    candidates = _by_name(objects)
    named = {name: candidates.get(file_key(name)) for name in {row.file for row in rows}}
    free: dict[tuple[int, str], list[int]] = {}
    for number, file in enumerate(objects.files):
        for section in file.elf.sections:
            if section.is_allocated and section.size:
                free.setdefault((number, section.name), []).append(section.index)
    address: dict[Node, int] = {}
    for row in rows:
        numbers = named[row.file]
        if numbers is None or row.is_merged:
            continue
        found = _section_of(objects, numbers, row, free, content)
        if found is not None:
            address[found] = row.address
        elif row.name.startswith(".text") or _is_lost(objects, numbers, row, content):
            # Linkers shrink sections other than code, too, and list them under an object.
            hint = shortened_code(content.elf.machine)
            if hint and numbers[0] >= own:
                continue
            raise InconclusiveError(
                f"{row.file} is of another build{hint}: it has no {row.name} of {row.size} bytes,"
                f" which is at {row.address:#x} in {content.elf.path}; pass the objects of this"
                " image"
            )
    return address


def _is_lost(
    objects: Objects, numbers: Iterable[int], row: InputSection, content: ImageBytes
) -> bool:
    """Return whether a row is code or data that its object lacks, or has in another size.

    Linkers drop entries of some sections, and equal strings.
    """
    if row.name.startswith(_OF_LINKER):
        return False
    is_data = _OF_DATA.fullmatch(row.name) is not None
    sections = [s for number in numbers for s in objects.files[number].elf.sections]
    if named := [section for section in sections if section.name == row.name]:
        return any(s.is_executable or (is_data and not s.flags & SHF_MERGE) for s in named)
    return is_data or any(
        section.is_executable and section.address <= row.address < section.address + section.size
        for section in content.elf.sections
    )


def missing_files(objects: Objects, link_map: LinkMap) -> tuple[str, ...]:
    """List the files that a map names and that are not among the objects."""
    known = {*_by_name(objects), *map(file_key, objects.lto)}
    named = dict.fromkeys(row.file for row in link_map.placed)
    return tuple(name for name in named if name not in _NO_FILES and file_key(name) not in known)


def _by_name(objects: Objects) -> dict[tuple[str, str], list[int]]:
    """Return the numbers of the objects by the names that a map may give them."""
    found: dict[tuple[str, str], list[int]] = {}
    is_thin_archive = functools.cache(is_thin)
    for number, file in enumerate(objects.files):
        found.setdefault(file_key(file.label), []).append(number)
        if file.member and is_thin_archive(file.path):  # whose members GNU ld names as files
            found.setdefault(file_key(file.member), []).append(number)
    return found


def _section_of(
    objects: Objects,
    numbers: Sequence[int],
    row: InputSection,
    free: dict[tuple[int, str], list[int]],
    content: ImageBytes,
) -> Node | None:
    """Remove the section for a row of the map from the free ones and return it.

    Objects may have several sections with the same name, and the linker discards some of them. An
    archive may have several members with the same name.
    """
    fitting = [
        (number, index)
        for number in nearest_first(numbers, lambda n: objects.files[n].label, row.file)
        for index in free.get((number, row.name), ())
        if objects.files[number].elf.sections[index].size == row.size
    ]
    if not fitting:
        return None
    chosen = fitting[0]
    if len(fitting) > 1:
        there = content.at(row.address, row.size)
        for number, index in fitting:
            file = objects.files[number]
            if file.pattern(file.elf.sections[index]).matches(there):
                chosen = number, index
                break
    free[chosen[0], row.name].remove(chosen[1])
    return chosen


def _is_checked(section: Section) -> bool:
    return (
        not section.is_nobits
        and not section.flags & SHF_MERGE
        and section.type != SHT_NOTE
        and not section.name.startswith(_EDITED)
    )


def check_bytes(placement: Placement, own: int) -> None:
    """Check placed sections of the first `own` objects against the bytes of the image.

    Raises InconclusiveError for objects or a map of another build.
    """
    nodes = [
        node for node in placement.address if node[0] < own and _is_checked(placement.section(node))
    ]
    placement.read_patterns(nodes)
    for node in nodes:
        section, address = placement.section(node), placement.address[node]
        if not placement.image.has_at(placement.pattern(node), address):
            label = placement.objects.files[node[0]].label
            hint = shortened_code(placement.image.elf.machine)
            raise InconclusiveError(
                f"{label} is of another build{hint}: its {section.name} differs from the image's"
                f" bytes at {address:#x}; pass the objects of this image"
            )


# More than 40 lines: one pass, in which placed sections exclude others.
def by_symbols(objects: Objects, image: Binary, content: ImageBytes) -> dict[Node, int]:
    """Place definitions without a map.

    Symbols of the image give the place, and the bytes confirm the definition. Sections without a
    symbol are found only by their bytes.
    """
    if not objects.files:
        return {}
    named: dict[str, list[int]] = {}
    if not image.is_stripped:
        for symbol in image.symbols:
            if symbol.section and symbol.name:
                named.setdefault(symbol.name, []).append(place_of(symbol, image.machine))
    address: dict[Node, int] = {}
    taken: set[int] = set()
    placement = Placement(objects, content, address, (), False)
    for number, file in enumerate(objects.files):
        for name, index, offset, _ in file.definitions:
            section = file.elf.sections[index]
            if (number, index) in address or not section.is_allocated or not _is_checked(section):
                continue
            pattern = placement.pattern((number, index))
            for at in named.get(name, ()):
                if at - offset not in taken and pattern.matches(
                    content.at(at - offset, section.size)
                ):
                    address[number, index] = at - offset
                    taken.add(at - offset)
                    break
    for number, file in enumerate(objects.files):
        for section in file.elf.sections:
            if (
                not (section.is_executable and section.is_allocated and section.size)
                or (number, section.index) in address
            ):
                continue
            pattern = placement.pattern((number, section.index))
            places = (
                [at for at in content.find(pattern) if at not in taken]
                if pattern.strength >= DECISIVE
                else []
            )
            if places:
                address[number, section.index] = places[0]
                taken.add(places[0])
    return address


def toolchain_files(missing: Iterable[str], folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files that a map names but that were not given: readable ones, then others."""
    found: dict[Path, None] = {}
    lost: list[str] = []
    for name in missing:
        member = MEMBER.fullmatch(name)
        path = folder / (member[1] + member[2] if member else name)
        if path.is_file():
            found[path] = None
        else:
            lost.append(name)
    return list(found), lost
