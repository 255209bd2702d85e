"""Write a page and snapshots of each build that the gate measured, for people to open and compare.

    pages.py RESULT FOLDER

A build that fails has a page of its diff, others have one of their sizes; both have a treemap. With
the snapshots, `sizeguard diff` reproduces a change without building it. Exits with 1 if there are
none; the gate's own exit code does not depend on that.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from sizeguard.base.errors import SizeguardError
from sizeguard.gate.gate_result import AppResult
from sizeguard.report.gate.gate_json import read_gate_json

MOST = 24  # builds
SECONDS = 240.0  # maximum time for all


def write_pages(app: AppResult, folder: Path, ends: float) -> bool:
    """Write the files of one build; return whether there are any."""
    build = Path(app.folder)
    name = re.sub(r"[^\w.-]", "_", f"{app.app}.{app.target}")
    if not app.sizes or not app.folder or not build.is_dir():
        return False
    head, page = folder / f"{name}.snapshot", folder / f"{name}.html"
    bases = sorted(Path(".sizeguard").glob(f"*/{name}.snapshot"), key=_time)
    if not _sizeguard(ends, "report", str(build), "--save", str(head), "--output", "/dev/null"):
        return False
    if not bases:
        return _sizeguard(ends, "report", str(head), "--format", "html", "--output", str(page))
    base = folder / f"{name}.base.snapshot"
    shutil.copy(bases[-1], base)
    pair = (str(base), str(head), "--by", "operator,symbol")
    return _sizeguard(ends, "diff", *pair, "--format", "html", "--output", str(page))


def _time(path: Path) -> float:
    return path.stat().st_mtime


def _sizeguard(ends: float, *arguments: str) -> bool:
    left = ends - time.monotonic()
    if left <= 0:
        return False
    command = [sys.executable, "-P", "-m", "sizeguard", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=left)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode:
        print(f"no page: {' '.join(arguments)}: {done.stderr.strip()[-300:]}")
    return done.returncode == 0


def main(result: Path, folder: Path) -> int:
    """Write the files of all builds."""
    try:
        apps = read_gate_json(result).apps
    except (SizeguardError, OSError) as error:
        print(f"no pages: {error}")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    ends = time.monotonic() + SECONDS
    written = [write_pages(app, folder, ends) for app in apps[:MOST]]
    return 0 if any(written) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
