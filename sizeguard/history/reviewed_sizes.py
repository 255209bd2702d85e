"""Read the sizes of a commit from its baselines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.builds.sizes import Sizes
from sizeguard.gate.policy.baselines import FOLDER, parse_baseline
from sizeguard.gate.review_result import Baseline
from sizeguard.git.git import git, git_bytes
from sizeguard.history.history_result import NO_NAME

_ZEROED = ("bss", "common")  # sections of zeros; their bytes in baselines are not loaded


@dataclass(frozen=True)
class CommitBaselines:
    """The baselines of a commit."""

    root: Path
    commit: str

    @cached_property
    def _files(self) -> Mapping[str, str]:
        """Return the blob of each baseline by its path."""
        listing = git(self.root, "ls-tree", "-z", "--full-tree", self.commit, "--", f"{FOLDER}/")
        rows = [row.partition("\t") for row in listing.split("\0") if row]
        return {path: head.split()[2] for head, _, path in rows if path.endswith(".yaml")}

    def of(self, app: str, target: str, toolchain: str) -> tuple[Baseline | None, str]:
        """Return the baseline of an app for a target, or the reason for its absence.

        toolchain: the last known one; it selects one of several baselines
        """
        try:
            found = self._of(app, target)
        except InputError as error:
            return None, f"its baseline cannot be read: {error}"
        if len(found) > 1:
            found = [each for each in found if each.toolchain == toolchain]
            if not found:
                which = f", none of {toolchain}" if toolchain else ""
                return None, f"not measured, and it has baselines for several toolchains{which}"
        if not found:
            return None, "not measured, and it has no baseline"
        return found[0], ""

    def _of(self, app: str, target: str) -> list[Baseline]:
        """Read the baselines of an app for a target; names of other targets may begin alike."""
        prefix = f"{FOLDER}/{app}.{target}."
        found = []
        for path in (path for path in self._files if path.startswith(prefix)):
            data = git_bytes(self.root, "cat-file", "blob", self._files[path])
            found.append(parse_baseline(data, f"{self.commit[:7]}:{path}"))
        return [each for each in found if (each.app, each.target) == (app, target)]


def sizes_of(baseline: Baseline) -> Sizes:
    """Return the sizes of a baseline."""
    return Sizes(baseline.load, baseline.ram, baseline.file, baseline.page_slack)


def level_of(baseline: Baseline) -> str:
    """Return the most useful level of a baseline: operators if it has kernels."""
    return "operator" if (baseline.tables or {}).get("kernel") else "section"


def parts_of(baseline: Baseline, level: str) -> Mapping[str, int]:
    """Return the loaded bytes by name; empty if the baseline does not have them exactly."""
    tables = {**(baseline.tables or {}), "operator": baseline.operators}
    if level not in tables:
        return {}
    found = {
        name: size
        for name, size in tables[level].items()
        if level != "section" or not any(word in name.lower() for word in _ZEROED)
    }
    rest = baseline.load - sum(found.values())
    if rest < 0:
        return {}
    return {**found, NO_NAME: rest} if rest else found
