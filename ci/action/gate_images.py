"""Judge a workflow's binaries by conditions, against their snapshots of the base.

Runs on the default branch store a snapshot of each binary. A change is compared with the snapshot
of its merge base, or of the nearest earlier commit that has one.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import InputError, SizeguardError
from sizeguard.gate.fail_if import Judged
from sizeguard.gate.gate_result import Base
from sizeguard.gate.reference.base_branch import how_to_fetch
from sizeguard.gate.reference.history import History
from sizeguard.report.writers.printable import inert

SNAPSHOTS = "images"  # folder in the store
MOST_COMMITS = 200  # first parents to search, from the merge base
HOLDS, FAILS, MISUSE, INCONCLUSIVE, BROKEN = 0, 1, 2, 3, 4
_ORDER = (BROKEN, FAILS, MISUSE, INCONCLUSIVE)  # gravest first
_CODES = {"fail": FAILS, "inconclusive": INCONCLUSIVE}


@dataclass(frozen=True, slots=True)
class Image:
    """A binary. name: unique among all binaries that the workflow judges."""

    name: str
    path: Path


def images_of(text: str) -> list[Image]:
    """Parse lines of PATH or NAME=PATH."""
    found = []
    for line in filter(None, (each.strip() for each in text.splitlines())):
        name, equals, path = line.partition("=")
        found.append(Image(name, Path(path)) if equals else Image(Path(line).name, Path(line)))
    return found


def _given_twice(images: Sequence[Image]) -> str:
    """Return a name that two images have, whose snapshots would replace each other; else empty."""
    names = [image.name for image in images]
    return next((name for name in names if names.count(name) > 1), "")


@dataclass(frozen=True, slots=True)
class Kept:
    """The snapshots of commits.

    folder: contains a file for each image and commit
    """

    folder: Path

    def path(self, image: Image, commit: str) -> Path:
        """Return the path of an image's snapshot at a commit."""
        name = hashlib.sha256(image.name.encode()).hexdigest()[:16]
        return self.folder / f"{name}-{commit}.snapshot"

    def nearest(self, image: Image, history: History, commit: str) -> tuple[Path, str] | None:
        """Find the snapshot of a commit, or of the nearest first parent that has one."""
        for _ in range(MOST_COMMITS):
            if not commit:
                return None
            path = self.path(image, commit)
            if path.is_file():
                return path, commit
            commit = history.first_parent(commit)
        return None


def judge(image: Image, conditions: Sequence[str], kept: Kept, history: History) -> int:
    """Judge an image, print the findings, and store its snapshot for the commit."""
    if not image.path.is_file():
        return _say(MISUSE, f"{image.name}: there is no file {image.path}")
    base = history.base(os.environ.get("SIZEGUARD_BASE", ""))
    head = history.head.id if history.head else ""
    start = _start(history, base, head)
    before = kept.nearest(image, history, start) if start else None
    saved = kept.path(image, head or "none")
    saved.parent.mkdir(parents=True, exist_ok=True)
    report = _sizeguard("report", str(image.path), "--save", str(saved), "--format", "json")
    if report.returncode:
        return _say(report.returncode, f"{image.name}: {_last(report.stderr)}")
    old = str(before[0]) if before else str(saved)
    chosen = [each for each in conditions if before or not _is_growth(each)]
    options = [word for each in chosen for word in ("--fail-if", each)]
    done = _sizeguard("diff", old, str(image.path), *options)
    print(done.stdout, end="")
    code = done.returncode
    if code not in (HOLDS, FAILS, INCONCLUSIVE):
        return _say(code, f"{image.name}: {_last(done.stderr)}")
    _say_conditions(image, done.stderr, f"since {before[1][:7]}" if before else "")
    if before is None and any(map(_is_growth, conditions)):
        if why := _undecided(history, base, start):
            code = code or _say(INCONCLUSIVE, f"{image.name}: {why}")
        else:
            print(f"{image.name}: nothing was measured before, so growth is not judged")
    return code


def _say_conditions(image: Image, lines: str, since: str) -> None:
    """Print the line that the diff wrote for each condition; annotate those that do not hold."""
    for line in lines.splitlines():
        code = _CODES.get(line.partition(" ")[0])
        if code is None:
            print(inert(line))
        else:
            _say(code, f"{image.name}: {line}{f' {since}' if since else ''}")


def _start(history: History, base: Base | None, head: str) -> str:
    """Return the commit before the change; after a merge, HEAD's first parent."""
    if base is None or not base.commit:
        return ""
    return history.first_parent(head) if base.commit == head else base.commit


def _undecided(history: History, base: Base | None, start: str) -> str:
    """Say why growth is unknown; empty if nothing can have been measured before."""
    if start:
        what = f"not measured at {start[:7]}: the default branch left no snapshot of it yet"
        return "" if base is not None and base.merged else what
    if history.is_new:
        return ""
    if base is None or history.head is None:
        return f"growth has no base: {history.root} is {history.why_no_head}"
    if not base.commit:
        return f"growth has no base: {base.text.partition(';')[0]}; {how_to_fetch(history.root)}"
    if history.lacks_parents(base.commit):
        return f"growth has no base: {how_to_fetch(history.root)}"
    return ""


def _is_growth(condition: str) -> bool:
    return condition.rpartition(">")[2].strip().startswith("+")


def _sizeguard(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "sizeguard", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it ended without a message"])[-1]


def _say(code: int, text: str) -> int:
    level = "warning" if code == INCONCLUSIVE else "error"
    safe = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=sizeguard::{safe}")
    return code


def main() -> int:
    """Judge all images; return the gravest exit code."""
    images = images_of(os.environ["SIZEGUARD_IMAGES"])
    lines = os.environ.get("SIZEGUARD_FAIL_IF", "").splitlines()
    conditions = [each.strip() for each in lines if each.strip()]
    if not images or not conditions:
        return _say(MISUSE, "images: and fail-if: belong together; give both")
    if again := _given_twice(images):
        return _say(MISUSE, f"images: two are called {again}; name them: NAME=PATH")
    try:
        Judged(conditions)  # also those that wait for a snapshot
    except InputError as error:
        return _say(MISUSE, str(error))
    kept = Kept(Path(os.environ["SIZEGUARD_STORE"]) / SNAPSHOTS)
    history = History(Path.cwd())
    codes = set()
    for image in images:
        try:
            codes.add(judge(image, conditions, kept, history))
        except SizeguardError as error:
            codes.add(_say(error.exit_code, f"{image.name}: {error}"))
    return next((code for code in _ORDER if code in codes), HOLDS)


if __name__ == "__main__":
    sys.exit(main())
