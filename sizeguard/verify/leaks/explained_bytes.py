"""Verdicts on executable bytes, and on their input files."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    PASS,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.formats.elf import ET_REL, Elf, Section, read_elf
from sizeguard.formats.elf.needed import (
    INTERPRETER,
    SEARCH_PATH,
    library_name,
    needed_libraries,
)
from sizeguard.formats.linkmap.link_map import file_key
from sizeguard.verify.evidence.code_search import is_padding
from sizeguard.verify.evidence.evidence import Evidence, as_macho
from sizeguard.verify.evidence.object_evidence import ObjectFile, read_objects
from sizeguard.verify.evidence.placement import Node, toolchain_files
from sizeguard.verify.leaks.toolchain_files import is_of_toolchain, is_system_library

UNEXPLAINED = "code that the map does not explain"
FRAGMENTS = "code in .init and .fini besides the toolchain's"
STRANGERS = "inputs that the build's record does not have"

# The linker writes these itself: calls into shared libraries.
_LINKERS_OWN = re.compile(r"\.i?plt(\.\w+)?|__TEXT,__(stubs|stub_helper|objc_stubs|auth_stubs)")
_STUBS = ("linker stubs", "<internal>")  # names in maps for the file of code that a linker adds
# crti.o and crtn.o begin and end the functions in .init and .fini.
_BRACKETS = re.compile(r"crt[in]\.o")
_ANDROID = "/system/"  # its interpreter is /system/bin/linker64
_MOST_SHOWN = 4


def judge_explained(evidence: Evidence) -> Iterator[Verdict]:
    """Judge that the recorded inputs and the toolchain account for all code of the image."""
    if evidence.image.type == ET_REL or not evidence.own:
        return  # nothing is linked yet, or nothing was given
    if not evidence.placement.has_map:
        for name in (UNEXPLAINED, STRANGERS):
            yield _undecided(name, "without a map, the places of the sections are unknown")
        return
    yield _explained(evidence)
    yield _fragments(evidence)
    yield _strangers(evidence)


def _explained(evidence: Evidence) -> Verdict:
    found = [
        (address, size, section.name)
        for section in evidence.shipped.sections
        if section.is_executable and section.is_allocated and section.file_size
        for address, size in _unexplained(evidence, section)
    ]
    if not found:
        note = "all code belongs to sections of the link's inputs, or is padding"
        return Verdict("section", UNEXPLAINED, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (note,))
    notes = tuple(
        f"{size} bytes at {address:#x} in {name} belong to no input of the link"
        for address, size, name in found[:_MOST_SHOWN]
    )
    if evidence.lacks_inputs:
        return Verdict("section", UNEXPLAINED, ABSENT, INCONCLUSIVE, UNKNOWN, 0, evidence.gaps)
    total = sum(size for _, size, _ in found)
    return _failed(UNEXPLAINED, total, notes, "written by the linker, or changed after linking")


def _unexplained(evidence: Evidence, section: Section) -> Iterator[tuple[int, int]]:
    """Yield the parts of a section of code that are neither an input's nor padding."""
    if _LINKERS_OWN.fullmatch(section.name):
        return
    start, end = section.address, section.address + section.file_size
    data = np.frombuffer(evidence.shipped.content(section), np.uint8)
    is_free = np.ones(end - start, np.bool_)
    for node, address in evidence.placement.address.items():
        if start <= address < end:
            size = evidence.placement.section(node).size
            is_free[address - start : address - start + size] = False
    for low, high in _stubs(evidence):
        is_free[max(low - start, 0) : max(high - start, 0)] = False
    if not is_padding(data[is_free].tobytes()):  # reads files, so only if something is left
        for address, size in _unlisted(evidence):
            is_free[max(address - start, 0) : max(address + size - start, 0)] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_free, [False]]).astype(np.int8)))
    for low, high in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if not is_padding(data[low:high].tobytes()):
            yield start + low, high - low


def _unlisted(evidence: Evidence) -> Iterator[tuple[int, int]]:
    """Yield the places of the toolchain's code without an address in the map.

    gold's map has 0xffffffffffffffff for the last section before its own stubs; it lists empty
    sections of the same object.
    """
    if evidence.link_map is None or evidence.link_map.linker != "gold":
        return
    placed = {row.file for row in evidence.link_map.placed}
    names = {row.file for row in evidence.link_map.discarded} - placed
    paths, _ = toolchain_files(sorted(names), evidence.image.path.parent)
    keys = {file_key(name) for name in names}
    read = read_objects(path for path in paths if is_of_toolchain(str(path))).files
    others = [file for file in read if file_key(file.label) in keys]
    for file in (*evidence.objects.files[evidence.own :], *others):
        for section in file.elf.sections:
            if section.is_executable and section.file_size:
                for address in evidence.shipped_bytes.find(file.pattern(section)):
                    yield address, section.size


def _stubs(evidence: Evidence) -> Iterator[tuple[int, int]]:
    """Yield the ranges of code that the linker added to reach distant code."""
    for row in evidence.link_map.placed if evidence.link_map is not None else ():
        if row.file in _STUBS:
            yield row.address, row.address + row.size


def _fragments(evidence: Evidence) -> Verdict:
    places = [
        (section.address, section.address + section.size)
        for section in evidence.shipped.sections
        if section.name in (".init", ".fini")
    ]
    found: list[tuple[Node, int]] = []
    for node, address in evidence.placement.address.items():
        if any(low <= address < high for low, high in places):
            name = _file_name(evidence, node[0])
            if node[0] < evidence.own or not _BRACKETS.fullmatch(name):
                found.append((node, address))
    if not found:
        note = "only crti.o and crtn.o have code there"
        return Verdict("section", FRAGMENTS, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (note,))
    notes = tuple(
        f"{evidence.placement.section(node).size} bytes at {address:#x}:"
        f" {evidence.placement.section(node).name} of {evidence.objects.files[node[0]].label}"
        for node, address in found[:_MOST_SHOWN]
    )
    total = sum(evidence.placement.section(node).size for node, _ in found)
    return _failed(FRAGMENTS, total, notes, "runs at start-up or exit, in no function")


def _file_name(evidence: Evidence, number: int) -> str:
    file = evidence.objects.files[number]
    return (file.member or file.path.name).rpartition("/")[2]


def _strangers(evidence: Evidence) -> Verdict:
    """Judge the files in the map but not in the record, which must be the toolchain's."""
    sizes: dict[str, int] = {}
    for node in evidence.placement.address:
        file = evidence.objects.files[node[0]]
        if node[0] >= evidence.own and not is_of_toolchain(str(file.path), _code_of(file)):
            size = evidence.placement.section(node).size
            sizes[file.label] = sizes.get(file.label, 0) + size
    if sizes:
        notes = tuple(f"{size} bytes of {label}" for label, size in sizes.items())
        return _failed(
            STRANGERS,
            sum(sizes.values()),
            notes[:_MOST_SHOWN],
            "linked, but not among the objects of the build's record",
        )
    if unlisted := _unlisted_lto_inputs(evidence):
        notes = tuple(f"the linker compiled {path}" for path in unlisted[:_MOST_SHOWN])
        cause = "linked by LTO, but not among the inputs of the build's record"
        return _failed(STRANGERS, 0, notes, cause)
    if unread := other_libraries(evidence):
        notes = tuple(
            f"the image needs {path}, whose code is not among the objects" for path in unread
        )
        return Verdict("section", STRANGERS, ABSENT, INCONCLUSIVE, UNKNOWN, 0, notes[:_MOST_SHOWN])
    if evidence.link_doubt:
        return _undecided(STRANGERS, evidence.link_doubt)
    note = "the map names only files of the record and of the toolchain"
    return Verdict("section", STRANGERS, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (note,))


def _code_of(file: ObjectFile) -> int:
    return sum(section.size for section in file.elf.sections if section.is_executable)


def _unlisted_lto_inputs(evidence: Evidence) -> list[Path]:
    """List the files that the linker compiled and that the build's record does not have.

    Their code is in the objects that LTO generates, so no place in the map has their name.
    """
    if evidence.lto_inputs is None or not evidence.has_lto:
        return []
    known = {path.resolve() for path in evidence.lto_inputs}
    return [path for path in evidence.compiled or () if path.resolve() not in known]


def other_libraries(evidence: Evidence) -> tuple[str, ...]:
    """List the shared libraries that an image needs and that are not the system's."""
    macho = as_macho(evidence.shipped)
    if macho is not None:
        # A system's library is a text (.tbd) for the linker, whatever install name another one has.
        rows = evidence.link_map.placed if evidence.link_map is not None else ()
        read = {row.file for row in rows if row.file.endswith(".dylib")}
        names = sorted({*macho.macho.dylibs, *read})
        return tuple(name for name in names if not is_system_library(name))
    shipped = evidence.shipped
    if not isinstance(shipped, Elf):
        return ()
    needed = [name for name in needed_libraries(shipped) if not name.startswith(SEARCH_PATH)]
    # A library without a name of its own is needed by its path on the command line.
    files = {name.rpartition("/")[2] for name in needed}
    folders = _of_the_build(evidence)
    linked = list(dict.fromkeys(map(os.path.normpath, evidence.linked.libraries)))
    found = [
        path
        for path in linked
        if not is_system_library(path) or any(map(Path(path).is_relative_to, folders))
    ]
    found = [path for path in found if _is_needed(Path(path), files)]
    return (*found, *_loaded_only(needed, linked))


def _loaded_only(needed: Sequence[str], linked: Sequence[str]) -> Iterator[str]:
    """Yield the libraries and interpreters that the linker did not read, and no system has.

    Options name them, such as --audit, --auxiliary and --dynamic-linker.
    """
    known = {own for path in linked for own in (Path(path).name, _name_of(Path(path)))}
    for name in needed:
        path = name.removeprefix(INTERPRETER)
        is_known = path.rpartition("/")[2] in known or path.startswith(_ANDROID)
        if not is_known and not is_system_library(path):
            yield path


def _name_of(library: Path) -> str:
    """Return the soname of a library; empty if it has none, or cannot be read."""
    with contextlib.suppress(InputError):
        return library_name(read_elf(library)).rpartition("/")[2]
    return ""


def _of_the_build(evidence: Evidence) -> set[Path]:
    """Return the folders in which a build may have made a library.

    They are those of the image and the record, and one that contains the image and the folder in
    which it was linked. One such as /home or /usr contains other things, too.
    """
    image, record, linking = evidence.image.path, evidence.record, evidence.linked.folder
    folders = {path.absolute().parent for path in (image, record) if path}
    if linking is not None:
        common = Path(os.path.commonpath([linking.absolute(), image.absolute().parent]))
        if len(common.parts) > len(("/", "home")):
            folders.add(common)
    return folders


def _is_needed(library: Path, needed: Collection[str]) -> bool:
    """Return whether an image needs a library that is not the system's.

    One beside the image is not, whatever its name: the build may have made it. A library of names
    without code stands for the one of its name, as the NDK's do for bionic's.
    """
    own, has_code = "", True
    with contextlib.suppress(InputError):
        elf = read_elf(library)
        own = library_name(elf)
        has_code = any(section.is_executable and section.size for section in elf.sections)
    if not has_code and is_system_library(own):
        return False
    return not {own.rpartition("/")[2], library.name}.isdisjoint(needed)


def _failed(name: str, size: int, notes: tuple[str, ...], cause: str) -> Verdict:
    return Verdict("section", name, ABSENT, FAIL, STILL_THERE, size, notes, (), cause)


def _undecided(name: str, note: str) -> Verdict:
    return Verdict("section", name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (note,))
