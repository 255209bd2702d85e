"""Record links of finished builds, from ninja's commands or CMake's link.txt.

These contain the driver's command; the driver itself prints the linker's (`-###`). Files that the
build has removed again are unknown. A link with inputs newer than its output is left out.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import BuildError, InputError, SizeguardError
from sizeguard.builds.link_record import LinkRecord, image_identity, state_of_file
from sizeguard.builds.linker_options import read_options
from sizeguard.builds.recorded_links import write_records
from sizeguard.toolchains.links.asked_link import link_command
from sizeguard.toolchains.links.recording import RecordedLinks

_DRIVER = re.compile(r"(.*[/-])?(gcc|g\+\+|cc|c\+\+|clang|clang\+\+)(-[\d.]+)?")
_NO_LINK = frozenset({"-c", "-E", "-S", "-fsyntax-only", "-M", "-MM"})


def record_built(build: Path, folder: Path) -> RecordedLinks:
    """Record the links of a build folder of ninja or CMake; `failed` counts the omitted ones.

    folder: where the records are stored

    Raises InputError for a folder that neither ninja nor CMake built.
    """
    records: dict[Path, LinkRecord] = {}
    left_out = 0
    for words, place in _commands(build.resolve()):
        driver = _driver_of(words)
        if not driver:
            continue
        try:
            record = _record(driver, place)
        except SizeguardError:
            record = None
        if record is None or record.output is None:
            left_out += 1
        else:
            records[record.output] = record
    return RecordedLinks(
        tuple(records.values()), tuple(write_records(folder, records.values())), left_out
    )


def _record(driver: Sequence[str], place: Path) -> LinkRecord | None:
    """Ask for a link; None if its output is missing or older than an input."""
    record = link_command(driver, place)
    options = list(read_options(record.arguments, place))
    names = [value for option, value in options if option == "-o"] or ["a.out"]
    output = record.path_of(names[-1])
    made = state_of_file(output)
    if made is None:
        return None
    files = [record.path_of(value) for option, value in options if option == ""]
    states = {path: state_of_file(path) for path in files}
    known = {path: state for path, state in states.items() if state is not None}
    if len(known) < len(states) or any(s.changed > made.changed for s in known.values()):
        return None
    record = replace(record, output=output, image=image_identity(output), inputs=known)
    link_map = record.option_file("-Map", "--Map")
    state = state_of_file(link_map) if link_map is not None else None
    return replace(record, map=link_map, map_state=state) if state is not None else record


def _driver_of(words: Sequence[str]) -> Sequence[str]:
    """Return the driver's words in a command that links; empty if it does not link."""
    start = next((i for i, word in enumerate(words) if _DRIVER.fullmatch(word)), None)
    if start is None or _NO_LINK & set(words) or "-o" not in words[start:]:
        return ()
    return words[start:]


def _commands(build: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield the words of each command of a build, and its working directory."""
    scripts = sorted(build.rglob("CMakeFiles/*.dir/link.txt"))
    if (build / "build.ninja").is_file():
        lines = _ninja_commands(build)
    elif scripts:
        lines = [
            (line, path.parents[2])
            for path in scripts
            for line in os.fsdecode(path.read_bytes()).split("\n")
        ]
    else:
        raise InputError(f"{build}: contains neither build.ninja nor CMake's link.txt")
    for line, place in lines:
        yield from _split(line, place)


def _split(line: str, place: Path) -> Iterator[tuple[list[str], Path]]:
    """Split a shell line at && into commands; a cd changes the folder of the following ones."""
    try:
        words = shlex.split(line)
    except ValueError:
        return
    command: list[str] = []
    for word in [*words, "&&"]:
        if word not in ("&&", ";"):
            command.append(word)
        elif command[:1] == ["cd"] and len(command) == 2:
            place, command = Path(os.path.normpath(place / command[1])), []
        else:
            if command:
                yield command, place
            command = []


def _ninja_commands(build: Path) -> list[tuple[str, Path]]:
    """List ninja's commands, with the words of response files that ninja has removed again."""
    found = _run(["ninja", "-C", str(build), "-t", "compdb", "-x"])
    try:
        content = json.loads(found)
    except ValueError:
        content = []
    commands = [
        (str(entry["command"]), build)
        for entry in content
        if isinstance(entry, dict) and "command" in entry
    ]
    if commands:
        return commands
    return [
        (line, build) for line in _run(["ninja", "-C", str(build), "-t", "commands"]).splitlines()
    ]


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise BuildError(f"{command[0]}: {error.strerror}") from error
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""  # paths need not be UTF-8
