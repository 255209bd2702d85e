"""Objects that a link has loaded so far, and the state of each symbol.

Each order in which linkers search archives (search_orders) works on this state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.archive import Archive, Member, open_archive
from sizeguard.formats.elf import STB_WEAK
from sizeguard.formats.elf.common_symbols import SECTION_COMMON
from sizeguard.linkgraph.inputs.link_inputs import LinkInput, LinkInputs
from sizeguard.linkgraph.inputs.loaded import Loaded
from sizeguard.linkgraph.inputs.objects import Object, read_object
from sizeguard.linkgraph.inputs.shared_library import Library, read_library

# States of a symbol; a higher one is stronger. LAZY: a searched archive could define it.
NEW, UNDEFINED_WEAK, UNDEFINED, LAZY, SHARED, COMMON, WEAK, STRONG = range(8)


@dataclass(slots=True, eq=False)
class LinkState:
    """State of a link while files are added to it.

    machine:    machine of the first object; "" before that
    state:      name → one of NEW … STRONG
    lazy:       name → the archive member that would define it
    taken:      files (position -1) and members that are loaded
    groups:     signatures of groups that are loaded
    discarded:  by object, the sections left out because an earlier object has the group
    providers:  name → the library that defines it, and the version there
    """

    inputs: LinkInputs
    machine: str = ""
    objects: list[Object] = field(default_factory=list)
    state: dict[bytes, int] = field(default_factory=dict)
    lazy: dict[bytes, tuple[Archive, Member]] = field(default_factory=dict)
    taken: set[tuple[Path, int]] = field(default_factory=set)
    groups: set[bytes] = field(default_factory=set)
    discarded: list[frozenset[int]] = field(default_factory=list)
    shared_defined: set[bytes] = field(default_factory=set)
    shared_undefined: set[bytes] = field(default_factory=set)
    providers: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    archives: dict[Path, Archive] = field(default_factory=dict)
    libraries: dict[Path, Library] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Request the symbols that the command line names."""
        for name in (*self.inputs.undefined, self.inputs.entry):
            self.state[name.encode()] = UNDEFINED

    def read(self, path: Path, member: str, data: npt.NDArray[np.uint8]) -> Object:
        """Read an object.

        Raises InputError if its machine differs from that of the first object.
        """
        found = read_object(path, member, data, self.machine)
        self.machine = self.machine or found.elf.machine
        return found

    def archive(self, file: LinkInput) -> Archive:
        """Open an archive, once. An archive without an index gets one."""
        if file.path not in self.archives:
            archive = replace(open_archive(file.content), path=file.path)
            if archive.index is None:
                archive = replace(archive, index=tuple(self._index(archive)))
            self.archives[file.path] = archive
        return self.archives[file.path]

    def _index(self, archive: Archive) -> Iterator[tuple[bytes, int]]:
        """List the symbols that an archive's members define, with the member's position."""
        for member in archive.members:
            found = self.read(archive.path, member.name, archive.content(member))
            if found.symbols is not None:
                sections = found.symbols.section[found.globals].tolist()
                for name, section in zip(found.names, sections, strict=True):
                    if section:
                        yield name, member.position

    def _library(self, file: LinkInput) -> Library:
        if file.path not in self.libraries:
            self.libraries[file.path] = read_library(file.content, self.machine)
        return self.libraries[file.path]

    def enter(self, added: Object) -> list[bytes]:
        """Add an object: its groups, definitions and requests.

        Returns the requested names without a definition so far, weak or not.
        """
        lost = self._lost_sections(added)
        self.objects.append(added)
        self.discarded.append(lost)
        if added.symbols is None:
            return []
        state = self.state
        asked = []
        sections = added.symbols.section[added.globals].tolist()
        bindings = added.symbols.binding[added.globals].tolist()
        for name, section, binding in zip(added.names, sections, bindings, strict=True):
            known = state.get(name, NEW)
            is_weak = binding == STB_WEAK
            if section and section not in lost:
                force = COMMON if section == SECTION_COMMON else WEAK if is_weak else STRONG
                state[name] = max(known, force)
            elif known <= LAZY:
                # A definition in a discarded section is a request, even if it is weak.
                is_weak_request = is_weak and not section
                if known < LAZY:
                    state[name] = max(known, UNDEFINED_WEAK if is_weak_request else UNDEFINED)
                if not is_weak_request:
                    asked.append(name)
        return asked

    def _lost_sections(self, added: Object) -> frozenset[int]:
        """Return the sections whose group an earlier object has; store the object's groups."""
        lost: set[int] = set()
        for group in added.groups:
            if group.signature:
                if group.signature in self.groups:
                    lost.update(group.members)
                self.groups.add(group.signature)
        for section in added.elf.sections:
            if section.name[:14] == ".gnu.linkonce.":
                signature = section.name.encode()
                if signature in self.groups:
                    lost.add(section.index)
                self.groups.add(signature)
        return frozenset(lost)

    def take(self, archive: Archive, member: Member) -> Object | None:
        """Read a member unless it is already loaded."""
        key = (archive.path, member.position)
        if key in self.taken:
            return None
        self.taken.add(key)
        return self.read(archive.path, member.name, archive.content(member))

    def take_all(self, archive: Archive) -> Iterator[Object]:
        """Read all members that are not loaded yet, one at a time."""
        for member in archive.members:
            found = self.take(archive, member)
            if found is not None:
                yield found

    def add_library(self, file: LinkInput) -> list[bytes]:
        """Add a shared library. Returns the requested names without a definition so far."""
        library = self._library(file)
        self.shared_defined.update(library.defined)
        self.shared_undefined.update(library.undefined, library.undefined_weak)
        for name in library.defined:
            self.providers.setdefault(name, (file.path.name, library.versions[name]))
            if self.state.get(name, NEW) < SHARED:
                self.state[name] = SHARED
        asked = []
        for name in library.undefined:
            if self.state.get(name, NEW) <= LAZY:
                asked.append(name)
                if self.state.get(name, NEW) < LAZY:
                    self.state[name] = UNDEFINED
        return asked

    def is_needed(self, file: LinkInput) -> bool:
        """Return whether --as-needed adds a library: it defines a requested symbol."""
        return not file.as_needed or any(
            self.state.get(name) == UNDEFINED for name in self._library(file).defined
        )

    def result(self) -> Loaded:
        """Return the loaded objects, with numbered symbols and their definitions."""
        numbers: dict[bytes, int] = {}
        ids = tuple(
            np.array(
                [numbers.setdefault(name, len(numbers)) for name in found.names], np.int32
            ).reshape(-1)
            for found in self.objects
        )
        definitions = _Definitions(len(numbers))
        for k, (found, global_ids, lost) in enumerate(
            zip(self.objects, ids, self.discarded, strict=True)
        ):
            definitions.add(k, found, global_ids, lost)
        names = list(numbers)
        return Loaded(
            inputs=self.inputs,
            machine=self.machine,
            objects=tuple(self.objects),
            numbers=numbers,
            global_ids=ids,
            definition=definitions.place,
            in_shared=np.array([name in self.shared_defined for name in names], bool),
            from_shared=np.array([name in self.shared_undefined for name in names], bool),
            discarded=tuple(self.discarded),
            providers=self.providers,
        )


class _Definitions:
    """The definition of each symbol that counts: the first among the strongest.

    place: number → (object, index into its symbol table); (-1, -1) if no object defines it
    """

    def __init__(self, count: int) -> None:
        self.strength = np.zeros(count, np.int8)
        self.place = np.full((count, 2), -1, np.int32)

    def add(self, k: int, found: Object, ids: npt.NDArray[np.int32], lost: frozenset[int]) -> None:
        """Add the definitions of object k. ids: numbers of its global symbols."""
        table = found.symbols
        if table is None or not len(ids):
            return
        section = table.section[found.globals]
        is_kept = section != 0
        if lost:
            is_kept &= ~np.isin(section, np.fromiter(lost, np.int32, len(lost)))
        is_weak = table.binding[found.globals] == STB_WEAK
        force = np.where(section == SECTION_COMMON, COMMON, np.where(is_weak, WEAK, STRONG))
        better = np.flatnonzero(is_kept & (force > self.strength[ids]))
        # One object may name a symbol twice (foo and foo@@V); the first one counts.
        _, first = np.unique(ids[better], return_index=True)
        better = better[first]
        self.strength[ids[better]] = force[better]
        self.place[ids[better], 0] = k
        self.place[ids[better], 1] = found.globals[better]
