"""References of growth and creep over commits that have recorded measurements.

A store has them for the commits of a real repository, so none is built.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.builds.build_inputs import content_hash
from sizeguard.gate.causes.growth_result import SizeGrowth
from sizeguard.gate.policy.checks import CheckedApp, size_checks
from sizeguard.gate.reference.base_growth import growth_since_base
from sizeguard.gate.reference.creep import creep_shares
from sizeguard.gate.reference.history import History
from sizeguard.gate.reference.reference import (
    creep_reference,
    growth_reference,
    keep_as_head,
    reviewed_reference,
)
from sizeguard.projects.pairs import recipe_of_commits
from sizeguard.runtimes.sizeguard.runtime import RUNTIME
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.recipe import ReadsElsewhereError
from tests.support.histories.drawn_history import run_git
from tests.support.histories.measured_commits import (
    BASELINE,
    REVIEWED,
    SELECTION,
    TARGET,
    TOOLCHAIN,
    Project,
    keep,
    measured,
)
from tests.support.verdicts.made_limits import limit


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Make the repository and the measurements that all tests begin with."""
    place = tmp_path_factory.mktemp("once")
    root = place / "tree"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    project = Project(root, History(root, Store(place / "store")), {})
    first = {
        SELECTION: "operators: {}\n",
        BASELINE: REVIEWED,
        "native/runtime/a.cpp": "0",
        ".gitignore": "build/\n",
    }
    for name, files, what in (
        ("first", first, "core"),
        ("documents", {"README.md": "words"}, "core"),
        ("grown", {"native/runtime/a.cpp": "1"}, "mlp"),
        ("broken", {"native/runtime/a.cpp": "does not build"}, None),
        ("more", {"native/runtime/a.cpp": "2"}, "mlp_and_erf"),
    ):
        commit = project.commit(name, files)
        project.commits[name] = commit
        keep(project, commit, what)
    run_git(root, "tag", "v1", project.commits["first"])
    run_git(root, "checkout", "-q", "-b", "work")
    run_git(root, "branch", "-f", "main", project.commits["grown"])
    return project


@pytest.fixture
def project(tmp_path: Path, measured_once: Project) -> Project:
    """Copy the repository and its measurements."""
    shutil.copytree(measured_once.root.parent, tmp_path, dirs_exist_ok=True)
    root = tmp_path / "tree"
    history = History(root, Store(tmp_path / "store"))
    return Project(root, history, dict(measured_once.commits))


def reference_of(project: Project, base: str = "main") -> tuple[str, int | None, str]:
    """Return text, load and kind of the reference that growth is counted from."""
    history = History(project.root, project.history.place.store)
    found, source = growth_reference(project.root, history, history.base(base), project.subject())
    return found.text, found.measured.sizes.load if found.measured else None, source


def test_growth_is_counted_from_the_measured_merge_base(project: Project) -> None:
    short = project.commits["grown"][:7]
    assert reference_of(project) == (f"merge base {short}", 31_666, "merge base")


def since_base(project: Project) -> SizeGrowth | None:
    """Return the growth since the base, as the gate shows it."""
    history = History(project.root, project.history.place.store)
    base, subject = history.base("main"), project.subject()
    growth, source = growth_reference(project.root, history, base, subject)
    return growth_since_base(history, base, subject, growth, source)


def test_growth_since_the_merge_base_is_shown_whatever_decides(project: Project) -> None:
    now, then = (measured(name).sizes for name in ("mlp_and_erf", "mlp"))
    grown = SizeGrowth(now.load - then.load, now.ram - then.ram, now.file - then.file)
    assert grown.load > 0
    assert since_base(project) == grown
    # A baseline of the change becomes the reference, but does not hide the growth.
    project.commit("review", {BASELINE: REVIEWED.replace("load: 31000", "load: 99000")})
    assert reference_of(project)[2] == "baseline"
    assert since_base(project) == grown
    # A merge base that does not build has no sizes.
    run_git(project.root, "branch", "-f", "main", project.commits["broken"])
    assert since_base(project) is None


def test_growth_is_counted_from_a_baseline_that_the_change_brings(project: Project) -> None:
    project.commit("review", {BASELINE: REVIEWED.replace("load: 31000", "load: 32057")})
    assert reference_of(project) == ("baseline", 32_057, "baseline")


def test_growth_is_counted_from_the_baseline_if_the_generator_changes(project: Project) -> None:
    project.commit("generate", {"sizeguard/runtimes/sizeguard/codegen/generate.py": "new"})
    assert reference_of(project) == ("baseline", 31_000, "baseline")


def test_growth_is_counted_from_the_baseline_if_the_merge_base_is_broken(
    project: Project,
) -> None:
    assert reference_of(project, project.commits["broken"]) == ("baseline", 31_000, "baseline")


def test_a_change_of_documents_weighs_what_its_base_does(project: Project) -> None:
    project.commit("words", {"README.md": "more words"})
    short = project.commits["more"][:7]
    found = reference_of(project, project.commits["more"])
    assert found == (f"merge base {short}", 32_057, "merge base")
    # A commit that was never measured has the same size, since its build has the same inputs.
    project.history.place.store.folder = project.root.parent / "empty"
    assert reference_of(project, project.commits["more"]) == found


def test_the_base_itself_is_compared_with_its_first_parent(project: Project) -> None:
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["grown"])
    parent = project.commits["documents"][:7]
    assert reference_of(project, "HEAD") == (f"first parent {parent}", 21_650, "first parent")


def test_a_first_parent_that_does_not_build_leaves_the_baseline(project: Project) -> None:
    assert reference_of(project, "HEAD") == ("baseline", 31_000, "baseline")


def test_a_commit_without_a_parent_is_compared_with_the_baseline(project: Project) -> None:
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["first"])
    assert reference_of(project, "HEAD") == ("baseline", 31_000, "baseline")


def test_a_base_whose_parents_the_clone_lacks_proves_nothing(project: Project) -> None:
    """The reviewed baseline of the same commit may accept its growth."""
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["grown"])
    (project.root / ".git" / "shallow").write_text(f"{project.commits['grown']}\n")
    base = project.history.base("HEAD")
    found, source = growth_reference(project.root, project.history, base, project.subject())
    assert (found.measured, source, found.verdict) == (None, "", "inconclusive")
    assert "--unshallow" in found.why
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["first"])
    (project.root / ".git" / "shallow").write_text(f"{project.commits['first']}\n")
    assert reference_of(project, "HEAD") == ("baseline", 31_000, "baseline")  # it has no parents


def test_without_anything_before_growth_is_not_run(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Without git or an earlier commit, and without a baseline, only absolute limits decide."""
    run_git(project.root, "checkout", "-q", "-B", "main", project.commits["first"])
    history = History(project.root, project.history.place.store)
    (project.root / BASELINE).unlink()
    outside = History(tmp_path_factory.mktemp("no-git"), project.history.place.store)
    for each in (history, outside):
        base = each.base()
        found, source = growth_reference(project.root, each, base, project.subject())
        assert (found.measured, source) == (None, "")
        subject = CheckedApp("mlp", "x86_64-linux", measured("mlp"), lambda metric: 0)
        limits = [limit("load", "growth", "1%"), limit("load", "absolute", "31 KiB")]
        checks = size_checks(subject, limits, found, {})
        assert {check.kind: check.verdict for check in checks} == {
            "growth": "not_run",
            "absolute": "pass",
        }
        assert all("mlp has no baseline" in c.advice for c in checks if c.kind == "growth")
    # An earlier commit, if there is one, is the reference.
    run_git(project.root, "checkout", "-q", "-f", "-B", "main", project.commits["grown"])
    (project.root / BASELINE).unlink()
    base = history.base()
    found, _ = growth_reference(
        project.root, History(project.root, history.place.store), base, project.subject()
    )
    assert found.text.startswith("first parent ")
    assert found.measured


def edited(project: Project) -> None:
    (project.root / "native/runtime/a.cpp").write_text("2, and more")


def assumed_unchanged(project: Project) -> None:
    run_git(project.root, "update-index", "--assume-unchanged", "native/runtime/a.cpp")
    edited(project)


def left_out_of_the_worktree(project: Project) -> None:
    run_git(project.root, "update-index", "--skip-worktree", "native/runtime/a.cpp")
    edited(project)


def in_an_ignored_folder(project: Project) -> None:
    (project.root / "build").mkdir()
    (project.root / "build" / "more.h").write_text("more")
    project.more.append("build/more.h")


def untracked(project: Project) -> None:
    (project.root / "more.inc").write_text("more")
    project.more.append("more.inc")


def found_by_a_pattern(project: Project) -> None:
    (project.root / "native/runtime/b.cpp").write_text("more")


def behind_a_link(project: Project) -> None:
    outside = project.root.parent / "outside.cpp"
    outside.write_text("2")  # equal content, but git does not see its changes
    (project.root / "native/runtime/a.cpp").unlink()
    (project.root / "native/runtime/a.cpp").symlink_to(outside)


@pytest.mark.parametrize(
    "change",
    [
        edited,
        assumed_unchanged,
        left_out_of_the_worktree,
        in_an_ignored_folder,
        untracked,
        found_by_a_pattern,
        behind_a_link,
    ],
)
def test_a_measurement_is_not_its_own_reference(
    project: Project, change: Callable[[Project], None], tmp_path: Path
) -> None:
    """The worktree's load is 32,057; the reference is the merge base's 31,666, of another tree."""
    project.commit("words", {"README.md": "more words"})
    keep(project, project.commits["more"], "mlp")
    change(project)
    found = reference_of(project, project.commits["more"])
    assert found == (f"merge base {project.commits['more'][:7]}", 31_666, "merge base")
    keep_as_head(History(project.root, Store(tmp_path / "own")), project.subject())
    assert not (tmp_path / "own").exists()


def test_a_header_that_a_commit_has_where_one_was_looked_for_counts(project: Project) -> None:
    """The change removes a header that shadowed another one."""
    commit = project.commit("shadow", {"ctime": "more"})
    keep(project, commit, "mlp")
    run_git(project.root, "rm", "-q", "ctime")
    run_git(project.root, "commit", "-q", "-m", "no shadow")
    assert reference_of(project, commit) == (f"merge base {commit[:7]}", 31_666, "merge base")


@pytest.mark.parametrize("name", ["CXXFLAGS", "CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX"])
def test_with_variables_that_change_code_the_baseline_decides(project: Project, name: str) -> None:
    """The merge base is not used, since it would be built with the same variable."""
    project.environment[name] = "x"
    assert reference_of(project) == ("baseline", 31_000, "baseline")


@pytest.mark.parametrize("what", ["more.h", "bin/g++"])
def test_with_files_of_nobody_the_baseline_decides(project: Project, what: str) -> None:
    path = project.root.parent / what
    path.parent.mkdir(exist_ok=True)
    path.write_text("more")
    project.more.append(str(path))
    assert reference_of(project) == ("baseline", 31_000, "baseline")


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "mlp has no baseline; review and keep this build's sizes: "),
        (
            {BASELINE.replace("12.2", "13.1"): REVIEWED},
            "the baselines are for gcc-13.1-bfd-2.40-Os, but this is gcc-12.2-bfd-2.40-Os; ",
        ),
        (
            {BASELINE: REVIEWED.replace("bfd 2.40", "bfd 2.40.1")},
            "the baseline is for gcc 12.2.0, bfd 2.40.1, but this is gcc 12.2.0, bfd 2.40: ",
        ),
    ],
)
def test_without_a_baseline_of_this_toolchain_the_merge_base_decides(
    project: Project, files: dict[str, str], why: str
) -> None:
    (project.root / BASELINE).unlink()
    for name, text in files.items():
        (project.root / name).write_text(text)
    found = reviewed_reference(project.root, project.subject())
    assert found.measured is None
    assert found.why.startswith(why)
    update = "sizeguard baseline update --app mlp"
    assert found.why.endswith(f"{update} --target x86_64-linux" if files else update)
    text = f"merge base {project.commits['grown'][:7]} (no baseline for gcc-12.2-bfd-2.40-Os)"
    assert reference_of(project) == (text, 31_666, "merge base")
    # A merge base that does not build has no size, so there is no reference.
    run_git(project.root, "branch", "-f", "main", project.commits["broken"])
    assert reference_of(project) == ("baseline", None, "")


def test_creep_is_counted_from_a_release(project: Project) -> None:
    subject = project.subject()
    found = creep_reference(project.root, project.history, "v1", subject)
    assert (found.text, found.measured and found.measured.sizes.load) == ("v1", 21_650)
    missing = creep_reference(project.root, project.history, "v9", subject)
    assert missing.measured is None
    assert missing.why == (
        "this clone has no v9: fetch it with git fetch --tags --unshallow, or name another in mlp's"
        " limits"
    )
    broken = creep_reference(project.root, project.history, project.commits["broken"], subject)
    assert broken.text.startswith("baseline of ")
    assert broken.measured
    assert broken.measured.sizes.load == 31_000
    library = replace(subject.build, link="shared")
    for otherwise in (replace(TARGET, link="shared"), replace(TARGET, lto="full")):
        assert recipe_of_commits(RUNTIME, TOOLCHAIN, subject.app, otherwise) is None
    found = creep_reference(
        project.root, project.history, "v1", replace(subject, build=library, recipe=None)
    )
    assert found.why == (
        "v1 cannot be measured: other commits are built only as executables without LTO"
    )
    outside = History(project.root / "native", project.history.place.store)
    assert creep_reference(project.root, outside, "v1", subject).why == (
        "v1 cannot be measured: not the root of a git repository with a checked-out commit"
    )


def shares_of(project: Project, metric: str, base: int, actual: int) -> list[tuple[str, int]]:
    recipe = project.subject().recipe
    assert recipe
    shares = creep_shares(project.history, recipe, "v1", metric, base, actual)
    return [(share.subject, share.delta) for share in shares]


def test_creep_is_counted_from_the_baseline_of_a_release_that_reads_elsewhere(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(*_: object) -> None:
        raise ReadsElsewhereError("it reads extra/table.inc")

    monkeypatch.setattr(History, "measure", measure)
    release = project.commits["broken"]
    found = creep_reference(project.root, project.history, release, project.subject())
    assert found.measured
    assert found.measured.sizes.load == 31_000


def test_creep_is_shared_out_over_the_commits_that_moved_it(project: Project) -> None:
    """Commits of documents or of broken builds have no share; uncommitted changes come last."""
    assert shares_of(project, "load", 21_650, 32_057) == [("grown", 10_016), ("more", 391)]
    assert shares_of(project, "load", 21_650, 32_100) == [
        ("grown", 10_016),
        ("more", 391),
        ("uncommitted changes", 43),
    ]
    assert shares_of(project, "operator/aten::relu", 0, 356) == [("grown", 1_597), ("more", -1_241)]
    assert shares_of(project, "operator/aten::erf", 0, 311) == [("more", 311)]
    assert shares_of(project, "symbol/sg::kernels::*", 0, 3_004) == [
        ("grown", 2_856),
        ("more", 148),
    ]


def test_a_measurement_is_kept_for_the_commit_that_is_checked_out(
    project: Project, tmp_path: Path
) -> None:
    recipe = project.subject().recipe
    assert recipe
    history = History(project.root, Store(tmp_path / "empty"))
    key = history.key(project.commits["more"], recipe)
    (project.root / "native/runtime/a.cpp").write_text("not committed")
    keep_as_head(history, project.subject())
    assert history.place.store.facts(key) is None
    (project.root / "native/runtime/a.cpp").write_text("2")
    keep_as_head(history, project.subject())
    facts = history.place.store.facts(key)
    assert facts
    assert facts["commit"] == project.commits["more"]
    assert facts["sizes"] == {"load": 32_057, "ram": 960, "file": 35_008, "page_slack": 32}


@pytest.mark.parametrize("place", ["extra/table.inc", "table.inc", "native/models/x.inc"])
def test_a_measurement_is_not_kept_if_its_key_lacks_a_file(
    place: str, project: Project, tmp_path: Path
) -> None:
    """The merge base differs only in this file, so it would have the same key, and no growth."""
    commit = project.commit("a table", {place: "larger"})
    subject = project.subject()
    read = subject.build.inputs
    assert read
    files = {**read.files, str(project.root / place): content_hash(project.root / place)}
    history = History(project.root, Store(tmp_path / "empty"))
    recipe = subject.recipe
    assert recipe
    for inputs, is_kept in ((replace(read, files=files), False), (read, True)):
        build = replace(subject.build, inputs=inputs)
        keep_as_head(history, replace(subject, build=build))
        facts = history.place.store.facts(history.key(commit, recipe))
        assert (facts is not None) == is_kept
