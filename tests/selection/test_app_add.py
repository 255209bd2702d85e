"""`sizeguard app add` adds an app to sizeguard.yaml and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.cli.main import cli
from sizeguard.proposals.added_app import undone_unless_complete, with_app
from tests.support.places import ROOT

BEFORE = """# What is watched.
targets:
  x86_64-linux:

apps:
    vision:   # the camera
        selection: a.yaml
        models: [m.pt2]

limits: {load: {growth: 1%}}
"""


def test_the_new_app_is_the_last_one_and_comments_stay() -> None:
    after = with_app(BEFORE, "keywords", "native/apps/keywords/selected_operators.yaml", ["k.pt2"])
    expected = yaml.safe_load(BEFORE)
    expected["apps"]["keywords"] = {
        "selection": "native/apps/keywords/selected_operators.yaml",
        "models": ["k.pt2"],
    }
    assert yaml.safe_load(after) == expected
    assert [line for line in after.splitlines() if line in BEFORE.splitlines()] == (
        BEFORE.splitlines()
    )


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1),
    st.sampled_from([BEFORE, "", "apps:\n", "targets: {x: }\n", "apps:\n  a: {image: a}\n# end\n"]),
)
def test_any_name_is_read_as_it_was_given(name: str, before: str) -> None:
    found = yaml.safe_load(with_app(before, name, name, [name]))
    assert found["apps"][name] == {"selection": name, "models": [name]}


def test_line_ends_of_windows_stay() -> None:
    before = BEFORE.replace("\n", "\r\n")
    after = with_app(before, "words", "w.yaml", ["w.pt2"])
    entry = "    words:\r\n      selection: w.yaml\r\n      models:\r\n        - w.pt2\r\n"
    assert entry in after
    assert after.replace(entry, "") == before


def test_apps_in_one_line_are_refused() -> None:
    with pytest.raises(InputError, match="in one line"):
        with_app("apps: {a: {image: a}}\n", "b", "b.yaml", [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vision", "m.pt2"], "app vision exists already"),
        (["words", str(ROOT / "native/models/mlp/model.pt2")], "not in the project"),
        (["words", "../m.pt2"], "../m.pt2: no such file"),
    ],
)
def test_what_cannot_be_added_changes_nothing(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    (tmp_path / "sizeguard.yaml").write_text(BEFORE)
    monkeypatch.chdir(tmp_path)
    words = ["app", "add", *arguments, "--selection", "new.yaml", "--runtime-source", str(root)]
    with pytest.raises(InputError, match=message):
        CliRunner().invoke(cli, words, catch_exceptions=False)
    assert (tmp_path / "sizeguard.yaml").read_text() == BEFORE
    assert {path.name for path in tmp_path.iterdir()} == {"sizeguard.yaml"}


def test_an_interrupt_undoes_the_edit(tmp_path: Path) -> None:
    config, selection = tmp_path / "sizeguard.yaml", tmp_path / "native/apps/a/selected.yaml"
    config.write_text("apps:\n")

    def interrupted() -> None:
        with undone_unless_complete(config, selection) as edited:
            selection.write_text("operators: {}\n")
            edited.write_text("apps:\n  a:\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert config.read_text() == "apps:\n"
    assert sorted(tmp_path.iterdir()) == [config]
    with undone_unless_complete(config, selection) as edited:
        edited.write_text("apps:\n  a:\n")
    assert config.read_text() == "apps:\n  a:\n" and selection.parent.is_dir()


@pytest.mark.parametrize("command", [["predict"], ["build", "selective"]])
def test_commands_read_the_selection_that_the_configuration_names(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    root: Path,
    native_tools: None,
) -> None:
    """An app of this name in native/apps may have another selection."""
    (tmp_path / "sizeguard.yaml").write_text(BEFORE)
    (tmp_path / "a.yaml").write_text("operators: 5\n")
    monkeypatch.chdir(tmp_path)
    words = [*command, "--app", "vision", "--runtime-source", str(root)]
    with pytest.raises(InputError, match=r"a\.yaml:1: operators must be a table"):
        CliRunner().invoke(cli, words, catch_exceptions=False)
