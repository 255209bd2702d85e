"""Turns what goes into a link into the objects that it loads and which of them defines each symbol.

Archives are searched as each linker does it. GNU ld and gold go through an archive's index once they meet it, again as long as
members come in. lld remembers what archives could define and takes a member as soon as something asks for it. mold resolves
everything first and follows undefined symbols from the objects of the command line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.errors import InconclusiveError
from sizeguard.formats.archive import Archive, Member, open_archive
from sizeguard.formats.elf import STB_WEAK, SymbolTable, read_bytes
from sizeguard.linkgraph.inputs import Input, LinkInputs
from sizeguard.linkgraph.libraries import Library, read_library
from sizeguard.linkgraph.objects import Object, is_common, read_object

# What is known of a symbol, the stronger the higher. LAZY: an archive that was seen could define it.
NEW, UNDEFINED_WEAK, UNDEFINED, LAZY, SHARED, COMMON, WEAK, STRONG = range(8)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """The objects of a link in order, and its symbols by number.

    numbers:     name → number
    global_ids:  of each object, the numbers of its `globals`
    definition:  number → (object, index into its symbol table), (-1, -1) if no object defines it
    in_shared:   whether a shared library defines it
    providers:   name → the library that defines it and the version there
    from_shared: whether a shared library asks for it
    discarded:   of each object, the sections left out because an earlier object has the group
    """

    inputs: LinkInputs
    machine: str
    objects: tuple[Object, ...]
    numbers: dict[bytes, int]
    global_ids: tuple[npt.NDArray[np.int32], ...]
    definition: npt.NDArray[np.int32]
    in_shared: npt.NDArray[np.bool_]
    from_shared: npt.NDArray[np.bool_]
    discarded: tuple[frozenset[int], ...]
    providers: dict[bytes, tuple[str, str]]


def load(inputs: LinkInputs) -> Loaded:
    """Find what the link loads. Raises InputError for files that cannot be used, InconclusiveError for objects of LTO."""
    bitcode = next((file.path for file in inputs.files if file.kind == "bitcode"), None)
    if bitcode is not None:
        raise InconclusiveError(f"{bitcode}: LLVM bitcode; link with -Wl,--save-temps and give the objects that it leaves")
    loader = _Loader(inputs)
    if inputs.linker.family == "mold":
        loader.load_like_mold()
    elif inputs.linker.family == "lld":
        loader.load_like_lld()
    else:
        loader.load_like_gnu()
    return loader.result()


def as_placed(objects: Sequence[Object], placed: Sequence[Collection[int]], inputs: LinkInputs) -> Loaded:
    """The same of a link that is known by its image: its objects in order, and of each the sections that are there.

    A group counts in the object whose copy is there, else in the first that has it.
    """
    loader = _Loader(inputs, objects=list(objects))
    loader.machine = objects[0].elf.machine if objects else ""
    winner: dict[bytes, int] = {}
    for is_certain in (True, False):
        for number, (found, there) in enumerate(zip(objects, placed, strict=True)):
            for group in found.groups:
                if group.signature and (not is_certain or any(member in there for member in group.members)):
                    winner.setdefault(group.signature, number)
    for number, found in enumerate(objects):
        lost = {m for group in found.groups if winner.get(group.signature, number) != number for m in group.members}
        loader.discarded.append(frozenset(lost))
    return loader.result()


@dataclass(slots=True, eq=False)
class _Loader:
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
        for name in (*self.inputs.undefined, self.inputs.entry):
            self.state[name.encode()] = UNDEFINED

    def read(self, path: Path, member: str, data: npt.NDArray[np.uint8]) -> Object:
        found = read_object(path, member, data, self.machine)
        self.machine = self.machine or found.elf.machine
        return found

    def archive(self, path: Path) -> Archive:
        if path not in self.archives:
            archive = open_archive(path)
            if archive.index is None:
                archive = replace(archive, index=tuple(self._index(archive)))
            self.archives[path] = archive
        return self.archives[path]

    def _index(self, archive: Archive) -> Iterator[tuple[bytes, int]]:
        """An archive without an index: what its members define."""
        for member in archive.members:
            found = self.read(archive.path, member.name, archive.content(member))
            if found.symbols is not None:
                sections = found.symbols.section[found.globals].tolist()
                for name, section in zip(found.names, sections, strict=True):
                    if section:
                        yield name, member.position

    def library(self, file: Input) -> Library:
        if file.path not in self.libraries:
            self.libraries[file.path] = read_library(file.path, self.machine)
        return self.libraries[file.path]

    # -- adding files

    def enter(self, added: Object) -> list[bytes]:
        """Add an object: groups, definitions, requests. Returns the names that it asks for, weakly or not, and nobody defines yet."""
        lost: set[int] = set()
        for group in added.groups:
            if group.signature:
                if group.signature in self.groups:
                    lost.update(group.members)
                self.groups.add(group.signature)
        for section in [section for section in added.elf.sections if section.name[:14] == ".gnu.linkonce."]:
            signature = section.name.encode()
            if signature in self.groups:
                lost.add(section.index)
            self.groups.add(signature)
        self.objects.append(added)
        self.discarded.append(frozenset(lost))
        if added.symbols is None:
            return []
        state = self.state
        asked = []
        sections = added.symbols.section[added.globals].tolist()
        bindings = added.symbols.binding[added.globals].tolist()
        for name, section, binding in zip(added.names, sections, bindings, strict=True):
            known = state.get(name, NEW)
            if section == 0 or section in lost:
                if known <= LAZY:
                    if known < LAZY:
                        state[name] = max(known, UNDEFINED_WEAK if binding == STB_WEAK and section == 0 else UNDEFINED)
                    if binding != STB_WEAK or section != 0:
                        asked.append(name)
            else:
                state[name] = max(known, COMMON if is_common(section) else WEAK if binding == STB_WEAK else STRONG)
        return asked

    def take(self, archive: Archive, member: Member) -> Object | None:
        """A member, unless it is loaded already."""
        key = (archive.path, member.position)
        if key in self.taken:
            return None
        self.taken.add(key)
        return self.read(archive.path, member.name, archive.content(member))

    def add_library(self, file: Input) -> list[bytes]:
        """A shared library: what it defines serves, what it lacks is asked for."""
        library = self.library(file)
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

    def is_needed(self, file: Input) -> bool:
        """Of --as-needed: whether something asks for what the library defines."""
        return not file.as_needed or any(self.state.get(name) == UNDEFINED for name in self.library(file).defined)

    # -- GNU ld and gold

    def load_like_gnu(self) -> None:
        files = self.inputs.files
        i = 0
        while i < len(files):
            if not files[i].group:
                self._add_like_gnu(files[i])
                i += 1
                continue
            last = i
            while last < len(files) and files[last].group == files[i].group:
                last += 1
            while True:
                before = len(self.objects)
                for file in files[i:last]:
                    self._add_like_gnu(file)
                if len(self.objects) == before:
                    break
            i = last

    def _add_like_gnu(self, file: Input) -> None:
        if file.kind == "object":
            if (file.path, -1) not in self.taken or not file.group:
                self.taken.add((file.path, -1))
                self.enter(self.read(file.path, "", read_bytes(file.path)))
        elif file.kind == "shared":
            if self.is_needed(file):
                self.add_library(file)
        elif file.whole:
            archive = self.archive(file.path)
            for member in archive.members:
                found = self.take(archive, member)
                if found is not None:
                    self.enter(found)
        else:
            self._search(self.archive(file.path))

    def _search(self, archive: Archive) -> None:
        members = {member.position: member for member in archive.members}
        again = True
        while again:
            again = False
            for name, header in archive.index or ():
                if self.state.get(name) == UNDEFINED:
                    found = self.take(archive, members[header])
                    if found is not None:
                        self.enter(found)
                        again = True

    # -- lld

    def load_like_lld(self) -> None:
        for file in self.inputs.files:
            if file.kind == "object":
                self._load_deep(self.read(file.path, "", read_bytes(file.path)))
            elif file.kind == "shared":
                for name in self.add_library(file):
                    self._extract(name)
            elif file.whole:
                archive = self.archive(file.path)
                for member in archive.members:
                    found = self.take(archive, member)
                    if found is not None:
                        self._load_deep(found)
            else:
                self._add_lazy(self.archive(file.path))

    def _add_lazy(self, archive: Archive) -> None:
        members = {member.position: member for member in archive.members}
        for name, header in archive.index or ():
            known = self.state.get(name, NEW)
            if known == UNDEFINED:
                found = self.take(archive, members[header])
                if found is not None:
                    self._load_deep(found)
            elif known in (NEW, UNDEFINED_WEAK) and (archive.path, header) not in self.taken:
                self.state[name] = LAZY
                self.lazy[name] = (archive, members[header])

    def _extract(self, name: bytes) -> None:
        if self.state.get(name) == LAZY:
            found = self.take(*self.lazy[name])
            if found is not None:
                self._load_deep(found)

    def _load_deep(self, added: Object) -> None:
        """Add an object and at once, depth first, the members that define what it asks for."""
        waiting = [iter(self.enter(added))]
        while waiting:
            for name in waiting[-1]:
                if self.state.get(name) == LAZY:
                    found = self.take(*self.lazy[name])
                    if found is not None:
                        waiting.append(iter(self.enter(found)))
                        break
            else:
                waiting.pop()

    # -- mold

    def load_like_mold(self) -> None:
        """Objects first, then archive members in the order of the command line; of two definitions the earlier file's counts."""
        order: dict[tuple[Path, int], int] = {}
        certain: list[Object] = []
        for file in self.inputs.files:
            if file.kind == "object":
                certain.append(self.read(file.path, "", read_bytes(file.path)))
            elif file.kind == "archive":
                archive = self.archive(file.path)
                for member in archive.members:
                    order.setdefault((file.path, member.position), len(order))
                    if file.whole:
                        found = self.take(archive, member)
                        if found is not None:
                            certain.append(found)
                if not file.whole:
                    members = {member.position: member for member in archive.members}
                    for name, header in archive.index or ():
                        self.lazy.setdefault(name, (archive, members[header]))
        for file in self.inputs.files:
            if file.kind == "shared":
                self.add_library(file)
        extracted: list[tuple[int, Object]] = []
        waiting = [*map(str.encode, (*self.inputs.undefined, self.inputs.entry)), *sorted(self.shared_undefined)]
        defined: set[bytes] = set()
        for found in certain:
            waiting += self._requests(found, defined)
        while waiting:
            name = waiting.pop()
            if name in defined or name not in self.lazy:
                continue
            archive, member = self.lazy[name]
            taken = self.take(archive, member)
            if taken is not None:
                extracted.append((order[archive.path, member.position], taken))
                waiting += self._requests(taken, defined)
        for found in (*certain, *(found for _, found in sorted(extracted, key=lambda pair: pair[0]))):
            self.enter(found)

    def _requests(self, added: Object, defined: set[bytes]) -> Iterable[bytes]:
        if added.symbols is None:
            return []
        sections = added.symbols.section[added.globals].tolist()
        bindings = added.symbols.binding[added.globals].tolist()
        defined.update(name for name, section in zip(added.names, sections, strict=True) if section)
        return [name for name, section, binding in zip(added.names, sections, bindings, strict=True) if not section and binding != STB_WEAK]

    # -- the result

    def result(self) -> Loaded:
        numbers: dict[bytes, int] = {}
        ids = tuple(
            np.array([numbers.setdefault(name, len(numbers)) for name in found.names], np.int32).reshape(-1) for found in self.objects
        )
        strength = np.zeros(len(numbers), np.int8)
        definition = np.full((len(numbers), 2), -1, np.int32)
        for i, (found, global_ids, lost) in enumerate(zip(self.objects, ids, self.discarded, strict=True)):
            table = found.symbols
            if table is not None and len(global_ids):
                _define(i, table, found, global_ids, lost, strength, definition)
        names = list(numbers)
        in_shared = np.fromiter((name in self.shared_defined for name in names), bool, len(names))
        from_shared = np.fromiter((name in self.shared_undefined for name in names), bool, len(names))
        return Loaded(
            self.inputs,
            self.machine,
            tuple(self.objects),
            numbers,
            ids,
            definition,
            in_shared,
            from_shared,
            tuple(self.discarded),
            self.providers,
        )


def _define(
    number: int,
    table: SymbolTable,
    found: Object,
    ids: npt.NDArray[np.int32],
    lost: frozenset[int],
    strength: npt.NDArray[np.int8],
    definition: npt.NDArray[np.int32],
) -> None:
    """The first of the strongest definitions counts."""
    section = table.section[found.globals]
    kept = section != 0
    if lost:
        kept &= ~np.isin(section, np.fromiter(lost, np.int32, len(lost)))
    force = np.where(section == -14, COMMON, np.where(table.binding[found.globals] == STB_WEAK, WEAK, STRONG)).astype(np.int8)
    better = np.flatnonzero(kept & (force > strength[ids]))
    # One object may name a symbol twice (foo and foo@@V): the first stays.
    _, first = np.unique(ids[better], return_index=True)
    better = better[first]
    strength[ids[better]] = force[better]
    definition[ids[better], 0] = number
    definition[ids[better], 1] = found.globals[better]
