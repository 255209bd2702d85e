"""The API of GitHub that tests of CI share."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.services.local_hub import LocalHub, served


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    """Serve GitHub's API on this machine."""
    with served(LocalHub()) as found:
        yield found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a checkout with the programs that the steps call.

    `sizeguard gate` prints the result in result.json and records its arguments.
    """
    work = tmp_path / "work"
    for name in ("action.yml", ".github", "ci", "sizeguard"):
        source = ROOT / name
        _ = (
            shutil.copytree(source, work / name)
            if source.is_dir()
            else (work.mkdir(exist_ok=True), shutil.copy(source, work / name))
        )
    (work / ".ci").mkdir()
    for folder in (
        ".venv",
        "../temp/sizeguard",
    ):  # the action installs into the runner's temporary folder
        (work / folder / "bin").mkdir(parents=True)
    (work / "bin").mkdir()
    gate = f"{sys.executable} -m sizeguard.cli.main gate --from-json result.json"
    # An earlier result takes only options of the output.
    shown = f"""shift
printf "%s\\n" "$@" >arguments.txt
for each; do
  shift
  case $each in --base=*|--app=*|--target=*) ;; *) set -- "$@" "$each" ;; esac
done
exec {gate} "$@\""""
    scripts = {
        ".ci/setup": 'echo "$*" >>setup.txt',
        ".venv/bin/sizeguard": shown,
        "bin/python3": f'exec {sys.executable} "$@"',
        "../temp/sizeguard/bin/sizeguard": shown,
        "../temp/sizeguard/bin/python": f'exec {sys.executable} "$@"',
    }
    for name, script in scripts.items():
        (work / name).write_text(f"#!/bin/sh\n{script}\n")
        (work / name).chmod(0o755)
    return work
