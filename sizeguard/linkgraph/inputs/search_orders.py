"""Orders in which linkers search archives, which decide which members they load.

GNU ld and gold search an archive's index when they reach it, and again while members are loaded.
lld remembers which symbols archives could define and loads a member as soon as one is requested.
mold resolves everything first, and follows undefined symbols from the objects on the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from sizeguard.formats.archive import Archive
from sizeguard.formats.elf import STB_WEAK, read_bytes
from sizeguard.linkgraph.inputs.link_inputs import LinkInput
from sizeguard.linkgraph.inputs.link_state import LAZY, NEW, UNDEFINED, UNDEFINED_WEAK, LinkState
from sizeguard.linkgraph.inputs.objects import Object


def load_like_gnu(link: LinkState) -> None:
    """Load files as GNU ld and gold do: in order, repeating groups until no object is added."""
    for group, files in groupby(link.inputs.files, key=lambda file: file.group):
        members = list(files)
        before = -1
        while before < len(link.objects):
            before = len(link.objects)
            for file in members:
                _add_like_gnu(link, file)
            if not group:
                break


def _add_like_gnu(link: LinkState, file: LinkInput) -> None:
    if file.kind == "object":
        if (file.path, -1) not in link.taken or not file.group:
            link.taken.add((file.path, -1))
            link.enter(link.read(file.path, "", read_bytes(file.content)))
    elif file.kind == "shared":
        if link.is_needed(file):
            link.add_library(file)
    elif file.whole:
        for found in link.take_all(link.archive(file)):
            link.enter(found)
    else:
        _search(link, link.archive(file))


def _search(link: LinkState, archive: Archive) -> None:
    """Load members that define requested symbols, until there are none."""
    members = {member.position: member for member in archive.members}
    again = True
    while again:
        again = False
        for name, header in archive.index or ():
            if link.state.get(name) == UNDEFINED:
                found = link.take(archive, members[header])
                if found is not None:
                    link.enter(found)
                    again = True


def load_like_lld(link: LinkState) -> None:
    """Load files as lld does: members as soon as they are requested, in any order."""
    for file in link.inputs.files:
        if file.kind == "object":
            _load_deep(link, link.read(file.path, "", read_bytes(file.content)))
        elif file.kind == "shared":
            for name in link.add_library(file):
                _extract(link, name)
        elif file.whole:
            for found in link.take_all(link.archive(file)):
                _load_deep(link, found)
        else:
            _add_lazy(link, link.archive(file))


def _add_lazy(link: LinkState, archive: Archive) -> None:
    """Load the requested members; remember the others."""
    members = {member.position: member for member in archive.members}
    for name, header in archive.index or ():
        known = link.state.get(name, NEW)
        if known == UNDEFINED:
            found = link.take(archive, members[header])
            if found is not None:
                _load_deep(link, found)
        elif known in (NEW, UNDEFINED_WEAK) and (archive.path, header) not in link.taken:
            link.state[name] = LAZY
            link.lazy[name] = (archive, members[header])


def _extract(link: LinkState, name: bytes) -> None:
    if link.state.get(name) == LAZY:
        found = link.take(*link.lazy[name])
        if found is not None:
            _load_deep(link, found)


def _load_deep(link: LinkState, added: Object) -> None:
    """Add an object and then, depth first, the members that define the symbols it requests."""
    waiting = [iter(link.enter(added))]
    while waiting:
        for name in waiting[-1]:
            if link.state.get(name) == LAZY:
                found = link.take(*link.lazy[name])
                if found is not None:
                    waiting.append(iter(link.enter(found)))
                    break
        else:
            waiting.pop()


def load_like_mold(link: LinkState) -> None:
    """Load files as mold does: objects first, then members in command-line order.

    The definition in the earlier file counts.
    """
    order: dict[tuple[Path, int], int] = {}
    certain = list(_certain_objects(link, order))
    for file in link.inputs.files:
        if file.kind == "shared":
            link.add_library(file)
    for found in (*certain, *_requested_members(link, certain, order)):
        link.enter(found)


def _certain_objects(link: LinkState, order: dict[tuple[Path, int], int]) -> Iterator[Object]:
    """Read objects and whole archives; remember the first definition of each name in others.

    order: filled with the command-line position of each member
    """
    for file in link.inputs.files:
        if file.kind == "object":
            yield link.read(file.path, "", read_bytes(file.content))
        elif file.kind == "archive":
            archive = link.archive(file)
            for member in archive.members:
                order.setdefault((file.path, member.position), len(order))
            if file.whole:
                yield from link.take_all(archive)
            else:
                members = {member.position: member for member in archive.members}
                for name, header in archive.index or ():
                    link.lazy.setdefault(name, (archive, members[header]))


def _requested_members(
    link: LinkState, certain: list[Object], order: dict[tuple[Path, int], int]
) -> list[Object]:
    """Read the members that are requested, directly or indirectly, in the order of the files."""
    waiting = [
        *map(str.encode, (*link.inputs.undefined, link.inputs.entry)),
        *sorted(link.shared_undefined),
    ]
    defined: set[bytes] = set()
    for found in certain:
        waiting += _requests(found, defined)
    extracted: list[tuple[int, Object]] = []
    while waiting:
        name = waiting.pop()
        if name in defined or name not in link.lazy:
            continue
        archive, member = link.lazy[name]
        taken = link.take(archive, member)
        if taken is not None:
            extracted.append((order[archive.path, member.position], taken))
            waiting += _requests(taken, defined)
    return [found for _, found in sorted(extracted, key=lambda pair: pair[0])]


def _requests(added: Object, defined: set[bytes]) -> list[bytes]:
    """Return the names that an object strongly requests; add its definitions to `defined`."""
    if added.symbols is None:
        return []
    sections = added.symbols.section[added.globals].tolist()
    bindings = added.symbols.binding[added.globals].tolist()
    defined.update(name for name, section in zip(added.names, sections, strict=True) if section)
    return [
        name
        for name, section, binding in zip(added.names, sections, bindings, strict=True)
        if not section and binding != STB_WEAK
    ]
