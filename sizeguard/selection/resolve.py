"""Resolve a selection against a library: single operators, and an entry for every tag.

Names that do not exist are errors.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from sizeguard.base.errors import InputError
from sizeguard.operators.dtypes import DTYPES
from sizeguard.operators.name import family_of
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


def check_names(
    selection: Selection, source: str, operators: Collection[str], tags: Collection[str] | None
) -> None:
    """Raise InputError that lists all unknown operators and tags, each with the nearest names.

    tags: None if no kernel is compiled for this selection; then its tags are not checked
    """
    families = {family_of(name) for name in operators}
    known = set(operators) | families
    wrong = [
        _unknown("operator", name, known)
        for name in sorted(selection.operators)
        if not _exists(selection, name, operators, families)
    ]
    if tags is not None:
        wrong += [
            _unknown("kernel tag", tag, tags)
            for tag in sorted(selection.kernel_metadata)
            if tag not in tags
        ]
    wrong += _unknown_dtypes(selection.kernel_metadata)
    if wrong:
        raise InputError(f"{source}: {'; '.join(wrong)}")


def _exists(
    selection: Selection, name: str, operators: Collection[str], families: Collection[str]
) -> bool:
    if name in operators:
        return True
    return selection.operators[name].include_all_overloads and name in families


def _entry(selection: Selection, name: str) -> SelectedOperator:
    own = selection.operators.get(name) or selection.operators[family_of(name)]
    return SelectedOperator(
        is_root_operator=selection.is_root_operator(name),
        is_used_for_training=selection.is_operator_selected_for_training(name),
        include_all_overloads=False,
        debug_info=own.debug_info,
    )


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=2, cutoff=0.6)
    return f"unknown {what} {name}" + (f" (nearest: {', '.join(near)})" if near else "")


def _unknown_dtypes(kernel_metadata: Mapping[str, frozenset[str]]) -> list[str]:
    return [
        f"kernel tag {tag}: {_unknown('dtype', dtype, DTYPES)}"
        for tag in sorted(kernel_metadata)
        for dtype in sorted(kernel_metadata[tag])
        if dtype not in DTYPES
    ]
