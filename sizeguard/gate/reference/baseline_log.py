"""Read the git history of baselines/: sizes, dates, authors and changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.base.nearest import did_you_mean
from sizeguard.gate.policy.baselines import FOLDER, WAIVERS, parse_baseline
from sizeguard.gate.reference.history import History
from sizeguard.gate.review_result import Baseline, BaselineEntry
from sizeguard.git.git import git, git_bytes
from sizeguard.projects.project import CONFIG
from sizeguard.projects.reader import read_config


def baseline_log(root: Path, apps: Sequence[str]) -> tuple[BaselineEntry, ...]:
    """List the changes of each baseline, the latest first.

    Raises InconclusiveError outside git, InputError if the apps never had a baseline.
    """
    history = History(root)
    if history.head is None:
        raise InconclusiveError(f"{root}: {history.why_no_head}: baselines have no history")
    listing = git(root, "log", "--format=", "--name-only", "--diff-filter=AMRD", "--", FOLDER)
    files = sorted(
        {
            line
            for line in listing.split("\n")
            # Folders in baselines/ have records of selections, which are not baselines.
            if line.endswith(".yaml")
            and Path(line).parent == Path(FOLDER)
            and Path(line).name != WAIVERS
        }
    )
    # The name of an image's app has a dot.
    beginnings = tuple(f"{FOLDER}/{app}." for app in apps)
    chosen = [file for file in files if not apps or file.startswith(beginnings)]
    if apps and not chosen:
        known = {Path(file).name.partition(".")[0] for file in files}
        if (root / CONFIG).is_file():
            known |= {app.name for app in read_config(root).apps}
        hint = did_you_mean(apps[0], known)
        raise InputError(f"--app: no baseline of '{apps[0]}' was ever committed{hint}")
    return tuple(entry for file in chosen for entry in _entries(root, file))


def _entries(root: Path, file: str) -> Iterable[BaselineEntry]:
    # Empty if a merge left the file out: git follows only the parent that the merge equals.
    listing = git(root, "log", "--format=%H%x00%cs%x00%an%x00%s", "--", file)
    entries: list[BaselineEntry] = []
    before: int | None = None
    for line in reversed(listing.split("\n") if listing else []):
        commit, date, author, subject = line.split("\0")
        baseline = _baseline(root, commit, file)
        load = baseline.load if baseline else None
        delta = load - before if load is not None and before is not None else None
        entries.append(BaselineEntry(file, commit[:10], date, author, subject, load, delta))
        before = load if load is not None else before
    return reversed(entries)


def _baseline(root: Path, commit: str, file: str) -> Baseline | None:
    if not git_bytes(root, "ls-tree", "-z", "--full-tree", commit, "--", file):
        return None
    try:
        return parse_baseline(
            git_bytes(root, "cat-file", "blob", f"{commit}:{file}"), f"{commit[:10]}:{file}"
        )
    except InputError:
        return None  # written by another version, or damaged: skip it
