"""Save an analysis as a small file, and read it back as an equal analysis.

Equal analyses give equal bytes: rows and strings have one order, and nothing depends on when or
where the file was made. Layout: MAGIC, version (2 bytes, little endian like all numbers), SHA-256
of everything that follows, length of the header (4 bytes), header, blocks. The header is JSON:
image, rows, and blocks with name, size and packed size.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Aliases, Analysis
from sizeguard.attribution.group import distinct
from sizeguard.attribution.levels import DERIVED, LEVELS, unknown_level
from sizeguard.attribution.owners.inline_pieces import INLINE
from sizeguard.attribution.teams.team_levels import derived_label, regions
from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic
from sizeguard.base.input_files import read_input
from sizeguard.columns.distinct import distinct as distinct_numbers
from sizeguard.columns.label import Label
from sizeguard.columns.pack import pack
from sizeguard.columns.sums import WHAT, ColumnSums, SumsById, sum_by
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Int, Texts
from sizeguard.snapshots import version_1
from sizeguard.snapshots.magic import MAGIC
from sizeguard.snapshots.origin import Origin
from sizeguard.snapshots.packing import (
    DamagedError,
    compress,
    decompress,
    pack_numbers,
    pack_texts,
    unpack_ids,
    unpack_numbers,
    unpack_texts,
)
from sizeguard.snapshots.snapshot_header import (
    HEAD,
    LARGEST,
    ORIGIN,
    VERSION,
    header_of,
    image_of,
    origin_of,
    rows_of,
    stated,
)

# The order of rows: neighbours with the same symbol compress best, but any fixed order would be
# correct.
_ORDER = (
    "symbol",
    "object",
    "section",
    "kind",
    "analyzer",
    "operator",
    "kernel",
    "dtype",
    "component",
    "segment",
)


def write_snapshot(path: Path, analysis: Analysis, origin: Origin | None = None) -> None:
    """Write an analysis to a file. origin: origin of the build, if known."""
    write_atomic(path, snapshot_bytes(analysis, origin))


def snapshot_bytes(analysis: Analysis, origin: Origin | None = None) -> bytes:
    """Return the content of a snapshot."""
    blocks: dict[str, bytes] = {}
    labels = {}
    levels = [*_ORDER, *_several(analysis), *_sources(analysis)]
    for level in levels:
        ids, texts = _sorted_texts(analysis.label(level))
        labels[level] = ids
        blocks[f"{level}/lengths"], blocks[f"{level}/bytes"] = pack_texts(texts)
        blocks[f"{level}/count"] = pack_numbers(np.array([len(texts)], np.int64))
    columns = [labels[level] for level in levels]
    aliases = analysis.aliases()
    if aliases is not None:
        columns.append(_add_aliases(blocks, aliases))
    row, first = pack(columns)
    for level in levels:
        blocks[f"{level}/ids"] = pack_numbers(labels[level][first])
    if aliases is not None:
        blocks["aliases/group"] = pack_numbers(columns[-1][first])
    sums = {name: sum_by(getattr(analysis, name), row, len(first)) for name in WHAT}
    sums["load"] = _relative(sums["load"], sums["file"])
    blocks |= {name: pack_numbers(column) for name, column in sums.items()}
    packed = {name: compress(blocks[name]) for name in sorted(blocks)}
    header: dict[str, object] = {
        # The folder is the user's working directory, not part of the measurement.
        "image": stated(analysis.image),
        "rows": len(first),
        "blocks": [[name, len(blocks[name]), len(data)] for name, data in packed.items()],
    }
    if origin is not None:
        header[ORIGIN] = origin.to_json()
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    content = struct.pack("<I", len(text)) + text + b"".join(packed.values())
    return MAGIC + struct.pack("<H", VERSION) + hashlib.sha256(content).digest() + content


def _several(analysis: Analysis) -> tuple[str, ...]:
    """Return the level of images, unless all rows belong to the image in the header."""
    texts = distinct(analysis.label("image")).texts
    shown = [texts[i] for i in range(len(texts))]
    return () if shown in ([], [analysis.image.title]) else ("image",)


def _sources(analysis: Analysis) -> tuple[str, ...]:
    """Return the level of sources, unless they follow from the names of objects."""
    found, derived = analysis.label("source"), derived_label("source", analysis.label)
    pairs = distinct_numbers(found.ids.astype(np.int64) << 32 | derived.ids)
    is_same = all(
        found.texts.raw(pair >> 32) == derived.texts.raw(pair & 0xFFFFFFFF)
        for pair in pairs.tolist()
    )
    return () if is_same else ("source",)


def _relative(load: Int, file: Int) -> Int:
    """Encode loaded bytes: 0 for rows that are entirely loaded, 1 for none loaded, else load + 2.

    It saves 0.5 MB for libtorch_cpu.so.
    """
    return np.where(load == file, 0, np.where(load == 0, 1, load + 2))


def _absolute(code: Int, file: Int) -> Int:
    """Decode loaded bytes; see _relative."""
    load = np.maximum(code, 2)
    load -= 2
    np.copyto(load, file, where=code == 0)
    return load


def _sorted_texts(label: Label) -> tuple[npt.NDArray[np.int32], list[bytes]]:
    """Return each row's index in the sorted strings, and these strings."""
    found = distinct(label)
    texts = [found.texts.raw(i) for i in range(len(found.texts))]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    place = np.zeros(len(texts), np.int32)
    place[order] = np.arange(len(texts))
    return place[found.ids], [texts[i] for i in order]


def _add_aliases(blocks: dict[str, bytes], aliases: Aliases) -> npt.NDArray[np.int32]:
    """Add the names of all alias groups to the blocks.

    Returns the group + 1 of each row; groups are numbered in the order of their names.
    """
    names = [aliases.names.raw(i) for i in range(len(aliases.names))]
    members = [
        sorted(set(names[a:b]))
        for a, b in zip(aliases.first[:-1].tolist(), aliases.first[1:].tolist(), strict=True)
    ]
    order = sorted(range(len(members)), key=members.__getitem__)
    place = np.zeros(len(members) + 1, np.int32)
    place[1:][order] = np.arange(1, len(members) + 1)
    texts = sorted(set(names))
    number = {text: i for i, text in enumerate(texts)}
    blocks["aliases/lengths"], blocks["aliases/bytes"] = pack_texts(texts)
    blocks["aliases/count"] = pack_numbers(np.array([len(texts)], np.int64))
    blocks["aliases/sizes"] = pack_numbers(np.array([len(members[i]) for i in order], np.int64))
    blocks["aliases/members"] = pack_numbers(
        np.array([number[name] for i in order for name in members[i]], np.int64)
    )
    blocks["aliases/counts"] = pack_numbers(
        np.array([len(members), sum(map(len, members))], np.int64)
    )
    return place[aliases.group + 1]


class Snapshot:
    """An Analysis from a file. Labels are unpacked on request."""

    def __init__(self, path: Path, data: bytes, version: int = VERSION) -> None:
        """Read the header and the sizes; path appears in messages. Raises DamagedError."""
        self._path = path
        self._version = version
        header, self._blocks = header_of(data)
        self.image = image_of(header)
        self.origin = origin_of(header)
        self._rows = rows_of(header)
        columns = {name: self._numbers(name, self._rows) for name in WHAT}
        columns["load"] = _absolute(columns["load"], columns["file"])
        self.file, self.load, self.ram, self.count = (columns[name] for name in WHAT)
        for name in ("file", "load", "ram"):
            # First exclude columns of huge numbers, whose sum could overflow to the right one.
            column = columns[name]
            if int(column.max(initial=0)) > (1 << 62) // max(len(column), 1) or int(
                column.sum()
            ) != getattr(self.image, name):
                raise DamagedError(f"the rows' {name} is not the image's")
        self._labels: dict[str, Label] = {}

    def sums_by(self, ids: Int | npt.NDArray[np.int32], count: int) -> SumsById:
        """Sum rows with equal id; 0 <= ids < count."""
        return ColumnSums({name: getattr(self, name) for name in WHAT}).by(ids, count)

    def label(self, level: str) -> Label:
        """Return the values of a level.

        Raises InputError for an unknown level or a damaged file.
        """
        if level not in LEVELS:
            raise unknown_level(level)
        is_stored = level == "source" and "source/count" in self._blocks
        if level in DERIVED and not is_stored:
            return derived_label(level, self.label)
        if level == "region":
            return regions(self.label("section"), self.image.regions)
        if level == "isa":
            return Label(np.zeros(self._rows, np.int32), Texts.of([self.image.arch]))
        if level not in self._labels:
            self._labels[level] = self._read(level)
        return self._labels[level]

    def _read(self, level: str) -> Label:
        """Read a level's texts, or derive them from another level or the header."""
        if level == "image" and f"{level}/count" not in self._blocks:
            return Label(np.zeros(self._rows, np.int32), Texts.of([self.image.title]))
        with self._damage():
            texts = self._texts(level)
            ids = self._ids(f"{level}/ids", self._rows, len(texts))
        # Reports and diffs by symbol need the hashes, reports twice: 0.05 s for libtorch_cpu.so.
        return Label(ids, texts, hash_texts(texts) if level == "symbol" else None)

    def has_rows_of(self, other: Analysis) -> bool:
        """Return whether another analysis is a snapshot with the same rows, without reading them.

        False does not mean that a row differs.
        """
        return isinstance(other, Snapshot) and self._blocks == other._blocks

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        """Report damage as an InputError that names the file."""
        try:
            yield
        except DamagedError as error:
            raise InputError(f"{self._path}: damaged snapshot: {error}") from error

    @property
    def users(self) -> None:
        """None, since a snapshot stores only rows."""
        return None

    @property
    def rules(self) -> None:
        """None, since a snapshot stores labels, not the rules for them."""
        return None

    @property
    def has_pieces(self) -> bool:
        """Return whether some rows are pieces that debug information cuts out of functions."""
        with self._damage():
            texts = self._texts("analyzer")
        return any(texts.raw(i) == INLINE for i in range(len(texts)))

    def inlined(self) -> dict[tuple[str, str], int]:
        """Return an empty mapping; see `users`."""
        return {}

    def aliases(self) -> Aliases | None:
        """Return the groups of aliases; None if none were saved."""
        return self._aliases

    @cached_property
    def _aliases(self) -> Aliases | None:
        if "aliases/group" not in self._blocks:
            return None
        with self._damage():
            texts = self._texts("aliases")
            groups, members = self._numbers("aliases/counts", 2).tolist()
            if max(groups, members) > LARGEST // 16:
                raise DamagedError("it has too many aliases")
            first = np.concatenate(
                [np.zeros(1, np.int64), np.cumsum(self._numbers("aliases/sizes", groups))]
            )
            if int(first.min()) < 0 or int(first[-1]) != members:
                raise DamagedError("groups of aliases have another size than stated")
            names = texts.take(self._ids("aliases/members", members, len(texts)))
            return Aliases(
                self._ids("aliases/group", self._rows, groups + 1) - np.int32(1), first, names
            )

    def _block(self, name: str) -> bytes:
        """Decompress a block."""
        if name not in self._blocks:
            raise DamagedError(f"there is no {name}")
        unpack = version_1.decompress if self._version == version_1.VERSION else decompress
        return unpack(*self._blocks[name])

    def _numbers(self, name: str, count: int) -> Int:
        """Unpack a column."""
        return unpack_numbers(self._column(name, count), count)

    def _column(self, name: str, count: int) -> bytes:
        """Decompress a column's block, if it can have `count` numbers."""
        if name in self._blocks and count > self._blocks[name][1] and self._blocks[name][1] != 2:
            raise DamagedError(f"{name} is too short")
        return self._block(name)

    def _ids(self, name: str, count: int, below: int) -> npt.NDArray[np.int32]:
        """Unpack a column of indices, all less than `below`."""
        ids = unpack_ids(self._column(name, count), count)
        if int(ids.max(initial=-1)) >= below:
            raise DamagedError(f"{name} goes beyond its texts")
        return ids

    def _texts(self, name: str) -> Texts:
        """Unpack strings."""
        count = int(self._numbers(f"{name}/count", 1)[0])
        if count > LARGEST // 16:
            raise DamagedError(f"{name} has too many texts")
        if self._version == version_1.VERSION:
            shared, added = (self._numbers(f"{name}/{what}", count) for what in ("shared", "added"))
            return version_1.unpack_texts(shared, added, self._block(f"{name}/bytes"), LARGEST)
        return unpack_texts(self._numbers(f"{name}/lengths", count), self._block(f"{name}/bytes"))


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot. Raises InputError if it is damaged or of another version."""
    data = read_input(path)
    if not data.startswith(MAGIC) or len(data) < len(MAGIC) + HEAD.size:
        raise InputError(f"{path}: not a snapshot")
    (version,) = struct.unpack_from("<H", data, len(MAGIC))
    if version not in (version_1.VERSION, VERSION):
        raise InputError(
            f"{path}: a snapshot of version {version}, this is version {VERSION}; make it again"
            " with sizeguard report --save"
        )
    try:
        return Snapshot(path, data, version)
    except DamagedError as error:
        raise InputError(f"{path}: damaged snapshot: {error}") from error
