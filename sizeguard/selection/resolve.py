"""Resolve a selection against a library: single operators, and an entry for every tag.

Names that do not exist are errors.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sizeguard.base.errors import InputError
from sizeguard.operators.dtypes import DTYPES
from sizeguard.operators.name import family_of
from sizeguard.selection.selectable import Selectable, unknown_names
from sizeguard.selection.selection import SelectedOperator, Selection


def effective_selection(
    selection: Selection, operators: Collection[str], tags: Collection[str], *, all_dtypes: bool
) -> Selection:
    """Replace families by single operators, and add an entry for every tag.

    all_dtypes: operators are selected, dtypes are not: every tag keeps all
    """
    if selection.include_all_operators:
        return replace(
            selection, include_all_non_op_selectives=True, operators={}, kernel_metadata={}
        )
    kept = {name: _entry(selection, name) for name in selection.selected_operators(operators)}
    if all_dtypes or selection.include_all_non_op_selectives:
        dtypes = dict.fromkeys(tags, frozenset(DTYPES))
    else:
        dtypes = {tag: frozenset(selection.selected_dtypes(tag, DTYPES)) for tag in tags}
    kernel_metadata = {tag: names for tag, names in dtypes.items() if names}
    return replace(
        selection, operators=kept, kernel_metadata=kernel_metadata, et_kernel_metadata={}
    )


def check_names(selection: Selection, source: str, known: Selectable) -> None:
    """Raise InputError that lists all names that do not exist, each with the nearest ones."""
    wrong = [each.text for each in unknown_names(selection, known)]
    if wrong:
        raise InputError(f"{source}: {'; '.join(wrong)}")


def _entry(selection: Selection, name: str) -> SelectedOperator:
    own = selection.operators.get(name) or selection.operators[family_of(name)]
    return SelectedOperator(
        is_root_operator=selection.is_root_operator(name),
        is_used_for_training=selection.is_operator_selected_for_training(name),
        include_all_overloads=False,
        debug_info=own.debug_info,
    )
