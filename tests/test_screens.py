"""Exact output of commands at several widths and in a pipe; no line is too wide."""

from __future__ import annotations

import re

import pytest

from sizeguard.report.screen.fit import fit
from sizeguard.report.writers.style import Style
from tests.support.screen_samples import FOLDER, PIPED, file_of, prepare, screens

_COMMAND = re.compile(r"(?:^|  |→ |: )(?:sizeguard \S|Size-)")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = prepare(tmp_path_factory.mktemp("screens"))
    return {file_of(name, width): text for name, width, text in screens(root)}


def test_screens_are_the_reviewed_ones(shown: dict[str, str]) -> None:
    """To accept changes, run python -m tests.support.screen_samples and review the diff."""
    assert set(shown) == {path.name for path in FOLDER.iterdir()}
    for name, text in shown.items():
        assert text == (FOLDER / name).read_text("utf-8"), name


def test_no_line_is_wider_than_asked(shown: dict[str, str]) -> None:
    for name, text in shown.items():
        width = name.rpartition("-")[2].partition(".")[0]
        if width == PIPED:
            continue
        for line in text.splitlines():
            assert len(line) <= int(width) or _COMMAND.search(line), f"{name}: {line}"


def test_nothing_is_shortened_in_a_pipe(shown: dict[str, str]) -> None:
    """Check only reports and diffs: other screens print … between bounds and as a placeholder."""
    for name, text in shown.items():
        if name.endswith(f"{PIPED}.txt") and name.startswith(("report", "diff")):
            assert "…" not in text, name


@pytest.mark.parametrize("width", [40, 61, 80])
def test_broken_lines_lose_nothing(width: int) -> None:
    lines = [
        "a sentence of several words that is longer than the terminal is wide, and goes on " * 3,
        f"  \x1b[31m✗ {'word ' * 40}\x1b[0m",
        "x" * 200,
        "short",
    ]
    broken = list(fit(lines, Style(width=width)))
    plain = [re.sub(r"\x1b\[\d*m", "", line) for line in broken]
    assert max(map(len, plain)) <= width
    assert "".join("".join(broken).split()) == "".join("".join(lines).split())
    assert list(fit(lines, Style(width=width, full=True))) == lines


def test_commands_to_copy_stay_whole() -> None:
    line = f"  accept it        sizeguard waive load --reason '{'x' * 80}'"
    assert list(fit([line], Style(width=60))) == [line]
