"""Find the machine code of functions that a selective build leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.elf import Section, read_elf
from sizeguard.names.demangle import demangle, without_clones
from sizeguard.names.short import without_parameters
from sizeguard.verify.branches.noted_code import strings
from sizeguard.verify.evidence.code_search import Pattern
from sizeguard.verify.evidence.evidence import Evidence, frames_of
from sizeguard.verify.evidence.macho import MachoImage
from sizeguard.verify.evidence.object_evidence import (
    NamedPiece,
    ObjectFile,
    Objects,
)
from sizeguard.verify.evidence.placement import Node
from sizeguard.verify.leaks.code_windows import (
    WINDOW,
    CodeWindows,
    Hashes,
    covered,
    densest,
    is_in,
    window_hashes,
)
from sizeguard.verify.leaks.full_objects import full_build
from sizeguard.verify.leaks.toolchain_files import is_of_system

# Fewest bytes of one deselected function to report. In 4 selective builds (vision: gcc, clang,
# macOS; language: gcc) at most 25 occur outside functions that the full build has, and at most 80
# in one of those.
FEWEST_BYTES = 32
FEWEST_IN_KNOWN = 128
_FEWEST_PART = 0.6  # part of the function, for a copy in a function with another name
# Fewest part that two functions of the full build share, in both directions, to be alike. All of
# `minimum` and `maximum`; a function with a copy of another inside also has its own code.
_ALIKE = 0.8


# Where a copy is that no loaded section has; its address is the place in the file.
UNLOADED = "the file, outside of loaded sections"
_MANGLED = "_Z"
_LOCAL = "_GLOBAL__N_"  # marks a name in an anonymous namespace
_PLACE = re.compile(r" at \d+\)")  # of a member in its archive


class ObjectText(NamedTuple):
    """The content of a section. object: number of its object."""

    object: int
    section: Section
    content: bytes


@dataclass(frozen=True, slots=True)
class FoundCopy:
    """Bytes of a deselected function that were found in an image.

    where: the section or the function; piece: that function; None outside the objects
    """

    function: str
    bytes: int
    address: int
    where: str
    piece: NamedPiece | None = None


@dataclass(frozen=True, slots=True)
class LinkedFunction:
    """A function of an object: its name without clone suffixes, its place and bytes."""

    name: str
    piece: NamedPiece
    pattern: Pattern


def plain_name(symbol: str) -> str:
    """Drop the suffixes that compilers give to clones: f.isra.0, f.cold."""
    return without_clones(symbol) or symbol


def key_of(symbol: str, file: ObjectFile | None) -> str:
    """Return the name by which two builds identify a function.

    That of a local function includes its object, and the archive of that: another object of such a
    name has other functions.

    file: None if LTO has moved functions between objects
    """
    name = plain_name(symbol)
    if file is None or _LOCAL not in name:
        return name
    return f"{name}@{file.path.name}({file.member.rpartition('/')[2]})"


def _file_name(file: ObjectFile) -> tuple[str, str]:
    """Return the names of an object's file and member, which are the same in the full build.

    lld writes app.lto.libkernels.a(matrix.cpp.o at 642292).o for a member at that place.
    """
    return _PLACE.sub(")", file.path.name), file.member


@dataclass(frozen=True, eq=False)
class DeselectedCode:
    """The functions of the full build that are not in an image under their names.

    full: objects of the full build; None without one, when only those of the image are known
    """

    evidence: Evidence
    full: Objects | None

    @cached_property
    def _written(self) -> list[LinkedFunction]:
        return list(_functions(self.evidence.objects, self.evidence.own, self.evidence.has_lto))

    @cached_property
    def _of_full(self) -> list[LinkedFunction]:
        if self.full is None:
            return []
        return list(_functions(self.full, len(self.full.files), self.evidence.has_lto))

    @cached_property
    def placed(self) -> list[LinkedFunction]:
        """Functions of the objects that are in the image."""
        address = self.evidence.placement.address
        return [c for c in self._written if (c.piece.object, c.piece.section) in address]

    @cached_property
    def known(self) -> frozenset[str]:
        """Names of functions in the full build, without clone suffixes; all if there is none."""
        return frozenset(code.name for code in self._of_full or self._written)

    @cached_property
    def texts(self) -> list[ObjectText]:
        """Content of the sections that may contain texts."""
        used = {number for number, _ in self.evidence.placement.address}
        return [
            ObjectText(number, section, file.elf.content(section))
            for number, file in enumerate(self.evidence.own_files())
            for section in file.elf.sections
            if number in used and section.is_allocated and section.file_size
        ]

    def is_known(self, symbol: str, number: int, *, is_inlined: bool) -> bool:
        """Return whether the full build has a function, as a definition or inlined in others.

        number: number of its object in this image
        is_inlined: whether debug information names it, as part of another function
        """
        key = self.key(symbol, number)
        if key in self.known or self.full is None:
            return key in self.known
        name, _, file = key.partition("@")
        if not name.startswith(_MANGLED):
            # A function of C; inlined, also a local one of C++, with its scopes. As a string it
            # could be the short name of any function.
            return is_inlined and (name in self.inlined_in_full or name in self._scoped_in_full)
        objects = [each for each in self.full.files if not file or key_of(symbol, each) == key]
        wanted = name.encode() + b"\0"
        return any(wanted in text for each in objects for text in strings(each.elf)) or (
            not file and any(wanted in text for text in self._texts_of_full)
        )

    @property
    def debug_texts_of_full(self) -> Iterator[bytes]:
        """Yield the strings of the full build's debug information."""
        for each in self.full.files if self.full is not None else ():
            yield from strings(each.elf)
        yield from self._texts_of_full

    @cached_property
    def inlined_in_full(self) -> frozenset[str]:
        """Names of functions with code in the full image, inlined ones too."""
        build = full_build(self.evidence)
        frames = frames_of(build.image, build.debug)[0] if build is not None else None
        return frozenset(frames.plain_names()) if frames is not None else frozenset()

    @cached_property
    def _scoped_in_full(self) -> frozenset[str]:
        """Names with scopes, as of inlined local functions, of the full build's definitions."""
        names = {name.partition("@")[0] for name in self.known}
        return frozenset(f"{without_parameters(demangle(name))}()" for name in names)

    @cached_property
    def _texts_of_full(self) -> tuple[bytes, ...]:
        """Strings of the full image's debug information.

        With LTO, gcc's generated objects lack the names of functions that are inlined everywhere.
        """
        build = full_build(self.evidence)
        if build is None or not build.lto or isinstance(self.evidence.image, MachoImage):
            return ()
        return tuple(strings(read_elf(build.image)))

    def key(self, symbol: str, number: int) -> str:
        """Return the name that identifies a function of one of the image's objects."""
        file = None if self.evidence.has_lto else self.evidence.objects.files[number]
        return key_of(symbol, file)

    def is_of_full(self, node: Node, offset: int) -> bool:
        """Return whether an offset is in a function that the full build has in the same object.

        Without a full build, any function counts.
        """
        evidence = self.evidence
        if not evidence.placement.section(node).is_executable:
            return False
        if self.full is None:
            return True
        symbol = evidence.reasons.symbol_at(node, offset)
        own = _file_name(evidence.objects.files[node[0]])
        return self.key(symbol, node[0]) in self.known and any(
            _file_name(other) == own for other in self.full.files
        )

    @cached_property
    def _in_image(self) -> frozenset[str]:
        found = {code.name for code in self.placed}
        for name, part in self.evidence.inlined.items():
            host = self.evidence.placement.owner(part.address)
            found.add(self.key(name, host[0]) if host is not None else plain_name(name))
        return frozenset(found)

    @cached_property
    def gone(self) -> list[LinkedFunction]:
        """Functions that are not in the image, from the full build and the objects.

        Functions of the program itself, which the full build does not have, are not claimed.
        """
        written = [c for c in self._written if c.name in self.known]
        return [c for c in (*self._of_full, *written) if c.name not in self._in_image]

    @cached_property
    def functions(self) -> CodeWindows:
        """The bytes of the functions that are not in the image."""
        return _windows(self.gone)

    @cached_property
    def _kept(self) -> CodeWindows:
        return _windows([c for c in self._of_full if c.name in self._in_image])

    @cached_property
    def _known_here(self) -> CodeWindows:
        return _windows([c for c in self.placed if c.name in self.known])

    def copies(self) -> list[FoundCopy]:
        """Find the bytes of deselected functions in all sections and functions of the image."""
        return [*self._outside(), *self._in_known()]

    def _outside(self) -> Iterator[FoundCopy]:
        """Look outside the functions that are known to be in the image."""
        wanted = self.functions.without([self._kept, self._known_here])
        shipped = self.evidence.shipped
        for section in shipped.sections:
            if not section.is_allocated or not section.file_size:
                continue
            hashes = window_hashes(np.frombuffer(shipped.content(section), np.uint8))
            hits = is_in(hashes, wanted) & ~self._is_toolchain(section, len(hashes))
            for function, count, place in self._copied(hashes, hits):
                yield self._found(function, count, section.address + place, section.name)
        hashes = window_hashes(self.evidence.shipped_bytes.outside)
        for function, count, place in self._copied(hashes, is_in(hashes, wanted)):
            yield FoundCopy(function, count, place, UNLOADED)

    def _copied(
        self, hashes: npt.NDArray[np.uint64], hits: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[str, int, int]]:
        """Yield each deselected function with enough windows there, its bytes and their place."""
        if covered(hits) < FEWEST_BYTES:
            return
        for number, count in self.functions.matches(hashes[hits], FEWEST_BYTES):
            own = hits & is_in(hashes, self.functions.hashes_of(number))
            size = len(self.functions.patterns[number].data)
            place, together = densest(own, 2 * size)
            if together >= FEWEST_BYTES:
                yield self.functions.names[number], count, place

    def _is_toolchain(self, section: Section, count: int) -> npt.NDArray[np.bool_]:
        """Return whether each byte of a section belongs to the system's toolchain.

        A start-up file that was moved is searched, since its name proves nothing.
        """
        placement, files = self.evidence.placement, self.evidence.objects.files
        result = np.zeros(count, np.bool_)
        for node, address in placement.address.items():
            start = address - section.address
            is_inside = node[0] >= self.evidence.own and 0 <= start < count
            if is_inside and is_of_system(str(files[node[0]].path)):
                result[start : start + placement.section(node).size] = True
        return result

    def _found(self, function: str, count: int, address: int, section: str) -> FoundCopy:
        placement = self.evidence.placement
        node = placement.owner(address)
        if node is None:
            return FoundCopy(function, count, address, section)
        offset = address - placement.address[node]
        inside = self.evidence.reasons.symbol_at(node, offset)
        piece = NamedPiece(node[0], node[1], offset, count, inside)
        where = f"{self.evidence.short(inside) or section} of {placement.objects.label(piece)}"
        return FoundCopy(function, count, address, where, piece)

    def _in_known(self) -> Iterator[FoundCopy]:
        """Look in functions that the full build has, too, for more than it has there."""
        if self.full is None:
            return
        wanted = self.functions.without([self._kept])
        known = [c for c in self.placed if c.name in self.known]
        data = self._known_here.data
        hashes = window_hashes(data)
        hits = is_in(hashes, wanted)
        for number, (low, high) in self._known_here.ranges_with(hits, FEWEST_IN_KNOWN):
            host = known[number]
            found = hashes[low:high][hits[low:high]]
            for match, count in self._unlike(host.name, found):
                if count >= _FEWEST_PART * len(self.functions.patterns[match].data):
                    start = self.evidence.placement.where(host.piece) or 0
                    where = self.evidence.short(host.piece.symbol)
                    yield FoundCopy(self.functions.names[match], count, start, where, host.piece)

    def _unlike(self, host: str, found: Hashes) -> list[tuple[int, int]]:
        """Find the deselected function with most bytes in windows of a known function.

        Windows of functions that are like the host do not count, whatever other function has them.
        """
        while matches := self.functions.matches(found, FEWEST_IN_KNOWN)[:1]:
            number = matches[0][0]
            if not self._are_alike(host, self.functions.names[number]):
                return matches
            found = found[~is_in(found, self.functions.hashes_of(number))]
        return []

    def _are_alike(self, host: str, symbol: str) -> bool:
        """Return whether a known function and a deselected one are alike in the full build.

        Then they are alike with fewer dtypes, too: `minimum` and `maximum` differ in what they
        call.
        """
        hosts = [_windows([code]) for code in self._of_full if code.name == host]
        gone = [_windows([code]) for code in self._of_full if code.piece.symbol == symbol]
        return any(
            min(one.part_in(other), other.part_in(one)) >= _ALIKE for one in hosts for other in gone
        )


def _windows(codes: Sequence[LinkedFunction]) -> CodeWindows:
    return CodeWindows([c.piece.symbol for c in codes], [c.pattern for c in codes])


def _functions(objects: Objects, count: int, has_lto: bool) -> Iterator[LinkedFunction]:
    """Yield the functions of objects, with their bytes where known."""
    for number, file in enumerate(objects.files[:count]):
        patterns: dict[int, Pattern] = {}
        for definition in file.definitions:
            index = definition.section
            section = file.elf.sections[index]
            if not section.is_executable or not section.file_size or definition.size < WINDOW:
                continue
            if index not in patterns:
                patterns[index] = file.pattern(section)
            pattern = patterns[index].part(definition.offset, definition.size)
            key = key_of(definition.symbol, None if has_lto else file)
            yield LinkedFunction(key, definition.in_object(number), pattern)
