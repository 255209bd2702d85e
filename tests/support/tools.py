"""Run programs of the toolchain for their output, and programs without rights of root."""

from __future__ import annotations

import subprocess
from pathlib import Path

# Root without the capabilities to bypass permissions.
UNPRIVILEGED = (
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
)


def tool(*command: str | Path) -> str:
    """Return what a command prints. Raises CalledProcessError if it fails."""
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    ).stdout
