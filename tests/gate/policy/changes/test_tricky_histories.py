"""Repositories and policies that look harmless: changed terms are still reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError, InputError, SizeguardError
from sizeguard.claims.verdict import INCONCLUSIVE
from sizeguard.gate.policy.read_limits import read_limits
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.projects.reader import parse_config
from tests.support.histories.drawn_history import run_git
from tests.support.places import ROOT
from tests.support.tricks.changed_projects import CONFIG, REVIEWED, TRICKS, Files, edited
from tests.support.tricks.policy_repository import commit, compared, write

pytestmark = pytest.mark.native

LOOSER = TRICKS["maximum"]
LISTED = "native/apps/vision/selected_operators.yaml"


def loosened(root: Path) -> bool:
    return (LOOSER.what, LOOSER.name) in {(each.what, each.name) for each in compared(root)}


def named(root: Path) -> list[tuple[str, str]]:
    return [(each.what, each.name) for each in compared(root)]


def loosen(root: Path) -> str:
    write(root, LOOSER.files)
    commit(root, "terms")
    return run_git(root, "rev-parse", "HEAD")


def test_a_replaced_commit_is_read_as_it_was(repository: Path) -> None:
    change = loosen(repository)
    run_git(repository, "replace", "main", change)
    assert loosened(repository)


def test_a_replaced_file_is_read_as_it_was(repository: Path) -> None:
    old = run_git(repository, "rev-parse", "main:sizeguard.yaml")
    loosen(repository)
    run_git(repository, "replace", old, run_git(repository, "rev-parse", "HEAD:sizeguard.yaml"))
    assert loosened(repository)


def test_a_graft_moves_no_merge_base(repository: Path) -> None:
    """The graft makes main a child of the change, so the change would be their merge base."""
    change = loosen(repository)
    main = run_git(repository, "rev-parse", "main")
    grafts = repository / ".git" / "info" / "grafts"
    grafts.parent.mkdir(exist_ok=True)
    grafts.write_text(f"{main} {change}\n")
    assert loosened(repository)


def test_a_merge_of_main_into_the_change_changes_nothing(repository: Path) -> None:
    loosen(repository)
    run_git(repository, "checkout", "-q", "main")
    write(repository, {"native/runtime/b.cpp": "int b;"})
    commit(repository, "other")
    run_git(repository, "checkout", "-q", "work")
    run_git(repository, "merge", "-q", "--no-edit", "main")
    assert loosened(repository)


def test_a_merge_that_takes_the_changes_side_changes_nothing(repository: Path) -> None:
    """main tightens the limit; the change merges main, but keeps its own, looser limit."""
    run_git(repository, "checkout", "-q", "main")
    write(repository, TRICKS["limit tightened"].files)
    commit(repository, "tighten")
    run_git(repository, "checkout", "-q", "work")
    commit(repository, "words")
    run_git(repository, "merge", "-q", "-s", "ours", "--no-edit", "main")
    assert [(each.what, each.loosens) for each in compared(repository)] == [
        ("limit loosened", True)
    ]


def test_a_history_that_is_cut_off_has_no_merge_base(repository: Path, tmp_path: Path) -> None:
    loosen(repository)
    run_git(repository, "checkout", "-q", "main")
    write(repository, {"native/runtime/b.cpp": "int b;"})
    commit(repository, "other")
    shallow = tmp_path / "shallow"
    run_git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{repository}",
            str(shallow))  # fmt: skip
    run_git(shallow, "checkout", "-q", "work")
    with pytest.raises(InconclusiveError, match="no commit in common"):
        compared(shallow)


def test_unrelated_roots_have_no_merge_base(repository: Path) -> None:
    run_git(repository, "checkout", "-q", "--orphan", "fresh")
    write(repository, LOOSER.files)
    commit(repository, "a beginning")
    with pytest.raises(InconclusiveError):
        compared(repository)


@pytest.mark.parametrize("name", ["main", "refs/heads/main", "heads/main"])
def test_a_tag_of_the_base_s_name_is_not_the_base(repository: Path, name: str) -> None:
    """Git prefers tags to branches of the same name; a change may push tags."""
    change = loosen(repository)
    run_git(repository, "update-ref", f"refs/tags/{name}", change)
    assert loosened(repository)


def test_a_folder_in_the_place_of_the_policy(repository: Path) -> None:
    run_git(repository, "rm", "-q", "sizeguard.yaml")
    write(repository, {"sizeguard.yaml/x": "y"})
    commit(repository, "folder")
    with pytest.raises(SizeguardError):
        compared(repository)


@pytest.mark.parametrize("link", ["terms/other.yaml", "other.yaml"])
def test_a_policy_behind_a_link_is_compared_by_content(repository: Path, link: str) -> None:
    text = LOOSER.files["sizeguard.yaml"]
    write(repository, {link: text})
    (repository / "sizeguard.yaml").unlink()
    (repository / "sizeguard.yaml").symlink_to(link)
    commit(repository, "link")
    assert loosened(repository)


def moved(root: Path, path: str, place: str, links: Files) -> None:
    """Move a file or folder of main to another place, behind links."""
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / path).rename(root / place)
    for link, target in links.items():
        (root / link).symlink_to(target or "")
    commit(root, "links")
    assert compared(root) == ()
    run_git(root, "branch", "-f", "main", "work")


def test_a_policy_behind_a_link_to_a_folder(repository: Path) -> None:
    place = "terms/sizeguard.yaml"
    moved(repository, "sizeguard.yaml", place, {"t": "terms", "sizeguard.yaml": "t/sizeguard.yaml"})
    write(repository, {place: LOOSER.files["sizeguard.yaml"]})
    commit(repository, "terms")
    assert loosened(repository)


def test_baselines_in_a_linked_folder(repository: Path) -> None:
    moved(repository, "baselines", "reviewed", {"baselines": "reviewed"})
    (repository / REVIEWED).unlink()
    commit(repository, "one less")
    assert named(repository) == [("baseline removed", REVIEWED)]


def test_models_in_a_linked_folder(repository: Path) -> None:
    cnn = "native/models/cnn"
    moved(repository, cnn, "cnn", {cnn: "../../cnn"})
    (repository / "cnn/case1_input0.npy").unlink()
    commit(repository, "one less")
    assert named(repository) == [("input removed", f"vision {cnn}/case1_input0.npy")]


def test_models_in_a_submodule(repository: Path) -> None:
    cnn = repository / "native/models/cnn"
    contents = {each.name: each.read_text() for each in cnn.iterdir()}
    run_git(repository, "rm", "-rq", "native/models/cnn")
    cnn.mkdir(parents=True)
    run_git(cnn, "init", "-q", "-b", "main")
    write(cnn, contents)
    commit(cnn, "models")
    commit(repository, "a submodule")
    assert compared(repository) == ()
    run_git(repository, "branch", "-f", "main", "work")
    (cnn / "case1_expected0.npy").unlink()
    commit(cnn, "one less")
    commit(repository, "newer models")
    assert named(repository) == [
        ("expected output removed", "vision native/models/cnn/case1_expected0.npy")
    ]


@pytest.mark.parametrize("path", ["sizeguard.yaml", "baselines", LISTED])
def test_terms_outside_the_repository_are_inconclusive(
    path: str, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No commit shows what stands there; so it is refused at once, and after the merge."""
    outside = tmp_path_factory.mktemp("outside") / "terms"
    (repository / path).rename(outside)
    (repository / path).symlink_to(outside)
    commit(repository, "a link")
    for _ in range(2):
        found = compared(repository)
        assert {each.verdict for each in found} == {INCONCLUSIVE}
        assert ("policy replaced", path) in named(repository)
        run_git(repository, "branch", "-f", "main", "work")
        write(repository, {"native/runtime/b.cpp": "int b;"})
        commit(repository, "other")


def test_of_two_merge_bases_the_one_of_the_main_line_counts(repository: Path) -> None:
    """main merged the change without its looser limit; the change merged main, and is newer."""
    run_git(repository, "checkout", "-q", "main")
    write(repository, {"native/runtime/b.cpp": "int b;"})
    commit(repository, "other")
    run_git(repository, "checkout", "-q", "work")
    change = loosen(repository)
    run_git(repository, "checkout", "-q", "main")
    run_git(repository, "merge", "-q", "-s", "ours", "--no-edit", change)
    run_git(repository, "checkout", "-q", "work")
    run_git(repository, "merge", "-q", "--no-edit", "main~1")
    assert len(run_git(repository, "merge-base", "--all", "work", "main").split()) == 2
    assert loosened(repository)


def test_several_merge_bases_beside_the_main_line_are_inconclusive(repository: Path) -> None:
    sides = []
    for name in ("one", "two"):
        run_git(repository, "checkout", "-q", "-b", name, "main")
        commit(repository, name)
        sides.append(run_git(repository, "rev-parse", "HEAD"))
    for name in ("main", "work"):
        run_git(repository, "checkout", "-q", name)
        run_git(repository, "merge", "-q", "--no-ff", "--no-edit", *sides)
    assert len(run_git(repository, "merge-base", "--all", "work", "main").split()) == 2
    with pytest.raises(InconclusiveError, match="several merge bases"):
        compared(repository)


HOSTILE = {
    "a key twice": edited(CONFIG, ("    max: 40 KiB\n", "    max: 40 KiB\n    max: 9 MiB\n")),
    "an app twice": CONFIG + "  vision: {selection: x, models: []}\n",
    "limits twice": CONFIG + "limits: {}\n",
    "a tab": edited(CONFIG, ("    max: 40 KiB\n", "\tmax: 40 KiB\n")),
    "a merge key": edited(CONFIG, ("    max: 40 KiB\n", "    <<: {max: 40 KiB}\n")),
    "an alias into itself": edited(CONFIG, ("  load:\n", "  load: &x\n    y: *x\n")),
    "two documents": CONFIG + "---\n" + CONFIG,
    "a size without a unit": edited(CONFIG, ("40 KiB", "40")),
    "a size in other units": edited(CONFIG, ("40 KiB", "40 KB")),
    "a fraction of a byte": edited(CONFIG, ("40 KiB", "0.3 B")),
    "a huge size": edited(CONFIG, ("40 KiB", "99999999999 GiB")),
    "a negative size": edited(CONFIG, ("40 KiB", "-40 KiB")),
    "a percentage as a maximum": edited(CONFIG, ("40 KiB", "40%")),
    "infinity": edited(CONFIG, ("40 KiB", ".inf")),
    "digits of another script": edited(CONFIG, ("40 KiB", "４０ KiB")),
    "a metric with another letter": edited(CONFIG, ("  load:\n", "  lоad:\n")),
    "a metric in capitals": edited(CONFIG, ("  load:\n", "  LOAD:\n")),
    "a metric with a space": edited(CONFIG, ("  load:\n", "  'load ':\n")),
    "a kind that there is not": edited(CONFIG, ("max: 40 KiB", "maximum: 40 KiB")),
    "unknown: ok alone": edited(CONFIG, ("    max: 40 KiB\n", "    unknown: yes\n")),
    "no limits at all": edited(CONFIG, ("limits:\n  load:", "limit:\n  load:")),
    "a target that there is not": CONFIG + "    targets: [linux, bord]\n",
    "an app of a name with a path": edited(CONFIG, ("  language:\n", "  ../language:\n")),
}  # fmt: skip


@pytest.mark.parametrize("way", HOSTILE)
def test_a_policy_that_says_less_than_it_seems_is_refused(way: str) -> None:
    root = Path("/project")
    with pytest.raises(InputError):
        read_limits(parse_config(root, HOSTILE[way].encode()), MetricNames(ROOT))
