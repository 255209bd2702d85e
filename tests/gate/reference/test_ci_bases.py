"""Events of CI services: the base commit for growth, and the exit code of the gate.

Each row runs the real gate, without a network, in a clone of one repository, with the variables
and the event of a service.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sizeguard.gate.reference.ci_event import VARIABLES
from tests.support.tricks.any_project import AnyProject, made_project

pytestmark = pytest.mark.native
CONFIG = """\
limits:
  load: {growth: 300 B}
apps:
  a:
    build: cp "$(cat which)" a
    image: a
    ignore: "*.md"
"""
SIZES = {"small": 0, "more": 200, "most": 400, "large": 9000, "largest": 9200, "huge": 18000}
WAIVER = (
    "Size-Waiver: load --bytes 9000 --app a --owner me --expires 2999-01-01 --reason 'wanted'\n"
)
ZERO = "0" * 40


@dataclass
class Origin:
    """The repository that rows clone, with its commits by name."""

    project: AnyProject
    ids: dict[str, str] = field(default_factory=dict)

    def commit(self, name: str, image: str, message: str = "") -> None:
        """Commit an image to the current branch."""
        self.project.write({"which": f"images/{image}"})
        self.project.git("add", "--all")
        text = f"{name}\n\n{message}"
        self.project.git("commit", "--quiet", "--allow-empty", "-m", text)
        self.ids[name] = self.project.git("rev-parse", "HEAD")

    def branch(self, name: str, start: str) -> None:
        self.project.git("checkout", "--quiet", "-b", name, self.ids[start])

    def merge(self, name: str, branch: str, into: str, image: str) -> None:
        """Merge a commit as services do; the merge commit has the image."""
        self.project.git("checkout", "--quiet", "--detach", self.ids[into])
        where = ("--no-ff", "--no-commit", "--strategy=ours", self.ids[branch])
        self.project.git("merge", "--quiet", *where)
        self.commit(name, image)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    """Make three commits on main, each 200 bytes larger than the last, then branches and merges."""
    root = tmp_path_factory.mktemp("origin")
    (root / "images").mkdir()
    for name, size in SIZES.items():
        code = f"const char t[{size + 1000}] = {{1}};\nint main(int n, char** v) {{ return t[n]; }}"
        command = ["gcc", "-Os", "-g", "-x", "c", "-", "-o", root / "images" / name]
        subprocess.run(command, input=code, text=True, check=True)
    origin = Origin(made_project(root, CONFIG, {"which": "images/small"}))
    origin.ids["first"] = origin.project.git("rev-parse", "HEAD")
    origin.commit("second", "more")
    origin.commit("third", "most")
    for name, start, image, message in (
        ("grown", "second", "large", ""),
        ("little", "second", "most", ""),
        ("waived", "third", "large", WAIVER),
        ("needless", "second", "most", WAIVER),
        ("malformed", "second", "most", "Size-Waiver: load --bytes\n"),
    ):
        origin.branch(name, start)
        origin.commit(name, image, message)
    origin.branch("release/1", "first")
    origin.commit("fix", "more")
    origin.commit("fix of the fix", "most")
    origin.branch("backport", "fix")
    origin.commit("backport", "most")
    for name, branch, into, image in (
        ("test grown", "grown", "third", "largest"),
        ("test little", "little", "third", "most"),
        ("test backport", "backport", "fix of the fix", "most"),
        ("merged", "waived", "third", "large"),
        ("merged needless", "needless", "third", "most"),
        ("queued", "little", "merged", "large"),
    ):
        origin.merge(name, branch, into, image)
    origin.project.git("branch", "--force", "main", origin.ids["third"])
    for name in origin.ids:
        origin.project.git("tag", f"keep-{name.replace(' ', '-')}", origin.ids[name])
    origin.project.git("checkout", "--quiet", "main")
    return origin


@dataclass(frozen=True)
class Row:
    """One event.

    head:  the commit that is checked out; main: the commit of the branch main
    env:   variables; event: GitHub's JSON; both have names of commits in angle brackets
    base:  the subject of the commit that growth counts from, or a part of the output
    depth: depth of the clone; 0 for all commits
    """

    name: str
    head: str
    env: Mapping[str, str]
    event: Mapping[str, object]
    code: int
    base: str
    main: str = "third"
    depth: int = 0
    default: str = "main"
    dirty: bool = False
    prepare: Callable[[AnyProject], None] | None = None


def pull(
    base: str = "main", sha: str = "<third>", action: str = "synchronize", **more: object
) -> dict[str, Any]:
    request = {"base": {"ref": base, "sha": sha}, "draft": action == "draft", **more}
    return {"action": action, "pull_request": request}


def pushed(before: str, *, default: str = "main") -> dict[str, Any]:
    return {"before": before, "repository": {"default_branch": default}}


def github(name: str, ref: str, sha: str, **more: str) -> dict[str, str]:
    return {
        "CI": "true",
        "GITHUB_EVENT_NAME": name,
        "GITHUB_REF": ref,
        "GITHUB_SHA": sha,
        **more,
    }


def gitlab(source: str, **more: str) -> dict[str, str]:
    return {"CI": "true", "CI_PIPELINE_SOURCE": source, "CI_DEFAULT_BRANCH": "main", **more}


PR = {"ref": "refs/pull/7/merge", "GITHUB_BASE_REF": "main"}
TEST = github("pull_request", sha="<test grown>", **PR)
LITTLE = github("pull_request", sha="<test little>", **PR)
MAIN = "refs/heads/main"
TARGET = github("pull_request_target", MAIN, "<third>", GITHUB_BASE_REF="main")
GROWN = {"sha": "<grown>"}
QUEUE = github("merge_group", "refs/heads/gh-readonly-queue/x", "")
TAG = github("push", "refs/tags/v1", "")
FIRST = github("push", MAIN, "<first>")
MERGED = github("push", MAIN, "<merged>")
RELEASE = "refs/heads/release/1"
MERGE_REQUEST = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}


def forget_branches(project: AnyProject) -> None:
    for ref in project.git("for-each-ref", "--format=%(refname)", "refs/remotes").splitlines():
        project.git("update-ref", "-d", ref)


def rename_default(project: AnyProject) -> None:
    project.git("update-ref", "refs/remotes/origin/trunk", "refs/remotes/origin/main")
    project.git("update-ref", "-d", "refs/remotes/origin/main")
    project.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")


def stale_main(project: AnyProject) -> None:
    first = project.git("rev-list", "--max-parents=0", "HEAD").splitlines()[-1]
    project.git("update-ref", "refs/remotes/origin/main", first)


ROWS = [
    # Changes: HEAD is GitHub's merge of the change with its branch.
    Row("own branch", "test grown", TEST, pull(), 1, "third"),
    Row("fork", "test little", LITTLE, pull(), 0, "third"),
    Row("draft", "test grown", TEST, pull(action="draft"), 1, "third"),
    Row("ready for review", "test little", LITTLE, pull(action="ready_for_review"), 0, "third"),
    Row("reopened", "test grown", TEST, pull(action="reopened"), 1, "third"),
    Row("rerun after others merged", "test grown", TEST, pull(), 1, "third", main="merged"),
    Row("rerun of a little after others", "test little", LITTLE, pull(), 0, "third", main="merged"),
    Row(
        "retargeted to a release", "test backport",
        github("pull_request", "refs/pull/8/merge", "<test backport>", GITHUB_BASE_REF="release/1"),
        pull("release/1", "<fix of the fix>", "edited"), 0, "fix of the fix",
    ),
    Row("head instead of the merge", "grown", TEST, pull(), 1, "second"),
    Row("two commits deep", "test grown", TEST, pull(), 1, "third", depth=2),
    Row("two deep, base moved", "test little", LITTLE, pull(), 0, "third", depth=2, main="merged"),
    Row("shallow", "test grown", TEST, pull(), 3, "git fetch --unshallow", depth=1),
    Row(
        "no remote branch, the event's commit", "grown", TEST, pull(), 1, "second",
        prepare=forget_branches,
    ),
    Row("no event file", "test grown", TEST, {}, 1, "third"),
    Row("broken event", "test grown", TEST, {"pull_request": [1]}, 1, "third"),
    Row(
        "unknown base", "grown",
        github("pull_request", "refs/heads/x", "<grown>", GITHUB_BASE_REF="gone"), {}, 3,
        "unknown base 'origin/gone'",
    ),
    Row(
        "neither event nor base", "grown", {**TEST, "GITHUB_BASE_REF": ""}, {}, 2,
        "GITHUB_EVENT_NAME is pull_request, but GITHUB_EVENT_PATH is not set", main="grown",
    ),
    # A run for the target branch checks out that branch, which has no growth.
    Row("target instead of the change", "third", TARGET, pull(head=GROWN), 2, "not the pull"),
    Row("target, shallow", "third", TARGET, pull(head=GROWN), 2, "not the pull", depth=1),
    Row("change in a run for the target", "grown", TARGET, pull(head=GROWN), 1, "second"),
    Row("no change", "third", TARGET, pull(head={"sha": "<third>"}), 0, "third"),
    Row("older than its target", "third", TARGET, pull(head={"sha": "<second>"}), 0, "third"),
    Row("merged by squashing", "third", TARGET, pull(head=GROWN, merged=True), 0, "third"),
    Row("malformed trailer", "malformed", TEST, pull(), 1, "second"),
    Row("needless trailer", "needless", TEST, pull(), 1, "second"),
    Row("waived", "waived", TEST, pull(), 0, "third"),
    # Merge queues
    Row(
        "merge queue", "test little", QUEUE,
        {"merge_group": {"base_sha": "<third>", "base_ref": MAIN}}, 0, "third",
    ),
    Row(
        "second in the queue", "queued", QUEUE,
        {"merge_group": {"base_sha": "<merged>", "base_ref": MAIN}}, 0, "merged",
    ),
    Row(
        "queue that grows", "test grown", QUEUE,
        {"merge_group": {"base_sha": "<third>", "base_ref": MAIN}}, 1, "third",
    ),
    # Pushes: growth counts from the previous commit, and waivers apply.
    Row("push of a waived merge", "merged", MERGED, pushed("<third>"), 0, "third", main="merged"),
    Row(
        "push of a needless waiver", "merged needless", github("push", MAIN, "<merged needless>"),
        pushed("<third>"), 0, "third", main="merged needless",
    ),
    Row(
        "push of two below the tolerance", "third", github("push", MAIN, "<third>"),
        pushed("<second>"), 0, "second",
    ),
    Row("push without an event file", "merged", MERGED, {}, 0, "merged", main="merged"),
    Row("push by force", "merged", MERGED, pushed("f" * 40), 0, "merged", main="merged"),
    Row("push, shallow", "merged", MERGED, pushed("<third>"), 3, "--unshallow", "merged", 1),
    Row("push of a new branch", "third", github("push", MAIN, "<third>"), pushed(ZERO), 0, "third"),
    Row(
        "push to a feature branch", "grown", github("push", "refs/heads/grown", "<grown>"),
        pushed("<grown>"), 1, "second",
    ),
    Row(
        "push to a release branch", "fix of the fix",
        github("push", RELEASE, "<fix of the fix>", GITHUB_REF_PROTECTED="true"),
        pushed("<fix>"), 0, "fix",
    ),
    Row(
        "push to a branch that is not protected", "fix of the fix",
        github("push", RELEASE, "<fix of the fix>"), pushed("<fix>"), 1, "Begin",
    ),
    Row("push of a tag", "third", TAG, pushed("<first>"), 0, "third"),
    Row("schedule", "third", github("schedule", MAIN, "<third>"), {}, 0, "third"),
    Row("by hand", "grown", github("workflow_dispatch", "refs/heads/x", ""), {}, 1, "second"),
    Row(
        "renamed default branch", "grown", github("workflow_dispatch", "refs/heads/x", ""), {}, 1,
        "second", prepare=rename_default,
    ),
    Row("first commit of all", "first", FIRST, pushed(ZERO), 0, "Begin", "first"),
    # GitLab
    Row(
        "merge request", "grown",
        gitlab("merge_request_event", CI_MERGE_REQUEST_DIFF_BASE_SHA="<second>", **MERGE_REQUEST),
        {}, 1, "second",
    ),
    Row(
        "merge request of a fork with an old main", "little",
        gitlab("merge_request_event", CI_MERGE_REQUEST_DIFF_BASE_SHA="<second>", **MERGE_REQUEST),
        {}, 0, "second", prepare=stale_main,
    ),
    Row(
        "merged result", "test little",
        gitlab(
            "merge_request_event", CI_MERGE_REQUEST_TARGET_BRANCH_SHA="<third>",
            CI_MERGE_REQUEST_DIFF_BASE_SHA="<second>", **MERGE_REQUEST,
        ),
        {}, 0, "third",
    ),
    Row(
        "push on GitLab", "merged",
        gitlab("push", CI_COMMIT_BRANCH="main", CI_COMMIT_BEFORE_SHA="<third>"), {}, 0, "third",
        main="merged",
    ),
    Row(
        "push to a feature branch on GitLab", "grown",
        gitlab("push", CI_COMMIT_BRANCH="grown", CI_COMMIT_BEFORE_SHA="<grown>"), {}, 1, "second",
    ),
    # Outside CI
    Row("a branch by hand", "grown", {}, {}, 1, "second"),
    Row("main by hand", "merged", {}, {}, 0, "merged", main="merged"),
    Row("main by hand, edited", "merged", {}, {}, 1, "merged", main="merged", dirty=True),
]  # fmt: skip


def cloned(origin: Origin, row: Row, place: Path) -> AnyProject:
    """Clone as checkout actions do: a detached commit, with the branches unless it is shallow."""
    project = AnyProject(place)
    place.mkdir()
    url = f"file://{origin.project.root}"
    project.git("init", "--quiet", "--initial-branch=nothing")
    project.git("remote", "add", "origin", url)
    commit = origin.ids[row.head]
    if row.depth:
        project.git("fetch", "--quiet", f"--depth={row.depth}", "--no-tags", "origin", commit)
    else:
        project.git(
            "fetch",
            "--quiet",
            "origin",
            "+refs/heads/*:refs/remotes/origin/*",
            commit,
            origin.ids[row.main],
        )
        project.git("update-ref", "refs/remotes/origin/main", origin.ids[row.main])
    project.git("checkout", "--quiet", "--detach", commit)
    return project


def written(value: object, ids: Mapping[str, str]) -> str:
    text = json.dumps(value)
    for name, commit in ids.items():
        text = text.replace(f"<{name}>", commit)
    return text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_event_has_its_base_and_its_end(
    row: Row,
    origin: Origin,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = cloned(origin, row, tmp_path / "work")
    if row.prepare:
        row.prepare(project)
    if row.dirty:
        project.write({"which": "images/huge"})
    for name in (*VARIABLES, "CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in json.loads(written(row.env, origin.ids)).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "event.json").write_text(written(row.event, origin.ids))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json") if row.event else "")
    # One store for all rows, as in CI: each commit is measured once.
    store = tmp_path_factory.getbasetemp() / "store of events"
    monkeypatch.setenv("SIZEGUARD_STORE", str(store))
    ended = project.run("gate", "--format", "json")
    assert ended.code == row.code, ended.out + ended.err
    if row.code in (2, 3):
        assert row.base in ended.err + ended.out
        return
    result = json.loads(ended.out)
    assert result["base"]["subject"] == row.base
