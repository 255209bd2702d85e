"""Ways to change the gate's terms: each is reported with the old and the new value."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.changed_terms import changed_terms, with_changed_terms
from sizeguard.gate.gate_result import GateResult
from sizeguard.gate.policy.changes.policy_changes import compare_terms
from sizeguard.gate.policy.terms_result import PolicyChange
from sizeguard.gate.reference.ci_event import VARIABLES
from sizeguard.gate.request import Request
from sizeguard.gate.run import all_waivers
from sizeguard.git.file_versions import CommitFiles, FolderFiles, WorktreeFiles
from sizeguard.projects.reader import read_config
from tests.support.histories.drawn_history import run_git
from tests.support.parts import mostly_second
from tests.support.places import ROOT
from tests.support.tricks.any_project import AnyProject, made_project
from tests.support.tricks.changed_projects import (
    CONFIG,
    HARMLESS,
    NAMES_FILE,
    PROJECT,
    REVIEWED,
    TRICKS,
    WAIVER,
    Files,
    blob,
    config,
)
from tests.support.tricks.given_terms import changed, terms

# All ways run the same code in a repository, so only a fifth of them are unit tests.
COMMITTED = [way for way in TRICKS if "cannot be read" not in way and way != "model deleted"]


def difference(files: Files, *accepted: str) -> tuple[PolicyChange, ...]:
    trailers = [("4f2a91cdeadbeef", text) for text in accepted]
    return compare_terms(terms(PROJECT), terms(changed(files)), trailers)


@pytest.mark.parametrize("way", TRICKS)
def test_each_change_of_terms_is_named(way: str) -> None:
    trick = TRICKS[way]
    found = difference(trick.files)
    named = [change for change in found if (change.what, change.name) == (trick.what, trick.name)]
    assert [(change.old, change.new, change.loosens) for change in named] == [
        (trick.old, trick.new, trick.loosens)
    ], found
    assert {change.verdict for change in found} == {PASS}  # the base's policy only reports
    assert any(change.loosens for change in found) == trick.loosens


@pytest.mark.parametrize("way", TRICKS)
def test_the_way_back_is_named_as_well(way: str) -> None:
    trick = TRICKS[way]
    there = compare_terms(terms(PROJECT), terms(changed(trick.files)))
    back = compare_terms(terms(changed(trick.files)), terms(PROJECT))
    pairs = sorted((change.name, change.old, change.new) for change in there)
    assert sorted((change.name, change.new, change.old) for change in back) == pairs


@pytest.mark.parametrize("way", HARMLESS)
def test_what_changes_no_term_is_not_named(way: str) -> None:
    assert difference(HARMLESS[way]) == ()


def test_two_overlapping_families_do_not_hide_a_name() -> None:
    """aten::relu was in a family limited to 1 %; a longer pattern now matches it."""
    old = config(("  operator/*:\n", "  operator/*relu*: {growth: 1%}\n  operator/*:\n"))
    both = edited_limits("  operator/*relu*: {growth: 1%}\n  operator/aten::rel*: {growth: 30%}\n")
    found = compare_terms(terms(changed(old)), terms(changed(both)))
    assert ("limit loosened", "operator/aten::relu growth", "1%", "30%") in {
        (change.what, change.name, change.old, change.new) for change in found
    }


def edited_limits(lines: str) -> Files:
    return config(("  operator/*:\n", f"{lines}  operator/*:\n"))


def test_a_limit_for_one_app_on_one_target_is_named_so() -> None:
    targets = "    targets:\n      linux: {limits: {load: 41 KiB}}\n      board:\n"
    found = difference({"sizeguard.yaml": CONFIG + targets})
    assert [(change.what, change.name) for change in found] == [
        ("limit loosened", "load maximum of language for linux")
    ]
    assert found[0].bytes == 1024


def test_bytes_are_those_that_the_term_allows_more() -> None:
    by_name = {way: difference(TRICKS[way].files)[0].bytes for way in TRICKS}
    assert by_name["baseline replaced"] == 4000
    assert by_name["waiver of more bytes"] == 800
    assert by_name["waiver added"] == 100
    assert by_name["maximum"] == 1024
    assert by_name["waiver removed"] == -100
    assert by_name["dtype"] is None


def test_an_app_that_is_new_may_bring_its_baseline() -> None:
    app = "  other: {selection: native/apps/vision/selected_operators.yaml, models: []}\n"
    files = {
        "sizeguard.yaml": CONFIG + app,
        "baselines/other.linux.gcc-12.2-bfd-2.40-Os.yaml": PROJECT[REVIEWED].replace(
            "app: vision", "app: other"
        ),
    }
    assert [(change.what, change.loosens) for change in difference(files)] == [
        ("app added", False),
        ("baseline added", False),
    ]


def strict(files: Files) -> dict[str, str]:
    """Return the project with changed files and with `policy_changes: fail`."""
    found = changed(files)
    return {**found, "sizeguard.yaml": f"policy_changes: fail\n{found['sizeguard.yaml']}"}


@pytest.mark.parametrize("way", TRICKS)
def test_a_loosening_fails_where_the_base_says_so(way: str) -> None:
    trick = TRICKS[way]
    after = changed(trick.files) if way == "strict" else strict(trick.files)
    found = compare_terms(terms(strict({})), terms(after))
    assert {change.verdict for change in found if change.loosens} <= {FAIL}
    assert {change.verdict for change in found if not change.loosens} <= {PASS}
    result = with_changed_terms(GateResult(PASS, ()), found)
    assert (result.verdict, result.exit_code) == ((FAIL, 1) if trick.loosens else (PASS, 0))


def test_a_change_cannot_allow_itself_to_loosen() -> None:
    """The base's `policy_changes` applies, even if the change sets another value."""
    found = compare_terms(terms(strict({})), terms(changed(TRICKS["maximum"].files)))
    assert [(change.what, change.verdict) for change in found] == [
        ("policy changed", FAIL),
        ("limit loosened", FAIL),
    ]
    # If the change itself sets `fail`, that applies only from the next change on.
    found = compare_terms(terms(PROJECT), terms(strict(TRICKS["maximum"].files)))
    assert {change.verdict for change in found} == {PASS}


@pytest.mark.parametrize(
    ("way", "trailer", "accepted"),
    [
        ("baseline replaced", REVIEWED, True),
        ("baseline replaced", "baselines/vision.*", True),
        ("baseline replaced", "baselines/language.*", False),
        ("baseline replaced", "vision", False),
        ("baseline removed", REVIEWED, True),
        ("waiver added", "ram of vision", True),
        ("waiver added", "load of vision", False),
        ("maximum", "load maximum", False),  # trailers do not accept limits
        ("maximum", "*", False),
        ("dtype", "vision dtypes of add_stub", False),
        ("app removed", "language", False),
    ],
)
def test_a_trailer_accepts_waivers_and_baselines_alone(
    way: str, trailer: str, accepted: bool
) -> None:
    found = compare_terms(
        terms(strict({})), terms(strict(TRICKS[way].files)), [("4f2a91cdeadbeef", trailer)]
    )
    (change,) = [change for change in found if change.loosens]
    assert (change.verdict, change.accepted) == (
        (PASS, "commit 4f2a91cdea") if accepted else (FAIL, "")
    )


# The same checks in a repository, on files of commits and of the worktree.


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with the project on main and a branch `work` that begins there."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    run_git(tmp_path, "init", "-q", "-b", "main")
    lists = ("native/operators/operators.yaml", "native/prepacked/operators.yaml")
    write(tmp_path, {**PROJECT, **{path: (ROOT / path).read_text() for path in lists}})
    commit(tmp_path, "project")
    run_git(tmp_path, "checkout", "-q", "-b", "work")
    return tmp_path


def write(root: Path, files: Files) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)


def commit(root: Path, message: str) -> None:
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "--allow-empty", "-m", message)


def compared(root: Path) -> tuple[PolicyChange, ...]:
    request = Request(root, read_config(root))
    base = request.history.base()
    return changed_terms(request, base, all_waivers(request, base)[0])


def seen(changes: Iterable[PolicyChange]) -> list[tuple[str, str, str, str, bool]]:
    return [(each.what, each.name, each.old, each.new, each.loosens) for each in changes]


@pytest.mark.parametrize("way", mostly_second(COMMITTED, COMMITTED[::5]))
def test_uncommitted_committed_and_in_two_steps(way: str, repository: Path) -> None:
    files = TRICKS[way].files
    expected = seen(difference(files))
    write(repository, files)
    assert seen(compared(repository)) == expected
    commit(repository, "terms")
    assert seen(compared(repository)) == expected
    # The terms still count as changed after a second commit that uses them.
    write(repository, {"native/runtime/a.cpp": "int grown[1000];"})
    commit(repository, "growth")
    assert seen(compared(repository)) == expected
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
    assert seen([change]) == [("policy replaced", NAMES_FILE, "", away, True)]
    assert change.verdict == INCONCLUSIVE
    commit(repository, "link")
    run_git(repository, "branch", "-f", "main")
    then = f"cannot be read: {run_git(repository, 'rev-parse', 'main')[:7]}: {away}"
    assert [each[2:] for each in seen(compared(repository))] == [(then, away, True)]
    path.unlink()
    shutil.copy(outside, path)
    (change,) = compared(repository)
    assert seen([change])[0][2:] == (then, "is in the repository", True)
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
    assert seen(compared(repository)) == [
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
