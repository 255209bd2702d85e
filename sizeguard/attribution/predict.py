"""Turns a full build, a selection and what-ifs into a prediction of the selective build; compiles nothing, reads no source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sizeguard.attribution.names import dtype_of
from sizeguard.build.record import read_build
from sizeguard.codegen.headers import DTYPES
from sizeguard.errors import InputError
from sizeguard.linkgraph.branches import find_branches, read_source_facts
from sizeguard.linkgraph.closure import closure
from sizeguard.linkgraph.live import reachable
from sizeguard.linkgraph.predict import UNSEEN, UNSEEN_ELSEWHERE, Kept, Predictor, Size
from sizeguard.linkgraph.prediction import Change, ModelCost, OperatorCost, Prediction
from sizeguard.linkgraph.prune import pruned
from sizeguard.linkgraph.retained import retained
from sizeguard.linkgraph.sources import graph_of_path
from sizeguard.linkgraph.subjects import operators
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.whatif import models_of, without_model


def predictor_of(path: Path) -> Predictor:
    """Of a full build, by its folder or build.json."""
    build = read_build(path)
    if build.variant != "full":
        raise InputError(f"{path}: a build of {build.variant}; predictions are made from the variant full")
    graph = graph_of_path(path)
    facts = read_source_facts(build.selection.parent / "kernel_tags.json")
    full = Size(build.sizes.load, build.sizes.ram)
    is_usual = build.toolchain.startswith("gcc") and build.optimize == "s"
    unseen = UNSEEN if is_usual else UNSEEN_ELSEWHERE
    return Predictor(graph, full, find_branches(graph, facts, dtype_of), facts.verbose_texts, unseen)


def kept_by(selection: Selection, predictor: Predictor, *, dtypes: bool) -> Kept:
    """What a build of the selection keeps, with its dtypes or with all of them."""
    chosen = frozenset(selection.selected_operators(predictor.operators))
    if selection.all_non_operators_included:
        return Kept(chosen)
    return Kept(chosen, selection.custom_classes, selection.kernel_metadata if dtypes else None, selection.build_features)


def predict(
    predictor: Predictor, selection: Selection, name: str, *, dtypes: bool, add: Sequence[str] = (), drop: Sequence[str] = ()
) -> Prediction:
    """Predict the selection with operators added (aten::gelu, aten::gelu:Float) and models dropped, in that order."""
    _check(selection, predictor.operators)
    before = predictor.size(kept_by(selection, predictor, dtypes=dtypes)).load
    changes = []
    load = before
    for what in add:
        larger, new = _with_operator(predictor, selection, what)
        selection = larger
        now = predictor.size(kept_by(selection, predictor, dtypes=dtypes)).load
        changes.append(Change(f"+{what}", now - load, new))
        load = now
    for model in drop:
        smaller = without_model(selection, model)
        lost = tuple(sorted(set(selection.operators) - set(smaller.operators)))
        selection = smaller
        now = predictor.size(kept_by(selection, predictor, dtypes=dtypes)).load
        changes.append(Change(f"-{model}", now - load, lost))
        load = now
    kept = kept_by(selection, predictor, dtypes=dtypes)
    size = predictor.size(kept)
    models = []
    names = models_of(selection)
    for model in names if len(names) > 1 else ():
        less = without_model(selection, model)
        marginal = size.load - predictor.size(kept_by(less, predictor, dtypes=dtypes)).load
        models.append(ModelCost(model, marginal, tuple(sorted(set(selection.operators) - set(less.operators)))))
    costs = _operator_costs(predictor, kept)
    return Prediction(name, before, size.load, size.ram, size.margin, tuple(changes), costs, tuple(models), predictor.unseen == UNSEEN)


def _check(selection: Selection, known: Collection[str]) -> None:
    unknown = sorted(name for name in selection.operators if name not in known and not any(k.startswith(f"{name}.") for k in known))
    if unknown:
        raise InputError(f"the full build has no operator {', '.join(unknown)}")


def _operator_costs(predictor: Predictor, kept: Kept) -> tuple[OperatorCost, ...]:
    remaining, _, _ = predictor.remaining(kept)
    found = retained(pruned(predictor.graph, remaining))
    rows = (OperatorCost(name, cost.exclusive, cost.shared) for name, cost in found.items() if "::" in name)
    return tuple(sorted(rows, key=lambda row: (-row.exclusive, row.operator)))


def _with_operator(predictor: Predictor, selection: Selection, what: str) -> tuple[Selection, tuple[str, ...]]:
    """The selection with an operator, all that it calls, and the dtype (all dtypes if none is named) of every tag on the way."""
    head, colon, dtype = what.rpartition(":")
    operator, dtypes = (head, [dtype]) if colon and not head.endswith(":") else (what, list(DTYPES))
    if colon and dtypes == [dtype] and dtype not in DTYPES:
        raise InputError(f"{what}: no dtype {dtype}; there are {', '.join(DTYPES)}")
    if operator not in predictor.operators:
        raise InputError(f"{what}: no operator {operator} in the full build")
    needed = closure(predictor.graph, [operator])
    new = tuple(sorted(name for name in needed if not selection.is_operator_selected(name)))
    chosen = dict(selection.operators)
    for name in new:
        chosen[name] = SelectedOperator(is_root_operator=name == operator, include_all_overloads=False)
    metadata = dict(selection.kernel_metadata)
    for tag in _tags(predictor, needed):
        metadata[tag] = frozenset(metadata.get(tag, frozenset())) | frozenset(dtypes)
    return replace(selection, operators=chosen, kernel_metadata=metadata), new


def _tags(predictor: Predictor, names: Collection[str]) -> set[str]:
    """Tags of the switches that operators' kernels reach. What converts dtypes is left as it is selected."""
    table = operators(predictor.graph)
    reached = reachable(predictor.graph, [node for name in names for node in table[name]])
    branches = predictor.branches
    used = np.unique(branches.tag[reached[branches.holder]]).tolist()
    return {tag for k in used for tag in branches.tags[k]} - set(branches.guarded)
