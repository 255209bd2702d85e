"""Evidence of one link: image, objects, map, linker's log, and the missing parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.formats.binary import Binary, ImageSymbols, linked_debug_file
from sizeguard.formats.elf import Elf, Section, has_debug_information
from sizeguard.formats.elf.elf_kind import elf_kind
from sizeguard.formats.link_kind import PIE, PROGRAM
from sizeguard.formats.linkmap.link_map import LinkMap
from sizeguard.formats.sniff import is_thin
from sizeguard.names.short import short_name, template_of
from sizeguard.verify.evidence.code_search import ImageBytes
from sizeguard.verify.evidence.linker_log import LinkerRemovals
from sizeguard.verify.evidence.object_evidence import (
    NamedPiece,
    ObjectFile,
    Objects,
    undescribed_lto,
)
from sizeguard.verify.evidence.placement import Node, Placement

if TYPE_CHECKING:
    from sizeguard.builds.build_record import Build
    from sizeguard.formats.dwarf import InlineFrames
    from sizeguard.names.registered import Registration
    from sizeguard.names.resolve_names import SymbolNames
    from sizeguard.verify.evidence.link_graph import Linked
    from sizeguard.verify.evidence.macho import MachoImage
    from sizeguard.verify.evidence.ways import Reasons


@dataclass(frozen=True, slots=True)
class Inlined:
    """Code of a function inside other functions.

    It has the first address, all bytes, and the first function that contains some of them.
    """

    address: int
    bytes: int
    host: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence on one image, by which claims are judged.

    image:           with symbols if there are any
    twin:            stripped form with the same bytes, or None
    gaps:            evidence that is missing to prove that something is absent
    own:             number of objects that were given; the others are the toolchain's
    removed:         sections that the linker reports as removed
    record, given:   the linker's command line, and the paths of the objects as given
    hidden_prefixes: namespaces, with `::`, that short names leave out
    lto_inputs:      original inputs of an LTO link by the build's record; None without a record
    full:            the full build that was given; None for the one beside the build
    """

    image: Binary
    twin: Binary | None
    objects: Objects
    own: int
    placement: Placement
    link_map: LinkMap | None
    removed: LinkerRemovals
    gaps: tuple[str, ...]
    record: Path | None
    given: tuple[Path, ...]
    hidden_prefixes: tuple[str, ...] = ()
    lto_inputs: tuple[Path, ...] | None = None
    full: Build | None = None

    @cached_property
    def linked(self) -> Linked:
        """Section graph of the link, by its record if it names the given objects.

        Otherwise the graph is made from the contents of the image.
        """
        from sizeguard.verify.evidence.link_graph import dead_stripped, placed  # 0.5 ms

        macho = as_macho(self.image)
        if macho is not None:
            if self.objects.lto and not self.has_lto:
                return placed(self.objects, self.placement, self.image)  # no machine code to follow
            return dead_stripped(self.given, self.objects, self.placement, macho)
        found = self._recorded[0]
        if found is not None:
            known = {number for number, _ in found.nodes.values()}
            if all(number in known for number, _ in self.placement.address if number < self.own):
                return found
        return placed(self.objects, self.placement, self.image)

    @cached_property
    def _recorded(self) -> tuple[Linked | None, str]:
        """Graph of the recorded link, or the reason why there is none."""
        if self.record is None or not self.record.is_file() or not self.objects.files:
            return None, ""
        from sizeguard.verify.evidence.link_graph import recorded

        try:
            return recorded(self.record, self.given, self.objects), ""
        except (InconclusiveError, InputError) as error:
            return None, str(error)

    @property
    def compiled(self) -> tuple[Path, ...] | None:
        """Inputs whose code the linker compiled, by LTO; None without a record of the link."""
        found = self._recorded[0]
        return found.compiled if found is not None else None

    @property
    def link_doubt(self) -> str:
        """Why the recorded link cannot be followed, such as a linker script; else empty."""
        return "" if as_macho(self.image) is not None else self._recorded[1]

    @property
    def reachable(self) -> frozenset[Node] | None:
        """Sections that must be kept, by the section graph of the recorded link.

        Returns None without a record of the link.
        """
        return self.linked.reachable

    @cached_property
    def reasons(self) -> Reasons:
        """References between sections, which explain why a section is present."""
        from sizeguard.verify.evidence.ways import Reasons  # 2 ms

        return Reasons(self.placement, self.linked.graph, self.linked.nodes)

    @cached_property
    def symbols(self) -> ImageSymbols:
        """Definitions in the image by name, exports included."""
        return ImageSymbols.of((*self.image.static_symbols, *self.image.dynamic_symbols))

    @cached_property
    def names(self) -> SymbolNames:
        """All symbols of the image, its objects and its debug information."""
        from sizeguard.names.resolve_names import DROPPED, NOT_ADDED, SymbolNames  # 14 ms
        from sizeguard.names.spellings.second_readings import data_model

        underscore = NOT_ADDED if as_macho(self.image) is None else DROPPED
        names = (*self.objects.index, *self.symbols, *self.inlined)
        return SymbolNames.of(names, underscore, data_model(self.image.machine))

    @cached_property
    def operators(self) -> Mapping[str, tuple[Registration, ...]]:
        """Entries of operators in the shipped file."""
        from sizeguard.verify.evidence.tables import registered_in  # 30 ms

        return registered_in(self.shipped, ()).operators

    @cached_property
    def frames(self) -> InlineFrames | None:
        """Functions over each range of the image's code; None if nothing is known of them."""
        return self._frames[0]

    @property
    def unreadable(self) -> str:
        """Why debug information that is there cannot be read; empty if it can or there is none."""
        return self._frames[1]

    @cached_property
    def _frames(self) -> tuple[InlineFrames | None, str]:
        if self._has_own_debug:
            return frames_of(self.image.path)
        return frames_of(self.image.path, self.debug_file[0]) if self.debug_file else (None, "")

    @property
    def _has_own_debug(self) -> bool:
        """Return whether it is in the image, or of a Mach-O image, which has it elsewhere."""
        return as_macho(self.image) is not None or has_debug_information(self.image.sections)

    @cached_property
    def debug_file(self) -> tuple[Path, bool] | None:
        """The file with the debug information of the image, and whether it is the one it names."""
        return None if self._has_own_debug else linked_debug_file(self.image)

    @cached_property
    def inlined(self) -> dict[str, Inlined]:
        """Functions that are inlined into others according to debug information, by name.

        Empty without debug information.
        """
        frames = self.frames
        if frames is None:
            return {}
        names = frames.plain_names()
        first, over = frames.first.tolist(), frames.frame.tolist()
        found: dict[str, Inlined] = {}
        for i, (start, end) in enumerate(
            zip(frames.start.tolist(), frames.end.tolist(), strict=True)
        ):
            *inner, host = over[first[i] : first[i + 1]]
            for name in {names[index] for index in inner}:
                before = found.get(name)
                found[name] = Inlined(
                    before.address if before else start,
                    (before.bytes if before else 0) + end - start,
                    before.host if before else names[host],
                )
        return found

    @cached_property
    def inlined_locals(self) -> dict[str, list[str]]:
        """Names in `inlined` of local functions, which are not mangled, by their last part."""
        found: dict[str, list[str]] = {}
        for name in self.inlined:
            if not name.startswith("_Z"):
                found.setdefault(template_of(without_mark(name))[0], []).append(name)
        return found

    def files_read(self) -> list[Path] | None:
        """List the files of the objects, the toolchain's included.

        None if there are thin archives, whose members are in files of their own.
        """
        paths = {file.path for file in self.objects.files}
        return None if any(map(is_thin, paths)) else sorted(paths)

    @property
    def shipped(self) -> Binary:
        """Return the shipped file, or the image if there is no twin."""
        return self.twin or self.image

    @cached_property
    def shipped_bytes(self) -> ImageBytes:
        """Return the bytes of the shipped file."""
        return ImageBytes(self.shipped)

    def unloaded_copies(self, piece: NamedPiece) -> list[int]:
        """Return the offsets of copies of a function in the file, outside of loaded sections."""
        code = self.placement.code_of(piece)
        if code is None:
            return []
        return self.shipped_bytes.find_outside(code, is_stripped=self.twin is not None)

    def is_code(self, address: int) -> bool:
        """Return whether an address is in a section of code."""
        return any(section.is_executable for section in self._sections_at(address))

    def is_loaded(self, address: int) -> bool:
        """Return whether the image has anything at an address."""
        return any(section.is_allocated for section in self._sections_at(address))

    def _sections_at(self, address: int) -> list[Section]:
        sections = self.image.sections
        return [s for s in sections if s.address <= address < s.address + s.size]

    @property
    def is_program(self) -> bool:
        """Return whether the image is a program; in a library, exports are roots, too."""
        macho = as_macho(self.image)
        if macho is not None:
            return macho.is_program
        return isinstance(self.image, Elf) and elf_kind(self.image) in (PROGRAM, PIE)

    @property
    def is_complete(self) -> bool:
        """Return whether no evidence is missing."""
        return not self.gaps

    @property
    def lacks_inputs(self) -> bool:
        """Return whether objects were given without a record, and not all that the map names."""
        return self.lto_inputs is None and bool(self.placement.missing)

    @cached_property
    def undescribed(self) -> tuple[str, ...]:
        """Objects with code in the image but without debug information, so inlining is unknown.

        What LTO compiled counts as in the image. A partial link (-r) may join objects with debug
        information and objects without.
        """
        code: dict[int, list[Node]] = {}
        for node in self.placement.address:
            if node[0] < self.own and self.placement.section(node).is_executable:
                code.setdefault(node[0], []).append(node)
        return (
            *(
                self.objects.files[number].label
                for number in sorted(code)
                if not self._is_described(number, code[number])
            ),
            *undescribed_lto(self.lto_inputs or ()),
        )

    def _is_described(self, number: int, code: Sequence[Node]) -> bool:
        """Return whether debug information describes all sections of code of an object.

        It has nothing about the initializers that gcc's LTO merges.
        """
        sections = self.objects.files[number].elf.sections
        if not has_debug_information(sections):
            return False
        frames = self.frames
        if frames is None or number in self.objects.made_by_lto:
            return True
        code = [node for node in code if not self.placement.is_wrapper(node)]
        start = np.array([self.placement.address[node] for node in code], np.int64)
        size = np.array([self.placement.section(node).size for node in code], np.int64)
        following = np.searchsorted(frames.end, start, side="right")
        begins = np.append(frames.start, np.iinfo(np.int64).max)[following]
        return bool(((begins < start + size) | (size == 0)).all())

    @cached_property
    def undescribed_notes(self) -> tuple[str, ...]:
        """Name the places where inlined code is unknown; empty if it is known everywhere."""
        unknown = "has no debug information, so inlined code there is unknown"
        if self.undescribed:
            return tuple(f"{label} {unknown}" for label in self.undescribed[:3])
        if self.frames is None:
            return (self.unreadable or f"the image {unknown}",)
        if self.debug_file is None or self.debug_file[1]:
            return ()
        name = self.debug_file[0]
        return (f"{name} is not the file that {self.image.path} names: its CRC-32 differs",)

    @cached_property
    def nameless(self) -> tuple[str, ...]:
        """Objects with code or data in the image that no symbol names: it may have any name."""
        found: dict[int, int] = {}
        for number, index in self.placement.address:
            if number < self.own and index in self.objects.files[number].nameless:
                found.setdefault(number, index)
        return tuple(
            f"{self.objects.files[number].label} has {_contents(section)} without a symbol in"
            f" {section.name}"
            for number, index in found.items()
            for section in (self.placement.section((number, index)),)
        )

    @property
    def has_lto(self) -> bool:
        """Return whether LTO made the objects, since LTO moves functions between objects."""
        return bool(self.objects.made_by_lto)

    @cached_property
    def foreign_data(self) -> bytes:
        """Constants of the toolchain's objects, which say nothing about the program."""
        return b"\0".join(
            file.elf.content(section)
            for file in self.objects.files[self.own :]
            for section in file.elf.sections
            if section.is_allocated and not section.is_executable and section.file_size
        )

    def short(self, symbol: str) -> str:
        """Shorten a mangled symbol to conv_body<float>; return other names unchanged."""
        return short_name(symbol, self.hidden_prefixes)

    def own_files(self) -> Sequence[ObjectFile]:
        """List the objects that are not the system's."""
        return self.objects.files[: self.own]


def as_macho(image: Binary) -> MachoImage | None:
    """Return a Mach-O image as one; None for other formats."""
    if isinstance(image, Elf):
        return None
    from sizeguard.verify.evidence.macho import MachoImage  # 30 ms, which ELF saves

    return image if isinstance(image, MachoImage) else None


def frames_of(image: Path, debug: Path | None = None) -> tuple[InlineFrames | None, str]:
    """Return the functions over each range of an image, or None and why they cannot be read.

    The reason is empty if there is no debug information. Local functions that have no linkage name
    have their scopes: `a::(anonymous namespace)::f()`.

    debug: the file with its debug information, unless it is in the image or beside it
    """
    # takes 17 ms; only claims on inlined code need it
    from sizeguard.formats.dwarf import NoDebugInformationError, inline_frames

    try:
        return inline_frames(image, debug, scoped=True), ""
    except NoDebugInformationError:
        return None, ""
    except (InputError, InconclusiveError) as error:
        return None, str(error)


def without_mark(name: str) -> str:
    """Drop the () that marks a local function with its scopes: a::f(), {unnamed}::operator()()."""
    return name if name.endswith("operator()") else name.removesuffix("()")


def _contents(section: Section) -> str:
    return "code" if section.is_executable else "data"
