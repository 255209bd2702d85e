"""Read the owners of source files from a CODEOWNERS file."""

from __future__ import annotations

import re
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.input_files import read_input

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
NOBODY = "(no owner)"
_MOST_RULES = 100_000
_SECTION = re.compile(r"\s*\^?\[[^\]]*\](?:\[\d+\])?")
_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_ESCAPE = re.compile(r"\\(.)")
_ANY = "**"


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """Patterns and owners; the last pattern that matches a path decides.

    root: the project's folder
    """

    root: Path
    rules: tuple[tuple[re.Pattern[str], str], ...]

    def of(self, source: str) -> str:
        """Return the owners of a source file; empty for an empty path."""
        if not source:
            return ""
        root = f"{self.root}/"
        path = source.removeprefix(root).lstrip("/")
        while path.startswith("../"):
            path = path[3:]
        for pattern, owners in reversed(self.rules):
            if pattern.match(path):
                return owners or NOBODY
        return NOBODY


def find_code_owners(folder: Path) -> CodeOwners:
    """Read the CODEOWNERS file of the folder's project; without one, no file has an owner."""
    here = folder.resolve()
    for root in (here, *here.parents):
        for place in PLACES:
            if (root / place).is_file():
                return CodeOwners(root, tuple(_rules(root / place)))
        if (root / ".git").exists():
            break
    return CodeOwners(here, ())


def _rules(path: Path) -> list[tuple[re.Pattern[str], str]]:
    text = read_input(path).decode("utf-8", "backslashreplace")
    rules = []
    of_section = ""
    for line in text.splitlines()[:_MOST_RULES]:
        if section := _SECTION.match(line):  # of GitLab, with the owners of its other lines
            of_section = " ".join(_words(line[section.end() :]))
        elif words := _words(line):
            pattern = _ESCAPE.sub(r"\1", words[0])
            rules.append((path_pattern(pattern), " ".join(words[1:]) or of_section))
    return rules


def _words(line: str) -> list[str]:
    """Split a line before its comment; a space after a backslash does not separate."""
    words = _WORD.findall(line)
    comment = next((i for i, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment]


def path_pattern(glob: str) -> re.Pattern[str]:
    """Translate a pattern in the style of gitignore: `/docs/`, `*.cpp`, `src/**/x.c`.

    What stands between two ** matches as early as it can, which is never too late: 12 times **/
    took 8 s for a path of 40 characters.
    """
    is_anchored = "/" in glob.rstrip("/")
    names = [*([] if is_anchored else [_ANY]), *glob.strip("/").split("/")]
    end = "/.*" if glob.endswith("/") else r"\Z" if glob.endswith("/*") else r"(?:/.*)?\Z"
    parts: list[list[str]] = [[]]  # between ** alone in its place
    for name in names:
        if name != _ANY:
            parts[-1].append(_folder(name))
        elif parts[-1] or len(parts) == 1:
            parts.append([])
    *others, last = map("/".join, parts)
    if not others:
        return re.compile(f"{last}{end}", re.DOTALL)
    first = f"{others[0]}/" if others[0] else ""
    middle = "".join(f"(?>(?:.*?/)??{each}/)" for each in others[1:])
    tail = f"(?:.*?/)??{last}{end}" if last else ".*/." if glob.endswith("/") else "."
    return re.compile(f"{first}{middle}{tail}", re.DOTALL)


def _folder(name: str) -> str:
    """Translate one part of a path; each * but the last matches as few letters as possible."""
    first, *others = (
        "".join("[^/]" if character == "?" else re.escape(character) for character in text)
        for text in re.split(r"\*+", name)
    )
    early = "".join(f"(?>[^/]*?{text})" for text in others[:-1])
    return first + early + "".join(f"[^/]*{text}" for text in others[-1:])
