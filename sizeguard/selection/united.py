"""Merge a selection from all its sources: files, names, libraries and models."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.operators.schema_names import schema_names
from sizeguard.selection.foreign.foreign_names import is_foreign
from sizeguard.selection.foreign.pytorch_names import PytorchNames, read_pytorch_names
from sizeguard.selection.foreign.translation import (
    Translation,
    translated,
    translation_notes,
    whole_tags_notes,
)
from sizeguard.selection.of_models import selection_of_model
from sizeguard.selection.op_deps import OpDeps, read_op_deps
from sizeguard.selection.reachable_needs import WithCallees, needs_of_model, with_callees
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.union import merge
from sizeguard.selection.write import OUTPUTS, format_selection


@dataclass(frozen=True, slots=True)
class SelectionSources:
    """The sources of a selection, which are merged.

    selections:   selection files
    root_ops:     names
    ops_schemas:  operators.yaml files, all of whose operators are kept
    models:       model files, whose named operators are kept
    all_operators, no_operators: everything or nothing, whatever the files select
    op_deps:      op_deps.yaml files; callees of names and models are kept, too
    exact:        keep only what is named; then op_deps only gives the tags of models' operators
    features:     build features to keep if dtypes of models are selected; None otherwise
    names:        pytorch_names.yaml files, which translate names of PyTorch and ExecuTorch
    """

    selections: tuple[Path, ...]
    root_ops: tuple[str, ...]
    ops_schemas: tuple[Path, ...]
    models: tuple[Path, ...]
    all_operators: bool
    no_operators: bool
    op_deps: tuple[Path, ...] = ()
    exact: bool = False
    features: frozenset[str] | None = None
    names: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that name operators."""
        return (*self.selections, *self.ops_schemas, *self.models)


@dataclass(frozen=True, slots=True)
class United:
    """The union of all sources.

    source: their name in error messages
    notes: a line for each addition to the request
    """

    selection: Selection
    source: str
    notes: tuple[str, ...] = ()


def united_selection(
    sources: SelectionSources, read_model: Callable[[Path], OperatorInfo]
) -> United:
    """Merge the sources.

    For names without a selection file, all classes and features are kept. A selection file is used
    unchanged, because it lists the callees to keep.

    Raises InputError without a source, or if sources contradict each other.
    """
    if sources.all_operators or sources.no_operators:
        return _all_or_nothing(sources)
    if not sources.files and not sources.root_ops:
        raise InputError(
            "no selection: give --selection FILE, --root-ops, --ops-from-model or --all-operators"
        )
    names = read_pytorch_names(sources.names)
    asked = _named_parts(sources, names)
    deps = read_calls(sources.op_deps, {name for _, part in asked for name in part.operators})
    notes: list[str] = []
    parts: list[tuple[str, Selection]] = []
    for path in sources.selections:
        translation = _translated(sources, _read(path), str(path), (deps, names))
        notes += translation_notes(path.name, translation, dtypes=sources.features is not None)
        parts.append((path.name, translation.selection))
    for name, part in asked:
        reached = _reached(sources, part, deps)
        notes += _notes(name, reached)
        parts.append((name, reached.selection))
    for path in sources.models:
        chosen, said = _of_model(sources, read_model(path), path.name, (deps, names))
        parts.append((path.name, chosen))
        notes += said
    return United(
        parts[0][1] if len(parts) == 1 else merge(parts).selection,
        ", ".join([*map(str, sources.files), *(["--root-ops"] if sources.root_ops else [])]),
        tuple(notes),
    )


def _all_or_nothing(sources: SelectionSources) -> United:
    """Select all operators or none, as one option asks for. Raises InputError for other sources."""
    everything = sources.all_operators
    option = "--all-operators" if everything else "--no-operators"
    if sources.files or sources.root_ops or (everything and sources.no_operators):
        raise InputError(f"{option} leaves nothing to select; drop it or the other selections")
    return United(
        Selection(include_all_operators=everything, include_all_non_op_selectives=everything),
        option,
    )


def _of_model(
    sources: SelectionSources, info: OperatorInfo, name: str, tables: tuple[OpDeps, PytorchNames]
) -> tuple[Selection, list[str]]:
    """Select the needs of a model; the second result has notes."""
    deps = tables[0]
    if info.kernel_keys:
        translation = _translated(sources, selection_of_model(info), name, tables)
        dtypes = sources.features is not None
        return translation.selection, translation_notes(name, translation, dtypes=dtypes)
    reached = _reached(sources, selection_of_model(info), deps)
    notes = _notes(name, reached)
    if sources.features is None or not deps.tags:
        return reached.selection, notes
    needs = needs_of_model(deps, info, sources.features, reached.selection.operators)
    return needs.selection, [*notes, *whole_tags_notes(name, needs.whole_tags)]


def _translated(
    sources: SelectionSources, selection: Selection, name: str, tables: tuple[OpDeps, PytorchNames]
) -> Translation:
    """Translate a selection; raise InputError if a requested translation lacks the calls."""
    deps, names = tables
    if sources.names and not deps.calls and is_foreign(selection, deps, names):
        raise InputError(
            f"{name}: has names of PyTorch or ExecuTorch; --pytorch-names translates them with the "
            f"callees of --op-deps FILE"
        )
    return translated(selection, deps, names, exact=sources.exact)


def read_calls(files: Iterable[Path], roots: Collection[str]) -> OpDeps:
    """Read op_deps.yaml files.

    In a file without overloads, the overloads come from the others and roots.
    """
    read = [read_op_deps(path) for path in files]
    known = {name for deps in read for name in deps.calls} | set(roots)
    return functools.reduce(
        OpDeps.union, (deps.spelled_out(known) for deps in read), OpDeps({}, frozenset())
    )


def _named_parts(sources: SelectionSources, known: PytorchNames) -> list[tuple[str, Selection]]:
    """Return the selection of operators that are given by name or by library."""
    if not sources.root_ops and not sources.ops_schemas:
        return []
    names = map(known.functional, [*sources.root_ops, *schema_names(sources.ops_schemas)])
    root = SelectedOperator(is_used_for_training=False, include_all_overloads=False)
    selection = Selection(
        operators=dict.fromkeys(names, root),
        include_all_non_op_selectives=not sources.selections,
    )
    return [("root-ops", selection)]


def _reached(sources: SelectionSources, part: Selection, deps: OpDeps) -> WithCallees:
    exact = sources.exact or not sources.op_deps
    return WithCallees(part, {}, ()) if exact else with_callees(part, deps)


def _notes(name: str, reached: WithCallees) -> list[str]:
    notes = []
    if reached.added:
        notes.append(f"{name}: {len(reached.added)} callees are kept: {', '.join(reached.added)}")
    if reached.unknown:
        notes.append(
            f"{name}: op_deps.yaml does not list all calls of {', '.join(reached.unknown)}; name "
            f"missing operators, too"
        )
    return notes


def shared_selection(selection: Selection, others: Iterable[Path]) -> Selection:
    """Add the dtypes and features of other apps' selections.

    Kernels and a runtime that several apps share are built for the result.
    """
    selections = [selection, *(_read(path) for path in others)]
    dtypes: dict[str, frozenset[str]] = {}
    for each in selections:
        for tag, names in each.kernel_metadata.items():
            dtypes[tag] = dtypes.get(tag, frozenset()) | names
    everything = any(each.all_non_operators_included for each in selections)
    features = frozenset().union(*(each.build_features for each in selections))
    return replace(
        selection,
        kernel_metadata=dtypes,
        build_features=features,
        include_all_non_op_selectives=everything,
    )


def with_features(selection: Selection, features: Iterable[str]) -> Selection:
    """Add build features."""
    return replace(selection, build_features=selection.build_features | frozenset(features))


def check_has_dtypes(selection: Selection, source: str) -> None:
    """Raise InputError if selecting dtypes would have no effect, or would leave no dtype."""
    if selection.all_non_operators_included:
        raise InputError(
            f"{source}: keeps all dtypes (include_all_non_op_selectives), so selecting dtypes "
            f"has no effect"
        )
    if not selection.kernel_metadata:
        raise InputError(
            f"{source}: has no dtypes (no kernel_metadata), so no kernel would run; trace the "
            f"models"
        )


def united_selection_file(selection: Selection) -> Mapping[str, str]:
    """Return the merged selection file and the list of outputs, by name.

    Its names are not resolved against a library.
    """
    return {
        "selected_operators.yaml": format_selection(selection),
        OUTPUTS: "selected_operators.yaml\n",
    }


def _read(path: Path) -> Selection:
    return read_selection(path).selection
