"""The record of a link: the linker's command line, and copies of files that are gone.

Both writers use the same format. A native build writes IMAGE.link.json next to its image;
`sizeguard record` writes a folder of such files, with an index by image and a folder `files` of
copies.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.dataclass import dataclass
from sizeguard.base.digest import content_digest, digest
from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic
from sizeguard.base.input_files import readable
from sizeguard.builds import LINK_SUFFIX as LINK_SUFFIX
from sizeguard.builds.linker_options import read_options
from sizeguard.formats.sniff import ELF, image_format

if TYPE_CHECKING:
    from sizeguard.formats.elf import Elf

# suffix of the folder with a link's inputs, next to an image of another project
LINK_INPUTS = ".link"
_VERSION = 1
_HOW = "build again with sizeguard build, or record the build with sizeguard record"


@dataclass(frozen=True, slots=True)
class FileState:
    """Size in bytes and time of the last change in ns, to recognise a changed file."""

    size: int
    changed: int


@dataclass(frozen=True, slots=True)
class ImageIdentity:
    """An image's build id (empty without one) and a hash of its loaded bytes.

    Both stay the same if the image is moved or stripped.
    """

    build_id: str
    loaded: str

    def is_of(self, other: ImageIdentity) -> bool:
        """Return whether both come from the same link; if both have a build id, it decides."""
        if self.build_id and other.build_id:
            return self.build_id == other.build_id
        return self.loaded == other.loaded


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """The command line of a linker, with its input and output files.

    linker:    first line of the linker's --version
    arguments: without the program
    folder:    the working directory of the linker
    program:   the linker's file; empty in records of native builds
    output:    the file that the linker wrote; None in records of native builds
    image:     identity of the output when the link ended; None if not known
    copies:    absolute path of an input that is gone or changed → a copy of what the linker read
    lto:       objects that the linker generated; each has a copy
    inputs:    absolute path of an input → its state during the link
    map:       the linker's map of this link; None without one
    map_state: state of a map that the build wrote and may write again
    """

    linker: str
    arguments: tuple[str, ...]
    folder: Path
    program: str = ""
    output: Path | None = None
    image: ImageIdentity | None = None
    copies: Mapping[Path, Path] = field(default_factory=dict)
    lto: tuple[Path, ...] = ()
    inputs: Mapping[Path, FileState] = field(default_factory=dict)
    map: Path | None = None
    map_state: FileState | None = None

    def to_json(self, place: Path | None = None) -> dict[str, object]:
        """Return the record as JSON, with copies relative to its folder `place`."""
        found: dict[str, object] = {
            "schema_version": _VERSION,
            "linker": self.linker,
            "folder": str(self.folder),
            "arguments": list(self.arguments),
        }
        if self.program:
            found["program"] = self.program
        if self.output is not None:
            found["output"] = str(self.output)
        if self.image is not None:
            found["image"] = {"build_id": self.image.build_id, "loaded": self.image.loaded}
        if self.copies:
            found["copies"] = {
                str(path): os.path.relpath(copy, place) if place else str(copy)
                for path, copy in self.copies.items()
            }
        if self.lto:
            found["lto"] = list(map(str, self.lto))
        if self.map is not None:
            found["map"] = os.path.relpath(self.map, place) if place else str(self.map)
        if self.map_state is not None:
            found["map_state"] = [self.map_state.size, self.map_state.changed]
        if self.inputs:
            found["inputs"] = {
                str(path): [state.size, state.changed] for path, state in self.inputs.items()
            }
        return found

    def path_of(self, name: str) -> Path:
        """Return the absolute path of a name on the command line."""
        return Path(os.path.normpath(self.folder / name))

    def option_file(self, *options: str) -> Path | None:
        """Return the file that the last of some options names; None without them."""
        try:
            words = list(read_options(self.arguments, self.folder, self.copies))
        except InputError:
            return None
        found = [value for option, value in words if option in options and value]
        return self.path_of(found[-1]) if found else None

    @property
    def link_map(self) -> Path | None:
        """The map; None if it is gone or was overwritten."""
        state = state_of_file(self.map) if self.map is not None else None
        if state is None or (self.map_state is not None and state != self.map_state):
            return None
        return self.map

    def changed_inputs(self) -> list[Path]:
        """List the inputs that differ from those that the linker read and have no copy."""
        return [
            path
            for path, state in self.inputs.items()
            if path not in self.copies and state_of_file(path) != state
        ]


def state_of_file(path: Path) -> FileState | None:
    """Return the state of a file; None if it does not exist."""
    try:
        about = path.stat()
    except OSError:
        return None
    return FileState(about.st_size, about.st_mtime_ns)


def image_identity(path: Path) -> ImageIdentity:
    """Identify an image by its loaded bytes; files other than ELF by all bytes.

    Raises InputError for a damaged or unreadable image.
    """
    # Reading ELF imports numpy in 60 ms, which reading only records saves.
    from sizeguard.formats.elf import read_elf

    if image_format(path) != ELF:
        with readable(path).open("rb") as file:
            return ImageIdentity("", content_digest(file))
    elf = read_elf(path)
    return ImageIdentity(elf.build_id, digest(_loaded(elf)))


def _loaded(elf: Elf) -> Iterator[bytes]:
    """List the places and bytes of sections in memory; without sections, the whole file."""
    for section in elf.sections:
        if section.is_allocated or elf.is_relocatable:
            place = f"{section.name}\0{section.address}\0{section.size}\0"
            yield place.encode("utf-8", "replace")
            yield elf.content(section)
    if not elf.sections:
        yield elf.data.tobytes()


def write_link_record(path: Path, record: LinkRecord) -> None:
    """Write a record, with its copies relative to its folder."""
    content = record.to_json(path.parent)
    write_atomic(path, json.dumps(content, indent=1) + "\n")


def read_link_record(path: Path) -> LinkRecord:
    """Read a record. Raises InputError for a file that is not a record."""
    try:
        content = json.loads(readable(path).read_text())
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}; {_HOW}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    match content:
        case {
            "schema_version": 1,
            "linker": str(linker),
            "folder": str(folder),
            "arguments": list(words),
        } if all(isinstance(word, str) for word in words):
            record = LinkRecord(linker, tuple(words), Path(folder))
            try:
                return _with_details(record, content, path.parent)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise InputError(f"{path}: a damaged link record: {error}; {_HOW}") from error
    raise InputError(f"{path}: not a link record of version {_VERSION}; {_HOW}")


def _with_details(record: LinkRecord, content: Mapping[str, object], place: Path) -> LinkRecord:
    """Add the fields that only `sizeguard record` writes."""
    image, output, map_ = (content.get(key) for key in ("image", "output", "map"))
    map_state = content.get("map_state")
    copies, inputs, lto = (content.get(key) or {} for key in ("copies", "inputs", "lto"))
    if not isinstance(copies, dict) or not isinstance(inputs, dict):
        raise TypeError("copies and inputs are not mappings")
    return replace(
        record,
        program=str(content.get("program", "")),
        output=Path(str(output)) if output else None,
        image=ImageIdentity(str(image["build_id"]), str(image["loaded"]))
        if isinstance(image, dict)
        else None,
        copies={Path(name): place / str(copy) for name, copy in copies.items()},
        lto=tuple(Path(str(name)) for name in lto) if isinstance(lto, list) else (),
        inputs={
            Path(name): FileState(int(size), int(changed))
            for name, (size, changed) in inputs.items()
        },
        map=place / str(map_) if map_ else None,
        map_state=FileState(*map(int, map_state)) if isinstance(map_state, list) else None,
    )
