"""Verdicts on the names of deselected operators and classes, anywhere in an image."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from sizeguard.base.dataclass import dataclass
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
from sizeguard.linkgraph.elf.table_entries import POINTER
from sizeguard.names.pointers import Pointers
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.placement import Node
from sizeguard.verify.evidence.tables import pointers_of
from sizeguard.verify.leaks.deselected_code import UNLOADED, DeselectedCode
from sizeguard.verify.leaks.foreign_code import KnownFunctions
from sizeguard.verify.leaks.text_references import TextReferences

NAMES = "names of deselected operators and classes"
_ENCODINGS = (("utf-8", 1), ("utf-16-le", 2), ("utf-32-le", 4))
_MOST_SHOWN = 8
_SCOPE = "::"  # operators have one, classes have none
_LONGEST = 200  # letters of an operator's name


def judge_written_names(code: DeselectedCode, names: Sequence[str]) -> Verdict:
    """Judge that an image contains no such name, except where code calls an operator by name.

    A table may pair names with code in any order, by pointers, by distances or in place, but it
    needs the names in any case. A kept kernel may call a deselected operator; then a function that
    the full build also has refers to the name.
    """
    evidence = code.evidence
    callers = Callers(code)
    said: dict[str, bool] = {}
    found = []
    for place in _places(callers, names):
        if place.text not in said:
            said[place.text] = _is_said_by_code(callers, place.text.encode())
        if not said[place.text]:
            found.append(place)
    notes = [f"{each.text} is at {each.address:#x} in {each.section}" for each in found]
    if not evidence.is_complete:
        # Code that is not known may call an operator by a name that was found.
        shown = (*notes[:_MOST_SHOWN], *evidence.gaps)
        return Verdict("section", NAMES, ABSENT, INCONCLUSIVE, UNKNOWN, 0, shown)
    if found and evidence.own:
        size = sum(place.size for place in found)
        shown = tuple(notes[:_MOST_SHOWN])
        cause = "a name without an entry of the known shape: another kind of table, or a message"
        return Verdict("section", NAMES, ABSENT, FAIL, STILL_THERE, size, shown, (), cause)
    if said and callers.are_hidden:
        note = f"no debug information says whose code names {', '.join(said)}: LTO inlines callers"
        return Verdict("section", NAMES, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (note,))
    calls = f", but for {len(said)} that code calls by name" if said else ""
    note = f"none of {len(names)} names is in the image{calls}"
    return Verdict("section", NAMES, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (note,))


class TextPlace(NamedTuple):
    """A place where a text is written.

    width:    bytes of a letter
    address:  in the image; an offset in the file for unloaded bytes
    size:     bytes of the text
    is_whole: whether it is not part of a longer word
    is_tail:  whether only something before it is part of that word
    """

    text: str
    width: int
    address: int
    size: int
    section: str
    is_whole: bool
    is_tail: bool = False


def _places(callers: Callers, names: Sequence[str]) -> Iterator[TextPlace]:
    """Find the names in the shipped file, in one-byte encodings only as whole words.

    A mangled name has the length of a class before it, and any letters behind it. A name that is
    the tail of another text counts if something refers to it: linkers merge such texts.
    """
    evidence = callers.code.evidence
    for name in names:
        for place in (*text_places(evidence, name), *_unloaded_places(evidence, name)):
            if (
                place.is_whole
                or place.width > 1
                or (place.section != UNLOADED and callers.refer_to(place))
            ):
                yield place
        if _SCOPE not in name:
            # in type information: N2sg15LinearOpContextE
            mangled = f"{len(name)}{name}"
            found = (*text_places(evidence, mangled), *_unloaded_places(evidence, mangled))
            yield from (place for place in found if place.width == 1)


def text_places(evidence: Evidence, text: str) -> Iterator[TextPlace]:
    """Find a text in the shipped image, in any encoding and with anything after it."""
    for encoding, width in _ENCODINGS:
        wanted = text.encode(encoding)
        size = len(wanted)
        for section, start, _, content in evidence.shipped_bytes.parts:
            at = content.find(wanted)
            while at >= 0:
                is_whole = _is_whole(content, at, at + size, width)
                rest = content[at : at + size + _LONGEST * width]
                is_tail = not is_whole and _is_whole(rest, 0, size, width)
                yield TextPlace(text, width, start + at, size, section, is_whole, is_tail)
                at = content.find(wanted, at + 1)


def _unloaded_places(evidence: Evidence, text: str) -> Iterator[TextPlace]:
    """Find a text in the rest of the stripped file, as text_places does, by its offset."""
    if evidence.twin is None:
        return  # symbols and debug information name everything
    content = evidence.shipped_bytes.outside_bytes
    for encoding, width in _ENCODINGS:
        wanted = text.encode(encoding)
        at = content.find(wanted)
        while at >= 0:
            end = at + len(wanted)
            is_whole = _is_whole(content, at, end, width)
            yield TextPlace(text, width, at, len(wanted), UNLOADED, is_whole)
            at = content.find(wanted, end)


@dataclass(frozen=True, eq=False)
class Callers:
    """The functions of an image that may refer to names."""

    code: DeselectedCode

    @cached_property
    def _known(self) -> KnownFunctions:
        return KnownFunctions.of(self.code)

    @property
    def are_hidden(self) -> bool:
        """Return whether LTO may have inlined callers into others without a trace."""
        evidence = self.code.evidence
        return evidence.has_lto and self.code.full is not None and evidence.frames is None

    @cached_property
    def _pointers(self) -> Pointers:
        return pointers_of(self.code.evidence.shipped)

    def refer_to(self, place: TextPlace) -> bool:
        """Return whether a pointer leads to a part of a text, or an object has it as a text.

        Without an end, its length must be beside the pointer, as in std::string_view.
        """
        at = self._pointers.at[self._pointers.target == place.address].tolist()
        if place.is_tail and (at or self._has_text(place.text.encode())):
            return True
        sized = (self._word(k + step) == place.size for k in at for step in (-POINTER, POINTER))
        return any(sized) or self._leads_into(place.text.encode())

    def _leads_into(self, name: bytes) -> bool:
        """Return whether an object's reference leads to a name inside of a longer word."""
        for number, section, content in self.code.texts:
            start = content.find(name, 1)
            while start >= 0:
                is_inside = _is_word(content[start - 1 : start])
                if is_inside and any(self.to(number, section.index, start, is_exact=True)):
                    return True
                start = content.find(name, start + 1)
        return False

    def _word(self, address: int) -> int:
        content = self.code.evidence.shipped_bytes.at(address, POINTER)
        return int.from_bytes(content.tobytes(), "little")

    @cached_property
    def _texts(self) -> TextReferences:
        return TextReferences(self.code.evidence.objects.files)

    @cached_property
    def full_texts(self) -> TextReferences:
        """The references of the full build's objects."""
        return TextReferences(self.code.full.files if self.code.full is not None else ())

    def to(
        self, number: int, index: int, start: int, *, is_exact: bool = False
    ) -> Iterator[tuple[Node, int]]:
        """Yield places of the image that refer to an offset of an object's section."""
        placed = self.code.evidence.placement.address
        for other, source, offset in self._texts.to(number, index, start, is_exact=is_exact):
            if (other, source) in placed:
                yield (other, source), offset

    def _has_text(self, name: bytes) -> bool:
        """Return whether placed code or data refers to a text of its own object."""
        for number, section, content in self.code.texts:
            start = _whole_in(content, name) if name in content else -1
            if start >= 0 and any(self.to(number, section.index, start)):
                return True
        return False

    def are_known(self, node: Node, offset: int) -> bool:
        """Return whether the full build has the function at an offset, and those inlined there.

        LTO inlines new code into known functions, such as main.
        """
        evidence = self.code.evidence
        if not self.code.is_of_full(node, offset):
            return False
        if not evidence.has_lto or self.code.full is None or evidence.frames is None:
            return True
        over = evidence.frames.plain_at(evidence.placement.address[node] + offset)
        return all(map(self._known.has, over))


def _is_said_by_code(callers: Callers, name: bytes) -> bool:
    """Return whether only known functions refer to a text, in all objects that contain it.

    Code of the full build must refer to it, too.
    """
    code, evidence = callers.code, callers.code.evidence
    referring = []
    for number, section, content in code.texts:
        start = _whole_in(content, name) if name in content else -1
        if start >= 0:
            if section.is_executable or section.index in evidence.objects.files[number].relocations:
                return False  # the text is a part of a table, or of code
            referring += list(callers.to(number, section.index, start))
    if not referring or not all(callers.are_known(*place) for place in referring):
        return False
    return code.full is None or _is_said_in(callers.full_texts, name)


def _is_said_in(texts: TextReferences, name: bytes) -> bool:
    """Return whether code of an object refers to a text of an object's data."""
    for number, file in enumerate(texts.files):
        for section in file.elf.sections:
            if not section.is_allocated or section.is_executable or not section.file_size:
                continue
            content = file.elf.content(section)
            start = _whole_in(content, name) if name in content else -1
            if start >= 0 and any(
                texts.files[other].elf.sections[source].is_executable
                for other, source, _ in texts.to(number, section.index, start)
            ):
                return True
    return False


def _is_whole(content: bytes, start: int, end: int, width: int) -> bool:
    """Return whether a text is not part of a longer word, unlike aten::add in aten::add.Tensor.

    Names of its namespace may be next to it without a separator: aten::reluaten::gelu. A class may
    have scopes: torch.classes.LinearOpContext.
    """
    if _colons(width) not in content[start:end]:
        around = (content[max(start - width, 0) : start], content[end : end + width])
        return not any(_is_word(letter) and letter[:1] != b"." for letter in around)
    before = [content[max(at, 0) : at + width] for at in (start - width, start - 2 * width)]
    behind = [content[at : at + width] for at in (end, end + width)]
    is_begun, is_ended = (
        not _is_word(first) and not (_is_colon(first) and _is_colon(second))
        for first, second in (before, behind)
    )
    if is_begun and is_ended:
        return True
    scope = content[start:end].partition(_colons(width))[0] + _colons(width)
    is_begun = is_begun or _ends_with_name(content[max(start - _LONGEST * width, 0) : start], scope)
    return is_begun and (is_ended or content.startswith(scope, end))


def _colons(width: int) -> bytes:
    return b"".join(b":".ljust(width, b"\0") for _ in _SCOPE)


def _ends_with_name(content: bytes, scope: bytes) -> bool:
    """Return whether a name of a namespace is at the end of a text."""
    _, found, name = content.rpartition(scope)
    letters = name.replace(b"\0", b"").replace(b".", b"_")
    return bool(found) and re.fullmatch(rb"\w+", letters) is not None


def _whole_in(content: bytes, name: bytes) -> int:
    """Return the place of a name that is not part of a longer word; -1 if there is none."""
    at = content.find(name)
    while at >= 0 and not _is_whole(content, at, at + len(name), 1):
        at = content.find(name, at + 1)
    return at


def _is_word(letter: bytes) -> bool:
    code = int.from_bytes(letter, "little")
    return code < 128 and (chr(code).isalnum() or chr(code) in "_.")


def _is_colon(letter: bytes) -> bool:
    return int.from_bytes(letter, "little") == ord(":")
