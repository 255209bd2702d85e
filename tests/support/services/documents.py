"""Read the fenced blocks of the documentation, with the markers for their checks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import ROOT

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\S*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
_MARK = re.compile(r"<!-- (\w+)(?:: ((?:(?!-->).)*?))? -->\n+ *\Z", re.S)

# The kinds of checks of a block; <!-- KIND: argument --> is on the line before the block.
KINDS = {
    "run": "its commands run one after the other in the folder of the page",
    "output": "the commands before it print these lines; `…` matches any text",
    "file": "it is written to the file in the argument",
    "schema": "it is valid by the schema in the argument",
    "make": "its make targets exist",
    "elsewhere": "the argument names its check, or the reason why it has none",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the page, its line there, its language, its marker and its text."""

    page: Path
    line: int
    language: str
    kind: str
    argument: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """List all pages of the documentation."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path, text: str | None = None) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order; an unmarked one has the kind ''."""
    text = page.read_text(encoding="utf-8") if text is None else text
    for fence in _FENCE.finditer(text):
        mark = _MARK.search(text, 0, fence.start())
        kind, argument = (mark[1], mark[2] or "") if mark else ("", "")
        line = text.count("\n", 0, fence.start()) + 1
        yield Block(page, line, fence["language"], kind, argument.strip(), fence["text"])


def indented_code(page: Path) -> list[int]:
    """List the lines of a page that are indented code, which cannot have a marker."""
    text = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), page.read_text(encoding="utf-8"))
    lines = text.splitlines()
    return [
        at + 1
        for at, line in enumerate(lines)
        if line.startswith("    ") and line.strip() and at and not lines[at - 1].strip()
        and not _in_list(lines, at)
    ]  # fmt: skip


def _in_list(lines: list[str], at: int) -> bool:
    """Return whether an indented line continues an item of a list."""
    before = next((line for line in reversed(lines[:at]) if line.strip() and line[0] != " "), "")
    return bool(re.match(r"([-*]|\d+\.) ", before))


def follow(blocks: list[Block], home: Path) -> None:
    """Run the commands of a page, in the folders that it changes to.

    Raises AssertionError for a command with another exit code or output than on the page.
    """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    author = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
              for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"))}  # fmt: skip
    environment = {**os.environ, **author, "HOME": str(home), "PATH": path}
    folder, said = home, ""
    for block in blocks:
        if block.kind == "file":
            (folder / block.argument).write_text(block.text, encoding="utf-8")
        elif block.kind == "output":
            assert shown(block.text).search(said), f"{block}: {said}"
        elif block.kind == "run":
            condition, code = conditions(block.argument)
            if condition and not os.environ.get(condition):
                continue
            script = f"{block.text}\npwd >'{home}/.folder'\n"
            script = script if not code else f"trap 'pwd >{home}/.folder' EXIT\n{block.text}"
            done = subprocess.run(
                ["bash", "-ec", script], cwd=folder, env=environment, check=False, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            assert done.returncode == code, f"{block}: {done.returncode}\n{done.stdout[-3000:]}"
            folder = Path((home / ".folder").read_text(encoding="utf-8").strip())
            said = done.stdout


def conditions(argument: str) -> tuple[str, int]:
    """Return the variable that must be set, and the exit code: `if NAME`, `exit 1`."""
    found = dict(word.split() for word in argument.split(", ") if word)
    assert found.keys() <= {"if", "exit"}, argument
    return found.get("if", ""), int(found.get("exit", 0))


def shown(text: str) -> re.Pattern[str]:
    """Return a pattern for an output: consecutive lines; … matches any text."""
    return re.compile(".*?".join(map(re.escape, text.split("…"))), re.S)
