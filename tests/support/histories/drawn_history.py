"""Random git repositories, with their shape as plain data."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NAMES = ("native/a.cpp", "native/b c.h", "native/ü.h", "README.md", "x/y/z", "line\nbreak", '"q"')


@dataclass(frozen=True, slots=True)
class DrawnCommit:
    """parents: indices of earlier commits. files: text by path."""

    id: str
    subject: str
    parents: tuple[int, ...]
    files: Mapping[str, str]


def run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git without the user's settings; return its output."""
    nobody = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"))
    }
    environment = {**os.environ, **nobody, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().removesuffix("\n")


def draw_files(draw: random.Random, before: Mapping[str, str]) -> dict[str, str]:
    """Draw the next files: some changed, some removed, some new."""
    files = dict(before)
    for name in draw.sample(NAMES, draw.randint(1, 3)):
        if name in files and draw.random() < 0.3:
            del files[name]
        else:
            files[name] = f"{draw.randint(0, 3)}\n"
    return files


def draw_history(folder: Path, seed: int, count: int = 14) -> list[DrawnCommit]:
    """Draw commits with branches, merges and sometimes a second root.

    Branch c3 points to the fourth commit, and so on.
    """
    draw = random.Random(seed)
    drawn: list[tuple[str, tuple[int, ...], dict[str, str]]] = []
    for i in range(count):
        is_root = i == 0 or (draw.random() < 0.1 and i < 4)
        most = 0 if is_root else 2 if i > 1 and draw.random() < 0.3 else 1
        parents = tuple(draw.sample(range(max(0, i - 5), i), min(most, i)))
        files = draw_files(draw, drawn[parents[0]][2] if parents else {})
        drawn.append((f"commit {i}", parents, files))
    run_git(folder, "init", "-q", "-b", "unborn")
    run_git(folder, "fast-import", "--quiet", "--export-marks=.git/drawn", stdin=_stream(drawn))
    marks = (folder / ".git" / "drawn").read_text().split()
    ids = dict(zip((int(mark[1:]) for mark in marks[::2]), marks[1::2], strict=True))
    return [DrawnCommit(ids[i + 1], *each) for i, each in enumerate(drawn)]


def _stream(drawn: Sequence[tuple[str, tuple[int, ...], Mapping[str, str]]]) -> bytes:
    """Write the input of git fast-import; commit i has mark i + 1."""
    lines = []
    for i, (subject, parents, files) in enumerate(drawn):
        lines += [
            f"commit refs/heads/c{i}",
            f"mark :{i + 1}",
            f"committer Ann <ann@example.org> {1_700_000_000 + i} +0000",
            f"data {len(subject)}",
            subject,
            *(f"{'from' if j == 0 else 'merge'} :{p + 1}" for j, p in enumerate(parents)),
            "deleteall",
        ]
        for name, text in files.items():
            quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            lines += [f'M 100644 inline "{quoted}"', f"data {len(text)}", text]
    return ("\n".join(lines) + "\n").encode()


def ancestors(commits: Sequence[DrawnCommit], tip: int) -> set[int]:
    """Return the commit itself and all its ancestors."""
    found: set[int] = set()
    todo = [tip]
    while todo:
        if (commit := todo.pop()) not in found:
            found.add(commit)
            todo += commits[commit].parents
    return found
