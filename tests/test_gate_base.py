"""What growth is counted from: which commit, which of its files count, and what is said if there is none."""

from __future__ import annotations

import json
import subprocess
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from sizeguard.errors import InconclusiveError, InputError
from sizeguard.gate.baseline_log import baseline_log
from sizeguard.gate.baselines import baseline_text
from sizeguard.gate.history import History, is_generator, is_input
from sizeguard.gate.result import Baseline
from sizeguard.gate.update import all_baselines
from sizeguard.report.baseline import baselines_text, log_text


def schema(name: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(resources.files("sizeguard.report").joinpath(f"schemas/{name}.schema.json").read_text())
    return found


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch `work` of two commits that begins at the second of main's three."""
    for name in ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"):
        monkeypatch.delenv(name, raising=False)
    git(tmp_path, "init", "-q", "-b", "main")
    for branch, message in (("main", "one"), ("main", "two"), ("work", "three"), ("work", "four"), ("main", "five")):
        if git(tmp_path, "branch", "--show-current") != branch:
            git(tmp_path, "checkout", "-q", *(["-b"] if branch == "work" and message == "three" else []), branch)
        (tmp_path / "native").mkdir(exist_ok=True)
        (tmp_path / "native" / "code.cpp").write_text(message)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", message)
    git(tmp_path, "checkout", "-q", "work")
    return tmp_path


def test_the_merge_base_with_the_usual_branch(repository: Path) -> None:
    history = History(repository)
    base = history.base("", "")
    assert base
    assert (base.ref, base.subject, base.commit) == ("main", "two", git(repository, "rev-parse", "main~1"))
    assert history.head
    assert history.head.subject == "four"
    assert [commit.subject for commit in history.commits("main~1")] == ["three", "four"]


def test_whoever_names_a_branch_is_heard(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(repository)
    git(repository, "branch", "stable", "main~2")
    git(repository, "update-ref", "refs/remotes/origin/topic", "work~1")
    assert (base := history.base("", "stable")) and base.subject == "one"
    monkeypatch.setenv("GITHUB_BASE_REF", "topic")
    assert (base := history.base("", "")) and (base.ref, base.subject) == ("origin/topic", "three")
    assert (base := history.base("", "stable")) and base.subject == "one"  # sizeguard.yaml before the environment
    assert (base := history.base("main", "stable")) and base.subject == "two"  # the command line before all


def test_a_branch_that_is_named_and_not_there_is_inconclusive(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(repository)
    with pytest.raises(InconclusiveError, match="there is no origin/gone to count growth from; git fetch origin, or give another"):
        history.base("origin/gone", "")
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    with pytest.raises(InconclusiveError, match="there is no origin/release"):
        history.base("", "")
    git(repository, "checkout", "-q", "--orphan", "other")
    git(repository, "commit", "-q", "-m", "alone")
    with pytest.raises(InconclusiveError, match="no commit in common; the clone may be shallow: git fetch --unshallow"):
        History(repository).base("main", "")


def test_without_git_or_a_usual_branch_there_is_none(tmp_path: Path, repository: Path) -> None:
    outside = repository / "native"
    assert History(outside).base("", "") is None  # no root of a repository
    with pytest.raises(InconclusiveError, match="not the root of a git repository"):
        History(outside).base("main", "")
    git(repository, "branch", "-D", "main")
    base = History(repository).base("", "")
    assert base
    assert (base.commit, base.text) == (
        "",
        "none of origin/HEAD, origin/main, origin/master, main, master is there: growth is counted from the baselines",
    )


def test_what_differs_counts_whether_it_is_committed_or_not(repository: Path) -> None:
    history = History(repository)
    base = git(repository, "rev-parse", "main~1")
    assert history.changed(base) == {"native/code.cpp"}
    (repository / "native" / "new.h").write_text("")
    (repository / "README.md").write_text("")
    git(repository, "add", "README.md")
    (repository / "native" / "code.cpp").write_text("two")  # as it was
    assert history.changed(base) == {"native/new.h", "README.md"}
    assert history.text_at(base, "native/code.cpp") == b"two"
    assert history.text_at(base, "native/new.h") is None


def test_what_goes_into_a_build() -> None:
    selection = "native/apps/vision/selected_operators.yaml"
    counts = [
        "native/runtime/a.cpp",
        "native/CMakeLists.txt",
        "native/cmake/x.cmake",
        "native/apps/app.cpp",
        selection,
        "sizeguard/codegen/a.py",
    ]
    assert all(is_input(path, selection) for path in counts)
    free = [
        "README.md",
        "native/README.md",
        "native/models/m/model.pt2",
        "native/apps/language/selected_operators.yaml",
        "sizeguard/report/gate.py",
    ]
    assert not any(is_input(path, selection) for path in free)
    assert [is_generator(path) for path in ("sizeguard/selection/merge.py", "native/runtime/a.cpp")] == [True, False]


def test_trailers_are_those_since_the_base(repository: Path) -> None:
    git(
        repository,
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "more\n\nSize-Waiver: load --bytes 3\nSize-Waiver: ram\n  --bytes 4\nSigned-off-by: Ann",
    )
    git(repository, "commit", "-q", "--allow-empty", "-m", "text\n\nSize-Waiver: in a sentence, not a trailer.\n\nThe end")
    history = History(repository)
    head = git(repository, "rev-parse", "HEAD~1")
    assert list(history.trailers("main~1")) == [(head, "load --bytes 3"), (head, "ram --bytes 4")]
    assert list(history.trailers("HEAD")) == []


def test_the_log_of_baselines(repository: Path) -> None:
    path = repository / "baselines" / "vision.t.c.yaml"
    path.parent.mkdir()
    for message, load in (("first", 100), ("grows\x1b[31m", 160), ("shrinks", 130)):
        path.write_text(baseline_text(Baseline("vision", "t", "c", load, 1, 2, {})))
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", message)
    path.write_text("damaged")
    git(repository, "commit", "-q", "-a", "-m", "damages")
    git(repository, "rm", "-q", path.as_posix())
    git(repository, "commit", "-q", "-m", "removes")
    entries = baseline_log(repository, [])
    assert [(entry.subject[:5], entry.load, entry.delta) for entry in entries] == [
        ("remov", None, None),
        ("damag", None, None),
        ("shrin", 130, -30),
        ("grows", 160, 60),
        ("first", 100, None),
    ]
    text = log_text(entries, "terminal")
    assert text.startswith("baselines/vision.t.c.yaml\n")
    assert "\x1b" not in text
    assert baseline_log(repository, ["vision"]) == entries
    jsonschema.validate(json.loads(log_text(entries, "json")), schema("baseline_log"))
    with pytest.raises(InputError, match="no baseline of other was ever committed"):
        baseline_log(repository, ["other"])
    with pytest.raises(InconclusiveError, match="baselines have no history"):
        baseline_log(repository / "native", [])


def test_baselines_as_json(root: Path) -> None:
    content = json.loads(baselines_text(all_baselines(root), "json"))
    jsonschema.validate(content, schema("baseline_show"))
    apps = {(each["app"], each["target"]) for each in content["baselines"]}
    assert len(apps) == 6
    for each in content["baselines"]:
        assert sum(each["operators"].values()) == each["load"]
