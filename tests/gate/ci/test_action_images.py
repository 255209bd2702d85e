"""Images that the action gates: names that are equal and conditions that are malformed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.action.gate_images import MISUSE
from ci.action.gate_images import main as gate_images
from tests.support.histories.git_runs import git


def test_images_of_one_name_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Their snapshots would replace each other, and each be compared with the other's."""
    monkeypatch.setenv("SIZEGUARD_IMAGES", "a/app\nb/app\n")
    monkeypatch.setenv("SIZEGUARD_FAIL_IF", "load > +1%")
    monkeypatch.setenv("SIZEGUARD_STORE", str(tmp_path))
    assert gate_images() == MISUSE
    assert "two are called app; name them: NAME=PATH" in capsys.readouterr().out


@pytest.mark.parametrize("condition", ["load > +lots", "laod > +1%"])
def test_a_malformed_condition_does_not_wait_for_a_snapshot(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    condition: str,
) -> None:
    app = tmp_path / "app"
    app.write_bytes(Path("/bin/true").read_bytes())
    git(tmp_path, "init", "-q")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIZEGUARD_IMAGES", "app")
    monkeypatch.setenv("SIZEGUARD_FAIL_IF", condition)
    monkeypatch.setenv("SIZEGUARD_STORE", str(tmp_path / "store"))
    assert gate_images() == MISUSE
    assert condition in capsys.readouterr().out
