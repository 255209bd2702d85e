"""Read raw notes of links from the preloaded library and the wrapper, and make records."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.builds.link_record import FileState, LinkRecord, image_identity, state_of_file
from sizeguard.builds.linker_options import read_options

_LINK, _INPUTS, _REMOVED, _ENDED = "link", "inputs", "removed", "ended"
_IMAGE, _MAP, _LOCK = "image", "map", "lock"
_LTO = re.compile(r"lto(\d*)")
_DEFAULT_OUTPUT = "a.out"
_KNOWN = ("GNU ld", "GNU gold", "LLD", "mold", "wild")
_WAIT = 20.0  # seconds for a linker to print its version, or to end after the build


@dataclass(frozen=True, slots=True)
class RawLink:
    """Notes of one run of a linker.

    place:   folder of the notes
    words:   with the program's own name
    began, ended: ns since 1970; ended is 0 if it did not end by itself
    code:    exit code
    """

    place: Path
    program: str
    folder: Path
    words: tuple[str, ...]
    began: int
    ended: int
    code: int


def raw_links(folder: Path) -> list[RawLink]:
    """Read the notes in a folder, in the order in which the linkers ended.

    It waits for linkers that leave a child process behind, as mold does.
    """
    places = list(folder.iterdir())
    end = time.monotonic() + _WAIT
    for place in places:
        _wait_for(place / _LOCK, end)
    found = [raw for place in places if (raw := _read(place)) is not None]
    return sorted(found, key=lambda raw: (raw.ended, raw.began))


def _wait_for(path: Path, end: float) -> None:
    """Wait until a lock is free, at most until a time."""
    try:
        lock = path.open("rb")
    except OSError:
        return  # the wrapper waits for the linker itself
    with lock:
        while time.monotonic() < end:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(0.01)


def _read(place: Path) -> RawLink | None:
    link = _fields(place / _LINK)
    if len(link) < 4 or not link[2].isdigit():
        return None
    ended = _fields(place / _ENDED)
    code, at = (int(ended[0]), int(ended[1])) if len(ended) == 2 else (-1, 0)
    return RawLink(place, link[0], Path(link[1]), tuple(link[3:]), int(link[2]), at, code)


def _fields(path: Path) -> list[str]:
    """Read fields that end with NUL; empty if the file is missing or incomplete."""
    try:
        content = path.read_bytes()
    except OSError:
        return []
    return [os.fsdecode(field) for field in content.split(b"\0")[:-1]]


def record_of(raw: RawLink, files: Path, version: str) -> LinkRecord | None:
    """Make the record of a successful link; None if it linked nothing.

    files:   folder for the copies of deleted files
    version: version text of the linker
    """
    states, seconds = _inputs(raw)
    try:
        options = list(read_options(raw.words[1:], raw.folder, seconds))
    except SizeguardError:
        return None  # the last option lacks its value, so the linker failed
    names = [value for option, value in options if option == "-o"]
    output = Path(os.path.normpath(raw.folder / (names[-1] if names else _DEFAULT_OUTPUT)))
    image = raw.place / _IMAGE
    if not _is_made(image, raw.began) and not _is_made(output, raw.began):
        return None  # it printed its version, or wrote to /dev/null
    copies = {
        path: _store(second, files, path.name)
        for path, second in seconds.items()
        if state_of_file(path) != states[path] and state_of_file(second) == states[path]
    }
    lto = _lto_objects(raw, output)
    copies |= {path: _store(second, files, path.name) for path, second in lto.items()}
    link_map, map_state = _link_map(raw, options, files, output.name)
    record = LinkRecord(
        version,
        raw.words[1:],
        raw.folder,
        program=raw.program,
        output=output,
        copies=copies,
        lto=tuple(lto),
        map=link_map,
        map_state=map_state,
        inputs={path: state for path, state in states.items() if path != output},
    )
    try:
        return replace(record, image=image_identity(image if image.is_file() else output))
    except SizeguardError:
        return record  # an image that sizeguard cannot read


def _is_made(path: Path, began: int) -> bool:
    """Return whether a file was written since a link began, by its change time (ctime)."""
    try:
        about = path.stat()
    except OSError:
        return False
    return path.is_file() and about.st_ctime_ns >= began


def _inputs(raw: RawLink) -> tuple[dict[Path, FileState], dict[Path, Path]]:
    """Read the states of the inputs, and their hard links if any."""
    states: dict[Path, FileState] = {}
    seconds: dict[Path, Path] = {}
    for name, size, changed, copy in _groups(_fields(raw.place / _INPUTS), 4):
        path = Path(os.path.normpath(raw.folder / name))
        if path not in states and size.isdigit():
            states[path] = FileState(int(size), int(changed))
            if copy:
                seconds[path] = _with_time(raw.place / copy, states[path])
    return states, seconds


def _with_time(copy: Path, state: FileState) -> Path:
    """Give a copy on another file system its original's time; a hard link has it already."""
    found = state_of_file(copy)
    if found is not None and found.size == state.size and copy.stat().st_nlink == 1:
        os.utime(copy, ns=(state.changed, state.changed))
    return copy


def _lto_objects(raw: RawLink, output: Path) -> dict[Path, Path]:
    """Return the objects that the linker generated: those that it removed, and those of lld."""
    found = {
        Path(name): raw.place / copy
        for name, copy in _groups(_fields(raw.place / _REMOVED), 2)
        if copy
    }
    numbers = {
        int(match[1] or 0): path
        for path in raw.place.iterdir()
        if (match := _LTO.fullmatch(path.name)) and path.stat().st_size
    }
    return found | {
        output.with_name(f"{output.name}.lto{number or ''}.o"): path
        for number, path in sorted(numbers.items())
    }


def _groups(fields: list[str], count: int) -> Iterator[list[str]]:
    return (fields[i : i + count] for i in range(0, len(fields) - count + 1, count))


def _link_map(
    raw: RawLink, options: Sequence[tuple[str, str]], files: Path, image: str
) -> tuple[Path | None, FileState | None]:
    """Return the map written for the record, or the build's own map with its state."""
    own = raw.place / _MAP
    if own.is_file() and own.stat().st_size:
        return _store(own, files, f"{image}.map"), None
    names = [value for option, value in options if option in ("-Map", "--Map") and value]
    path = Path(os.path.normpath(raw.folder / names[-1])) if names else None
    if path is None or not _is_made(path, raw.began):
        return None, None
    return path, state_of_file(path)


def _store(file: Path, files: Path, name: str) -> Path:
    """Store a file among the copies as FILES/HASH/NAME, where HASH is that of its content."""
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    target = files / digest[:32] / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_file():
        os.link(file, target)
    return target


def linker_version(raw: RawLink) -> str:
    """Return a linker's --version output; empty if there is none."""
    flavor = raw.words[1:3] if raw.words[1:2] == ("-flavor",) else ()
    try:
        done = subprocess.run(
            [raw.words[0], *flavor, "--version"],
            executable=raw.program,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=_WAIT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout + done.stderr).splitlines()
    known = (line.strip() for line in lines if any(word in line for word in _KNOWN))
    return next(known, lines[0].strip() if lines else "")
