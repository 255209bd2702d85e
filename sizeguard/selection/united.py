"""Merge a selection from all its sources: files, names, libraries and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.operators.library import read_operator_libraries
from sizeguard.selection.of_models import selection_of_model
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.union import merge
from sizeguard.selection.write import format_selection

# The list of written files, relative to the output folder: build systems read it.
OUTPUTS = "outputs.txt"


@dataclass(frozen=True, slots=True)
class SelectionSources:
    """The sources of a selection; their union is taken.

    selections:   selection files
    root_ops:     names
    ops_schemas:  operators.yaml files, all of whose operators are kept
    models:       model files, whose named operators are kept
    all_operators, no_operators: everything or nothing, whatever files say
    """

    selections: tuple[Path, ...]
    root_ops: tuple[str, ...]
    ops_schemas: tuple[Path, ...]
    models: tuple[Path, ...]
    all_operators: bool
    no_operators: bool


def united_selection(
    sources: SelectionSources, read_model: Callable[[Path], OperatorInfo]
) -> tuple[Selection, str]:
    """Merge the sources; the second value names them in error messages.

    Names alone say nothing of classes and features: all of these are kept.

    Raises InputError if there is no source, or if sources contradict each other.
    """
    named = (*sources.selections, *sources.ops_schemas, *sources.models)
    if sources.all_operators or sources.no_operators:
        option = "--all-operators" if sources.all_operators else "--no-operators"
        if named or sources.root_ops or (sources.all_operators and sources.no_operators):
            raise InputError(f"{option} leaves nothing to select; drop it or the other selections")
        everything = sources.all_operators
        return (
            Selection(include_all_operators=everything, include_all_non_op_selectives=everything),
            option,
        )
    if not named and not sources.root_ops:
        raise InputError(
            "no selection: give --selection FILE, --root-ops, --ops-from-model or --all-operators"
        )
    parts = [(path.name, _read(path)) for path in sources.selections]
    if sources.models:
        parts += [(path.name, selection_of_model(read_model(path))) for path in sources.models]
    if sources.root_ops or sources.ops_schemas:
        names = [*sources.root_ops, *read_operator_libraries(sources.ops_schemas)]
        root = SelectedOperator(is_used_for_training=False, include_all_overloads=False)
        selection = Selection(
            operators=dict.fromkeys(names, root),
            include_all_non_op_selectives=not sources.selections,
        )
        parts.append(("root-ops", selection))
    return parts[0][1] if len(parts) == 1 else merge(parts).selection, ", ".join(
        [*map(str, named), *(["--root-ops"] if sources.root_ops else [])]
    )


def shared_selection(selection: Selection, others: Iterable[Path]) -> Selection:
    """Add the dtypes and features of other apps' selections.

    Kernels and a runtime that several apps share are built for this selection.
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


def check_has_dtypes(selection: Selection, source: str) -> None:
    """Raise InputError if dtype selection would have no effect, or would leave no dtype at all."""
    if selection.all_non_operators_included:
        raise InputError(
            f"{source}: keeps all dtypes (include_all_non_op_selectives), so that selecting dtypes"
            " has no effect"
        )
    if not selection.kernel_metadata:
        raise InputError(
            f"{source}: says nothing of dtypes (no kernel_metadata), so that no kernel would run;"
            " trace the models"
        )


def united_selection_file(selection: Selection) -> Mapping[str, str]:
    """Return the file of the merged selection, by name, and the list of outputs.

    Its names are not resolved against a library.
    """
    return {
        "selected_operators.yaml": format_selection(selection),
        OUTPUTS: "selected_operators.yaml\n",
    }


def _read(path: Path) -> Selection:
    return read_selection(path).selection
