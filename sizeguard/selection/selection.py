"""Selections, and queries for the operators, dtypes, classes and features that they keep.

The queries answer like PyTorch's SelectiveBuilder, including its oddities (tests/data/torchgen has
its answers), because a file must mean the same build in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.operators.name import family_of
from sizeguard.selection.provenance import Provenance

OPERATOR_FLAGS = ("is_root_operator", "is_used_for_training", "include_all_overloads")


@dataclass(frozen=True, slots=True)
class SelectedOperator:
    """One entry of `operators`.

    The defaults for missing keys are PyTorch's, which are inclusive.

    include_all_overloads: only has an effect for a name without an overload; then the entry means
                           the whole family
    debug_info: the models that need the operator; empty if unknown
    """

    is_root_operator: bool = True
    is_used_for_training: bool = True
    include_all_overloads: bool = True
    debug_info: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """The content of a selection file.

    kernel_metadata:    kernel tag → names of dtypes ("Float")
    et_kernel_metadata: operator → ExecuTorch's kernel keys ("v1/6;0,1|6;0,1" or "default")
    debug_info:         free text of other tools
    provenance:         model → its needs besides operators, from the file's debug_info
    """

    operators: Mapping[str, SelectedOperator] = field(default_factory=dict)
    include_all_operators: bool = False
    include_all_non_op_selectives: bool = False
    kernel_metadata: Mapping[str, frozenset[str]] = field(default_factory=dict)
    et_kernel_metadata: Mapping[str, frozenset[str]] = field(default_factory=dict)
    custom_classes: frozenset[str] = frozenset()
    build_features: frozenset[str] = frozenset()
    debug_info: frozenset[str] = frozenset()
    provenance: Mapping[str, Provenance] = field(default_factory=dict)

    @property
    def all_operators_included(self) -> bool:
        """True if nothing is selective: every operator, dtype, class and feature is kept."""
        return self.include_all_operators

    @property
    def all_non_operators_included(self) -> bool:
        """True if every dtype of every tag, every class and every feature is kept."""
        return self.include_all_operators or self.include_all_non_op_selectives

    def is_empty(self) -> bool:
        """Return whether no operator is selected, as in a merge of no files."""
        return not self.operators and not self.include_all_operators

    def is_operator_selected(self, name: str) -> bool:
        """Return whether the operator is kept, by its own entry or its family's."""
        if self.include_all_operators or name in self.operators:
            return True
        family = self.operators.get(family_of(name))
        return family is not None and family.include_all_overloads

    def is_root_operator(self, name: str) -> bool:
        """Return whether a model names the operator.

        The operator's own entry takes precedence over its family's.
        """
        if self.include_all_operators:
            return True
        own = self.operators.get(name)
        if own is not None:
            return own.is_root_operator
        family = self.operators.get(family_of(name))
        return family is not None and family.include_all_overloads and family.is_root_operator

    def is_operator_selected_for_training(self, name: str) -> bool:
        """Return whether the operator is kept for training.

        Unlike in is_root_operator, either the family's entry or the operator's own is enough.
        """
        if self.include_all_operators:
            return True
        own = self.operators.get(name)
        if own is not None and own.is_used_for_training:
            return True
        family = self.operators.get(family_of(name))
        return family is not None and family.include_all_overloads and family.is_used_for_training

    def is_kernel_dtype_selected(self, tag: str, dtype: str) -> bool:
        """Return whether a dtype is kept; a tag that the file does not name keeps none."""
        return self.all_non_operators_included or dtype in self.kernel_metadata.get(tag, ())

    def is_class_selected(self, name: str) -> bool:
        """Return whether a custom class is kept."""
        return self.all_non_operators_included or name in self.custom_classes

    def is_feature_selected(self, name: str) -> bool:
        """Return whether a build feature is kept."""
        return self.all_non_operators_included or name in self.build_features

    def selected_operators(self, known: Iterable[str]) -> tuple[str, ...]:
        """List the operators of a library that are kept, sorted."""
        return tuple(sorted(name for name in set(known) if self.is_operator_selected(name)))

    def selected_dtypes(self, tag: str, known: Iterable[str]) -> tuple[str, ...]:
        """List the dtypes of a switch that are kept, in the switch's order."""
        return tuple(dtype for dtype in known if self.is_kernel_dtype_selected(tag, dtype))

    def selected_kernel_keys(self, operator: str, available: Iterable[str]) -> frozenset[str]:
        """Choose the kernel keys of a library that serve the models, as ExecuTorch does.

        Keys match by the part after '/', whatever the version before it; "default" serves keys that
        match no other. torchgen fails on a key without '/' ("default" from a list of operators);
        here it gets the default kernel. Raises InputError if a model's key is not served.
        """
        keys = tuple(available)
        wanted = self.et_kernel_metadata.get(operator)
        if wanted is None:
            return frozenset(keys) if self.include_all_operators else frozenset()
        return frozenset(_serving_key(operator, key, keys) for key in wanted)


def _serving_key(operator: str, wanted: str, available: tuple[str, ...]) -> str:
    arguments = wanted.split("/")[1:2]
    for key in available:
        if arguments and key != "default" and key.split("/")[1:2] == arguments:
            return key
    if "default" not in available:
        raise InputError(
            f"{operator}: no kernel for {wanted}, and no default kernel; the library has"
            f" {', '.join(available) or 'none'}"
        )
    return "default"
