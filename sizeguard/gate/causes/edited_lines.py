"""Find the line of each cause that a change edits: the first one in what grew."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.files import text_of_file
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import AppResult
from sizeguard.git.git import DIFF, git_bytes

_PLACE = re.compile(r"(.+?)(?::(\d+))?")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LONGEST = 3_000  # lines of a function
_FILES = 100  # files that one call of git diff compares
# First and last line of each edit; of removed lines, the lines behind and before their place
Ranges = Sequence[tuple[int, int]]


def with_edited_lines(result: AppResult, root: Path, commit: str) -> AppResult:
    """Add the line edited since `commit` to each cause; nothing for an empty commit."""
    places = {cause.place for cause in result.causes if cause.place}
    if not commit or not places:
        return result
    edits = edited_ranges(root, commit, sorted({_parts(place)[0] for place in places}))
    causes = tuple(_edited(cause, root, edits) for cause in result.causes)
    return replace(result, causes=causes)


def edited_ranges(root: Path, commit: str, paths: Sequence[str]) -> Mapping[str, Ranges]:
    """Ask git which lines of files differ from those of a commit, by path from the root."""
    inside = [path for path in paths if path[:1] != "/" and ".." not in path.split("/")]
    options = ["--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--relative"]
    options += ["--src-prefix=a/", "--dst-prefix=b/"]
    text = ""
    try:
        for at in range(0, len(inside), _FILES):
            specs = [f":(literal){path}" for path in inside[at : at + _FILES]]
            text += git_bytes(root, *DIFF, *options, commit, "--", *specs).decode(errors="replace")
    except (BuildError, InputError):
        return {}  # annotations then point to the policy
    return _ranges_of(text)


def _ranges_of(text: str) -> Mapping[str, Ranges]:
    """Read the output of git diff."""
    found: dict[str, list[tuple[int, int]]] = {}
    ranges: list[tuple[int, int]] = []
    left = 0  # lines of the hunk may look like a header
    for line in text.split("\n"):
        if left and line[:1] in ("+", "-"):
            left -= 1
        elif line.startswith("diff --git "):
            ranges = []  # of a file that was removed, or whose name git quotes
        elif line.startswith("+++ b/"):
            ranges = found.setdefault(line.removeprefix("+++ b/").rstrip("\t"), [])
        elif hunk := _HUNK.match(line):
            first, count = int(hunk[2]), int(hunk[3] or 1)
            left = int(hunk[1] or 1) + count
            ranges.append((first, first + count - 1) if count else (first + 1, first))
    return found


def _edited(cause: Cause, root: Path, edits: Mapping[str, Ranges]) -> Cause:
    file, line = _parts(cause.place)
    edited = first_edit(root / file, line, edits.get(file, ()))
    return replace(cause, edited=f"{file}:{edited}") if edited else cause


def first_edit(path: Path, line: int, ranges: Ranges) -> int:
    """Return the first edited line of the function that begins at `line`; 0 if there is none.

    line: 0 for the whole file
    """
    if not ranges:
        return 0
    last = _end(path, line) if line else 1 << 30
    found = [(first, end) for first, end in ranges if first <= last and end >= line]
    lines = [max(min(first, end), line, 1) for first, end in found]
    return min(lines, default=0)


def _parts(place: str) -> tuple[str, int]:
    found = _PLACE.fullmatch(place)
    return (found[1], int(found[2] or 0)) if found else (place, 0)


def _end(path: Path, line: int) -> int:
    """Return the last line of a function or variable that begins at `line`, by its braces."""
    lines = text_of_file(path).split("\n")
    depth, begun, is_variable = 0, False, False
    for number, text in enumerate(lines[line - 1 : line - 1 + _LONGEST], line):
        code = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)'|//.*", "", text)
        depth += code.count("{") - code.count("}")
        begun = begun or "{" in code
        # A variable without braces ends at a semicolon; parameters of old-style C have some, too.
        if number == line:
            is_variable = "=" in code or (code.rstrip().endswith(";") and not begun)
        if depth <= 0 and (begun or (is_variable and code.rstrip().endswith(";"))):
            return number
    return line
