"""Turns the DWARF of an image into its inline frames: for each range of code the functions that were inlined there."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.errors import InconclusiveError, InputError
from sizeguard.formats import sniff
from sizeguard.formats.elf import Elf, read_elf
from sizeguard.formats.elf.layout import signed
from sizeguard.formats.macho import MachO, read_macho
from sizeguard.formats.macho.dsym import find_dsym
from sizeguard.formats.symcache import NONE, SymCache, parse_symcache
from sizeguard.formats.texts import Int, Texts

PT_LOAD = 1
SHF_COMPRESSED = 0x800
N_STAB, N_TYPE, N_SECT = 0xE0, 0x0E, 0x0E
STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC = 0, 2, 10

DEEPEST = 4096  # frames; real ones stay under 100

# What sections may grow by when they are unpacked: real ones grow two to six times.
_MOST_TIMES, _MOST_MORE = 30, 128 << 20


@dataclass(frozen=True, slots=True)
class Frames:
    """Ranges of code in order, that do not overlap, and the functions over each.

    start, end: int64 addresses, half open
    first:      int64; the frames of range i are frame[first[i]:first[i + 1]], the innermost first, the function itself last
    frame:      int32, index into names
    names:      mangled, as the linker knows them; of functions that it does not know, such as lambdas, as the source has them
    """

    start: Int
    end: Int
    first: Int
    frame: npt.NDArray[np.int32]
    names: Texts

    def __len__(self) -> int:
        return len(self.start)

    @property
    def depth(self) -> Int:
        """How many functions are over each range; 1 where nothing is inlined."""
        return np.diff(self.first)

    def at(self, address: int) -> tuple[str, ...]:
        """The names over an address, the innermost first."""
        i = int(np.searchsorted(self.start, address, side="right")) - 1
        if i < 0 or address >= self.end[i]:
            return ()
        return tuple(self.names[int(name)] for name in self.frame[self.first[i] : self.first[i + 1]])


@dataclass(frozen=True, slots=True)
class _Code:
    """What an image says without DWARF: its executable sections, and which symbol is where. size 0: up to the next symbol."""

    path: Path
    base: int
    sections: tuple[tuple[int, int], ...]
    address: Int
    size: Int
    names: Texts


def inline_frames(path: Path, debug: Path | None = None, arch: str = "") -> Frames:
    """Of an image, or of its debug file or dSYM alone. `debug`: where its debug information is, if not in it or in a dSYM beside it.

    Raises InputError for what is damaged, InconclusiveError if there is no debug information or if it is of another build.
    """
    if sniff.image_format(path) == sniff.MACHO or path.is_dir():
        image, holder = _macho(path, debug, arch)
        code, identity = _macho_code(image), image.uuid
    else:
        elf = read_elf(path)
        code, identity = _elf_code(elf), elf.build_id
        holder = path if debug is None else debug
        _check_elf(elf if debug is None else _same_build(elf, debug))
    return _frames(code, _read(holder, identity if holder != path else "", code))


def _macho(path: Path, debug: Path | None, arch: str) -> tuple[MachO, Path]:
    image = read_macho(path, arch)
    dsym = image if any(section.name == "__debug_info" for section in image.sections) else find_dsym(image, debug)
    if dsym is None:
        raise InconclusiveError(f"{path}: no debug information: it is in the objects; make a dSYM beside it with dsymutil")
    return image, dsym.path


def _same_build(elf: Elf, debug: Path) -> Elf:
    other = read_elf(debug)
    if not elf.build_id or elf.build_id != other.build_id:
        ours, theirs = elf.build_id or "no build id", other.build_id or "no build id"
        raise InconclusiveError(f"{debug}: debug information of another build: it has {theirs}, {elf.path} has {ours}")
    return other


def _check_elf(elf: Elf) -> None:
    """That there is DWARF, that addresses are final, and that compressed sections do not claim to be without end."""
    if elf.is_relocatable:
        raise InputError(f"{elf.path}: an object: its code has no addresses yet; give the linked image")
    found = False
    for section in elf.sections:
        if section.is_nobits or not section.name.startswith((".debug_", ".zdebug_")):
            continue
        found = found or (section.name in (".debug_info", ".zdebug_info") and section.file_size > 0)
        content = elf.view(section)
        claimed = 0
        if section.flags & SHF_COMPRESSED:
            wide = elf.layout.is_64
            layout = struct.Struct((elf.layout.order) + ("8xQ" if wide else "4xI"))
            if len(content) < layout.size:
                raise InputError(f"{elf.path}: damaged debug information: {section.name} is cut")
            (claimed,) = layout.unpack(content[: layout.size].tobytes())
        elif section.name.startswith(".zdebug_"):
            claimed = int.from_bytes(content[4:12].tobytes(), "big")
        if claimed > _MOST_TIMES * len(content) + _MOST_MORE:
            raise InputError(f"{elf.path}: damaged debug information: {section.name} claims {claimed} bytes in {len(content)}")
    if not found:
        raise InconclusiveError(f"{elf.path}: no debug information: build with -g, or name the debug file")


def _elf_code(elf: Elf) -> _Code:
    sections = _extents((s.address, s.size) for s in elf.sections if s.is_allocated and s.is_executable and s.size)
    base = signed(next((segment.address for segment in elf.segments if segment.type == PT_LOAD), 0))
    tables = elf.static_symbols or elf.dynamic_symbols
    if not tables:
        return _Code(elf.path, base, sections, np.zeros(0, np.int64), np.zeros(0, np.int64), Texts.of(()))
    table = tables[0]
    is_code = np.isin(table.type, (STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC)) & (table.section > 0) & _inside(table.address, sections)
    wanted = np.flatnonzero(is_code)
    # Of names of one address the sized before labels, the global before the local, the first before the next.
    order = np.lexsort((wanted, table.binding[wanted] == 0, table.size[wanted] == 0, table.address[wanted]))
    wanted = wanted[order]
    wanted = wanted[np.append(True, table.address[wanted][1:] != table.address[wanted][:-1])] if len(wanted) else wanted
    return _Code(elf.path, base, sections, table.address[wanted], table.size[wanted], table.names.take(wanted))


def _macho_code(image: MachO) -> _Code:
    sections = _extents((s.address, s.size) for s in image.sections if s.is_code and s.size)
    table = image.symbols
    is_code = ((table.type & N_STAB) == 0) & ((table.type & N_TYPE) == N_SECT) & _inside(table.value, sections)
    wanted = np.flatnonzero(is_code)
    wanted = wanted[np.lexsort((wanted, (table.type[wanted] & 1) == 0, table.value[wanted]))]
    wanted = wanted[np.append(True, table.value[wanted][1:] != table.value[wanted][:-1])] if len(wanted) else wanted
    names = table.names.take(wanted)
    # Mach-O puts an underscore before each name of C; DWARF's names are without.
    has_mark = (names.end > names.start) & (names.buffer[np.minimum(names.start, len(names.buffer) - 1)] == ord("_"))
    names = Texts(names.buffer, names.start + has_mark, names.end)
    return _Code(image.path, signed(image.base), sections, table.value[wanted], np.zeros(len(wanted), np.int64), names)


def _extents(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Addresses as columns hold them; damaged sections may reach beyond the last."""
    return tuple((signed(address), min(signed(address) + size, (1 << 63) - 1)) for address, size in places)


def _inside(address: Int, sections: Iterable[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(address), bool)
    for start, end in sections:
        found |= (address >= start) & (address < end)
    return found


def _read(path: Path, identity: str, code: _Code) -> SymCache:
    """The symcache of the object in the file that has the identity, or of the one there is."""
    from symbolic import exceptions
    from symbolic.debuginfo import Archive

    try:
        for found in Archive.open(str(path)).iter_objects():
            if not identity or (found.code_id or "").lower() == identity.replace("-", "").lower():
                with found.make_symcache().open_stream() as stream:
                    return parse_symcache(stream.read())
    except exceptions.SymbolicError as error:
        raise InputError(f"{path}: damaged debug information: {' '.join(str(error).split())}") from error
    except ValueError as error:
        raise InputError(f"{path}: debug information that cannot be read: {error}") from error
    raise InconclusiveError(f"{path}: debug information of another build than {code.path}")


def _frames(code: _Code, cache: SymCache) -> Frames:
    start = cache.start + code.base
    order = np.argsort(start, kind="stable")
    start, location = start[order], cache.location[order]
    end = np.append(start[1:], start[-1:])
    start, end, location = _clip(code, start, end, location)
    if not len(start):
        raise InconclusiveError(f"{code.path}: no debug information of its code")
    first, frame = _chains(code, cache, location)
    frame, names = _with_symbols(code, cache.names, start, first, frame)
    return _merged(start, end, first, frame, names)


def _clip(code: _Code, start: Int, end: Int, location: npt.NDArray[np.int32]) -> tuple[Int, Int, npt.NDArray[np.int32]]:
    """What lies in executable sections: DWARF keeps functions that the linker removed, at 0 or wherever it put a marker."""
    parts: list[tuple[Int, Int, npt.NDArray[np.int32]]] = []
    for low, high in sorted(code.sections):
        inside = (end > low) & (start < high) & (location != NONE) & (end > start)
        parts.append((np.maximum(start[inside], low), np.minimum(end[inside], high), location[inside]))
    if not parts:
        return start[:0], end[:0], location[:0]
    starts, ends, locations = zip(*parts, strict=True)
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(locations)


def _chains(code: _Code, cache: SymCache, location: npt.NDArray[np.int32]) -> tuple[Int, npt.NDArray[np.int32]]:
    depth = np.zeros(len(location), np.int64)
    for rows, _ in _levels(code, cache, location):
        depth[rows] += 1
    first = np.append(np.int64(0), np.cumsum(depth))
    frame = np.zeros(int(first[-1]), np.int32)
    for level, (rows, places) in enumerate(_levels(code, cache, location)):
        frame[first[rows] + level] = cache.function[places]
    return first, frame


def _levels(code: _Code, cache: SymCache, location: npt.NDArray[np.int32]) -> Iterator[tuple[Int, npt.NDArray[np.int32]]]:
    """The rows that reach a depth, and their places there, from the innermost out."""
    rows = np.arange(len(location), dtype=np.int64)
    for _ in range(DEEPEST):
        if not len(rows):
            return
        yield rows, location
        outer = cache.inlined[location]
        keep = (outer != NONE) & (cache.function[outer] != NONE)
        rows, location = rows[keep], outer[keep]
    raise InputError(f"{code.path}: damaged debug information: more than {DEEPEST} functions in each other")


def _with_symbols(
    code: _Code, functions: Texts, start: Int, first: Int, frame: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], Texts]:
    """Name the function over each range as the symbol table does: DWARF has one name for a function and its cold part."""
    names: dict[bytes, int] = {}
    known = np.array([names.setdefault(functions.raw(i), len(names)) for i in range(len(functions))], np.int32)
    frame = known[frame]
    if len(code.address):
        which = np.searchsorted(code.address, start, side="right") - 1
        at = np.maximum(which, 0)
        limit = np.where(code.size[at] > 0, code.address[at] + code.size[at], np.append(code.address[1:], np.int64(2**62))[at])
        has_symbol = (which >= 0) & (start < limit)
        used, index = np.unique(at[has_symbol], return_inverse=True)
        ids = np.array([names.setdefault(code.names.raw(int(i)), len(names)) for i in used], np.int32)
        frame[first[1:][has_symbol] - 1] = ids[index]
    return frame, Texts.of(names)


def _merged(start: Int, end: Int, first: Int, frame: npt.NDArray[np.int32], names: Texts) -> Frames:
    """Join neighbours of equal frames: the cache has a range for each line of the source."""
    depth = np.diff(first)
    alike = (start[1:] == end[:-1]) & (depth[1:] == depth[:-1])
    pairs = np.flatnonzero(alike)
    count = depth[pairs]
    step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    differs = frame[np.repeat(first[pairs], count) + step] != frame[np.repeat(first[pairs + 1], count) + step]
    alike[pairs[np.repeat(np.arange(len(pairs)), count)[differs]]] = False
    begins = np.flatnonzero(np.append(True, ~alike))
    ends = np.append(begins[1:] - 1, len(start) - 1)
    depth = depth[begins]
    new_first = np.append(np.int64(0), np.cumsum(depth))
    step = np.arange(int(depth.sum())) - np.repeat(new_first[:-1], depth)
    return Frames(start[begins], end[ends], new_first, frame[np.repeat(first[begins], depth) + step], names)
