"""Test the base of growth: its commit, the files that count, and the messages without a base."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.gate.reference.base_branch import named_base
from sizeguard.gate.reference.ci_event import CiEvent
from sizeguard.gate.reference.history import History
from sizeguard.git.git import branch_ids
from sizeguard.git.tree_contents import commit_files, differing
from tests.support.histories.drawn_history import (
    NAMES,
    ancestors,
    draw_files,
    draw_history,
    run_git,
)


def test_the_merge_base_with_the_usual_branch(repository: Path) -> None:
    history = History(repository)
    base = history.base()
    assert base
    assert (base.ref, base.subject, base.commit) == (
        "main",
        "two",
        run_git(repository, "rev-parse", "main~1"),
    )
    assert history.head
    assert history.head.subject == "four"
    assert [commit.subject for commit in history.commits("main~1")] == ["three", "four"]


def test_a_branch_that_is_called_like_a_remote_one_is_not_the_base(repository: Path) -> None:
    """A run in CI checks out the pushed branch under its own name."""
    run_git(repository, "update-ref", "refs/remotes/origin/main", "main")
    run_git(repository, "checkout", "-q", "-b", "origin/main")
    for asked in ("", "origin/main"):
        base = History(repository).base(asked)
        assert base
        assert (base.ref, base.subject) == ("origin/main", "two")


@pytest.mark.parametrize("seed", range(12))
def test_bases_of_drawn_histories(seed: int, tmp_path: Path) -> None:
    """The base is a common ancestor that is not an ancestor of another; git chooses one."""
    commits = draw_history(tmp_path, seed)
    draw = random.Random(seed)
    for _ in range(4):
        head, other = draw.sample(range(len(commits)), 2)
        run_git(tmp_path, "checkout", "-q", "-f", f"c{head}")
        common = ancestors(commits, head) & ancestors(commits, other)
        best = {
            commits[each].id
            for each in common
            if not any(each in ancestors(commits, one) for one in common - {each})
        }
        if not best:
            with pytest.raises(InconclusiveError, match="no commit in common"):
                History(tmp_path).base(f"c{other}")
            continue
        base = History(tmp_path).base(f"c{other}")
        assert base
        assert base.commit in best
        assert base.commit == run_git(tmp_path, "merge-base", f"c{head}", f"c{other}")
        assert (base.ref, base.subject) == (
            f"c{other}",
            next(each.subject for each in commits if each.id == base.commit),
        )


@pytest.mark.parametrize("seed", range(8))
def test_the_main_line_of_drawn_histories(seed: int, tmp_path: Path) -> None:
    """The main line is HEAD's first parents, oldest first, without ancestors of the other."""
    commits = draw_history(tmp_path, seed)
    draw = random.Random(seed)
    for _ in range(3):
        head, since = draw.sample(range(len(commits)), 2)
        run_git(tmp_path, "checkout", "-q", "-f", f"c{head}")
        expected = []
        at = head
        while at not in ancestors(commits, since):
            expected.insert(0, commits[at].id)
            if not commits[at].parents:
                break
            at = commits[at].parents[0]
        history = History(tmp_path)
        assert [each.id for each in history.commits(f"c{since}")] == expected
        assert history.head
        assert history.head.id == commits[head].id


@pytest.mark.parametrize("seed", range(12))
def test_what_differs_from_a_drawn_commit(seed: int, tmp_path: Path) -> None:
    commits = draw_history(tmp_path, seed, 6)
    draw = random.Random(seed)
    head, base = draw.sample(range(len(commits)), 2)
    run_git(tmp_path, "checkout", "-q", "-f", f"c{head}")
    here = draw_files(draw, commits[head].files)
    for name in NAMES:
        if name in here:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(here[name])
        else:
            (tmp_path / name).unlink(missing_ok=True)
    if seed % 2:
        run_git(tmp_path, "add", "-A")
    then = commits[base].files
    history = History(tmp_path)
    paths = [f"{tmp_path}/{name}" for name in NAMES if name in then or name in here]
    assert differing(tmp_path, commit_files(tmp_path, commits[base].id), paths) == {
        name for name in NAMES if then.get(name) != here.get(name)
    }
    for name in NAMES:
        text = then[name].encode() if name in then else None
        assert history.text_at(commits[base].id, name) == text


def configure(repository: Path, branch: str, base: str) -> None:
    """Commit a sizeguard.yaml with `base:` to a branch, then check out the previous branch."""
    here = run_git(repository, "branch", "--show-current")
    run_git(repository, "checkout", "-q", branch)
    (repository / "sizeguard.yaml").write_text(f"base: {base}\napps: {{}}\n")
    run_git(repository, "add", "-A")
    run_git(repository, "commit", "-q", "-m", f"base {base}")
    run_git(repository, "checkout", "-q", here)


def test_whoever_names_a_branch_is_heard(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(repository)
    run_git(repository, "branch", "stable", "main~2")
    run_git(repository, "update-ref", "refs/remotes/origin/topic", "work~1")
    assert (base := history.base()) and base.subject == "two"
    configure(repository, "main", "stable")
    assert (base := history.base()) and (base.ref, base.subject) == ("stable", "one")
    # CI's variable overrides the default branch's file.
    monkeypatch.setenv("GITHUB_BASE_REF", "topic")
    assert (base := history.base()) and (base.ref, base.subject) == ("origin/topic", "three")
    # The command line overrides everything.
    assert (base := history.base("main")) and base.subject == "two"


def test_a_change_does_not_choose_its_own_base(repository: Path) -> None:
    """`base:` in the checkout takes effect only after it is merged, even if it is committed."""
    configure(repository, "work", "work")
    assert (base := History(repository).base()) and (base.ref, base.subject) == ("main", "two")
    (repository / "sizeguard.yaml").write_text("base: work~1\napps: {}\n")
    assert (base := History(repository).base()) and (base.ref, base.subject) == ("main", "two")


def test_a_default_branch_whose_file_cannot_be_read_is_inconclusive(repository: Path) -> None:
    configure(repository, "main", "-x")
    with pytest.raises(InconclusiveError, match=r"main: sizeguard.yaml:1:7: '-x' is not a branch"):
        History(repository).base()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GITHUB_BASE_REF", "topic"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "topic"),
        ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/topic"),
        ("BITBUCKET_PR_DESTINATION_BRANCH", "topic"),
        ("BUILDKITE_PULL_REQUEST_BASE_BRANCH", "topic"),
        ("CHANGE_TARGET", "topic"),
        ("CIRRUS_BASE_BRANCH", "topic"),
        ("CI_COMMIT_TARGET_BRANCH", "topic"),
        ("CODEBUILD_WEBHOOK_BASE_REF", "refs/heads/topic"),
        ("CI_DEFAULT_BRANCH", "topic"),
    ],
)
def test_each_ci_is_understood(
    repository: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    run_git(repository, "update-ref", "refs/remotes/origin/topic", "work~1")
    monkeypatch.setenv(variable, value)
    base = History(repository).base()
    assert base
    assert (base.ref, base.subject) == ("origin/topic", "three")


@pytest.mark.parametrize(
    ("variable", "of_changes"),
    [
        ("TRAVIS_BRANCH", "TRAVIS_PULL_REQUEST_BRANCH"),
        ("APPVEYOR_REPO_BRANCH", "APPVEYOR_PULL_REQUEST_NUMBER"),
        ("DRONE_TARGET_BRANCH", "DRONE_PULL_REQUEST"),
        ("SEMAPHORE_GIT_BRANCH", "SEMAPHORE_GIT_PR_NUMBER"),
    ],
)
def test_a_branch_that_pushes_name_too_is_the_base_of_a_change(
    repository: Path, monkeypatch: pytest.MonkeyPatch, variable: str, of_changes: str
) -> None:
    run_git(repository, "update-ref", "refs/remotes/origin/topic", "work~1")
    monkeypatch.setenv(variable, "topic")
    assert (base := History(repository).base()) and base.ref == "main"
    monkeypatch.setenv(of_changes, "7")
    assert (base := History(repository).base()) and base.ref == "origin/topic"


def test_a_clone_of_a_merge_request_alone(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = run_git(repository, "rev-parse", "main~1")
    monkeypatch.setenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "gone")
    monkeypatch.setenv("CI_MERGE_REQUEST_DIFF_BASE_SHA", commit)
    base = History(repository).base()
    assert base
    assert (base.ref, base.commit) == ("origin/gone", commit)


def test_a_base_that_ci_does_not_name_is_asked_for(repository: Path) -> None:
    """Without one, growth would be counted from the default branch: the change itself."""
    event = CiEvent(unknown="the event has no base")
    with pytest.raises(InputError, match="the event has no base; name the base of growth"):
        named_base(repository, "", event)
    asked = named_base(repository, "main", event)
    assert asked is not None
    assert asked.revision == "main"


def test_a_branch_that_is_named_and_not_there_is_inconclusive(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(repository)
    with pytest.raises(
        InconclusiveError,
        match="unknown base 'origin/gone'; git fetch origin, or name",
    ):
        history.base("origin/gone")
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    with pytest.raises(InconclusiveError, match="unknown base 'origin/release'"):
        history.base()
    run_git(repository, "checkout", "-q", "--orphan", "other")
    run_git(repository, "commit", "-q", "-m", "alone")
    with pytest.raises(
        InconclusiveError,
        match="no commit in common; name another with --base",
    ):
        History(repository).base("main")


def test_without_git_or_a_usual_branch_there_is_none(tmp_path: Path, repository: Path) -> None:
    outside = repository / "native"
    assert History(outside).base() is None  # not the root of a repository
    with pytest.raises(InconclusiveError, match="not the root of a git repository"):
        History(outside).base("main")
    run_git(repository, "branch", "-D", "main")
    base = History(repository).base()
    assert base
    assert (base.commit, base.text) == (
        "",
        (
            "no branch origin/HEAD, origin/main, origin/master, main, master exists; growth is"
            " counted from the baselines, and terms are not compared"
        ),
    )


def test_a_default_branch_of_another_name_in_ci(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its baselines could be the change's own, so nothing passes without the branch."""
    run_git(repository, "update-ref", "refs/remotes/origin/trunk", "main")
    run_git(repository, "branch", "-D", "main")
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("GITHUB_EVENT_NAME", "push")
    monkeypatch.setenv("GITHUB_REF", "refs/heads/work")
    event = repository.with_name("event.json")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    event.write_text(json.dumps({"repository": {"default_branch": "trunk"}}))
    assert (base := History(repository).base()) and base.subject == "two"
    run_git(repository, "update-ref", "-d", "refs/remotes/origin/trunk")
    with pytest.raises(InconclusiveError, match="no branch origin/trunk, "):
        History(repository).base()


def test_what_differs_counts_whether_it_is_committed_or_not(repository: Path) -> None:
    history = History(repository)
    base = run_git(repository, "rev-parse", "main~1")
    files = commit_files(repository, base)
    paths = [f"{repository}/{name}" for name in ("native/code.cpp", "native/new.h", "README.md")]
    assert differing(repository, files, paths[:1]) == {"native/code.cpp"}
    (repository / "native" / "new.h").write_text("")
    (repository / "README.md").write_text("")
    run_git(repository, "add", "README.md")
    (repository / "native" / "code.cpp").write_text("two")  # same content as in the base
    assert differing(repository, files, paths) == {"native/new.h", "README.md"}
    assert history.text_at(base, "native/code.cpp") == b"two"
    assert history.text_at(base, "native/new.h") is None


@pytest.mark.parametrize("kind", ["missing", "two\nlines", "a tree", ""])
def test_branches_that_are_no_commits_are_left_out(repository: Path, kind: str) -> None:
    tree = run_git(repository, "rev-parse", "HEAD^{tree}")
    name = tree if kind == "a tree" else kind
    head = run_git(repository, "rev-parse", "HEAD")
    main = run_git(repository, "rev-parse", "refs/heads/main")
    run_git(repository, "tag", "main", run_git(repository, "commit-tree", "-m", "x", tree))
    assert branch_ids(repository, [name, "main", "HEAD", head[:12]]) == {
        "main": main,
        "HEAD": head,
        head[:12]: head,
    }


MESSAGES = [
    ("more\n\nSize-Waiver: load --bytes 3\n", ["load --bytes 3"]),
    ("more\n\nSize-Waiver: ram\n  --bytes 4\nSigned-off-by: Ann\n", ["ram --bytes 4"]),
    ("more\n\nSize-Waiver: a\nSize-Waiver: b\nsize-waiver: c\n", ["a", "b", "c"]),
    ("more\n\nSize-Waiver: not the last paragraph\n\nThe end\n", []),
    ("Size-Waiver: a subject\n", []),
    ("more\n\nSize-Waiver:\n", []),
    ("more\n\nSize-Waivers: load\nReviewed-by: Bob\n", []),
    ("more\n", []),
]


@pytest.mark.parametrize(("message", "expected"), MESSAGES)
def test_trailers_are_those_that_git_sees(
    repository: Path, message: str, expected: list[str]
) -> None:
    listed = run_git(repository, "interpret-trailers", "--parse", stdin=message.encode())
    pairs = [line.split(":", 1) for line in listed.splitlines()]
    seen = [text.strip() for key, text in pairs if key.lower() == "size-waiver" and text.strip()]
    assert seen == expected
    run_git(repository, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
    head = run_git(repository, "rev-parse", "HEAD")
    assert list(History(repository).trailers("HEAD~1", "Size-Waiver")) == [
        (head, text) for text in expected
    ]


def test_trailers_are_those_since_the_base(repository: Path) -> None:
    run_git(repository, "config", "trailer.separators", "=")  # of the user's own trailers
    for message, _ in MESSAGES[:3]:
        run_git(repository, "commit", "-q", "--allow-empty", "-m", message)
    last, middle, first = run_git(repository, "log", "-3", "--format=%H").splitlines()
    history = History(repository)
    assert list(history.trailers("main~1", "Size-Waiver")) == [
        (last, "a"), (last, "b"), (last, "c"), (middle, "ram --bytes 4"), (first, "load --bytes 3"),
    ]  # fmt: skip
    assert list(history.trailers("HEAD", "Size-Waiver")) == []
