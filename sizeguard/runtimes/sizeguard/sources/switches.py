"""Find the dtype switches in kernel sources.

Which dtypes each has, and which function templates serve them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.operators.dtypes import DTYPES, TABLE
from sizeguard.runtimes.sizeguard.sources.tags import TagUse, scan_tags, source_files

_CASES = re.compile(r"#define\s+(SG_CASES_\w+_)\(tag\)((?:[^\n]*\\\n)*[^\n]*)")
_SWITCHES = re.compile(
    r"#define\s+(SG_SWITCH_\w+)\(dtype, tag, \.\.\.\)[\s\\]+"
    r"SG_SWITCH_\(dtype, tag, (SG_CASES_\w+_),"
    r" __VA_ARGS__\)"
)
_CASE = re.compile(r"SG_CASE_\((\w+),\s*([\w:]+),\s*tag\)|(SG_CASES_\w+_)\(tag\)")
_BODY = re.compile(r"\bSG_DTYPE_BODY\b[^;{}()]*?\b(\w+)\(")
_FUNCTION = re.compile(r"[A-Za-z_][\w:<>,&*\s\[\]]*?\b([A-Za-z_]\w*)\(")
_NO_FUNCTION = (
    "namespace",
    "using",
    "template",
    "struct",
    "class",
    "enum",
    "static_assert",
    "#",
    "//",
)

# C++ types in sources, as demanglers write them.
C_TYPES = {
    row.c_type or (row.spellings[0] if row.letters else f"::sg::{row.spellings[0]}"): row.spellings[
        0
    ]
    for row in TABLE
    if row.name in DTYPES
}

ANY = "*"


@dataclass(frozen=True, slots=True)
class Body:
    """A function template that a case calls.

    arguments: "T" for the case's C++ type, ANY for what the text does not say.

    binary_loop<T, bool, Greater> has ("T", "bool", "Greater"), find_extreme(in.data<T>(), …) has
    ("T",).
    """

    name: str
    arguments: tuple[str, ...]

    def matches(
        self, name: str, arguments: Sequence[str], c_type: str, explicit: frozenset[str]
    ) -> bool:
        """Whether an instance, `name` with its template arguments, is this body for that type.

        `explicit`: what ANY is not.
        """
        if name != self.name or len(arguments) < len(self.arguments):
            return False
        for wanted, actual in zip(self.arguments, arguments, strict=False):
            if wanted == "T":
                if actual != c_type:
                    return False
            elif wanted == ANY:
                if actual in explicit:
                    return False
            elif wanted != actual:
                return False
        return True


@dataclass(frozen=True, slots=True)
class DtypeSwitch:
    """A dtype switch.

    function: the function that it stands in. dtypes: dtype → C++ type as demanglers spell it.
    """

    tag: str
    file: Path
    line: int
    function: str
    dtypes: Mapping[str, str]
    bodies: tuple[Body, ...]


def read_switches(sources: Sequence[Path], header: Path) -> tuple[DtypeSwitch, ...]:
    """All switches of the kernel sources; `header` defines the macros.

    Raises InputError for a macro that it does not define.
    """
    macros = _macros(header)
    bodies = _bodies(sources)
    texts: dict[Path, str] = {}
    found = []
    for tag, uses in scan_tags(sources).items():
        for use in uses:
            if use.macro not in macros:
                raise InputError(
                    f"{use.file}:{use.line}: {use.macro} is not defined in {header}, so its dtypes"
                    " are not known"
                )
            text = texts.setdefault(use.file, use.file.read_text(encoding="utf-8"))
            found.append(
                DtypeSwitch(
                    tag,
                    use.file,
                    use.line,
                    _function(text, use.line),
                    macros[use.macro],
                    _called(text, use, bodies),
                )
            )
    return tuple(found)


def _macros(header: Path) -> dict[str, dict[str, str]]:
    """SG_SWITCH_REAL → its dtypes, in order, with C++ types."""
    try:
        text = header.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{header}: cannot read: {error}") from error
    cases = {match[1]: match[2] for match in _CASES.finditer(text)}

    def expand(name: str, depth: int = 0) -> dict[str, str]:
        if name not in cases or depth > len(cases):
            raise InputError(f"{header}: {name} is not defined, or by itself")
        dtypes: dict[str, str] = {}
        for match in _CASE.finditer(cases[name]):
            dtypes.update(
                expand(match[3], depth + 1)
                if match[3]
                else {match[1]: C_TYPES.get(match[2], match[2])}
            )
        return dtypes

    return {match[1]: expand(match[2]) for match in _SWITCHES.finditer(text)}


def _bodies(sources: Iterable[Path]) -> frozenset[str]:
    """Names of the function templates that are marked as dtype bodies."""
    found: set[str] = set()
    for path in source_files(sources):
        found.update(_BODY.findall(path.read_text(encoding="utf-8", errors="replace")))
    return frozenset(found)


def written_instances(
    sources: Sequence[Path], names: Iterable[str]
) -> frozenset[tuple[str, str, tuple[str, ...]]]:
    """Instances that sources spell out, such as binary_loop<bool, bool, And>.

    File's name, template's name, arguments.
    """
    wanted = sorted(names)
    if not wanted:
        return frozenset()
    instance = re.compile(rf"\b({'|'.join(map(re.escape, wanted))})<([^<>;(){{}}]*)>")
    found = set()
    for path in source_files(sources):
        for name, inside in instance.findall(path.read_text(encoding="utf-8", errors="replace")):
            arguments = tuple(C_TYPES.get(a.strip(), a.strip()) for a in inside.split(","))
            found.add((path.name, name, arguments))
    return frozenset(found)


def _function(text: str, line: int) -> str:
    """Find the function around a line: definitions begin in the first column."""
    for above in reversed(text.split("\n")[: line - 1]):
        match = _FUNCTION.match(above)
        if match and not above.startswith(_NO_FUNCTION):
            return match[1]
    return ""


def _called(text: str, use: TagUse, bodies: frozenset[str]) -> tuple[Body, ...]:
    """List the bodies that the switch's lambda names."""
    start = sum(len(line) + 1 for line in text.split("\n")[: use.line - 1])
    start = text.index(use.macro, start)
    code = text[start : _closing(text, text.index("(", start))]
    found = []
    for match in re.finditer(r"\b(\w+)\b\s*(<|\()?", code):
        if match[1] not in bodies:
            continue
        arguments = _template_arguments(code, match.end() - 1) if match[2] == "<" else ["T"]
        known = {"T", "bool", "true", "false"}
        found.append(
            Body(
                match[1], tuple(a if a in known or _is_type_of(text, a) else ANY for a in arguments)
            )
        )
    return tuple(dict.fromkeys(found))


def _is_type_of(text: str, name: str) -> bool:
    """Whether the file defines that type.

    A template parameter of the enclosing function stands for several.
    """
    return bool(re.search(rf"\b(?:struct|class)\s+{re.escape(name)}\b", text))


def _template_arguments(code: str, start: int) -> list[str]:
    end = code.index(">", start)
    return [argument.strip() for argument in code[start + 1 : end].split(",")]


def _closing(text: str, start: int) -> int:
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return len(text)
