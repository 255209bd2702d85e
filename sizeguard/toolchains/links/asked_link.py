"""Ask a compiler driver for the linker's own command line, without linking."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sizeguard.base.errors import BuildError
from sizeguard.builds.link_record import LINK_SUFFIX, LinkRecord, write_link_record

_LINKERS = re.compile(r"(^|/)(collect2|(\S+-)?ld(\.\w+)?(-\d+)?|ld64\.lld(-\d+)?|lld|mold|gold)$")


def record_link(line: Sequence[str], folder: Path, image: Path) -> Path:
    """Write IMAGE.link.json, unless it exists for this image; return its path.

    line: the words of ninja's command, `. && sh link_logged.sh DRIVER … && :`.
    """
    record = folder / f"{image.name}{LINK_SUFFIX}"
    if not record.is_file() or record.stat().st_mtime_ns < image.stat().st_mtime_ns:
        start = next(
            (i + 1 for i, word in enumerate(line) if word.endswith("link_logged.sh")), None
        )
        if start is None:
            raise BuildError(f"{image}: its link does not run by link_logged.sh")
        end = line.index("&&", start) if "&&" in line[start:] else len(line)
        write_link_record(record, link_command(line[start:end], folder))
    return record


def link_command(driver: Sequence[str], folder: Path) -> LinkRecord:
    """Ask the driver for the linker's command (-###), and the linker for its name.

    Raises BuildError if either answer is missing.
    """
    done = _run([*driver, "-###"], folder)
    words = next(
        (
            found
            for line in reversed(done.splitlines())
            if (found := _words(line)) and _LINKERS.search(found[0])
        ),
        None,
    )
    if words is None:
        raise BuildError(
            f"{driver[0]} -### names no linker: {done.strip().splitlines()[-1:] or 'no output'}"
        )
    choice = [word for word in driver if word.startswith(("-fuse-ld=", "--ld-path=", "-B"))]
    version = _run([driver[0], *choice, "-Wl,--version"], folder)
    name = next(
        (
            line.strip()
            for line in version.splitlines()
            if re.search(r"GNU ld|GNU gold|LLD|mold", line)
        ),
        "",
    )
    if not name:
        raise BuildError(f"{driver[0]} -Wl,--version names no known linker")
    return LinkRecord(name, tuple(words[1:]), folder)


def _words(line: str) -> list[str]:
    """Split a line like a shell; empty if it cannot be split."""
    try:
        return shlex.split(line)
    except ValueError:
        return []


def _run(command: Sequence[str], folder: Path) -> str:
    """Return the output of a command, stdout and stderr. Raises BuildError if it does not run."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    except OSError as error:
        raise BuildError(f"{command[0]}: {error.strerror}") from error
    return os.fsdecode(done.stdout + done.stderr)  # paths need not be UTF-8
