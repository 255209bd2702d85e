"""Progress on stderr: cleared on a terminal, one line per step elsewhere, with estimates."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sizeguard.base import progress as progress_module
from sizeguard.base.progress import Progress, Pulse, announce, pulsing
from sizeguard.measurement import build_times
from sizeguard.measurement.build_times import announcement, remember

SCRIPT = """
import re
import sys, time
from sizeguard.base import progress as progress_module
from sizeguard.base.progress import Progress, Pulse, announce, pulsing
with Progress("building full", "gcc") as outer:
    outer.step(1, 9, "a_file_with_a_name_that_is_longer_than_any_terminal_is_wide_" * 3)
    with Progress("building inner", "x"):
        announce("building 4f2a91c: run_program, about 3:41")
    time.sleep(0.12)
    outer.step(2, 9, "b.cpp")
    if len(sys.argv) > 1:
        raise KeyboardInterrupt
"""


def on_a_terminal(*arguments: str) -> list[str]:
    """Return the lines that a terminal of 80 columns shows at the end."""
    return shown(written(SCRIPT, 80, *arguments))


def written(script: str, width: int, *arguments: str) -> str:
    """Return what a script writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": f"{width}", "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stderr=theirs, env=environment
    ) as process:
        process.wait(60)
    os.close(theirs)
    data = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        data += part
    os.close(ours)
    return data.decode()


def shown(text: str) -> list[str]:
    """Interpret the few sequences that rich writes: newlines, cursor up and cleared lines."""
    lines, row, column, i = [""], 0, 0, 0
    while i < len(text):
        if text[i] == "\x1b":
            end = next(k for k in range(i + 2, len(text)) if text[k].isalpha())
            number = text[i + 2 : end]
            if text[end] == "A":
                row -= int(number or 1)
            elif text[end] == "K":
                lines[row] = "" if number == "2" else lines[row][:column]
            i = end + 1
            continue
        if text[i] == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif text[i] == "\r":
            column = 0
        else:
            lines[row] = lines[row][:column].ljust(column) + text[i] + lines[row][column + 1 :]
            column += 1
        i += 1
    return [line.rstrip() for line in lines if line.strip()]


def test_a_terminal_keeps_a_line_a_step_and_no_bar() -> None:
    lines = on_a_terminal()
    assert [line.split("  ")[0] for line in lines] == [
        "building 4f2a91c: run_program, about 3:41".partition("  ")[0],
        "building inner",
        "building full",
    ]
    steps, time = lines[2].split()[-2:]
    assert steps == "2/9" and re.fullmatch(r"\d:\d\d", time)


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    script = (
        "import time; from sizeguard.base.progress import Progress\n"
        "for detail in ('gcc', 'gcc 12.2 -Os x86_64-linux', 'a-long-detail' * 20):\n"
        "    with Progress('building run_program', detail) as progress:\n"
        "        time.sleep(0.11); progress.step(31, 31, 'file.cpp ' * 20)\n"
    )
    text = written(script, width)
    for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text)):
        assert len(line) <= width
    lines = shown(text)
    assert [len(line) for line in lines] == [min(width, 70), min(width, 70), width]
    assert all(line.split()[-2] == "31/31" for line in lines)
    assert ("…" in lines[1]) is (width < 60)


def test_an_interrupt_leaves_no_bar() -> None:
    lines = on_a_terminal("interrupt")
    full = [line for line in lines if line.startswith("building full")]
    assert len(full) == 1
    assert "interrupted" in full[0]
    assert not any("━" in line for line in lines)


def test_without_a_terminal_each_step_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("building full", "gcc") as progress:
        announce("building 4f2a91c")
        progress.step(3, 3, "a.cpp")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "building 4f2a91c"
    assert second.split() == ["building", "full", "gcc", "3/3", "0:00"]


def test_a_build_is_announced_with_how_long_the_last_one_took(tmp_path: Path) -> None:
    assert announcement(tmp_path, "4f2a91cdead", "full") == "building 4f2a91c: full"
    remember(tmp_path, "full", 221.4)
    remember(tmp_path, "core", 0.2)
    assert announcement(tmp_path, "4f2a91cdead", "full") == "building 4f2a91c: full, about 3:41"
    assert announcement(tmp_path, "4f2a91cdead", "core") == "building 4f2a91c: core"
    for damaged in ("[damaged", "[]", '{"full": "long"}', '{"full": Infinity}'):
        (tmp_path / "build_times.json").write_text(damaged)
        assert announcement(tmp_path, "4f2a91cdead", "full") == "building 4f2a91c: full"


def test_times_of_the_recipes_that_were_built_last_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_times, "_MOST", 2)
    for what in ("full", "core", "full", "vision"):
        remember(tmp_path, what, 60)
    assert announcement(tmp_path, "4f2a91cdead", "full").endswith("about 1:00")
    assert announcement(tmp_path, "4f2a91cdead", "core").endswith(": core")


def test_a_log_hears_of_long_work_once_a_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two lines a minute passes, here two seconds of a faked clock."""
    now = 100.0
    monkeypatch.setattr(progress_module, "PERIOD", 2.0)
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    with Progress("building vision", "gcc") as progress:
        for step in range(1, 9):
            now += 0.75
            progress.step(step, 10)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:-1] == [
        "building vision gcc: 3/10, 0:02 so far",
        "building vision gcc: 6/10, about 0:03 left, 0:04 so far",
    ]
    pulse = Pulse("running make")
    for _ in range(4):
        now += 1
        pulse.beat()
    assert capsys.readouterr().err.splitlines() == [
        "running make: 0:02 so far",
        "running make: 0:04 so far",
    ]


def test_a_wait_without_steps_is_announced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module, "PERIOD", 0.05)
    with pulsing("waiting for 2 workers"):
        time.sleep(0.4)
    said = capsys.readouterr().err.splitlines()
    assert len(said) >= 2 and set(said) == {"waiting for 2 workers: 0:00 so far"}
    time.sleep(0.1)
    assert capsys.readouterr().err == ""
