"""Test that every command's --help lists its exit codes, and that commands exit with them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sizeguard.base import errors
from sizeguard.cli.exit_codes import EXIT_CODES, SHOWN_WORDS
from sizeguard.cli.main import cli
from sizeguard.report.screen.glossary import WORDS
from tests.support.builds.recorded_builds import recorded_runtime
from tests.support.parts import mostly_second

GENERAL = {0, 1, 2, 3, 4}


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """List all commands, including groups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        whole = f"{path} {name}".strip()
        yield whole, command
        if isinstance(command, click.Group):
            yield from commands(command, whole)


ALL = dict(commands(cli))


def test_the_table_has_every_command() -> None:
    assert set(ALL) == set(EXIT_CODES)


@pytest.mark.parametrize("name", ALL)
def test_help_lists_the_exit_codes(name: str) -> None:
    done = CliRunner().invoke(cli, [*name.split(), "--help"])
    assert done.exit_code == 0
    shown = done.output.partition("Exit codes:\n")[2].splitlines()
    listed = [re.fullmatch(r" +(\d+) +(.+)", line) for line in shown if line.strip()]
    assert {int(row[1]): row[2] for row in listed if row} == EXIT_CODES[name]
    assert None not in listed
    assert max(map(len, shown)) <= 80
    allowed = {0, 1, 125, 128} if name == "bisect-step" else GENERAL
    assert set(EXIT_CODES[name]) <= allowed
    assert "xit code 0" not in done.output.partition("Exit codes:")[0]


@pytest.mark.parametrize("name", ALL)
def test_options_of_all_commands_read_alike(name: str) -> None:
    options = [each for each in ALL[name].params if isinstance(each, click.Option)]
    for option in options:
        assert option.help, option.opts
        assert option.help.endswith("May be given again.") is option.multiple
        named = option.is_flag or option.metavar or isinstance(option.type, click.Choice)
        assert named, f"{option.opts[-1]} has the name of a type instead of a value's"
        if option.opts[-1] == "--output":
            assert "-o" in option.opts


@pytest.mark.parametrize("name", SHOWN_WORDS)
def test_help_explains_words_of_the_output(name: str) -> None:
    shown = CliRunner().invoke(cli, [*name.split(), "--help"]).output
    rows = dict(re.findall(r"^ {4}(\S+) {2,}(.+)$", shown, re.MULTILINE))
    assert {word: rows.get(word) for word in SHOWN_WORDS[name]} == {
        word: WORDS[word].short for word in SHOWN_WORDS[name]
    }


def test_errors_have_the_codes_of_the_table() -> None:
    kinds = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.SizeguardError)
    ]
    assert {kind.exit_code for kind in kinds} == {1, 2, 3, 4}


def ended(*words: str, cwd: Path) -> int:
    return subprocess.run(
        [sys.executable, "-P", "-m", "sizeguard", *words],
        cwd=cwd,
        env=os.environ | {"SIZEGUARD_DEBUG": "0"},
        capture_output=True,
        check=False,
    ).returncode


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a recorded build, its image, and a damaged file."""
    folder = tmp_path_factory.mktemp("codes")
    runtime = recorded_runtime(folder)
    shutil.copy(runtime.build.image, folder / "image")
    shutil.copy(runtime.build.map, folder / "image.map")
    (folder / "damaged").write_bytes(b"\x7fELF\2\1\1")
    (folder / "lacking.yaml").write_text("operators: {aten::nothing: {}}\n")
    return folder


OBJECTS = "runtime/build/mlp/CMakeFiles"
CASES = [
    (0, ["report", "image"]),
    (0, ["diff", "image", "image"]),
    (0, ["completion", "bash"]),
    (0, ["verify", "image", "--present", "main"]),
    (0, ["select", "merge", "runtime/mlp.yaml", "-o", "out.yaml"]),
    (1, ["verify", "image", "--absent", "main"]),
    (2, ["report", "nothing"]),
    (2, ["report", "damaged"]),
    (2, ["report", "image", "--filter", "symbol=nothing_at_all"]),
    (2, ["report", "image", "--by", "laod"]),
    (2, ["diff", "image", "damaged"]),
    (2, ["nothing"]),
    (2, ["gate", "--format", "pdf"]),
    (2, ["baseline", "show", "--nothing"]),
    (2, ["completion", "tcsh"]),
    (3, ["verify", "image", "--absent", "nothing_at_all"]),
    (3, ["why", "image", "main"]),
    (3, ["why", "image", "main", "--objects", "other.o"]),
    (4, ["report", "image", "--output", "/dev/full"]),
    (128, ["bisect-step", "--limit", "nothing"]),
]


@pytest.mark.parametrize(
    ("code", "words"),
    mostly_second(CASES, CASES[::6]),
    ids=lambda value: "_".join(map(str, [value])),
)
def test_commands_end_with_their_codes(code: int, words: list[str], place: Path) -> None:
    name = " ".join(words[:2]) if " ".join(words[:2]) in ALL else words[0]
    if "other.o" in words:
        other = next((place / OBJECTS).rglob("*.o")).read_bytes()
        (place / "other.o").write_bytes(other.replace(b"main", b"niam"))
    assert ended(*words, cwd=place) == code
    assert name not in EXIT_CODES or code in EXIT_CODES[name]
