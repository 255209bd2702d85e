"""Results of updating and listing baselines, and of updating selections, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sizeguard.base.dataclass import dataclass

LENGTHS = "region_length"  # the level of the sizes of memory regions in tables of a baseline


@dataclass(frozen=True, slots=True)
class Baseline:
    """Reviewed sizes of one app with one toolchain, in bytes.

    tools: full versions, such as gcc 12.2.0, bfd 2.40; empty in files of older versions
    operators: loaded bytes of each operator, and of (core) and the like; they sum to the load
    needed: libraries, search paths and interpreter of the app; None in files of older versions
    machine, kind: format and machine, and kind of file; empty in files of older versions
    rules: hash of the project's own rules, which name components; empty without, and in files of
              older versions
    tables: the same by other levels: kernel, dtype, component, section, symbol (the globs in
               limits); the sizes of memory regions, which files of older versions lack
    """

    app: str
    target: str
    toolchain: str
    load: int
    ram: int
    file: int
    operators: Mapping[str, int]
    page_slack: int = 0
    tools: str = ""
    tables: Mapping[str, Mapping[str, int]] | None = None
    needed: tuple[str, ...] | None = None
    machine: str = ""
    kind: str = ""
    rules: str = ""

    def size(self, metric: str) -> int:
        """Return load, ram, file or page_slack."""
        return {
            "load": self.load,
            "ram": self.ram,
            "file": self.file,
            "page_slack": self.page_slack,
        }[metric]


@dataclass(frozen=True, slots=True)
class Update:
    """A baseline before and after an update.

    old: None for a new baseline
    """

    path: Path
    old: Baseline | None
    new: Baseline


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """The state of a baseline after one commit.

    load: None if the commit removed the file or wrote a malformed one
    delta: growth of the load since the entry before; None for the first
    """

    file: str
    commit: str
    date: str
    author: str
    subject: str
    load: int | None
    delta: int | None


@dataclass(frozen=True, slots=True)
class SelectionUpdate:
    """The changes of an app's selection and of its record.

    changed: files that were written
    added, dropped: operators, and "tag Dtype", that the selection gained or lost
    calls:   new since the last record, "X → Y"
    is_translated: names of PyTorch or ExecuTorch were replaced by names of this runtime
    """

    app: str
    selection: Path
    record: Path
    changed: tuple[Path, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    calls: tuple[str, ...]
    is_translated: bool = False
