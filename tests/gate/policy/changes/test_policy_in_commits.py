"""Changed terms in files of commits and of the worktree."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.changed_terms import with_changed_terms
from sizeguard.gate.gate_result import GateResult
from sizeguard.git.file_versions import CommitFiles, FolderFiles, WorktreeFiles
from tests.support.histories.drawn_history import run_git
from tests.support.parts import mostly_second
from tests.support.places import ROOT
from tests.support.tricks.any_project import AnyProject, made_project
from tests.support.tricks.changed_projects import (
    CONFIG,
    NAMES_FILE,
    PROJECT,
    REVIEWED,
    TRICKS,
    WAIVER,
    blob,
)
from tests.support.tricks.given_terms import rows
from tests.support.tricks.policy_repository import commit, compared, difference, write

# All ways run the same code in a repository, so only a fifth of them are unit tests.
COMMITTED = [way for way in TRICKS if "cannot be read" not in way and way != "model deleted"]


@pytest.mark.parametrize("way", mostly_second(COMMITTED, COMMITTED[::5]))
def test_uncommitted_committed_and_in_two_steps(way: str, repository: Path) -> None:
    files = TRICKS[way].files
    expected = rows(difference(files))
    write(repository, files)
    assert rows(compared(repository)) == expected
    commit(repository, "terms")
    assert rows(compared(repository)) == expected
    # The terms still count as changed after a second commit that uses them.
    write(repository, {"native/runtime/a.cpp": "int grown[1000];"})
    commit(repository, "growth")
    assert rows(compared(repository)) == expected
    # After a merge the terms belong to the base, and the next change does not report them.
    run_git(repository, "branch", "-f", "main", "work~1")
    run_git(repository, "branch", "-f", "mine", "main")  # one of the ways sets this as the base
    assert compared(repository) == ()


def test_names_behind_a_link_that_leads_out_of_the_repository_are_named(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same names lie there today; no commit shows how they change."""
    outside = tmp_path_factory.mktemp("outside") / "names.json"
    path = repository / NAMES_FILE
    path.rename(outside)
    path.symlink_to(outside)
    away = "a link leads out of the repository"
    (change,) = compared(repository)
    assert rows([change]) == [("policy replaced", NAMES_FILE, "", away, True)]
    assert change.verdict == INCONCLUSIVE
    commit(repository, "link")
    run_git(repository, "branch", "-f", "main")
    commit(repository, "a change of main")
    then = f"cannot be read: {run_git(repository, 'rev-parse', 'main')[:7]}: {away}"
    assert [each[2:] for each in rows(compared(repository))] == [(then, away, True)]
    path.unlink()
    shutil.copy(outside, path)
    (change,) = compared(repository)
    assert rows([change])[0][2:] == (then, "is in the repository", True)
    assert change.verdict == INCONCLUSIVE


def test_git_that_looks_away_sees_nothing_less(repository: Path) -> None:
    run_git(repository, "update-index", "--assume-unchanged", "sizeguard.yaml")
    run_git(repository, "update-index", "--skip-worktree", "native/models/mlp/model.pt2")
    for way in ("maximum", "model replaced"):
        write(repository, TRICKS[way].files)
    assert [change.what for change in compared(repository)] == ["limit loosened", "model replaced"]


_ONE = '- {metric: load, bytes: 3, owner: ann, expires: 2999-01-31, reason: "$Id$"}\n'
_TWO = _ONE.replace(
    'Id$"', 'Id: "}, {metric: ram, bytes: 9, owner: o, expires: 2999-01-31, reason: "$"'
)


@pytest.mark.parametrize(
    ("attribute", "old", "new", "what"),
    [
        ("ident", f"[{_ONE[2:-1]}]", f"[{_TWO[2:-1]}]", "waiver added"),
        ("filter=short", f"[{_ONE[2:-1]}]", f"[{_TWO[2:-1]}]", "waiver added"),
        ("working-tree-encoding=UTF-7", f"# old\n{_ONE}", f"# old+AAo-{_ONE}", "waiver removed"),
    ],
    ids=["ident", "filter", "encoding"],
)
def test_filters_of_git_hide_no_term(
    repository: Path, attribute: str, old: str, new: str, what: str
) -> None:
    """Write waivers that git changes back to those of the base before it hashes the file."""
    file = repository / "baselines" / "waivers.yaml"
    file.write_text(old)
    commit(repository, "waiver")
    run_git(repository, "branch", "-f", "main", "work")
    run_git(repository, "config", "filter.short.clean", "sed 's/Id:.*[$]/Id$/'")
    (repository / ".gitattributes").write_text(f"baselines/waivers.yaml {attribute}\n")
    file.write_text(new)
    assert what in {change.what for change in compared(repository)}


def test_a_waiver_in_a_commit_is_named_and_accepted(repository: Path) -> None:
    text = "Size-Waiver: load --bytes 300 --owner ann --reason tiles --expires 2999-01-31"
    commit(repository, f"grow\n\n{text}")
    (change,) = compared(repository)
    assert (change.what, change.name, change.new) == (
        "waiver added",
        "load",
        "300 bytes until 2999-01-31, ann: tiles",
    )
    assert change.accepted == f"commit {run_git(repository, 'rev-parse', 'HEAD')[:10]}"
    assert change.place == ""  # no file has it


def test_a_trailer_of_the_base_accepts_nothing(repository: Path) -> None:
    """Only trailers in the change's own commits count."""
    run_git(repository, "checkout", "-q", "main")
    write(repository, {"sizeguard.yaml": f"policy_changes: fail\n{CONFIG}"})
    commit(repository, "strict\n\nSize-Accept: baselines/*")
    run_git(repository, "checkout", "-q", "-B", "work")
    write(repository, TRICKS["baseline replaced"].files)
    commit(repository, "larger")
    (change,) = compared(repository)
    assert change.verdict == FAIL
    commit(repository, f"accepted\n\nSize-Accept: {REVIEWED}")
    (change,) = compared(repository)
    assert (change.verdict, change.accepted[:7]) == (PASS, "commit ")


@pytest.mark.parametrize("folder", ["", "p"])
def test_terms_on_the_base_itself_are_compared_with_the_first_parent(
    tmp_path: Path, folder: str
) -> None:
    """They were compared with themselves, so looser terms that were pushed to it passed."""
    project = tmp_path / folder
    project.mkdir(exist_ok=True)
    run_git(tmp_path, "init", "-q", "-b", "main")
    form = "policy_changes: fail\napps:\n  a: {{image: app, limits: {{load: {}}}}}\n"
    for limit, told in (("2 KiB", []), ("2 MiB", [("limit loosened", FAIL)])):
        write(project, {"sizeguard.yaml": form.format(limit)})
        commit(tmp_path, limit)
        assert [(each.what, each.verdict) for each in compared(project)] == told
    commit(tmp_path, "other")
    assert compared(project) == ()
    write(project, {"sizeguard.yaml": form.format("3 MiB")})
    assert [each.old for each in compared(project)] == ["2 MiB"]


@pytest.mark.parametrize(
    ("old", "new", "loosens"), [("fail", "note", True), ("note", "fail", False)]
)
def test_a_changed_mode_of_surplus_is_a_term(
    repository: Path, old: str, new: str, loosens: bool
) -> None:
    run_git(repository, "checkout", "-q", "main")
    write(repository, {"sizeguard.yaml": f"surplus: {old}\n{CONFIG}"})
    commit(repository, old)
    run_git(repository, "checkout", "-q", "-B", "work")
    write(repository, {"sizeguard.yaml": f"surplus: {new}\n{CONFIG}"})
    commit(repository, new)
    (change,) = compared(repository)
    said = (change.what, change.name, change.old, change.new, change.loosens)
    assert said == ("policy changed", "surplus", old, new, loosens)


def test_a_base_without_a_policy_has_none_to_loosen(repository: Path) -> None:
    run_git(repository, "rm", "-q", "sizeguard.yaml")
    commit(repository, "none")
    run_git(repository, "branch", "-f", "main")
    write(repository, {"sizeguard.yaml": CONFIG})
    assert rows(compared(repository)) == [
        ("policy added", "sizeguard.yaml", "", "2 apps, 5 limits", False)
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sizeguard.yaml", "apps: 3\n"),
        ("sizeguard.yaml", CONFIG.replace("40 KiB", "40 KB")),
        ("baselines/waivers.yaml", "- 3\n"),
    ],
)
def test_a_base_whose_terms_cannot_be_read_is_inconclusive(
    repository: Path, path: str, text: str
) -> None:
    write(repository, {path: text})
    commit(repository, "damaged")
    run_git(repository, "branch", "-f", "main")
    write(repository, {path: PROJECT[path]})
    found = compared(repository)
    assert [(each.what, each.verdict) for each in found] == [("policy replaced", INCONCLUSIVE)]
    assert found[0].loosens
    assert found[0].old.startswith("cannot be read: ")
    assert path in found[0].old
    assert with_changed_terms(GateResult(PASS, ()), found).exit_code == 3


def test_files_of_a_commit_and_of_the_worktree_are_the_same(repository: Path) -> None:
    (repository / "link.yaml").symlink_to("baselines/waivers.yaml")
    (repository / "away").symlink_to("/etc/passwd")
    (repository / "loop").symlink_to("loop")
    commit(repository, "links")
    versions = (CommitFiles(repository, "HEAD"), WorktreeFiles(repository))
    paths = [*PROJECT, "link.yaml", "none", "native"]
    for files in versions:
        assert files.text("link.yaml") == WAIVER.encode()
        assert files.text("none") is None
        assert files.text("native") is None
        assert files.names("baselines/selections") == ["vision.yaml"]
        assert files.names("none") == []
        assert files.identities(paths) == {
            **{path: blob(text) for path, text in PROJECT.items()},
            "link.yaml": blob(WAIVER),
        }
    assert [versions[0].text(path) for path in ("away", "loop")] == [None, None]


def test_files_of_a_folder_have_paths_from_it(repository: Path) -> None:
    (repository / "baselines/link.yaml").symlink_to("../sizeguard.yaml")
    (repository / "baselines/away").symlink_to("/etc/passwd")
    commit(repository, "links")
    for files in (CommitFiles(repository, "HEAD"), WorktreeFiles(repository)):
        below = FolderFiles(files, "baselines")
        assert below.text("waivers.yaml") == WAIVER.encode()
        assert below.names("selections") == ["vision.yaml"]
        config = blob(PROJECT["sizeguard.yaml"])
        assert below.identities(["link.yaml", "none", ""]) == {"link.yaml": config}
        assert [below.leads_out(path) for path in ("link.yaml", "away")] == [False, True]


def test_without_an_earlier_commit_no_terms_are_compared(tmp_path: Path) -> None:
    """Outside git, and below the root of a repository without a usual branch."""
    write(tmp_path, {"p/sizeguard.yaml": "apps:\n  a: {image: app}\n"})
    project = tmp_path / "p"
    assert compared(project) == ()
    run_git(tmp_path, "init", "-q", "-b", "own")
    assert compared(project) == ()
    commit(tmp_path, "first")
    assert compared(project) == ()
    run_git(tmp_path, "branch", "main")
    write(project, {"sizeguard.yaml": "apps:\n  a: {image: app, limits: {load: 2 KiB}}\n"})
    assert [each.what for each in compared(project)] == ["limit added"]


@pytest.mark.parametrize(("policy", "code"), [("note", 0), ("fail", 1)])
def test_terms_below_the_root_of_a_repository_are_compared(
    tmp_path: Path, policy: str, code: int
) -> None:
    """Growth counts from the baseline there, and looser limits passed in silence."""
    config = "apps:\n  a: {image: app, strip: false, limits: {load: 2 KiB}}\n"
    text = f"policy_changes: {policy}\n{config}"
    (tmp_path / "p").mkdir()
    shutil.copy(ROOT / "tests/data/regions/cortex-m3.elf", tmp_path / "p/app")
    whole = made_project(tmp_path, "", {"p/sizeguard.yaml": text, ".gitignore": "p/app\n"})
    project = AnyProject(tmp_path / "p")
    for edited in (text, text.replace("2 KiB", "2 MiB")):
        whole.git("checkout", "-q", "-B", "work")
        whole.write({"p/sizeguard.yaml": edited})
        whole.git("commit", "-q", "--all", "--allow-empty", "-m", "Change")
        done = project.run("gate", "--format", "json")
        found = [each["what"] for each in json.loads(done.out)["policy_changes"]]
        is_same = edited == text
        assert (done.code, found) == ((0, []) if is_same else (code, ["limit loosened"]))


@pytest.mark.parametrize(
    ("before", "others", "after", "link"),
    [
        ("lib", (), "core", ""),
        ("lib", (), "core", "lib"),
        ("lib", (), "a/b", ""),
        ("lib", (), "", ""),
        ("", (), "core", ""),
        ("lib/a", ("lib/b",), "src/a", ""),
    ],
)
@pytest.mark.parametrize("limit", ["2 KiB", "2 MiB"])
def test_a_moved_project_is_compared_with_its_old_folder(
    tmp_path: Path, before: str, others: tuple[str, ...], after: str, link: str, limit: str
) -> None:
    """Its policy counted as new, so `git mv lib core` let looser limits pass."""
    form = "policy_changes: fail\napps:\n  {}: {{image: app, strip: false, limits: {{load: {}}}}}\n"
    files = {f"{folder}/sizeguard.yaml": form.format("b", "1 KiB") for folder in others}
    files[f"./{before}/sizeguard.yaml"] = form.format("a", "2 KiB")
    whole = AnyProject(tmp_path)
    whole.git("init", "--quiet", "--initial-branch=main")
    whole.write({**files, "README.md": "", ".gitignore": "app\n.sizeguard\n"})
    whole.commit("Begin")
    whole.git("checkout", "-q", "-b", "work")
    whole.git("rm", "-q", "--", *files)
    whole.write({f"./{after}/sizeguard.yaml": form.format("a", limit)})
    if link:
        (tmp_path / link).symlink_to(after)
    shutil.copy(ROOT / "tests/data/regions/cortex-m3.elf", tmp_path / after / "app")
    whole.commit("Move")
    done = AnyProject(tmp_path / after).run("gate", "--format", "json")
    found = [each["what"] for each in json.loads(done.out)["policy_changes"]]
    assert (done.code, found) == ((0, []) if limit == "2 KiB" else (1, ["limit loosened"]))


def test_a_copied_project_is_new(tmp_path: Path) -> None:
    text = "apps:\n  a: {image: app, strip: false, limits: {load: 2 KiB}}\n"
    whole = made_project(tmp_path, text, {"lib/sizeguard.yaml": text, ".gitignore": "app\n"})
    whole.git("checkout", "-q", "-b", "work")
    whole.write({"core/sizeguard.yaml": text.replace("2 KiB", "2 MiB")})
    shutil.copy(ROOT / "tests/data/regions/cortex-m3.elf", tmp_path / "core/app")
    whole.commit("Copy")
    done = AnyProject(tmp_path / "core").run("gate", "--format", "json")
    assert [each["what"] for each in json.loads(done.out)["policy_changes"]] == ["policy added"]
