"""Options and files that commands refuse or read, and commands that messages offer."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.cli.image_options import ImageOptions, Output
from sizeguard.cli.main import cli, main
from sizeguard.snapshots.magic import MAGIC
from tests.support.histories.git_runs import git


def test_a_log_of_any_bytes_is_read(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("operators: {aten::relu: {}}\n")
    words = ["triage", "-", "--selection", str(tmp_path / "s.yaml")]
    done = CliRunner().invoke(cli, words, input=b"\xff aten::relu is missing\n")
    assert (done.exit_code, "operator aten::relu: in the selection" in done.output) == (0, True)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (f"--also=json={'a' * 300}", "sizeguard.yaml"),
        (f"--base-snapshot={'a' * 300}", "no such file"),
        ("--also=json=-", "--format json alone writes to standard output"),
    ],
)
def test_odd_names_of_files_are_no_internal_error(
    option: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["gate", option])
    assert not isinstance(done.exception, OSError)
    assert message in f"{done.output}{done.exception}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("bisect --resume --metric ram", "leave --metric out"),
        ("bisect-step --limit 5 --threshold 9", "--threshold is growth since --than"),
        ("history --jobs 4", "add --build"),
        ("report app.snapshot --rules rules.yaml", "--rules is for an image"),
        ("report app.snapshot --preset aten", "--preset is for an image"),
    ],
)
def test_no_option_is_ignored(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    (tmp_path / "rules.yaml").write_text("rules: []\n")
    (tmp_path / "app.snapshot").write_bytes(MAGIC)
    done = CliRunner().invoke(cli, words.split())
    assert (done.exit_code != 0, message in str(done.exception)) == (True, True), done.exception


def test_a_snapshot_is_compared_with_an_image_that_has_options() -> None:
    """A linker script is of NEW: the snapshot has its image's regions already."""
    given = ImageOptions((), None, None, "aten", None, "x86_64", (Path("x.ld"),))
    assert given.of_old(Path("app")) == given


def test_offered_commands_work_in_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b").write_text("x")
    for words, command in (
        (["why", "f<int>", "a b"], "sizeguard why 'a b' 'f<int>'"),
        (["triage", "a b", "--selection", "a b"], "sizeguard triage - < 'a b'"),
    ):
        (tmp_path / "a b").write_text("operators: {aten::relu: {}}\n")
        monkeypatch.setattr(sys, "argv", ["sizeguard", *words])
        with pytest.raises(SystemExit):
            main()
        assert command in capsys.readouterr().err


def test_formats_for_programs_are_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has a hash of its script, and says that it is UTF-8."""
    for format_, expected in (("html", "…".encode()), ("terminal", b"\\u2026")):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
        Output(format_, None).emit(["…"])
        assert written.getvalue() == expected
