"""Read the owners of source files from a CODEOWNERS file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
NOBODY = "(no owner)"
_MOST_RULES = 100_000


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
    try:
        text = readable(path).read_text("utf-8", "backslashreplace")
    except OSError as error:
        raise cannot_read(path, error) from error
    rules = []
    for line in text.splitlines()[:_MOST_RULES]:
        words = line.split("#", 1)[0].split()
        # GitLab's [Section] lines are not patterns.
        if words and not words[0].startswith(("[", "^[")):
            rules.append((path_pattern(words[0]), " ".join(words[1:])))
    return rules


def path_pattern(glob: str) -> re.Pattern[str]:
    """Translate a pattern in the style of gitignore: `/docs/`, `*.cpp`, `src/**/x.c`."""
    is_anchored = "/" in glob.rstrip("/")
    body = glob.strip("/")
    parts = []
    at = 0
    while at < len(body):
        if body.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif body.startswith("**", at):
            parts.append(".*")
            at += 2
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(body[at], re.escape(body[at])))
            at += 1
    start = "" if is_anchored else "(?:.*/)?"
    end = "/.*" if glob.endswith("/") else r"\Z" if glob.endswith("/*") else r"(?:/.*)?\Z"
    return re.compile(f"{start}{''.join(parts)}{end}")
