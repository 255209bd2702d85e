"""`--ascii`, `--width` and `--wide`: commands with output for people have them, and obey."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sizeguard.cli.main import cli
from tests.support.places import DATA

MODEL = DATA / "exported_models" / "all_dtypes" / "model.pt2"


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    """Yield each command with its options."""
    context = click.Context(group)
    for name in group.list_commands(context):
        each = group.get_command(context, name)
        assert each is not None
        if isinstance(each, click.Group):
            yield from commands(each, (*words, name))
        else:
            options = {word for parameter in each.params for word in parameter.opts}
            yield " ".join((*words, name)), options


def test_every_command_for_people_has_the_option() -> None:
    for option in ("--ascii", "--width", "--wide"):
        without = {name for name, options in commands(cli) if option not in options}
        assert without == {"completion"}


def run(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sizeguard", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    "words", [["explain"], ["explain", "margin"], ["select", "ops", str(MODEL)]]
)
def test_lines_are_broken_at_the_width_and_lose_nothing(tmp_path: Path, words: list[str]) -> None:
    whole = run(words, tmp_path)
    assert max(map(len, whole.splitlines())) > 44
    fitted = run([*words, "--width", "44"], tmp_path)
    assert max(map(len, fitted.splitlines())) <= 44
    assert fitted.split() == whole.split()
    assert run([*words, "--width", "44", "--wide"], tmp_path) == whole


def test_formats_for_programs_are_not_broken(tmp_path: Path) -> None:
    words = ["select", "ops", str(MODEL), "--format", "csv"]
    whole = run(words, tmp_path)
    assert run([*words, "--width", "44"], tmp_path) == whole
    assert run([*words[:3], "--width", "44", *words[3:]], tmp_path) == whole


def test_a_merge_breaks_its_sentences_and_no_line_of_the_selection(tmp_path: Path) -> None:
    names = [f"aten::an_operator_of_a_long_name_{i}" for i in range(3)]
    (tmp_path / "a.yaml").write_text(
        f"operators: {{{', '.join(f'{name}: {{}}' for name in names)}}}\n"
    )
    (tmp_path / "b.yaml").write_text("operators: {}\n")
    command = [sys.executable, "-P", "-m", "sizeguard", "select", "merge", "a.yaml", "b.yaml"]
    whole, fitted, wide = (
        subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        for options in ([], ["--width", "44"], ["--width", "44", "--wide"])
    )
    assert max(map(len, whole.stderr.splitlines())) > 100
    assert max(map(len, whole.stdout.splitlines())) > 44
    assert max(map(len, fitted.stderr.splitlines())) <= 44
    assert fitted.stderr.split() == whole.stderr.split()
    assert (fitted.stdout, wide.stdout, wide.stderr) == (whole.stdout, whole.stdout, whole.stderr)


@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (["explain"], 0, "\n-  "),
        (["explain", "–"], 0, "-: "),
        (["explain", "lo…"], 2, "error: unknown word 'lo~'"),
        (["triage", "é → x"], 2, "error: "),
    ],
)
def test_only_ascii_is_printed(tmp_path: Path, words: list[str], code: int, shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sizeguard", *words, "--ascii"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == code
    printed = (done.stdout + done.stderr).decode()
    assert printed.isascii()
    assert shown in printed.replace("\n\n", "\n")
