"""Run a command with bounded time, output and disk space."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from sizeguard.base.dataclass import dataclass

LARGEST_FILE = 256 << 20  # bytes that a program may write to one file, including its output
_SAID = 1 << 16  # bytes of its output to read


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a command.

    code: as in subprocess; said: its stderr; trouble: the reason if there is no valid code, empty
    if the program ended itself.
    """

    code: int
    said: str
    trouble: str = ""


def run_bounded(
    command: Sequence[str],
    timeout: float,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program; after the timeout, end it and all processes that it started."""
    with tempfile.TemporaryFile() as file:
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
                preexec_fn=_limit,
            )
        except OSError as error:
            return Ended(-1, "", f"cannot be started: {error.strerror}: {error.filename}")
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code is None:
            return Ended(-1, "", f"did not end within {timeout:g} s")
        file.seek(0)
        said = file.read(_SAID).decode("utf-8", "replace")
    if code < 0:
        known = {number.value: number.name for number in signal.Signals}
        return Ended(code, said, f"crashed: {known.get(-code, f'signal {-code}')}")
    return Ended(code, said)


def _limit() -> None:
    """Set the limits of the process that becomes the program."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
