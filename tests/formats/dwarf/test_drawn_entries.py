"""Drawn trees of entries are read as they were written, and damaged ones are refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.texts import Int
from sizeguard.formats.dwarf.case_aliases import branch_aliases
from sizeguard.formats.dwarf.debug_info import DwarfError, Info
from sizeguard.formats.dwarf.entry_names import NONE, EntryNames
from sizeguard.formats.dwarf.inline_tree import read_tree
from sizeguard.formats.dwarf.noreturn import noreturn_declarations
from sizeguard.formats.dwarf.scoped_names import scoped_names
from sizeguard.formats.dwarf.sources import unit_sources
from sizeguard.formats.dwarf.unit_scopes import scopes_of, types_of, uses_of_aliases
from tests.support.images.drawn_dwarf import (
    CLASS,
    CODE,
    FILES,
    FUNCTION,
    INLINED,
    MEMBER,
    NAMESPACE,
    PARAMETER,
    POINTER,
    TYPEDEF,
    VARIABLE,
    DrawnUnit,
    Entry,
    Order,
    written,
)

TOP = -2
CHAIN = 16  # entries that a name is looked for in


def entries_of(units: list[DrawnUnit]) -> list[Entry]:
    return [entry for unit in units for top in unit.entries for entry in top.walk()]


def places_of(entries: list[Entry]) -> Int:
    return np.array([entry.place for entry in entries], np.int64)


def covered(entry: Entry, version: int) -> list[tuple[int, int]]:
    """Return an entry's ranges in code, cut at its end."""
    found = []
    for low, size in entry.spans if entry.has_list else entry.spans[:1]:
        if entry.has_list and version < 5 and low == size == 0:
            break  # the end of a list
        if size and CODE[0] <= low < CODE[1]:
            found.append((low, min(low + size, CODE[1])))
    return found


class Tree:
    """The functions with code and those inlined into them, by recursion."""

    def __init__(self, units: list[DrawnUnit]) -> None:
        self.nodes: list[tuple[int, int, int]] = []  # parent, depth, entry
        self.rows: list[tuple[int, int, int]] = []
        for unit in units:
            for entry in unit.entries:
                self.visit(entry, TOP, unit.version)

    def visit(self, entry: Entry, around: int, version: int) -> None:
        inner = around
        is_placed = entry.has_list or bool(entry.spans)
        if entry.tag == CLASS:
            if around == TOP and entry.has_sibling and entry.children is not None:
                return
            inner = TOP if around == TOP else NONE
        elif entry.tag == FUNCTION:
            inner = self.add(entry, NONE, version) if is_placed else NONE
        elif entry.tag == INLINED and is_placed and around >= 0:
            inner = self.add(entry, around, version)
        for child in entry.children or ():
            self.visit(child, inner, version)

    def add(self, entry: Entry, around: int, version: int) -> int:
        spans = covered(entry, version)
        if not spans:
            return around
        number = len(self.nodes)
        named = entry.origin_entry if entry.tag == INLINED else None
        depth = self.nodes[around][1] + 1 if around != NONE else 0
        self.nodes.append((around, depth, (named or entry).place))
        self.rows += [(low, high, number) for low, high in spans]
        return number


@given(FILES)
def test_the_tree_of_functions_is_read(drawn: tuple[list[DrawnUnit], Order]) -> None:
    info = Info(written(*drawn), drawn[1])
    found, wanted = read_tree(info, [CODE]), Tree(drawn[0])
    columns = (found.parent, found.depth, found.entry)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == wanted.nodes
    columns = (found.low, found.high, found.node)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == wanted.rows


def chain(entry: Entry) -> Iterator[Entry]:
    here: Entry | None = entry
    for _ in range(CHAIN):
        if here is None:
            return
        yield here
        here = here.origin_entry


@given(FILES)
def test_names_are_those_of_the_entries_that_entries_refer_to(
    drawn: tuple[list[DrawnUnit], Order],
) -> None:
    info = Info(written(*drawn), drawn[1])
    entries = entries_of(drawn[0])
    places = places_of(entries)
    names = EntryNames(info, places)
    sources = [next((e.name for e in chain(entry) if e.name), b"") for entry in entries]
    linkages = [next((e.linkage for e in chain(entry) if e.linkage), b"") for entry in entries]
    assert names.sources(places) == sources
    assert names.linkages(places) == [entry.linkage or b"" for entry in entries]
    both = zip(linkages, sources, strict=True)
    assert names.of(places) == [linkage or source for linkage, source in both]
    known = places[::3]
    wanted = [next((e.place for e in chain(entry) if e.place in known), NONE) for entry in entries]
    at = names.first_of(places, known)
    assert np.where(at == NONE, NONE, np.append(known, 0)[at]).tolist() == wanted


def scoped(entry: Entry, function: int, structure: int) -> Iterator[tuple[Entry, int, int]]:
    """Yield the entries with the function around them, and the class that they are directly in."""
    yield entry, function, structure
    is_function = entry.tag == FUNCTION and not entry.is_declaration
    inner = entry.place if is_function else function
    for child in entry.children or ():
        yield from scoped(child, inner, entry.place if entry.tag == CLASS else NONE)


@given(FILES)
def test_scopes_are_read(drawn: tuple[list[DrawnUnit], Order]) -> None:
    info = Info(written(*drawn), drawn[1])
    for number, unit in enumerate(drawn[0]):
        rows = [row for top in unit.entries for row in scoped(top, NONE, NONE)]
        found = scopes_of(info, number)
        assert list(zip(found.function.tolist(), found.parent.tolist(), strict=True)) == [
            (e.place, function)
            for e, function, _ in rows
            if e.tag == FUNCTION and not e.is_declaration
        ]
        columns = (found.typedef.tolist(), found.holder.tolist(), found.around.tolist())
        assert list(zip(*columns, strict=True)) == [
            (e.place, structure, function)
            for e, function, structure in rows
            if e.tag == TYPEDEF and (structure, function) != (NONE, NONE)
        ]
        assert found.uses.tolist() == [
            [function, e.type_entry.place]
            for e, function, _ in rows
            if e.tag in (PARAMETER, MEMBER, VARIABLE) and function != NONE and e.type_entry
        ]


def built_from(entry: Entry | None, aliases: set[int]) -> int:
    for _ in range(64):
        if entry is None:
            return NONE
        if entry.place in aliases:
            return entry.place
        entry = entry.type_entry
    return NONE


@given(FILES)
def test_uses_of_aliases_are_found(drawn: tuple[list[DrawnUnit], Order]) -> None:
    info = Info(written(*drawn), drawn[1])
    entries = {entry.place: entry for entry in entries_of(drawn[0])}
    assert types_of(info, np.array([*entries], np.int64)).tolist() == [
        entry.type_entry.place if entry.type_entry else NONE for entry in entries.values()
    ]
    for number in range(len(drawn[0])):
        uses = scopes_of(info, number).uses
        start, end = info.units["start"][number], info.units["end"][number]
        own = [each for each in entries.values() if start <= each.place < end]
        aliases = {each.place for each in own if each.tag == TYPEDEF}
        wanted = {(user, built_from(entries[type_], aliases)) for user, type_ in uses.tolist()}
        found = uses_of_aliases(info, number, np.array(sorted(aliases), np.int64), uses)
        assert found.tolist() == sorted([u, alias] for u, alias in wanted if alias != NONE)


def made(tag: int, children: list[Entry] | None = None, **given: Any) -> Entry:
    """Make an entry with few attributes."""
    forms = ("string", "addr", "data8", "ref4")
    plain = Entry(tag, None, None, [], False, None, None, False, False, [], forms, children)
    return replace(plain, **given)


def test_a_use_is_found_through_several_types() -> None:
    variable = made(VARIABLE, type=2)
    pointers = [made(POINTER, type=3), made(POINTER, type=4), made(POINTER, type=5)]
    alias = made(TYPEDEF)
    function = made(FUNCTION, [variable])
    unit = DrawnUnit(4, 8, 4, [function, *pointers, alias])
    info = Info(written([unit], "little"), "little")
    uses = scopes_of(info, 0).uses
    found = uses_of_aliases(info, 0, np.array([alias.place], np.int64), uses)
    assert found.tolist() == [[function.place, alias.place]]
    assert not len(uses_of_aliases(info, 0, np.array([variable.place], np.int64), uses))


def test_classes_in_code_can_contain_functions() -> None:
    """gcc puts the functions of a class that is local to a function into the class."""
    inner = made(FUNCTION, spans=[(0x2000, 0x20)])
    local = made(CLASS, [made(CLASS, [inner], has_sibling=True)])
    outer = made(FUNCTION, [local], spans=[(0x1000, 0x20)])
    unit = DrawnUnit(4, 8, 4, [outer])
    found = read_tree(Info(written([unit], "little"), "little"), [CODE])
    assert found.entry.tolist() == [outer.place, inner.place]


def outermost(entry: Entry) -> Iterator[Entry]:
    """Yield the functions that are outside of types and functions."""
    if entry.tag == FUNCTION:
        yield entry
    for child in entry.children or () if entry.tag == NAMESPACE else ():
        yield from outermost(child)


@given(FILES)
def test_functions_outside_of_types_are_found(drawn: tuple[list[DrawnUnit], Order]) -> None:
    info = Info(written(*drawn), drawn[1])
    wanted = [e for unit in drawn[0] for top in unit.entries for e in outermost(top)]
    found = noreturn_declarations(info, b"_Z")
    assert found == [("", False) for e in wanted if b"_Z" in (e.linkage or b"")]


def with_scopes(entry: Entry, around: tuple[Entry, ...]) -> Iterator[tuple[Entry, bytes]]:
    """Yield entries with the names of the scopes around them."""
    texts = [text_of(each) for each in around]
    yield entry, b"::".join(texts)
    more = (entry,) if entry.tag in (CLASS, NAMESPACE, FUNCTION) else ()
    for child in entry.children or ():
        yield from with_scopes(child, (*around, *more))


def text_of(scope: Entry) -> bytes:
    name = next((e.name for e in chain(scope) if e.name), b"")
    name = name or (b"(anonymous namespace)" if scope.tag == NAMESPACE else b"{unnamed}")
    return name + b"()" * (scope.tag == FUNCTION)


@given(FILES)
def test_functions_without_linkage_names_get_their_scopes(
    drawn: tuple[list[DrawnUnit], Order],
) -> None:
    info = Info(written(*drawn), drawn[1])
    around = {
        entry.place: text
        for unit in drawn[0]
        for top in unit.entries
        for entry, text in with_scopes(top, ())
    }
    wanted = {}
    for entry in entries_of(drawn[0]):
        named = next((e for e in chain(entry) if e.name), None)
        if named is not None and named.name and not any(e.linkage for e in chain(entry)):
            scopes = around[named.place]
            wanted[entry.place] = scopes + b"::" + named.name + b"()" if scopes else named.name
    places = places_of(entries_of(drawn[0]))
    found = scoped_names(info, EntryNames(info, places), places)
    assert {place: text for place, text in found.items() if place in wanted} == wanted


@given(FILES, st.data())
def test_damaged_sections_are_read_or_refused(
    drawn: tuple[list[DrawnUnit], Order], data: st.DataObject
) -> None:
    sections = written(*drawn)
    name = data.draw(st.sampled_from(sorted(sections)))
    content = bytearray(sections[name])
    for _ in range(data.draw(st.integers(1, 4)) if content else 0):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    read_all(sections | {name: bytes(content)}, drawn[1])


def read_all(sections: dict[str, bytes], order: Order) -> None:
    """Read all that is read of debug information."""
    unit_sources(sections, is_big=order == "big")
    try:
        info = Info(sections, order)
        tree = read_tree(info, [CODE])
        names = EntryNames(info, tree.entry)
        scoped_names(info, names, tree.entry)
        branch_aliases(info, ("ScalarTypeToCppType",))
        noreturn_declarations(info, b"_Z")
    except DwarfError as error:
        assert "\n" not in str(error)


def test_what_is_read_is_refused_if_it_is_cut() -> None:
    """A control of the test above: reading does find damage."""
    shape = b"\1\x11\1\0\0" + b"\2\x2e\0\x11\1\0\0" + b"\0"
    unit = b"\1\2" + bytes(8) + b"\0"
    for size in range(1, len(unit)):
        length = (7 + size).to_bytes(4, "little")
        content = length + b"\4\0" + bytes(4) + b"\x08" + unit[:size]
        sections = {"info": content, "abbrev": shape}
        if 1 < size < len(unit) - 1:
            with pytest.raises(DwarfError, match="is cut"):
                read_tree(Info(sections, "little"), [CODE])
        else:
            assert not len(read_tree(Info(sections, "little"), [CODE]).low)


@pytest.mark.parametrize("depth", [8192, 8193])
def test_entries_are_nested_to_a_bound(depth: int) -> None:
    shapes = b"\1\x11\1\0\0" + b"\2\x39\1\0\0" + b"\0"
    entries = b"\1" + b"\2" * depth + bytes(depth + 1)
    length = (7 + len(entries)).to_bytes(4, "little")
    unit = length + b"\4\0" + bytes(4) + b"\x08" + entries
    info = Info({"info": unit, "abbrev": shapes}, "little")
    behind, first = np.array([len(unit) - depth - 1]), np.zeros(2, np.int64)
    scopes = np.zeros((depth, 2), np.int64)
    for read in (
        lambda: read_tree(info, [CODE]),
        lambda: scopes_of(info, 0),
        lambda: noreturn_declarations(info, b"_Z"),
        lambda: info.call("scopes_around", 0, behind, 1, first, scopes, depth),
    ):
        if depth == 8192:
            read()
        else:
            with pytest.raises(DwarfError, match="nested without end"):
                read()


def test_a_long_name_that_all_types_lead_to_is_not_read_for_ever() -> None:
    """20,000 variables of a type in another unit, whose 2 MB name was read 64 times for each."""
    shapes = b"\1\x11\1\0\0" + b"\2\x2e\1\0\0" + b"\3\x34\0\x49\x10\0\0"
    shapes += b"\4\x16\0\0\0" + b"\5\x0f\0\x03\x08\x49\x10\0\0" + b"\0"
    count, head = 20_000, 11
    pointer = (head + 2 + 5 * count + 3) + head + 1
    reference = pointer.to_bytes(4, "little")
    user = b"\1\2" + (b"\3" + reference) * count + b"\4" + b"\0\0"
    named = b"\1\5" + b"x" * 2_000_000 + b"\0" + reference + b"\0"
    units = b"".join(
        (7 + len(each)).to_bytes(4, "little") + b"\4\0" + bytes(4) + b"\x08" + each
        for each in (user, named)
    )
    info = Info({"info": units, "abbrev": shapes}, "little")
    scopes = scopes_of(info, 0)
    assert len(scopes.uses) == count
    began = time.process_time()
    with pytest.raises(DwarfError, match="names that overlap"):
        uses_of_aliases(info, 0, scopes.typedef, scopes.uses)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("what", ["attributes without bytes", "scopes"])
def test_entries_that_are_made_to_exhaust_are_refused(what: str) -> None:
    """A file of 300 KB took 21 s, and one of 65 KB took 28 s."""
    shapes = b"\1\x11\1\0\0" + b"\2\x39\1\0\0" + b"\3\x2e\0\x03\x08\0\0"
    shapes += b"\4\x34\0" + b"\x3f\x19" * 100_000 + b"\0\0" + b"\0"
    entries = b"\1" + b"\2" * 8000 + b"\3f\0" * 4000 + bytes(8001)
    if what != "scopes":
        entries = b"\1" + b"\4" * 100_000 + b"\0"
    unit = (7 + len(entries)).to_bytes(4, "little") + b"\4\0" + bytes(4) + b"\x08" + entries
    info = Info({"info": unit, "abbrev": shapes}, "little")
    places = 11 + 1 + 8000 + 3 * np.arange(4000)
    began = time.process_time()
    with pytest.raises(DwarfError, match="more attributes or scopes than"):
        if what == "scopes":
            scoped_names(info, EntryNames(info, places), places)
        else:
            read_tree(info, [CODE])
    assert time.process_time() - began < 5
