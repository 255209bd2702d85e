"""`--ascii`: commands with output for people have the option, and print only ASCII with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sizeguard.cli.main import cli


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
    without = {name for name, options in commands(cli) if "--ascii" not in options}
    assert without == {"bisect-step", "completion"}


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
