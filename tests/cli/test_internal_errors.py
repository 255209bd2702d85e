"""Test that an unexpected exception ends a command with one line, a log and exit code 4."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.cli.error_lines import print_error
from tests.support.own_python import run_python
from tests.support.places import ROOT

pytestmark = pytest.mark.native

# Runs sizeguard with the code in the first argument in place of `select merge`.
BROKEN = """
import sys
from sizeguard.cli.main import main
import sizeguard.cli.select.merge as merge
statement = compile(sys.argv.pop(1), "statement", "exec")
def callback(**given):
    exec(statement, {"__name__": "statement"})
merge.command.callback = callback
main()
"""


def broken(
    statement: str, *more: str, before: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    words = (*before, "select", "merge", "a", *more)
    return run_python(BROKEN, statement, *words, **environment)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("raise ValueError('odd\\n::error::x')", "ValueError: odd ::error::x"),
        ("raise KeyError('\\x1b[31m')", r"KeyError: '\x1b[31m'"),
        ("assert 1 == 2", "AssertionError"),
        ("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded"),
        ("raise MemoryError", "out of memory"),
        ("raise EOFError('compressed file')", "EOFError: compressed file"),
        ("open('/nonexistent')", "FileNotFoundError: [Errno 2] No such file"),
        ("raise BrokenPipeError(32, 'Broken pipe')", "BrokenPipeError: [Errno 32] Broken pipe"),
        ("import subprocess; subprocess.run(['/nonexistent'])", "FileNotFoundError: [Errno 2]"),
        ("raise BaseException('x' * 10_000)", f"BaseException: {'x' * 100}"),
        ("raise ExceptionGroup('two', [ValueError(1), ValueError(2)])", "ExceptionGroup: two"),
    ],
)
def test_an_internal_error_is_one_line_that_names_a_log(
    tmp_path: Path, statement: str, shown: str
) -> None:
    done = broken(statement, TMPDIR=str(tmp_path))
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: internal error: {shown}")
    assert len(line) < 600
    log = Path(re.findall("; log: (.*)$", line)[0])
    assert log.parent == tmp_path
    text = log.read_text()
    assert "Traceback (most recent call last):" in text
    assert 'File "statement", line 1' in text
    assert text.startswith("sizeguard ")
    assert done.stdout == ""


def test_without_room_for_a_log_there_is_still_a_line(tmp_path: Path) -> None:
    done = broken(
        "import tempfile, os\n"
        "def full(*a, **k): raise OSError(28, os.strerror(28))\n"
        "tempfile.mkstemp = full\n"
        "raise ValueError('odd')"
    )
    assert done.returncode == 4
    assert done.stderr == (
        "error: internal error: ValueError: odd; no log: No space left on device;"
        " --debug shows the traceback\n"
    )


def test_a_removed_current_folder_is_no_internal_error(tmp_path: Path) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    done = broken(f"import os; os.chdir({str(place)!r}); os.rmdir({str(place)!r}); os.getcwd()")
    message = "error: the current folder was removed; change to another one\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG])
def test_a_full_disk_is_no_internal_error(number: int) -> None:
    done = broken(f"raise OSError({number}, 'text', '/some/file')")
    assert (done.returncode, done.stderr) == (4, "error: /some/file: text\n")


@pytest.mark.parametrize(
    ("before", "after", "environment"),
    [
        (("--debug",), (), {}),
        ((), ("--debug",), {}),
        ((), (), {"SIZEGUARD_DEBUG": "1"}),
    ],
)
@pytest.mark.parametrize(
    ("statement", "code", "last"),
    [
        ("raise ValueError('odd')", 4, "error: internal error: ValueError: odd; log: "),
        ("from sizeguard.base.errors import *; raise InputError('file: odd')", 2, "error: file: "),
        ("raise KeyboardInterrupt", 130, "interrupted"),
    ],
)
def test_debug_shows_the_traceback(
    tmp_path: Path,
    before: tuple[str, ...],
    after: tuple[str, ...],
    environment: dict[str, str],
    statement: str,
    code: int,
    last: str,
) -> None:
    done = broken(statement, *after, before=before, TMPDIR=str(tmp_path), **environment)
    assert done.returncode == code
    assert "Traceback (most recent call last):" in done.stderr
    assert 'File "statement", line 1' in done.stderr
    assert done.stderr.splitlines()[-1].startswith(last)


@pytest.mark.parametrize("value", ["", "0"])
def test_debug_can_be_off(value: str) -> None:
    done = broken(
        "from sizeguard.base.errors import *; raise InputError('file: odd')", SIZEGUARD_DEBUG=value
    )
    assert (done.returncode, done.stderr) == (2, "error: file: odd\n")


def test_behind_two_dashes_debug_is_an_argument() -> None:
    done = broken("import sys; print(sys.argv[-1])", "--", "--debug")
    assert (done.returncode, done.stdout) == (0, "--debug\n")


def test_an_interrupt_is_said_so() -> None:
    done = broken("raise KeyboardInterrupt")
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    # Interrupt the imports before the command, too.
    program = (
        "import sizeguard.cli.main as m\n"
        "def stop(): raise KeyboardInterrupt\n"
        "m.prepare_numpy = stop\n"
        "m.main()\n"
    )
    early = run_python(program)
    assert (early.returncode, early.stderr) == (130, "interrupted\n")


def test_a_signal_interrupts() -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", BROKEN, "print(1, flush=True); import time; time.sleep(60)",
         "select", "merge", "a"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Background processes ignore the signal, and their children would, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[1] == "interrupted\n"
    assert process.returncode == 130


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_reader_that_goes_changes_no_verdict(code: int) -> None:
    """In `gate | head` the gate's exit code does not change, and no message names the pipe."""
    ours, theirs = os.pipe()
    statement = (
        "import click, sys, time\n"
        "sys.stdin.read()\n"
        "click.echo('x' * 1_000_000)\n"
        "print('more', flush=True)\n"
        f"click.get_current_context().exit({code})"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", BROKEN, statement, "select", "merge", "a"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    os.close(ours)
    said = process.communicate(timeout=30)[1]
    assert (process.returncode, said) == (code, b"")


def test_closed_streams_are_no_errors() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&- 2>&-', "sh", sys.executable, "-P", "-m", "sizeguard", "--version"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0


def test_an_error_of_the_command_line_stays_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sizeguard", "a\n::error::b\x1b[1m"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "\x1b" not in line


def test_bisect_step_gives_no_verdict_on_an_internal_error(tmp_path: Path) -> None:
    """Git would read a traceback's exit code 1 as `bad`."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if any('bisect_step import work' in word for word in sys.orig_argv):\n"
        "    import sizeguard.cli.judge.bisect_step as step\n"
        "    def callback(**given): raise ValueError('odd')\n"
        "    step.command.callback = callback\n"
    )
    for more in ((), ("--debug",)):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "sizeguard", *more, "bisect-step", "--limit", "1"],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 128
        lines = done.stderr.splitlines()
        assert lines[-1].startswith("error: internal error: ValueError: odd; log: ")
        assert (len(lines) > 1) == bool(more)


def test_expected_errors_keep_their_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_error(InputError("file: odd")) == 2
    assert capsys.readouterr().err == "error: file: odd\n"
