"""Turns a selection of several models into the selection without one of them."""

from __future__ import annotations

from dataclasses import replace

from sizeguard.errors import InputError
from sizeguard.selection.merge import unrecorded
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.selection import Selection


def models_of(selection: Selection) -> tuple[str, ...]:
    """The models that operators are there for, sorted."""
    return tuple(sorted({model for entry in selection.operators.values() for model in entry.debug_info}))


def without_model(selection: Selection, model: str) -> Selection:
    """Leave out what only that model asked for: encoder or encoder.sgp. Raises InputError for a model that asked for nothing.

    Dtypes, classes and features go if the file records for every other model what it asked for; they stay otherwise, and so
    does what no model's record has.
    """
    models = models_of(selection)
    name = next((known for known in models if known == model or known.rpartition(".")[0] == model), None)
    if name is None:
        raise InputError(f"the selection names no model {model}; there are {', '.join(models) or 'none'}")
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
        kernel_metadata=asked.kernel_metadata,
        custom_classes=asked.custom_classes,
        build_features=asked.build_features,
        provenance={key: value for key, value in selection.provenance.items() if key != name},
    )
