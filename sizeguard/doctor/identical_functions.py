"""Find functions with the same code, which a linker can fold into one."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import zip_longest

from sizeguard.base.dataclass import dataclass
from sizeguard.doctor.diagnosis import LOAD, SizeFinding, largest
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.formats.elf import STT_FUNC, Section
from sizeguard.formats.elf.unwind import FDE, NOWHERE

MACHINES = ("x86_64",)
# lld may fold exception tables, too: that depends on how objects divide them.
_SECTIONS = (".text", ".eh_frame", ".eh_frame_hdr")
_ENTRY = 8  # bytes of a function in .eh_frame_hdr
_ALIGNMENT = 16  # of functions, in bytes; compilers pad up to it
_SLACK = 32  # bytes by which alignment can change the result
# x86-64 code before an offset to another place: call, jmp, jcc, and the operand [rip + offset].
_BEFORE = re.compile(rb"[\xe8\xe9]|\x0f[\x80-\x8f]|[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]")
_BRANCHES = b"\xe8\xe9\x0f"  # first bytes of call, jmp and jcc


@dataclass(slots=True)
class _Function:
    """A function. span: bytes up to the next function; table: bytes of its unwind entry."""

    name: str
    address: int
    code: bytes
    span: int
    table: int

    def text(self, places: list[tuple[int, int]], same: dict[int, int]) -> bytes:
        """Return the code with targets as addresses; same: function → the first of its group."""
        pieces, at = [], 0
        for offset, target in places:
            pieces += [self.code[at:offset], b"%x;" % same.get(target, target)]
            at = offset + 4
        return b"|".join((*pieces, self.code[at:]))


def identical_functions(facts: ImageFacts) -> SizeFinding | None:
    """Find functions with the same bytes that refer to the same places.

    Functions with exception tables are left out, as in linkers. References to functions that are
    identical count as the same.
    """
    if facts.elf.machine not in MACHINES or facts.has_runtime_inside or unfolded(facts):
        return None
    functions = _functions(facts)
    groups = _groups_of_same(functions, _Targets(facts))
    parts: dict[str, int] = {}
    low = high = 0
    for group in groups:
        first, *others = sorted(group, key=lambda function: function.address)
        low += sum(len(each.code) + each.table for each in others)
        high += sum(each.span + each.table for each in others)
        parts[first.name] = sum(len(each.code) + each.table for each in others)
    if low <= _SLACK:
        return None
    repeated = sum(map(len, groups)) - len(groups)
    return SizeFinding(
        kind="identical-functions",
        title=f"{repeated:,} function{' repeats' if repeated == 1 else 's repeat'} the code of"
        " another",
        low=low - _SLACK,
        high=high + _SLACK,
        metric=LOAD,
        sections=_SECTIONS,
        evidence=largest(parts),
        parts=len(parts),
        change=facts.change(lambda toolchain: toolchain.folding),
    )


def unfolded(facts: ImageFacts) -> tuple[str, ...]:
    """Return the toolchains in the image whose functions no linker folds."""
    return tuple(each.name for each in facts.toolchains if not each.folding)


def _functions(facts: ImageFacts) -> list[_Function]:
    """List the functions of .text that may be folded, each address once.

    Without symbols, these are the functions with unwind records.
    """
    text = facts.elf.section(".text")
    if text is None:
        return []
    tables, with_exceptions = _tables(facts)
    sections = facts.elf.sections
    found: dict[int, tuple[str, int, int]] = {}
    for symbol in facts.defined:
        section = sections[symbol.section]
        if symbol.type == STT_FUNC and symbol.size and section.is_executable:
            row = (symbol.name, symbol.size, symbol.section)
            found[symbol.address] = max(found.get(symbol.address, row), row, key=lambda r: r[1])
    if facts.elf.is_stripped:
        for address, size in _described(facts).items():
            found.setdefault(address, (f"function at {address:#x}", size, text.index))
    functions = []
    starts = sorted(found)
    for address, following in zip_longest(starts, starts[1:], fillvalue=0):
        name, size, index = found[address]
        section = sections[index]
        if address in with_exceptions or index != text.index:
            continue
        end = min(following or 1 << 62, section.address + section.size)
        span = size if end < address + size else min(end - address, size + _ALIGNMENT - 1)
        code = facts.content_at(section, address, size)
        functions.append(_Function(name, address, code, span, tables.get(address, 0)))
    return functions


def _described(facts: ImageFacts) -> dict[int, int]:
    """Return the bytes of each function with an unwind record, by address in .text."""
    frames, text = facts.frames, facts.elf.section(".text")
    if frames is None or text is None:
        return {}
    end = text.address + text.size
    rows = (frames.kind == FDE) & (frames.function >= text.address) & (frames.extent > 0)
    rows &= frames.function + frames.extent <= end
    return dict(zip(frames.function[rows].tolist(), frames.extent[rows].tolist(), strict=True))


def _tables(facts: ImageFacts) -> tuple[dict[int, int], set[int]]:
    """Return the bytes of unwind entries by function, and the functions with exception tables."""
    frames = facts.frames
    if frames is None:
        return {}, set()
    more = _ENTRY if facts.elf.section(".eh_frame_hdr") is not None else 0
    rows = frames.kind == FDE
    sizes = zip(frames.function[rows].tolist(), frames.size[rows].tolist(), strict=True)
    return (
        {address: size + more for address, size in sizes},
        set(frames.function[rows & (frames.lsda != NOWHERE)].tolist()),
    )


class _Targets:
    """Addresses that the code of a function may name."""

    def __init__(self, facts: ImageFacts) -> None:
        """Read the sections, and where functions begin."""
        elf = facts.elf
        loaded = [section for section in elf.sections if section.is_allocated and section.size]
        self._code = [each for each in loaded if each.is_executable]
        self._data = [each for each in loaded if not each.is_executable]
        self._starts = {symbol.address for symbol in facts.defined} | {*_described(facts)}
        self._has_names = not elf.is_stripped

    def has(self, target: int, function: _Function, *, is_branch: bool) -> bool:
        """Return whether an address may be named by a function, by a branch or as an operand.

        In code it is where a function begins, or an entry of the PLT. Without names, and in the
        unlikely part that the compiler splits off, it may be any place.
        """
        section = next((each for each in self._code if _holds(each, target)), None)
        if section is None:
            return not is_branch and any(_holds(each, target) for each in self._data)
        if not self._has_names or ".cold" in function.name or section.name.startswith(".plt"):
            return True
        return target in self._starts


def _holds(section: Section, address: int) -> bool:
    return section.address <= address < section.address + section.size


def _groups_of_same(functions: list[_Function], targets: _Targets) -> list[list[_Function]]:
    """Group functions of the same code, until no group falls apart."""
    by_size: dict[int, list[_Function]] = defaultdict(list)
    for function in functions:
        by_size[len(function.code)].append(function)
    rows = [
        (function, _places(function, targets))
        for group in by_size.values()
        if len(group) > 1
        for function in group
    ]
    # Functions may call each other, so all functions of one size and form count as the same until
    # they differ.
    starts = {function.address for function, _ in rows}
    same = dict.fromkeys(starts, -1)
    while True:
        groups: dict[bytes, list[_Function]] = defaultdict(list)
        for function, places in rows:
            before = b"%d;" % same[function.address]
            groups[before + function.text(places, same)].append(function)
        now = {
            function.address: min(each.address for each in group)
            for group in groups.values()
            for function in group
        }
        if now == same:
            return [group for group in groups.values() if len(group) > 1]
        same = now


def _places(function: _Function, targets: _Targets) -> list[tuple[int, int]]:
    """List offsets in the code at which another place of the image is named, with its address.

    Offsets found by mistake can only make functions differ, never equal.
    """
    code, found, at = function.code, [], 0
    start, end = function.address, function.address + len(function.code)
    while match := _BEFORE.search(code, at):
        offset = match.end()
        target = (
            start + offset + 4 + int.from_bytes(code[offset : offset + 4], "little", signed=True)
        )
        is_branch = match[0][0] in _BRANCHES
        is_other = not start <= target < end and targets.has(target, function, is_branch=is_branch)
        if offset + 4 <= len(code) and is_other:
            found.append((offset, target))
            at = offset + 4
        else:
            at = match.start() + 1
    return found
