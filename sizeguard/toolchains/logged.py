"""Run a build command with a log, and find its first error."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sizeguard.base.errors import BuildError
from sizeguard.git.git import git_environment
from sizeguard.git.worktrees import MARKER, Worktree, end_orphans
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits, StoppedError

# Messages that show a failure of the machine, not of the commit: such a build tells nothing.
_TRANSIENT = re.compile(
    r"No space left on device|Cannot allocate memory|virtual memory exhausted|out of memory|Disk"
    r" quota exceeded|Killed signal terminated|"
    r"Too many open files|Resource temporarily unavailable",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?<![\w-])(?:fatal )?error[: ]|^\w+Error: |undefined reference|ERROR:", re.IGNORECASE
)
_LOG_END = 1 << 20  # bytes of a log that are searched


def run_logged(
    command: Sequence[str], tree: Worktree, more: Mapping[str, str], limits: Limits
) -> None:
    """Run a build with its output in the tree's log; it ends with all that it started.

    Raises DoesNotBuildError if the commit does not build, StoppedError if limits.stop is set,
    BuildError if the machine fails or the time is over.
    """
    environment = {**git_environment(), **more, MARKER: str(tree.path)}
    # Colours and the person's terminal have no place in a log.
    environment |= {"TERM": "dumb", "NO_COLOR": "1"}
    with tree.log.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=tree.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            code = _wait(process, command, limits)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            # Processes left running would write into the next commit's files
            end_orphans(tree.path)
    if code != 0:
        raise _failure(command, tree, code)


def _failure(command: Sequence[str], tree: Worktree, code: int) -> BuildError:
    """Tell from the log why a build ended with a code, or by a signal if that is negative."""
    output = _end_of(tree.log)
    transient = _TRANSIENT.search(output)
    if transient or code < 0:
        why = transient[0] if transient else f"signal {-code}"
        return BuildError(
            f"{shlex.join(command)} was stopped ({why}), which says nothing of the commit; log:"
            f" {tree.log}"
        )
    return DoesNotBuildError(
        _without_folder(first_error(output), str(tree.path))
        or f"ended with {code} without a message"
    )


def _wait(process: subprocess.Popen[bytes], command: Sequence[str], limits: Limits) -> int:
    """Wait for the process within its limits."""
    start = time.monotonic()
    while True:
        try:
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            if limits.stop is not None and limits.stop.is_set():
                raise StoppedError("stopped") from None
            if limits.timeout is not None and time.monotonic() - start > limits.timeout:
                raise BuildError(
                    f"{shlex.join(command)} did not end within {limits.timeout:g} seconds: give"
                    " --timeout more"
                ) from None


def _end_of(log: Path) -> str:
    """Read the end of a log."""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LOG_END, 0))
        return file.read().decode("utf-8", "replace")


def first_error(output: str) -> str:
    """Find the first line that says what is wrong: a compiler's, a linker's or CMake's message.

    Otherwise the last line; empty without any.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for i, line in enumerate(lines):
        if line.startswith("CMake Error"):
            return " ".join(lines[i + 1 : i + 4]) or line
        # ninja repeats that a command failed.
        if _ERROR.search(line) and not line.startswith("ninja: "):
            return line
    return lines[-1] if lines else ""


def _without_folder(message: str, folder: str) -> str:
    """Leave out the tree's path, which differs by job."""
    return message.replace(f"{folder}/", "").replace(folder, ".").partition("; log: ")[0][:500]
