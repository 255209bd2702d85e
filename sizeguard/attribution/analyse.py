"""Turns a ledger, and what its link tells, into labels for each owner of bytes: operator, kernel, dtype, component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import LEVELS, Aliases, Label
from sizeguard.attribution.columns import MOST_COPIED, Pool, with_more
from sizeguard.attribution.result import CORE, OUTSIDE, SHARED, UNATTRIBUTED
from sizeguard.errors import InputError
from sizeguard.formats.text_hash import hash_texts
from sizeguard.formats.texts import Int, Texts
from sizeguard.ledger.kinds import ANALYZER, ANALYZERS, KIND, KINDS
from sizeguard.ledger.ledger import NONE, ImageInfo, Int32, Ledger
from sizeguard.ledger.sums import WHAT

if TYPE_CHECKING:
    from sizeguard.attribution.branches import Branched
    from sizeguard.attribution.choose import Choice
    from sizeguard.attribution.known_names import KnownNames
    from sizeguard.attribution.labels import NameLabels
    from sizeguard.attribution.reach import Reached
    from sizeguard.attribution.served import Served
    from sizeguard.formats.linkmap.row import InputSection

# Kinds that belong to the image, not to a part of the program.
TABLES = (
    *("symbol table", "string table", "dynamic", "import", "note", "header", "padding", "page slack", "section gap", "comment", "debug"),
    *("load commands", "exports", "function starts", "code signature", "other"),
)
NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of an image.

    reached: of a build, which operator reaches which input section; served: functions that registration tables name
    choice:  rules for names; branched: dtype branches inside of functions
    """

    ledger: Ledger
    title: str
    choice: Choice
    reached: Reached | None = None
    served: Served | None = None
    branched: Branched | None = None


def analyse(evidence: Evidence) -> LedgerAnalysis:
    return LedgerAnalysis(evidence)


class LedgerAnalysis:
    """An Analysis. A row is an owner of the ledger; one whose bytes have several names, or serve several operators by one kernel,
    is a row for each name and operator, with its exact share.
    """

    def __init__(self, evidence: Evidence) -> None:
        ledger = evidence.ledger
        self._evidence = evidence
        self._ledger = ledger
        image = ledger.image
        self.image = ImageInfo(image.path, evidence.title, image.format, image.arch, image.id, image.file, image.load, image.ram)
        operators = _operators_of_owners(ledger, evidence.reached) if evidence.reached is not None else None
        self._shares, self._symbol, self._nth_operator = _rows(ledger, operators)
        self._extra = self._shares.owner
        self._names: NameLabels | None = None
        self._known: KnownNames | None = None
        self._labels: dict[str, Label] = {}

    def look_up(self, known: KnownNames) -> None:
        """Labels of names are looked up there, and kept there."""
        self._known = known

    # Made anew each time, as the ledger's are.

    @property
    def file(self) -> Int:
        return self._sums("file")

    @property
    def load(self) -> Int:
        return self._sums("load")

    @property
    def ram(self) -> Int:
        return self._sums("ram")

    @property
    def count(self) -> Int:
        return self._sums("count")

    def _sums(self, what: str) -> Int:
        sums = self._ledger.sums.column(what, len(self._extra))
        shares = self._shares.of(sums[self._extra])
        np.subtract.at(sums, self._extra, shares)
        sums[len(sums) - len(shares) :] = shares
        return sums

    def sums_by(self, ids: Int | Int32, count: int) -> tuple[Int, Int, Int, Int]:
        ledger, extra = self._ledger, self._extra
        sums = ledger.sums.by(ids[: len(ledger.owners)], count)
        if len(extra):
            there, here = ids[extra], ids[len(ledger.owners) :]
            for what, column in zip(WHAT, sums, strict=True):
                shares = self._shares.of(ledger.sums.at(what, extra))
                np.subtract.at(column, there, shares)
                np.add.at(column, here, shares)
        return sums

    def label(self, level: str) -> Label:
        if level not in LEVELS:
            raise InputError(f"unknown level {level}; there are {', '.join(LEVELS)}")
        if level not in self._labels:
            make: dict[str, Callable[[], Label]] = {
                "operator": self._operator,
                "kernel": self._kernel,
                "dtype": self._dtype,
                "component": self._component,
                "kind": lambda: Label(self._of_owner(self._ledger.owners.kind), Texts.of(KINDS)),
                "section": lambda: Label(self._of_owner(self._ledger.owners.section), Texts.of(self._ledger.sections)),
                "segment": self._segment,
                "object": self._object,
                "symbol": self._symbol_label,
                "analyzer": lambda: Label(self._of_owner(self._ledger.owners.analyzer), Texts.of(ANALYZERS)),
            }
            self._labels[level] = make[level]()
        return self._labels[level]

    def aliases(self) -> Aliases | None:
        groups = self._ledger.groups
        if not len(groups.member):
            return None
        names, hashes = self._ledger.symbols.take(groups.member), self._ledger.hashes[groups.member]
        return Aliases(self._of_owner(self._ledger.owners.group), groups.first.astype(np.int64), names, hashes)

    def _of_owner(self, column: npt.NDArray[np.int32] | npt.NDArray[np.int8]) -> Int32:
        return self._rows_of(column).astype(np.int32, copy=False)

    def _rows_of(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return column if not len(self._extra) else np.concatenate([column, column[self._extra]])

    def _name_labels(self) -> NameLabels:
        if self._names is None:
            symbols, choice = self._ledger.symbols, self._evidence.choice
            if self._known is not None:
                self._names = self._known.labels(symbols, self._ledger.hashes, choice)
            else:
                from sizeguard.attribution.labels import label_names

                self._names = label_names(symbols, choice.preset)
        return self._names

    def _of_symbol(self, ids: Int32) -> Int32:
        """The id of each row's symbol; 0, which is the empty text, for rows without one."""
        # One more behind all: what NONE, which is -1, finds.
        found: Int32 = np.append(ids, np.int32(0))[self._symbol]
        return found

    def _is(self, kinds: Sequence[str]) -> npt.NDArray[np.bool_]:
        table = np.zeros(len(KINDS), bool)
        table[[KIND[kind] for kind in kinds]] = True
        found: npt.NDArray[np.bool_] = table[self._rows_of(self._ledger.owners.kind)]
        return found

    def _is_nobodys(self) -> npt.NDArray[np.bool_]:
        """What no analyzer explains: of a function whose start alone is known nobody says what it is."""
        table = np.zeros(len(ANALYZERS), bool)
        table[[ANALYZER["unattributed"], ANALYZER["function starts"]]] = True
        result: npt.NDArray[np.bool_] = table[self._rows_of(self._ledger.owners.analyzer)] | self._is(["unattributed"])
        return result

    def _operator(self) -> Label:
        reached = self._evidence.reached
        return self._operator_by_reach(reached) if reached is not None else self._operator_by_name()

    def _operator_by_reach(self, reached: Reached) -> Label:
        """Of a build: who reaches the input section; of an entry of a registration table whose it is."""
        pool = Pool()
        ledger = self._ledger
        input_, part = self._of_owner(ledger.owners.input), self._of_owner(ledger.owners.part)
        of_input = np.array([pool.number(_reached(row, reached)) for row in ledger.inputs] or [0], np.int32)
        entries = {entry.operator for entry in reached.entries}
        of_part = np.array(
            [pool.number(text if (text := ledger.parts[i]) in entries else "") for i in range(len(ledger.parts))] or [0], np.int32
        )
        ids = _first(_at(of_part, part), _at(of_input, input_))
        for joint in sorted({text for text in reached.owners.values() if ", " in text}):
            served = np.flatnonzero(ids == pool.number(joint))
            ids[served] = np.array([pool.number(name) for name in joint.split(", ")], np.int32)[self._nth_operator[served]]
        rest = np.where(self._is_nobodys(), pool.number(UNATTRIBUTED), np.where(self._symbol >= 0, pool.number(CORE), 0))
        ids = np.where(self._is(TABLES), 0, _first(ids, rest))
        return pool.label(_first(ids, np.full(len(ids), pool.number(OUTSIDE), np.int32)))

    def _operator_by_name(self) -> Label:
        """Of a file alone: what its registration tables say, then what names say; a component or a kernel stands in for what is none."""
        pool = Pool()
        names = self._name_labels()
        served = self._evidence.served
        named = pool.add(names.operator.texts, used=names.operator.ids)[names.operator.ids]
        if len(self._evidence.choice.preset.names):
            others = np.zeros(len(named), np.int32)  # where names say the operator, a kernel without one serves several
        else:
            of_kernel = pool.add(names.kernel.texts, "kernel ", used=names.kernel.ids)
            for kernel, operators in self._registered_kernels(served).items() if served is not None else ():
                of_kernel[kernel] = pool.number(", ".join(sorted(operators)))
            others = of_kernel[names.kernel.ids]
        component = self._components()
        others = _first(others, pool.add(component.texts, "(", ")", component.ids)[component.ids])
        # By symbol first: three million rows have half a million of them.
        of_code = _first(_first(named, others), np.full(len(named), pool.number(CORE), np.int32))
        of_tables = _first(named, np.full(len(named), pool.number(OUTSIDE), np.int32))
        ids = self._of_symbol(of_code)
        tables = np.flatnonzero(self._is(TABLES))
        # One more behind all: what NONE, which is -1, finds.
        ids[tables] = np.append(of_tables, np.int32(pool.number(OUTSIDE)))[self._symbol[tables]]
        if served is not None:
            registered = _at(np.array([pool.number(text) for text in served.operators] or [0], np.int32), self._of_served(served))
            ids = _first(registered, ids)
        open_ = np.flatnonzero(ids == 0)
        ids[open_] = np.where(self._is_nobodys()[open_], pool.number(UNATTRIBUTED), pool.number(OUTSIDE))
        return pool.label(ids)

    def _of_served(self, served: Served) -> Int32:
        """Owners of dtype branches come behind those that registrations know; they are none of theirs."""
        more = len(self._ledger.owners) - len(served.operator)
        return self._of_owner(np.concatenate([served.operator, np.full(more, NONE, np.int32)]))

    def _registered_kernels(self, served: Served) -> dict[int, set[str]]:
        """Kernels by number, whose names stand in functions that are registered (box<&sg::kernels::add>), and for which operators."""
        number = self._of_served(served)
        kernel = self._of_symbol(self._name_labels().kernel.ids)
        found: dict[int, set[str]] = {}
        for row in np.flatnonzero((number >= 0) & (kernel > 0)).tolist():
            found.setdefault(int(kernel[row]), set()).update(served.operators[number[row]].split(", "))
        return found

    def _kernel(self) -> Label:
        pool = Pool()
        names = self._name_labels()
        ids = pool.add(names.kernel.texts, used=names.kernel.ids)[self._of_symbol(names.kernel.ids)]
        reached = self._evidence.reached
        if reached is not None:
            operator = self.label("operator")
            by_operator = [pool.number(reached.kernels.get(operator.texts[i], "")) for i in range(len(operator.texts))]
            ids = _first(ids, np.array(by_operator, np.int32)[operator.ids])
        return pool.label(ids)

    def _dtype(self) -> Label:
        """Code of operators without a dtype is neutral: it serves all of them."""
        pool = Pool()
        names = self._name_labels()
        ids = self._of_symbol(pool.add(names.dtype.texts, used=names.dtype.ids)[names.dtype.ids])
        branched = self._evidence.branched
        if branched is not None:
            of_branch = np.array([pool.number(text) for text in branched.dtypes] or [0], np.int32)
            ids = _first(ids, _at(of_branch, self._of_owner(branched.dtype)))
        operator = self.label("operator")
        texts = [operator.texts[i] for i in range(len(operator.texts))]
        serves = np.array([text == SHARED or not (text.startswith("(") or text in ("", UNATTRIBUTED)) for text in texts], bool)
        open_ = np.flatnonzero((ids == 0) & self._is(["code"]))
        ids[open_] = np.where(serves[operator.ids[open_]], pool.number(NEUTRAL), 0)
        return pool.label(ids)

    def _component(self) -> Label:
        label = self._components()
        return Label(self._of_symbol(label.ids), label.texts)

    def _components(self) -> Label:
        """Of each symbol."""
        label = self._name_labels().component
        if not len(label.ids):
            return Label(label.ids, Texts.of([""]))
        texts = [label.texts[i] for i in range(len(label.texts))]
        from sizeguard.attribution.neighbours import inherited_components

        known = set(self._evidence.choice.preset.libraries)
        ids = inherited_components(self._ledger.symbols, label.ids, self._in_place(), np.array([text in known for text in texts], bool))
        return Label(ids, label.texts)

    def _in_place(self) -> Int:
        """Symbols of code in the order in which they lie in the image: owners of a section are in that order."""
        owners = self._ledger.owners
        rows = np.flatnonzero((owners.symbol >= 0) & (owners.kind == KIND["code"]))
        in_place: Int = owners.symbol[rows].astype(np.int64)
        return in_place

    def _segment(self) -> Label:
        segment = self._of_owner(self._ledger.owners.segment)
        return Label((segment + 1).astype(np.int32), Texts.of(["", *self._ledger.segments]))

    def _object(self) -> Label:
        pool = Pool()
        files = np.array([pool.number("" if row.is_merged else row.file) for row in self._ledger.inputs] or [0], np.int32)
        return pool.label(_at(files, self._of_owner(self._ledger.owners.input)))

    def _symbol_label(self) -> Label:
        """Names as in the symbol table; of what has none the input section, else the section."""
        ledger = self._ledger
        owners = ledger.owners
        rows = np.flatnonzero(self._symbol < 0)
        owner = np.where(rows < len(owners), rows, self._extra[np.maximum(rows - len(owners), 0)]) if len(self._extra) else rows
        input_, section = owners.input[owner], owners.section[owner]
        pool = Pool()
        inputs = np.array([pool.number(f"({row.name})") for row in ledger.inputs] or [0], np.int32)
        is_large = len(ledger.symbols.buffer) > MOST_COPIED
        sections = [name if is_large else f"({name.strip('()')})" if name else "" for name in ledger.sections]
        by_section = np.array([pool.number(text) for text in sections] or [0], np.int32)
        ids = self._symbol.copy()
        ids[rows] = _first(_at(inputs, input_), _at(by_section, section)) + len(ledger.symbols)
        # Symbols are distinct as they are: only what stands beside them needs to be looked at.
        count = len(ledger.symbols)
        texts = with_more(ledger.symbols, pool.texts)
        more = hash_texts(texts.take(np.arange(count, len(texts))))
        _, first, same = np.unique(more, return_index=True, return_inverse=True)
        ids[rows] = first[same][ids[rows] - count] + count
        ids = ids.astype(np.int32, copy=False)
        known = ledger.make_hash_order()
        place = np.searchsorted(ledger.hashes, more[first], sorter=known)
        if count and (ledger.hashes[known[np.minimum(place, count - 1)]] == more[first]).any():
            return Label(ids, texts)
        # Those that rows have: the first of equal ones.
        order = np.insert(known, place, first + count)
        return Label(ids, texts, np.concatenate([ledger.hashes, more]), order)


def _operators_of_owners(ledger: Ledger, reached: Reached) -> Int:
    """How many operators each owner serves, by one kernel that is registered for all of them."""
    of_input = np.array([_reached(row, reached).count(", ") + 1 for row in ledger.inputs] or [1], np.int64)
    owners = ledger.owners
    return np.where((owners.input >= 0) & (owners.part < 0), of_input[np.maximum(owners.input, 0)], 1)


@dataclass(frozen=True, slots=True)
class _Shares:
    """Rows behind those of all owners, for owners whose bytes are several names' or operators'.

    owner: whose; nth: which of its rows, the first being the owner's own; count: how many it has.
    """

    owner: Int
    nth: Int
    count: Int

    def of(self, size: Int) -> Int:
        """What each of these rows gets of its owner's bytes: equal shares, the remainder a byte each to the first rows."""
        quotient, remainder = np.divmod(size, self.count)
        return quotient + (self.nth < remainder)


def _rows(ledger: Ledger, operators: Int | None) -> tuple[_Shares, Int32, Int]:
    """The rows that come behind those of all owners; of each row the symbol and which of its operators it is for.

    operators: how many each owner serves, None for one.
    """
    owners, groups = ledger.owners, ledger.groups
    is_shared = owners.group >= 0
    # Asked for where operators are known by reach alone: 27 MB that others with 3.4 million owners do without.
    first = np.zeros(0 if operators is None else len(owners), np.int64)
    shared = np.flatnonzero(is_shared if operators is None else is_shared | (operators > 1))
    if not len(shared):
        nothing = np.zeros(0, np.int64)
        return _Shares(nothing, nothing, nothing), owners.symbol, first
    group = owners.group[shared]
    is_group = group >= 0
    members = np.ones(len(shared), np.int64)
    members[is_group] = groups.first[group[is_group] + 1] - groups.first[group[is_group]]
    count = members if operators is None else members * operators[shared]
    # The first name keeps the owner's row, the others get one behind all.
    more = np.maximum(count - 1, 0)
    extra = np.repeat(shared, more)
    nth = np.arange(len(extra)) - np.repeat(np.cumsum(more) - more, more) + 1
    nth_operator, nth_member = np.divmod(nth, np.repeat(members, more))
    symbol = np.concatenate([owners.symbol, owners.symbol[extra]]).astype(np.int32, copy=False)
    symbol[shared[is_group]] = groups.member[groups.first[group[is_group]]]
    named = np.flatnonzero(owners.group[extra] >= 0)
    symbol[len(owners) + named] = groups.member[groups.first[owners.group[extra[named]]] + nth_member[named]]
    return _Shares(extra, nth, np.repeat(count, more)), symbol, np.concatenate([first, nth_operator])


def _at(values: Int32, index: Int32) -> Int32:
    """values[index], 0 where the index is NONE."""
    return np.where(index >= 0, values[np.maximum(index, 0)], 0).astype(np.int32)


def _first(ids: npt.NDArray[np.int32], others: npt.NDArray[np.int32]) -> Int32:
    return np.where(ids > 0, ids, others).astype(np.int32)


def _reached(row: InputSection, reached: Reached) -> str:
    return "" if row.is_merged else reached.owners.get((row.file, row.name), CORE)
