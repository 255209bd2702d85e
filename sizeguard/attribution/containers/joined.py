"""Analysis of a container: the rows of its native members, then rows for its other bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sizeguard.attribution.analysis import Aliases, Analysis
from sizeguard.attribution.levels import LEVELS, unknown_level
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import Label
from sizeguard.columns.sums import SumsById, sum_by
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.ledger.ledger import ImageInfo

if TYPE_CHECKING:
    from sizeguard.attribution.known_labels import KnownLabels
    from sizeguard.linkgraph.retained import NodeUsers


class OpenedAnalysis(Analysis, Protocol):
    """An analysis of a file, as opposed to one of a snapshot."""

    def look_up(self, known: KnownLabels) -> None:
        """Read the labels of names from `known`, which also stores the new ones."""


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member, and the number of bytes it takes in the container, compressed or not."""

    name: str
    stored: int
    analysis: OpenedAnalysis


@dataclass(frozen=True, slots=True)
class OtherBytes:
    """Bytes of a container outside its native members. file: bytes; count: files."""

    name: str
    kind: str
    file: int
    count: int


class JoinedAnalysis:
    """Rows of all members. Their file bytes are the bytes that they take in the container.

    A compressed member's bytes are divided among its rows in proportion to the rows' own sizes, so
    all rows sum to the container. load and ram are those of the unpacked images.
    """

    def __init__(
        self,
        image: ImageInfo,
        members: Sequence[JoinedMember],
        others: Sequence[OtherBytes],
        archive: str,
    ) -> None:
        """Join the members. archive: the container's label at the level `archive`."""
        self.image = image
        self._members = members
        self._others = [other for other in others if other.file]
        self._archive = archive
        self._labels: dict[str, Label] = {}

    def look_up(self, known: KnownLabels) -> None:
        """Read the labels of names from `known`, which also stores the new ones."""
        for member in self._members:
            member.analysis.look_up(known)

    @property
    def file(self) -> Int:
        """Bytes of the container, by row."""
        columns = [_split(member.stored, member.analysis.file) for member in self._members]
        return _joined([*columns, np.array([other.file for other in self._others], np.int64)])

    @property
    def load(self) -> Int:
        """Loaded bytes, by row."""
        return self._column(lambda analysis: analysis.load)

    @property
    def ram(self) -> Int:
        """Bytes of writable memory, by row."""
        return self._column(lambda analysis: analysis.ram)

    @property
    def count(self) -> Int:
        """Number of spans, by row; for files that are not measured, the number of files."""
        columns = [member.analysis.count for member in self._members]
        return _joined([*columns, np.array([other.count for other in self._others], np.int64)])

    def _column(self, of: Callable[[Analysis], Int]) -> Int:
        columns = [of(member.analysis) for member in self._members]
        return _joined([*columns, np.zeros(len(self._others), np.int64)])

    def sums_by(self, ids: Int | Int32, count: int) -> SumsById:
        """Sum all rows with equal id; 0 <= ids < count."""
        columns = (self.file, self.load, self.ram, self.count)
        return SumsById(*(sum_by(column, ids, count) for column in columns))

    @property
    def users(self) -> NodeUsers | None:
        """None, because a section graph describes one image."""
        return None

    @property
    def rules(self) -> str | None:
        """The rules that members' names were read with."""
        found = {member.analysis.rules for member in self._members} - {None, ""}
        return ", ".join(sorted(str(each) for each in found))

    @property
    def has_pieces(self) -> bool:
        """Return whether some rows are pieces that debug information cuts out of functions."""
        return any(member.analysis.has_pieces for member in self._members)

    def inlined(self) -> dict[tuple[str, str], int]:
        """Return the loaded bytes of inlined dtype branches, by (operator, dtype)."""
        found: dict[tuple[str, str], int] = {}
        for member in self._members:
            for key, size in member.analysis.inlined().items():
                found[key] = found.get(key, 0) + size
        return found

    def label(self, level: str) -> Label:
        """Return the labels of a level. Raises InputError if it is not one of LEVELS."""
        if level not in LEVELS:
            raise unknown_level(level)
        if level not in self._labels:
            self._labels[level] = self._make(level)
        return self._labels[level]

    def _make(self, level: str) -> Label:
        labels = [self._of_member(level, member) for member in self._members]
        texts = [_of_other(level, other) for other in self._others]
        labels.append(Label(np.arange(len(texts), dtype=np.int32), Texts.of(texts)))
        shifts = np.cumsum([0, *(len(label.texts) for label in labels)])
        ids = [
            label.ids + np.int32(shift)
            for label, shift in zip(labels, shifts.tolist(), strict=False)
        ]
        whole = np.concatenate([np.zeros(0, np.int32), *ids]).astype(np.int32)
        return Label(whole, _texts([label.texts for label in labels]))

    def _of_member(self, level: str, member: JoinedMember) -> Label:
        if level not in ("image", "object", "archive"):
            return member.analysis.label(level)
        if level == "object" and self._archive:
            return _constant(member.name, len(member.analysis.load))
        if level == "archive" and self._archive:
            return _constant(self._archive, len(member.analysis.load))
        label = member.analysis.label(level)
        if level != "image":
            return label
        if isinstance(member.analysis, JoinedAnalysis):
            inner = [f"{member.name}!{label.texts[i]}" for i in range(len(label.texts))]
            return Label(label.ids, Texts.of(inner))
        return _constant(member.name, len(label.ids))

    def aliases(self) -> Aliases | None:
        """Return the groups of names that share bytes; None if no bytes have several names."""
        found = [member.analysis.aliases() for member in self._members]
        if not any(found):
            return None
        groups, firsts, names, hashes = [], [np.zeros(1, np.int64)], [], []
        many = total = 0
        for member, aliases in zip(self._members, found, strict=True):
            if aliases is None:
                groups.append(np.full(len(member.analysis.load), -1, np.int32))
                continue
            groups.append(np.where(aliases.group >= 0, aliases.group + many, -1))
            firsts.append(aliases.first[1:] + total)
            names.append(aliases.names)
            hashes.append(hash_texts(aliases.names) if aliases.hashes is None else aliases.hashes)
            many += len(aliases.first) - 1
            total += len(aliases.names)
        groups.append(np.full(len(self._others), -1, np.int32))
        return Aliases(
            np.concatenate(groups).astype(np.int32),
            np.concatenate(firsts),
            _texts(names),
            np.concatenate(hashes),
        )


def _of_other(level: str, other: OtherBytes) -> str:
    if level == "kind":
        return other.kind
    return "header" if level == "analyzer" else other.name


def _constant(text: str, count: int) -> Label:
    return Label(np.zeros(count, np.int32), Texts.of([text]))


def _joined(columns: Sequence[Int]) -> Int:
    return np.concatenate([np.zeros(0, np.int64), *columns])


def _texts(some: Sequence[Texts]) -> Texts:
    """Concatenate texts, without the parts of their buffers that no text uses."""
    buffers, starts, ends = [np.zeros(0, np.uint8)], [], []
    at = 0
    for texts in some:
        low, high = (int(texts.start.min()), int(texts.end.max())) if len(texts) else (0, 0)
        if len(texts) and high - low > 2 * int((texts.end - texts.start).sum()):
            texts = Texts.of(texts.all_raw())
            low, high = 0, len(texts.buffer)
        buffers.append(texts.buffer[low:high])
        starts.append(texts.start - low + at)
        ends.append(texts.end - low + at)
        at += high - low
    nothing = np.zeros(0, np.int64)
    return Texts(
        np.concatenate(buffers),
        np.concatenate([nothing, *starts]),
        np.concatenate([nothing, *ends]),
    )


def _split(whole: int, sizes: Int) -> Int:
    """Divide bytes in proportion to sizes; the parts sum to the whole."""
    total = int(sizes.sum())
    if total == whole:
        return sizes
    if not total:
        shares = np.zeros(len(sizes), np.int64)
        shares[:1] = whole
        return shares
    running = np.cumsum(sizes)
    # whole * running can exceed 64 bits; only the quotient cannot.
    quotient, remainder = divmod(whole, total)
    done = running * quotient + _part(running, remainder, total)
    return np.diff(done, prepend=0)


def _part(running: Int, remainder: int, total: int) -> Int:
    """Return running * remainder // total, exact to the last byte."""
    if remainder * total < 1 << 62:
        return running * remainder // total
    return np.array([value * remainder // total for value in running.tolist()], np.int64)
