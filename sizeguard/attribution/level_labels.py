"""Labels of rows for the levels besides the operator."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.inherited import inherited_components
from sizeguard.attribution.owner_rows import OwnerRows, at, first_known
from sizeguard.attribution.size_report import SHARED, UNATTRIBUTED
from sizeguard.attribution.teams.team_levels import source_of_object
from sizeguard.columns.distinct import distinct
from sizeguard.columns.joined_texts import JoinedTexts
from sizeguard.columns.label import Label, used_texts
from sizeguard.columns.pool import Pool
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.ledger.kinds import ANALYZER, ANALYZERS, KIND, KINDS
from sizeguard.ledger.ledger import Ledger

if TYPE_CHECKING:
    from sizeguard.attribution.owners.branches import Branched
    from sizeguard.attribution.owners.placed_owners import PlacedOwners
    from sizeguard.formats.dwarf.sources import UnitSources
    from sizeguard.names.labels import NameLabels

NEUTRAL = "neutral"


def kernels(
    rows: OwnerRows, names: NameLabels, operator: Label, placed: PlacedOwners | None
) -> Label:
    """Label rows with the kernel in their name, else with their operator's kernels."""
    pool = Pool()
    of_symbol = rows.of_symbol(names.kernel.ids)
    ids = pool.add(names.kernel.texts, used=names.kernel.ids)[of_symbol]
    if placed is not None:
        operators = (operator.texts[i] for i in range(len(operator.texts)))
        by_operator = [pool.number(placed.reached.kernels.get(text, "")) for text in operators]
        ids = first_known(ids, np.array(by_operator, np.int32)[operator.ids])
    return pool.label(ids)


def dtypes(rows: OwnerRows, names: NameLabels, operator: Label, branched: Branched | None) -> Label:
    """Label rows with their dtype.

    Code of operators without a dtype is neutral: it serves all of them.
    """
    pool = Pool()
    ids = rows.of_symbol(pool.add(names.dtype.texts, used=names.dtype.ids)[names.dtype.ids])
    if branched is not None:
        of_branch = np.array([pool.number(text) for text in branched.dtypes] or [0], np.int32)
        ids = first_known(ids, at(of_branch, rows.of_owner(branched.dtype)))
    operators = [operator.texts[i] for i in range(len(operator.texts))]
    is_operator = np.array([_is_operator(text) for text in operators], bool)
    left = np.flatnonzero((ids == 0) & rows.has_kind(["code"]))
    ids[left] = np.where(is_operator[operator.ids[left]], pool.number(NEUTRAL), 0)
    return pool.label(ids)


def _is_operator(text: str) -> bool:
    return text == SHARED or not (text.startswith("(") or text in ("", UNATTRIBUTED))


def components_of_symbols(
    ledger: Ledger, spelled: Texts, names: NameLabels, libraries: Iterable[str]
) -> Label:
    """Label the ledger's symbols with their component.

    spelled: the symbols' names as ELF spells them

    Names without a meaning get the component of the symbols around them, if it is in `libraries`.
    """
    label = names.component
    if not len(label.ids):
        return Label(label.ids, Texts.of([""]))
    known = set(libraries)
    is_library = np.zeros(len(label.texts), np.bool_)
    used = used_texts(label).tolist()  # the levels of names share a table of 21,000 texts
    is_library[[i for i in used if label.texts[i] in known]] = True
    ids = inherited_components(spelled, label.ids, _code_in_place(ledger), is_library)
    return Label(ids, label.texts)


def _code_in_place(ledger: Ledger) -> Int:
    """Return the symbols of code, sorted by place in the image.

    Owners of one section are already in that order.
    """
    owners = ledger.owners
    rows = np.flatnonzero((owners.symbol >= 0) & (owners.kind == KIND["code"]))
    found: Int = owners.symbol[rows].astype(np.int64)
    return found


def kinds(rows: OwnerRows) -> Label:
    """Label rows with their kind of content."""
    return Label(rows.of_owner(rows.ledger.owners.kind), Texts.of(KINDS))


def analyzers(rows: OwnerRows) -> Label:
    """Label rows with the analyzer that found their owner."""
    return Label(rows.of_owner(rows.ledger.owners.analyzer), Texts.of(ANALYZERS))


def sections(rows: OwnerRows) -> Label:
    """Label rows with their section."""
    return Label(rows.of_owner(rows.ledger.owners.section), Texts.of(rows.ledger.sections))


def segments(rows: OwnerRows) -> Label:
    """Label rows with their segment; empty outside segments."""
    segment = rows.of_owner(rows.ledger.owners.segment)
    return Label((segment + 1).astype(np.int32), Texts.of(["", *rows.ledger.segments]))


def objects(rows: OwnerRows) -> Label:
    """Label rows with their object file; empty for merged sections and without a linker map.

    Temporary objects of a compiler that also links have random names, which no other build has.
    """
    # imported here, since most reports have no objects: 1 ms
    from sizeguard.attribution.owners.object_names import lasting_name

    pool = Pool()
    files = [
        "" if section.is_merged else lasting_name(section.file) for section in rows.ledger.inputs
    ]
    of_input = np.array([pool.number(file) for file in files] or [0], np.int32)
    return pool.label(at(of_input, rows.of_owner(rows.ledger.owners.input)))


def constant(rows: OwnerRows, text: str) -> Label:
    """Label all rows with the same text."""
    return Label(rows.of_owner(np.zeros(len(rows.ledger.owners), np.int32)), Texts.of([text]))


def sources(rows: OwnerRows, read: UnitSources, objects: Label) -> Label:
    """Label rows with the source file of their code, else with the source of their object.

    The source of an object is what its name says, with the folders of its code's source.
    """
    memory = rows.ledger.memory
    owners, first = np.unique(memory.owner, return_index=True)
    file = np.full(len(rows.ledger.owners), -1, np.int32)
    file[owners] = read.at(memory.address[first])
    pool = Pool()
    names = np.array([pool.number(name) for name in read.names] or [0], np.int32)
    own = at(names, rows.of_owner(file))
    known = np.flatnonzero(own)
    compiled: dict[int, set[str]] = {}
    for pair in distinct(objects.ids[known].astype(np.int64) << 32 | own[known]).tolist():
        compiled.setdefault(pair >> 32, set()).add(pool.texts[pair & 0xFFFFFFFF])
    by_object = [
        pool.number(_source_of(objects.texts[i], compiled.get(i, set())))
        for i in range(len(objects.texts))
    ]
    return pool.label(first_known(own, np.array(by_object or [0], np.int32)[objects.ids]))


def _source_of(path: str, compiled: set[str]) -> str:
    """Return the source of an object.

    compiled: sources of its code; folded functions may have those of other objects
    """
    name = source_of_object(path)
    same = [each for each in compiled if name and _may_make(each, name)]
    return same[0] if len(same) == 1 else name


def _may_make(source: str, name: str) -> bool:
    """Return whether an object's name is its source's: f.c.o by CMake, f.o by make, for a/f.c."""
    stem = posixpath.splitext(posixpath.basename(source))[0]
    return f"/{source}".endswith(f"/{name}") or stem == posixpath.basename(name)


def symbols(rows: OwnerRows) -> Label:
    """Label rows with their name in the symbol table.

    Rows without a name get, in brackets, the place of their function, their input section, or their
    section.
    """
    ledger = rows.ledger
    nameless = np.flatnonzero(rows.symbol < 0)
    place, places = _places(ledger, rows.owner(nameless))
    # Symbols are distinct already, so only the places are merged.
    count = len(ledger.symbols)
    more = Texts.of(places)
    texts = JoinedTexts(ledger.symbols, more)
    hashes = hash_texts(more)
    _, first, same = np.unique(hashes, return_index=True, return_inverse=True)
    ids = rows.symbol.copy()
    ids[nameless] = first[same][place] + count
    ids = ids.astype(np.int32, copy=False)
    known = ledger.make_hash_order()
    rank = np.searchsorted(ledger.hashes, hashes[first], sorter=known)
    if count and (ledger.hashes[known[np.minimum(rank, count - 1)]] == hashes[first]).any():
        return Label(ids, texts)  # a symbol is named like a place
    order = np.insert(known, rank, first + count)
    return Label(ids, texts, np.concatenate([ledger.hashes, hashes]), order)


def _places(ledger: Ledger, owner: Int) -> tuple[Int32, list[str]]:
    """Return the places of some owners' bytes: indices into names, and these names."""
    pool = Pool()
    of_input = [pool.number(f"({section.name})") for section in ledger.inputs]
    of_section = [pool.number(f"({name.strip('()')})" if name else "") for name in ledger.sections]
    inputs, sections = (np.array(ids or [0], np.int32) for ids in (of_input, of_section))
    owners = ledger.owners
    found = at(sections, owners.some("section", owner))
    if ledger.inputs:
        found = first_known(at(inputs, owners.input[owner]), found)
    if len(ledger.parts):
        analyzer = owners.analyzer[owner]
        for name, before, after in (("function starts", "(", ")"), ("function table", "", "")):
            rows = np.flatnonzero(analyzer == ANALYZER[name])
            part = owners.some("part", owner[rows])
            texts = pool.add(ledger.parts, before, after, part[part >= 0])
            found[rows] = first_known(at(texts, part), found[rows])
    return found, pool.texts
