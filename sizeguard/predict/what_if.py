"""Predict changed selections: add operators to a selection, drop models, compare the sizes.

Nothing is compiled and no C++ is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.build_record import read_build
from sizeguard.columns.distinct import distinct
from sizeguard.linkgraph.live import reachable
from sizeguard.linkgraph.open_graph import graph_of_path
from sizeguard.linkgraph.prune import pruned
from sizeguard.linkgraph.retained import retained
from sizeguard.linkgraph.subjects import operators
from sizeguard.names.dtype_of import dtype_of
from sizeguard.operators.dtypes import DTYPES
from sizeguard.predict.prediction import (
    Change,
    DtypeCost,
    ModelCost,
    OperatorCost,
    PredictedSaving,
    Prediction,
)
from sizeguard.predict.predictor import Kept, Predictor, Size
from sizeguard.predict.savings.image_savings import ImageSavings, Savings
from sizeguard.predict.switch_edges import find_branches
from sizeguard.runtimes.known import build_facts
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.without_model import models_of, without_model


def predictor_of(path: Path) -> Predictor:
    """Make a predictor of a full build, given its folder or its build.json.

    Raises InputError for a build of another variant.
    """
    build = read_build(path)
    if build.variant != "full":
        raise InputError(
            f"{path}: a {build.variant} build; predictions need the full build, which"
            " sizeguard build full makes"
        )
    graph = graph_of_path(path)
    facts = build_facts(build)
    full = Size(build.sizes.load, build.sizes.ram)
    return Predictor(graph, full, find_branches(graph, facts, dtype_of), facts)


def kept_by(selection: Selection, predictor: Predictor, *, dtypes: bool) -> Kept:
    """Return the parts that a build of the selection keeps.

    dtypes: whether to keep only selected dtypes; otherwise all are kept
    """
    chosen = frozenset(selection.selected_operators(predictor.operators))
    if selection.all_non_operators_included:
        return Kept(chosen)
    return Kept(
        chosen,
        selection.custom_classes,
        selection.kernel_metadata if dtypes else None,
        selection.build_features,
    )


# More than 40 lines: a line for each field of the prediction.
# More than 6 parameters: a selection, its changes, and what to predict; one caller names them all.
def predict(
    predictor: Predictor,
    selection: Selection,
    name: str,
    *,
    dtypes: bool,
    add: Sequence[str] = (),
    drop: Sequence[str] = (),
    savings: Savings | None = None,
) -> Prediction:
    """Predict the sizes of a selection after changes.

    add:     operators to add first, such as aten::gelu or aten::gelu:Float
    drop:    models to drop after that
    savings: of the full build; if given, the prediction includes the saving of each operator and
        dtype
    """
    _check(selection, predictor.operators)

    def size_of(chosen: Selection) -> Size:
        return predictor.size(kept_by(chosen, predictor, dtypes=dtypes))

    before = size_of(selection).load
    changes = []
    load = before
    for what, changed, names in _steps(predictor, selection, add, drop):
        now = size_of(changed).load
        changes.append(Change(what, now - load, names))
        selection, load = changed, now
    size = size_of(selection)
    kept = kept_by(selection, predictor, dtypes=dtypes)
    saved = savings.of(kept) if savings is not None else ImageSavings()
    return Prediction(
        selection=name,
        before=before,
        load=size.load,
        ram=size.ram,
        margin=size.margin,
        changes=tuple(changes),
        per_operator=_operator_costs(predictor, kept, saved.operators),
        per_model=_model_costs(selection, size.load, size_of),
        is_calibrated=predictor.facts.calibration.is_usual,
        per_dtype=_dtype_costs(saved),
        handler=saved.handler,
        unknown=saved.unknown,
        per_feature=predictor.feature_costs(kept),
    )


class _Step(NamedTuple):
    """A change. selection: after it; names: the operators that it adds or removes."""

    what: str
    selection: Selection
    names: tuple[str, ...]


def _steps(
    predictor: Predictor, selection: Selection, add: Sequence[str], drop: Sequence[str]
) -> Iterator[_Step]:
    """Yield the changes in their order."""
    for what in add:
        selection, new = _with_operator(predictor, selection, what)
        yield _Step(f"+{what}", selection, new)
    for model in drop:
        smaller = without_model(selection, model)
        yield _Step(f"-{model}", smaller, _lost(selection, smaller))
        selection = smaller


def _lost(selection: Selection, smaller: Selection) -> tuple[str, ...]:
    return tuple(sorted(set(selection.operators) - set(smaller.operators)))


def _model_costs(
    selection: Selection, load: int, size_of: Callable[[Selection], Size]
) -> tuple[ModelCost, ...]:
    """Return the cost of each model of a selection; empty if it has only one model.

    load: predicted bytes of the whole selection
    """
    models = models_of(selection)
    if len(models) < 2:
        return ()
    costs = []
    for model in models:
        smaller = without_model(selection, model)
        costs.append(ModelCost(model, load - size_of(smaller).load, _lost(selection, smaller)))
    return tuple(costs)


def _check(selection: Selection, known: Collection[str]) -> None:
    unknown = sorted(
        name
        for name in selection.operators
        if name not in known and not any(k.startswith(f"{name}.") for k in known)
    )
    if unknown:
        raise InconclusiveError(f"the full build has no operator {', '.join(unknown)}")


def _operator_costs(
    predictor: Predictor, kept: Kept, savings: Mapping[str, PredictedSaving | None]
) -> tuple[OperatorCost, ...]:
    found = retained(pruned(predictor.graph, predictor.remaining(kept).seen))
    rows = (
        OperatorCost(name, cost.exclusive, cost.shared, savings.get(name))
        for name, cost in found.items()
        if "::" in name
    )
    return tuple(sorted(rows, key=lambda row: (-row.exclusive, row.operator)))


def _dtype_costs(saved: ImageSavings) -> tuple[DtypeCost, ...]:
    """Sort the branches: the largest saving first, unknown ones last."""
    rows = (DtypeCost(tag, dtype, saving) for (tag, dtype), saving in saved.dtypes.items())
    return tuple(
        sorted(
            rows,
            key=lambda row: (
                row.saving is None,
                -row.saving.bytes if row.saving else 0,
                row.tag,
                row.dtype,
            ),
        )
    )


def _with_operator(
    predictor: Predictor, selection: Selection, what: str
) -> tuple[Selection, tuple[str, ...]]:
    """Add an operator and all that it calls; also return the names that are new.

    The dtype (by default all dtypes) is added to every tag on the way.
    """
    # Imported for added operators: 7 ms.
    from sizeguard.names.find_operators import find_operators
    from sizeguard.predict.call_closure import closure

    head, colon, dtype = what.rpartition(":")
    operator, dtypes = (head, [dtype]) if colon and not head.endswith(":") else (what, list(DTYPES))
    if colon and dtypes == [dtype] and dtype not in DTYPES:
        raise InputError(f"{what}: no dtype {dtype}; there are {', '.join(DTYPES)}")
    meant = find_operators(operator, predictor.operators)
    if not meant:
        # Imported for the hint: 14 ms.
        from sizeguard.names.resolve_names import KnownNames, SymbolNames

        near = KnownNames(SymbolNames.of(()), predictor.operators).nearest(operator)
        hint = f"; nearest is {near}" if near else " in the full build"
        raise InconclusiveError(f"{what}: nothing is called {operator}{hint}")
    needed = closure(predictor.graph, predictor.facts.dispatch, list(meant))
    new = tuple(sorted(name for name in needed if not selection.is_operator_selected(name)))
    chosen = dict(selection.operators)
    for name in new:
        chosen[name] = SelectedOperator(is_root_operator=name in meant, include_all_overloads=False)
    metadata = dict(selection.kernel_metadata)
    for tag in _tags(predictor, needed):
        metadata[tag] = frozenset(metadata.get(tag, frozenset())) | frozenset(dtypes)
    return replace(selection, operators=chosen, kernel_metadata=metadata), new


def _tags(predictor: Predictor, names: Collection[str]) -> set[str]:
    """Return the tags of the switches that operators' kernels reach.

    Tags that guard code are left out, since code that converts dtypes stays as selected.
    """
    table = operators(predictor.graph)
    # Code may name operators that no library registers.
    entries = [node for name in names for node in table.get(name, ())]
    reached = reachable(predictor.graph, entries)
    branches = predictor.branches
    used = distinct(branches.tag[reached[branches.holder]]).tolist()
    return {tag for k in used for tag in branches.tags[k]} - set(branches.guarded)
