"""Links to source lines at one commit, on the server of the repository."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import quote

from sizeguard.base.dataclass import dataclass
from sizeguard.report.writers.source_place import SourcePlace, place_of

_SERVER = re.compile(r"https?://[A-Za-z0-9.:/_-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class SourceLinks:
    """The address of a repository's files at a commit.

    files: prefix of file addresses; for GitHub https://github.com/OWNER/NAME/blob/COMMIT
    """

    files: str

    def address(self, place: str) -> str:
        """Return the address of a place such as src/a.cpp:12; empty if it is not in the tree."""
        found = place_of(place)
        return self._of(found) if found else ""

    def _of(self, place: SourcePlace) -> str:
        line = f"#L{place.line}" if place.line else ""
        return f"{self.files}/{quote(place.file, safe='/-._~+')}{line}"


def links_at(repository: str, commit: str, *, gitlab: bool = False) -> SourceLinks | None:
    """Make links into a repository; None unless its address and the commit are plain."""
    if not _SERVER.fullmatch(repository) or not _COMMIT.fullmatch(commit):
        return None
    return SourceLinks(f"{repository}{'/-' if gitlab else ''}/blob/{commit}")


def links_of_runner(environment: Mapping[str, str] = os.environ) -> SourceLinks | None:
    """Make links to the commit that a runner of GitHub or GitLab has checked out."""
    said = environment.get
    if said("GITLAB_CI"):
        return links_at(said("CI_PROJECT_URL", ""), said("CI_COMMIT_SHA", ""), gitlab=True)
    repository = f"{said('GITHUB_SERVER_URL', '')}/{said('GITHUB_REPOSITORY', '')}"
    return links_at(repository, said("GITHUB_SHA", ""))
