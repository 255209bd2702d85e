"""Inputs of a link: its files in order, and the options that affect which sections are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import read_input
from sizeguard.formats.archive import LINKED_SUFFIXES
from sizeguard.formats.magics import ARCHIVE_MAGIC, BITCODE_MAGICS, ELF_MAGIC, THIN_MAGIC
from sizeguard.linkgraph.inputs.version_script import Visible

FAMILIES = ("bfd", "gold", "lld", "mold")
MODES = ("executable", "static", "shared", "relocatable")


@dataclass(frozen=True, slots=True)
class Linker:
    """Linker: one of FAMILIES, and a version such as (19, 1, 7)."""

    family: str
    version: tuple[int, ...]

    def __str__(self) -> str:
        """Format it like bfd 2.40."""
        return f"{self.family} {'.'.join(map(str, self.version))}"


@dataclass(frozen=True, slots=True)
class LinkInput:
    """File of a link.

    path:  as in the linker's command line
    kind:  object, archive or shared
    whole: whether every member of the archive is loaded
    group: number of its --start-group; 0 for none
    copy:  the file to read if the one at path is gone
    """

    path: Path
    kind: str
    whole: bool = False
    as_needed: bool = False
    group: int = 0
    copy: Path | None = None

    @property
    def content(self) -> Path:
        """Return the file to read."""
        return self.copy or self.path


@dataclass(frozen=True, slots=True)
class LinkInputs:
    """A link: the files and options that affect which sections are kept.

    mode:           of MODES; a PIE is an executable
    pic:            whether absolute addresses need relocations at load time (PIE and shared)
    packing:        how the image's relocations are packed: relr (relative ones), android (all),
                    empty (none)
    undefined:      symbols of -u options
    exported:       symbols that an executable exports by name; None if it names none
    version_script: the patterns of a version script
    exports:        names that the image exports, if known instead of the options
    folder:         the linker's working directory
    lto:            objects that the linker generated and kept
    """

    files: tuple[LinkInput, ...]
    mode: str
    linker: Linker
    pic: bool = True
    packing: str = ""
    gc_sections: bool = True
    start_stop_gc: bool = False
    export_dynamic: bool = False
    entry: str = "_start"
    init: str = "_init"
    fini: str = "_fini"
    undefined: tuple[str, ...] = ()
    exported: Visible | None = None
    version_script: Visible = field(default_factory=Visible)
    exclude_libs: tuple[str, ...] = ()
    exports: frozenset[bytes] | None = None
    folder: Path = field(default_factory=Path)
    output: Path | None = None
    lto: tuple[LinkInput, ...] = ()


def kind_of(path: Path) -> str:
    """Return object, archive, shared, bitcode or script, according to a file's first bytes.

    Raises InputError for a file that cannot be read.
    """
    head = read_input(path, 20)
    if head[:8] in (ARCHIVE_MAGIC, THIN_MAGIC):
        return "archive"
    if head[:4] == ELF_MAGIC and len(head) >= 18:
        return (
            "shared"
            if int.from_bytes(head[16:18], "little" if head[5] == 1 else "big") == 3
            else "object"
        )
    if head[:4] in BITCODE_MAGICS:
        return "bitcode"
    return "script"


def expand(paths: Iterable[Path]) -> list[Path]:
    """List the files, and for folders all objects and archives in them, sorted.

    Raises InputError for a path that does not exist, and if nothing is found.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(
                p for p in path.rglob("*") if p.suffix in LINKED_SUFFIXES and p.is_file()
            )
        elif path.exists():
            found.append(path)
        else:
            raise InputError(f"{path}: no such object")
    if not found:
        raise InputError(f"{', '.join(map(str, paths))}: contains no objects")
    return found
