"""Answers of git that a user's settings, names of files and tags do not change."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.gate.causes.edited_lines import edited_ranges
from sizeguard.gate.reference.baseline_log import baseline_log
from sizeguard.gate.reference.history import History
from sizeguard.git.commits import line_of, lines_after, undone_pairs
from sizeguard.git.git import git_environment
from sizeguard.git.trees import tree_entries
from sizeguard.git.worktrees import end_orphans, worktree
from sizeguard.history.points_in_time import tags_of
from tests.support.histories.git_runs import git

# A gpg that signs anything, and finds every signature good.
_GPG = """#!/bin/sh
case "$*" in
*--verify*) echo "[GNUPG:] GOODSIG A Ann"; echo "gpg: Good signature" >&2; exit 0 ;;
esac
echo "[GNUPG:] SIG_CREATED " >&2
cat >/dev/null
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nabc\\n-----END PGP SIGNATURE-----\\n'
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with a commit of two files."""
    return _made(tmp_path / "project")


def _made(root: Path) -> Path:
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    _commit(root, {"a.cpp": "1\n2\n3\n", "b.cpp": "1\n2\n3\n"}, "first")
    return root


def _commit(root: Path, files: dict[str, str], message: str, *options: str) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", message, *options)
    return git(root, "rev-parse", "HEAD")


def test_signatures_are_not_shown(root: Path, tmp_path: Path) -> None:
    """With log.showSignature, git prints lines of gpg before each signed commit."""
    gpg = tmp_path / "gpg"
    gpg.write_text(_GPG)
    gpg.chmod(0o755)
    git(root, "config", "gpg.program", str(gpg))
    git(root, "config", "log.showSignature", "true")
    start = git(root, "rev-parse", "HEAD")
    text = "signed\n\nSize-Waiver: load --bytes 5"
    signed = _commit(root, {"baselines/app.t.gcc.yaml": ""}, text, "--gpg-sign")
    history = History(root)
    assert history.head is not None
    assert history.head.id == signed
    assert [line.id for line in lines_after(root, start)] == [signed]
    assert history.trailers(start, "Size-Waiver") == [(signed, "load --bytes 5")]
    assert [entry.commit for entry in baseline_log(root, ())] == [signed[:10]]


@pytest.mark.parametrize(
    "setting", ["diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.interHunkContext=9"]
)
def test_edited_lines_do_not_depend_on_how_diffs_are_shown(root: Path, setting: str) -> None:
    git(root, "config", *setting.split("="))
    (root / "a.cpp").write_text("0\n2\n0\n")
    (root / "b.cpp").write_text("1\n0\n3\n")
    found = edited_ranges(root, "HEAD", ["a.cpp", "b.cpp"])
    assert found == {"a.cpp": [(1, 1), (3, 3)], "b.cpp": [(2, 2)]}


def test_edits_of_a_quoted_or_removed_file_are_not_those_of_the_file_before(root: Path) -> None:
    base = _commit(root, {'b"q.cpp': "1\n2\n", "c.cpp": "1\n"}, "more")
    (root / "a.cpp").write_text("1\n2\n0\n")
    (root / 'b"q.cpp').write_text("1\n0\n")
    (root / "c.cpp").unlink()
    found = edited_ranges(root, base, ["a.cpp", 'b"q.cpp', "c.cpp"])
    assert found == {"a.cpp": [(3, 3)]}


def test_an_untracked_file_is_a_change_even_if_git_does_not_show_it(root: Path) -> None:
    git(root, "config", "status.showUntrackedFiles", "no")
    base = History(root).base("main")
    assert base is not None
    assert base.merged
    (root / "new.cpp").write_text("")
    base = History(root).base("main")
    assert base is not None
    assert not base.merged


def test_a_moved_submodule_is_a_part_of_a_patch(root: Path, tmp_path: Path) -> None:
    """With diff.submodule=log, git leaves submodules out of the ids of patches."""
    git(root, "config", "diff.submodule", "log")
    part = _made(tmp_path / "part")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    start = _commit(root, {}, "submodule")
    _commit(part, {"a.cpp": "2\n"}, "later")
    git(root / "part", "pull", "-q")
    _commit(root, {"b.cpp": "0\n"}, "both")
    end = _commit(root, {"b.cpp": "1\n2\n3\n"}, "only the file")
    assert undone_pairs(root, line_of(root, start, end)) == []


def test_a_tag_with_a_line_separator_in_its_name_is_one_tag(root: Path) -> None:
    git(root, "tag", "v1\u2028x")
    assert tags_of(root, "") == {git(root, "rev-parse", "HEAD"): ("v1\u2028x",)}


def test_a_baseline_that_a_merge_left_out_has_no_entries(root: Path) -> None:
    """Git lists its commit for the folder, but none for the file."""
    git(root, "checkout", "-q", "-b", "side")
    _commit(root, {"baselines/app.t.gcc.yaml": "x"}, "a baseline")
    git(root, "checkout", "-q", "main")
    _commit(root, {"c.cpp": ""}, "meanwhile")
    git(root, "merge", "-q", "--no-commit", "--no-ff", "side")
    git(root, "rm", "-q", "-f", "baselines/app.t.gcc.yaml")
    _commit(root, {"baselines/other.yaml": ""}, "merge")
    assert [entry.file for entry in baseline_log(root, ())] == []


def test_the_baseline_of_an_image_is_found_by_its_app(root: Path) -> None:
    """The name of an image's app has a dot: GROUP.IMAGE."""
    _commit(root, {"baselines/tools.parse.t.gcc.yaml": "x", "baselines/tools2.t.gcc.yaml": ""}, "b")
    for name in ("tools.parse", "tools"):
        found = [entry.file for entry in baseline_log(root, [name])]
        assert found == ["baselines/tools.parse.t.gcc.yaml"]


def test_paths_need_not_be_utf_8(tmp_path: Path) -> None:
    """A repository whose path cannot be read would have no base, and nothing would be growth."""
    root = _made(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")))
    assert History(root).head is not None
    command = ["git", "-C", root, "worktree", "add", "-q", "--detach", f"{root}-other"]
    subprocess.run(command, check=True, capture_output=True)
    with worktree(root, root / ".sizeguard") as tree:
        for _ in range(2):
            with tree.check_out(git(root, "rev-parse", "HEAD")) as place:
                assert (place / "a.cpp").is_file()
        end_orphans(tree.path)


def test_no_file_hides_behind_a_name_that_is_not_utf_8(root: Path) -> None:
    """Names that are not UTF-8 are written with escapes, which may be another file's name."""
    folder = os.fsencode(root)
    Path(os.fsdecode(folder + b"/\xe9.c")).write_text("")
    commit = _commit(root, {}, "one")
    assert "\\udce9.c" in tree_entries(root, commit, "-r", "--full-tree")
    commit = _commit(root, {"\\udce9.c": ""}, "two")
    with pytest.raises(InputError, match="two files differ only in how a byte"):
        tree_entries(root, commit, "-r", "--full-tree")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"COUNT": "0"}, {}),
        ({"COUNT": "x"}, {}),
        ({"COUNT": "1", "KEY_0": "core.hooksPath", "VALUE_0": "/"}, {}),
        (
            {
                "COUNT": "3",
                **{"KEY_0": "core.bare", "VALUE_0": "true"},
                **{"KEY_1": "safe.directory", "VALUE_1": "*"},
                **{"KEY_2": "Safe.Directory", "VALUE_2": "/a b"},
            },
            {
                "COUNT": "2",
                **{"KEY_0": "safe.directory", "VALUE_0": "*"},
                **{"KEY_1": "safe.directory", "VALUE_1": "/a b"},
            },
        ),
        ({"GLOBAL": "/etc/mine", "PARAMETERS": "'core.bare'='true'"}, {"GLOBAL": "/etc/mine"}),
    ],
)
def test_folders_of_other_users_can_be_named_in_the_environment(
    given: dict[str, str], kept: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs in containers name them so, where the checkout belongs to another user."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    prefix = "GIT_CONFIG_"
    found = {
        name.removeprefix(prefix): value
        for name, value in git_environment().items()
        if name.startswith(prefix)
    }
    assert found == kept
