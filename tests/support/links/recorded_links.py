"""Run builds under `sizeguard record`, and compare their links with the linker's log."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sizeguard.builds.recorded_links import LINK_RECORDS, find_record
from sizeguard.linkgraph.elf.elf_graph import graph_of
from sizeguard.linkgraph.inputs.loader import load
from sizeguard.linkgraph.inputs.lto import without_lto
from sizeguard.linkgraph.inputs.recorded_link import read_link
from tests.support.links.gc_lists import Removed, removed_by_log, removed_by_model
from tests.support.places import SIZEGUARD

# Two used functions, one from an archive, and two unused ones.
SOURCES = {
    "main.c": "int one(int); int three(int);\n"
    "int unused_main(int x) { return x - 7; }\n"
    "int main(int n, char **v) { return one(n) + three(n); }\n",
    "one.c": "int one(int x) { return x + 1; }\nint two(int x) { return x * 2; }\n",
    "three.c": "int three(int x) { return x * 3; }\nint four(int x) { return x * 4; }\n",
}
UNUSED = {"unused_main", "two", "four"}
FLAGS = "-Os -ffunction-sections -fdata-sections"
REMOVE = "-Wl,--gc-sections -Wl,--print-gc-sections -Wl,--no-demangle"


@dataclass(frozen=True, slots=True)
class Run:
    """A finished build: its exit code and output."""

    code: int
    stdout: str
    stderr: str

    @property
    def log(self) -> str:
        return self.stdout + self.stderr


def write_sources(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    return folder


def run(folder: Path, *command: str, **variables: str) -> Run:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=300,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def sizeguard(folder: Path, *arguments: str, **variables: str) -> Run:
    return run(folder, str(SIZEGUARD), *arguments, **variables)


def record(folder: Path, script: str, *options: str, **variables: str) -> Run:
    """Run a shell script under `sizeguard record`."""
    return sizeguard(folder, "record", *options, "--", "sh", "-c", script, **variables)


def record_file(folder: Path, image: Path) -> Path:
    found = find_record(image, [folder / LINK_RECORDS])
    assert found.record is not None, found.why
    return found.record


def removed(path: Path, log: str) -> tuple[Removed, Removed]:
    """Return the sections that a recorded link removes, by its log and by the section graph."""
    loaded = load(without_lto(read_link(path)))
    return removed_by_log(log, loaded), removed_by_model(loaded, graph_of(loaded))


def check_live_set(folder: Path, image: Path, log: str, gone: set[str]) -> None:
    """Check that the record's live set equals the linker's, and that it has these functions."""
    by_log, by_model = removed(record_file(folder, image), log)
    assert by_log == by_model
    assert gone <= {section.removeprefix(".text.") for _, section in by_model}
