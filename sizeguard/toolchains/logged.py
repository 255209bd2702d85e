"""Run a build command with a log, and find its first error."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from sizeguard.base.errors import BuildError
from sizeguard.base.progress import Pulse
from sizeguard.git.git import git_environment
from sizeguard.git.worktrees import MARKER, Worktree, end_orphans, processes
from sizeguard.toolchains.environment import EXACT_CACHES
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits, StoppedError

# Messages of failures of the machine, not of the commit; such builds are inconclusive.
_TRANSIENT = re.compile(
    r"No space left on device|Cannot allocate memory|virtual memory exhausted|out of memory|Disk"
    r" quota exceeded|Killed signal terminated|"
    r"Too many open files|Resource temporarily unavailable"
    # Shells, make, gcc and clang end a line with it, bash writes it behind a number
    r"|(?-i:\bKilled(?=\]?\s*$)|(?<=\d )Killed(?=\s)|SIGKILL)",
    re.IGNORECASE | re.MULTILINE,
)
_ERROR = re.compile(
    r"(?<![\w-])(?:fatal )?error[: ]|^\w+Error: |undefined reference|ERROR:", re.IGNORECASE
)
# Lines that only repeat that another program failed
_REPEATED = re.compile(
    r"(?P<link>collect2: error: |\S+: error: linker command failed)"
    r"|ninja: (?:build stopped|Entering directory|warning: |error: rebuilding )"
    r"|(?P<make>\S*make(?:\[\d+\])?: \*\*\* \[.*\] Error \d+)"
    r"|\S*make(?:\[\d+\])?: (?:Entering|Leaving) directory"
)
# GNU ld writes no "error:", and names the place of some errors without its own name
_LINKER = re.compile(r"(?:\S*/)?(?:\S+-)?ld(?:\.\w+)?: ?\S|\S*\(\S+\): ")
_REMARK = re.compile(r"warning: |NOTE: |: in function ")
# CMake Error at CMakeLists.txt:3 (find_package):, or CMake Error: and the message
_CMAKE = re.compile(r"CMake Error(?: at| in|:) ?(?P<place>.*)")
_CMAKE_LINES = 20
_LOG_END = 1 << 20  # bytes of a log to search
_LARGEST_LOG = 63 << 20  # bytes that are kept in addition to the end
_PIECE = 1 << 16  # bytes that are read at once
_PIPE_WAIT = 5.0  # seconds
_SHOWN = 54  # characters of a command; the line then fits a terminal of 80
_LONGEST = 800  # characters of a message


def run_logged(
    command: Sequence[str],
    tree: Worktree,
    more: Mapping[str, str],
    limits: Limits,
    inherited: Mapping[str, str] | None = None,
) -> None:
    """Run a build with its output in the tree's log, and end all processes that it started.

    more:      additional variables
    inherited: inherited variables; None for all of this process

    Raises DoesNotBuildError if the commit does not build, StoppedError if limits.stop is set,
    BuildError if the machine fails or the time is over.
    """
    given = git_environment() if inherited is None else inherited
    environment = {**given, **more, **EXACT_CACHES, MARKER: str(tree.path)}
    # A log must not contain colours or depend on the user's terminal.
    environment |= {"TERM": "dumb", "NO_COLOR": "1"}
    before = processes()
    process, copy = None, None
    # A signal may end this between any two lines, also right after the process has started
    try:
        process = _start(command, tree.path, environment)
        if process.stdout is None:
            raise ValueError("a pipe was requested")
        copy = threading.Thread(target=_keep_output, args=(process.stdout, tree.log), daemon=True)
        copy.start()
        code = _wait(process, command, limits)
    finally:
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        # Remaining processes would write to the next commit's files
        end_orphans(tree.path, before)
        # Every process that held the pipe has ended, except hidden ones
        if copy is not None and copy.ident is not None:
            copy.join(_PIPE_WAIT)
    if code != 0:
        raise _failure(command, tree, code)


def _start(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a command in a session, so that all its processes can be ended."""
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )


def _keep_output(source: IO[bytes], path: Path) -> None:
    """Copy output to a log: the beginning, and the end if it exceeds the size of a log."""
    size, end = 0, b""
    with path.open("wb") as log:
        while piece := os.read(source.fileno(), _PIECE):
            kept = piece[: max(_LARGEST_LOG - size, 0)]
            log.write(kept)
            log.flush()
            size += len(piece)
            end = (end + piece[len(kept) :])[-_LOG_END:]
        left_out = size - _LARGEST_LOG - len(end)
        if left_out > 0:
            log.write(f"\n[{left_out:,} bytes of output left out]\n".encode())
        log.write(end)


def _failure(command: Sequence[str], tree: Worktree, code: int) -> BuildError:
    """Make the error for a build that ended with a code, or a signal if negative, from its log."""
    output = _end_of(tree.log)
    transient = _TRANSIENT.search(output)
    if transient or code < 0:
        why = transient[0] if transient else f"signal {-code}"
        return BuildError(
            f"{_text_of(command)} was stopped ({why}), which says nothing about the commit; log:"
            f" {tree.log}"
        )
    return DoesNotBuildError(
        _without_folder(first_error(output), str(tree.path))
        or f"ended with {code} without a message"
    )


def _wait(process: subprocess.Popen[bytes], command: Sequence[str], limits: Limits) -> int:
    """Wait for the process within its limits."""
    start = time.monotonic() - limits.used
    text = _text_of(command)
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    pulse = Pulse(f"running {shown}")
    while True:
        try:
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            pulse.beat()
            if limits.stop is not None and limits.stop.is_set():
                raise StoppedError("stopped") from None
            if limits.timeout is not None and time.monotonic() - start > limits.timeout:
                raise BuildError(
                    f"{text} did not end within {limits.timeout:g} s;"
                    f" increase {limits.timeout_option}"
                ) from None


def _text_of(command: Sequence[str]) -> str:
    """Write a command as the user did: a shell's command without the shell."""
    return command[-1] if command[:2] == ["/bin/sh", "-c"] else shlex.join(command)


def _end_of(log: Path) -> str:
    """Read the end of a log."""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LOG_END, 0))
        return file.read().decode("utf-8", "replace")


def first_error(output: str) -> str:
    """Find the first line with an error message of a compiler, a linker or CMake.

    Otherwise return the last line; empty if there is no output.
    """
    raw = [line for line in output.splitlines() if line.strip()]
    lines = [line.strip() for line in raw]
    for i, line in enumerate(lines):
        if found := _CMAKE.match(line):
            return _cmake_error(found, raw[i + 1 :])
        if _ERROR.search(line) and not _REPEATED.match(line):
            return line
    return _error_before(lines)


def _error_before(lines: Sequence[str]) -> str:
    """Find what failed before lines that say only that a program failed."""
    repeated = [_REPEATED.match(line) for line in lines]
    own = [line for line, found in zip(lines, repeated, strict=True) if not found]
    if not own:
        return lines[-1] if lines else ""
    if any(found and found["link"] for found in repeated):
        linker = (line for line in own if _LINKER.match(line) and not _REMARK.search(line))
        return next(linker, own[-1])
    made = next((found["make"] for found in repeated if found and found["make"]), None)
    return f"{own[-1]}; {made}" if made else own[-1]


def _cmake_error(head: re.Match[str], rest: Sequence[str]) -> str:
    """Join the lines of an error of CMake, behind its place; further lines are indented."""
    indented = itertools.takewhile(lambda line: line[0].isspace(), rest)
    message = " ".join(line.strip() for line in itertools.islice(indented, _CMAKE_LINES))
    return ": ".join(filter(None, [head["place"].removesuffix(":"), message])) or head[0]


def _without_folder(message: str, folder: str) -> str:
    """Remove the tree's path, which differs between jobs."""
    return message.replace(f"{folder}/", "").replace(folder, ".").partition("; log: ")[0][:_LONGEST]
