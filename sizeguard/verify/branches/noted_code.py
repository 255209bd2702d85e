"""Find the switches and cases that debug information of objects and image names.

`leave_switch<SwitchNote<selected::cumsum, (ScalarType)6, …>>` is inlined where a switch ends, and
`run_case<(ScalarType)6, float, selected::cumsum, lambda>` where a case begins. Both are always
inlined and leave no symbol.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.claims.claim import Vocabulary
from sizeguard.formats.binary import Binary
from sizeguard.formats.dwarf.sections import unpacked
from sizeguard.formats.elf import Elf, debug_name
from sizeguard.names.demangle import demangle
from sizeguard.operators.dtypes import CODES, NAME_OF_DIGITS
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import ObjectFile

_CODE = re.compile(r"\)(\d+)")
_SCOPES = r"(?:\w+::)*"
_WITH_NAMES = (".debug_str", ".debug_info", ".debug_str.dwo")

Branch = tuple[str, str]  # a tag and a dtype


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Code [start, end) of the image, in a function with a symbol."""

    start: int
    end: int
    host: str


@dataclass(frozen=True, eq=False)
class NotedCode:
    """Switches and cases that one build's debug information notes."""

    evidence: Evidence
    words: Vocabulary

    @cached_property
    def _switch(self) -> re.Pattern[str]:
        word = re.escape(self.words.switch)
        return re.compile(rf"\b{word}<\(?&?{_SCOPES}(\w+)\)?((?:, \({_SCOPES}\w+\)\d+)*)>")

    @cached_property
    def _case(self) -> re.Pattern[str]:
        word = re.escape(self.words.case)
        return re.compile(rf"\b{word}<\({_SCOPES}\w+\)(\d+), [^,<>]+, \(?&?{_SCOPES}(\w+)\)?[,>]")

    def switch_of(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the tag and the dtypes of the switch in a demangled name."""
        match = self._switch.search(name)
        if match is None:
            return None
        return match[1], tuple(_dtype(code) for code in _CODE.findall(match[2]))

    def case_of(self, name: str) -> Branch | None:
        """Return the tag and the dtype of the case in a demangled name."""
        match = self._case.search(name)
        return (match[2], _dtype(match[1])) if match else None

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        """Names in the objects' debug information that contain one of the words."""
        words = (self.words.switch.encode(), self.words.case.encode())
        found: dict[bytes, None] = {}
        for file in self.evidence.own_files():
            for content in strings(file.elf):
                for word in words:
                    at = content.find(word)
                    while at >= 0:
                        start, end = content.rfind(b"\0", 0, at) + 1, content.find(b"\0", at)
                        found[content[start : end if end >= 0 else len(content)]] = None
                        at = content.find(word, end) if end >= 0 else -1
        return tuple(demangle(text.decode("utf-8", "replace")) for text in found)

    def can_switch(self, tag: str, file: ObjectFile) -> bool:
        """Return whether an object's debug information names a tag, as all objects with its switch.

        A switch has no other trace if the compiler knows that its dtype is always a selected one.
        """
        name = b"\0" + tag.encode() + b"\0"
        return any(name in b"\0" + content for content in strings(file.elf))

    @cached_property
    def switches(self) -> Mapping[str, tuple[str, ...]]:
        """Dtypes of each tag's switches, in the order of the switches."""
        dtypes: dict[str, dict[str, None]] = {}
        for text in self._texts:
            found = self.switch_of(text)
            if found:
                dtypes.setdefault(found[0], {}).update(dict.fromkeys(found[1]))
        return {tag: tuple(dtypes[tag]) for tag in sorted(dtypes)}

    @cached_property
    def compiled(self) -> frozenset[Branch]:
        """Cases that were compiled, whether or not their code is in the image."""
        return frozenset(case for text in self._texts if (case := self.case_of(text)))

    @cached_property
    def _ranges(self) -> tuple[dict[Branch, list[CodeRange]], dict[str, dict[str, int]]]:
        """Code of cases, and the functions around the switches of each tag."""
        cases: dict[Branch, list[CodeRange]] = {}
        hosts: dict[str, dict[str, int]] = {}
        frames = self.evidence.frames
        if frames is None:
            return cases, hosts
        names = [frames.names[i] for i in range(len(frames.names))]
        case_of: dict[int, Branch] = {}
        tag_of: dict[int, str] = {}
        for number, name in enumerate(names):
            if self.words.case in name and (case := self.case_of(demangle(name))):
                case_of[number], tag_of[number] = case, case[0]
            elif self.words.switch in name and (switch := self.switch_of(demangle(name))):
                tag_of[number] = switch[0]
        over, first = frames.frame.tolist(), frames.first.tolist()
        for i, start in enumerate(frames.start.tolist()):
            inside = over[first[i] : first[i + 1]]
            for number in {*inside[:-1]} & tag_of.keys():
                host = names[inside[-1]]
                hosts.setdefault(tag_of[number], {}).setdefault(host, start)
                if number in case_of:
                    code = CodeRange(start, int(frames.end[i]), host)
                    cases.setdefault(case_of[number], []).append(code)
        return cases, hosts

    @property
    def cases(self) -> Mapping[Branch, list[CodeRange]]:
        """Code of the image that belongs to cases."""
        return self._ranges[0]

    def hosts(self, tag: str) -> Mapping[str, int]:
        """Functions of the image that have a switch of a tag, with an address in each."""
        return self._ranges[1].get(tag, {})


def _dtype(code: str) -> str:
    name = NAME_OF_DIGITS.get(code, "")
    return name if name in CODES else f"code {code}"


def strings(binary: Binary) -> Iterator[bytes]:
    """Yield the debug information sections of an object that contain names."""
    for section in binary.sections:
        if debug_name(section.name) not in _WITH_NAMES:
            continue
        if not section.file_size:
            continue
        try:
            yield unpacked(binary, section) if isinstance(binary, Elf) else binary.content(section)
        except InputError:
            continue  # damaged, so treated as absent
