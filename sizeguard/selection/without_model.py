"""Remove one model's needs from a selection of several models."""

from __future__ import annotations

from dataclasses import replace

from sizeguard.base.errors import InputError
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.selection import Selection
from sizeguard.selection.union import unrecorded


def models_of(selection: Selection) -> tuple[str, ...]:
    """List the models that need operators, sorted."""
    return tuple(
        sorted({model for entry in selection.operators.values() for model in entry.debug_info})
    )


def without_model(selection: Selection, model: str) -> Selection:
    """Leave out the operators that only this model needs; its name is encoder or encoder.sgp.

    Its flags, dtypes, kernel keys, classes and features are left out, too, if the file records the
    needs of every other model. Needs that are in no model's record always stay.

    Raises InputError for an unknown model.
    """
    models = models_of(selection)
    name = next(
        (known for known in models if known == model or known.rpartition(".")[0] == model), None
    )
    if name is None:
        raise InputError(
            f"the selection names no model {model}; there are {', '.join(models) or 'none'}"
        )
    operators = {
        operator: replace(entry, debug_info=entry.debug_info - {name})
        for operator, entry in selection.operators.items()
        if entry.debug_info != frozenset({name})
    }
    smaller = replace(selection, operators=operators, debug_info=selection.debug_info - {name})
    others = [selection.provenance.get(other) for other in models if other != name]
    if not all(isinstance(other, Provenance) for other in others):
        return smaller
    asked = unrecorded(selection)
    for other in others:
        if other is not None:
            asked = asked.union(other)
    return replace(
        smaller,
        include_all_operators=asked.include_all_operators,
        include_all_non_op_selectives=asked.include_all_non_op_selectives,
        kernel_metadata=asked.kernel_metadata,
        et_kernel_metadata=asked.et_kernel_metadata,
        custom_classes=asked.custom_classes,
        build_features=asked.build_features,
        provenance={key: value for key, value in selection.provenance.items() if key != name},
    )
