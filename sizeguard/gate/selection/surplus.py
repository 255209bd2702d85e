"""Find the parts of a selection that no model of its app needs, and the bytes that each costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.base.fingerprint import code_hash, files_key
from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.cache.calls import objects_key
from sizeguard.gate.gate_result import SelectionFinding
from sizeguard.gate.selection.model_needs import Needed
from sizeguard.gate.selection.selection_case import SURPLUS, SelectionCase
from sizeguard.operators.dtypes import DTYPES
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.predictor import Predictor
from sizeguard.projects.project import FAIL as FAIL_MODE
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.write import format_selection
from sizeguard.snapshots.kept import kept
from sizeguard.snapshots.store import Facts, Store

OPERATORS, TAGS = "operators", "kernel_metadata"
CLASSES, FEATURES = "custom_classes", "build_features"
ALL_OPERATORS, ALL_ELSE = "include_all_operators", "include_all_non_op_selectives"


@dataclass(frozen=True, slots=True)
class Surplus:
    """A part of a selection that no model needs.

    key, entry: where it is in the selection
    name:       operator aten::gelu, dtype gemm Double, tag gelu, class C, feature f
    text:       the message; {} is replaced by the selection's name
    without:    the selection without it
    """

    key: str
    entry: str
    name: str
    text: str
    without: Selection


def find_surplus(selection: Selection, needed: Needed, full: FullBuild) -> tuple[Surplus, ...]:
    """List the parts of a selection that are not needed, in the order of its keys."""
    if selection.include_all_operators:
        rest = sorted(full.operators - needed.operators)
        return tuple(_everything(selection, needed, ALL_OPERATORS, f"{len(rest)} operators"))
    found = list(_operators(selection, needed, full))
    if selection.include_all_non_op_selectives:
        what = "dtypes, classes and features"
        return (*found, *_everything(selection, needed, ALL_ELSE, what))
    return (*found, *_dtypes(selection, needed), *_names(selection, needed))


def _operators(selection: Selection, needed: Needed, full: FullBuild) -> Iterator[Surplus]:
    chosen = selection.selected_operators(full.operators)
    for name in chosen:
        if name not in needed.operators:
            rest = dict.fromkeys(
                (each for each in chosen if each != name),
                SelectedOperator(include_all_overloads=False),
            )
            entry = name if name in selection.operators else name.partition(".")[0]
            text = f"no model can reach {name}, which {{}} keeps"
            without = replace(selection, operators=rest)
            yield Surplus(OPERATORS, entry, f"operator {name}", text, without)


def _dtypes(selection: Selection, needed: Needed) -> Iterator[Surplus]:
    for tag, dtypes in sorted(selection.kernel_metadata.items()):
        there = needed.dtypes.get(tag, frozenset())
        others = {other: each for other, each in selection.kernel_metadata.items() if other != tag}
        if dtypes and not there:
            text = f"no operator that a model can reach runs kernel tag {tag}, which {{}} keeps"
            without = replace(selection, kernel_metadata=others)
            yield Surplus(TAGS, tag, f"tag {tag}", text, without)
            continue
        for dtype in sorted(dtypes - there):
            text = f"no model runs kernel tag {tag} with {dtype}, which {{}} keeps"
            without = replace(selection, kernel_metadata={**others, tag: dtypes - {dtype}})
            yield Surplus(TAGS, tag, f"dtype {tag} {dtype}", text, without)


def _names(selection: Selection, needed: Needed) -> Iterator[Surplus]:
    for name in sorted(selection.custom_classes - needed.classes):
        without = replace(selection, custom_classes=selection.custom_classes - {name})
        text = f"no model uses class {name}, which {{}} keeps"
        yield Surplus(CLASSES, name, f"class {name}", text, without)
    for name in sorted(selection.build_features - needed.features):
        without = replace(selection, build_features=selection.build_features - {name})
        text = f"no model uses feature {name}, which {{}} keeps"
        yield Surplus(FEATURES, name, f"feature {name}", text, without)


def _everything(selection: Selection, needed: Needed, flag: str, what: str) -> Iterator[Surplus]:
    """Make the surplus of a flag; without the flag, only needed parts are kept."""
    entry = SelectedOperator(include_all_overloads=False)
    operators = dict.fromkeys(sorted(needed.operators), entry)
    without = Selection(
        operators=operators if flag == ALL_OPERATORS else selection.operators,
        kernel_metadata={tag: each & {*DTYPES} for tag, each in needed.dtypes.items()},
        custom_classes=needed.classes,
        build_features=needed.features,
    )
    yield Surplus(flag, "", flag, f"{flag} of {{}} keeps {what} that no model needs", without)


def surplus_findings(
    case: SelectionCase, needed: Needed, prices: Prices, mode: str
) -> Iterator[SelectionFinding]:
    """Make a finding for each part that is not needed; `mode` decides whether it fails."""
    parts = find_surplus(case.selection, needed, case.full)
    for found, size in zip(parts, prices.of(case.selection, parts), strict=True):
        cost = "bytes unknown" if size is None else f"{size:,} bytes on {prices.target}"
        finding = case.finding(
            SURPLUS,
            found.name,
            FAIL if mode == FAIL_MODE else PASS,
            f"{found.text.format(case.name)}: {cost}",
            f"remove it, or {case.advice}",
        )
        yield replace(finding, place=case.place(found.key, found.entry), bytes=size)


@dataclass(frozen=True)
class Prices:
    """Predicts the bytes of parts of a selection from a full build."""

    full: Build
    store: Store | None = None

    @property
    def target(self) -> str:
        """Return the target that the full build is for."""
        return self.full.target

    @cached_property
    def _predictor(self) -> Predictor:
        """Read the full build, which takes 0.2 s."""
        # Takes 30 ms, which a run saves if the store has all prices.
        from sizeguard.predict.what_if import predictor_of

        return predictor_of(self.full.image.parent)

    def of(self, selection: Selection, parts: Sequence[Surplus]) -> tuple[int | None, ...]:
        """Predict the bytes of each part; None if the full build does not show them.

        30 ms for the 6 parts of a small app, if they are not in the store.
        """
        try:
            return self._kept(selection, parts) if parts else ()
        except SizeguardError:  # the full build cannot be read
            return (None,) * len(parts)

    def _kept(self, selection: Selection, parts: Sequence[Surplus]) -> tuple[int | None, ...]:
        return kept(
            self.store,
            lambda: {
                "kind": "surplus",
                "code": code_hash(),
                "full": self.full.fingerprint,
                "image": files_key([self.full.image]),
                **objects_key(self.full),
                "selection": format_selection(selection),
                "parts": [[each.key, format_selection(each.without)] for each in parts],
            },
            lambda: self._predict(selection, parts),
            lambda found: {"bytes": found},
            _read_bytes,
        )

    def _predict(self, selection: Selection, parts: Sequence[Surplus]) -> tuple[int | None, ...]:
        whole = self._load(selection)
        saved = ((part.key, whole - self._load(part.without)) for part in parts)
        # Most features have no separate functions, so the full build does not show their bytes.
        return tuple(None if key == FEATURES and not less else less for key, less in saved)

    def _load(self, selection: Selection) -> int:
        from sizeguard.predict.what_if import kept_by

        return self._predictor.size(kept_by(selection, self._predictor, dtypes=True)).load


def _read_bytes(known: Facts) -> tuple[int | None, ...]:
    return tuple(None if size is None else int(size) for size in known["bytes"])
