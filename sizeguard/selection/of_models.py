"""Make a selection from the operators that model files name.

A model file names its root operators and, usually, the dtypes of the tensors at their calls. Only a
trace shows the dtypes that the switches inside kernels see: a composite calls other operators,
types are promoted, indices are Long. So the selection keeps every dtype, class and feature
(include_all_non_op_selectives), and notes the dtypes of the calls in debug_info. It lacks operators
that only other operators call; `sizeguard trace` finds them by running the model.

Kernels of ExecuTorch call no operators and are chosen by kernel keys. Its model files are complete,
so the selection is the one that gen_oplist writes.
"""

from __future__ import annotations

from collections.abc import Iterable

from sizeguard.models.operator_info import OperatorInfo
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.union import merge


def selection_of_models(models: Iterable[OperatorInfo]) -> Selection:
    """Merge the needs of all models."""
    return merge([(info.model, selection_of_model(info)) for info in models]).selection


def selection_of_model(info: OperatorInfo) -> Selection:
    """Select the root operators of one model, credited to it."""
    executorch = bool(info.kernel_keys)
    # gen_oplist sets is_used_for_training, which ExecuTorch never reads; the files stay equal.
    entry = SelectedOperator(
        is_root_operator=True,
        is_used_for_training=executorch,
        include_all_overloads=False,
        debug_info=frozenset({info.model}),
    )
    keys = {name: frozenset(keys) for name, keys in info.kernel_keys.items()}
    asked = Provenance(
        include_all_non_op_selectives=not executorch,
        et_kernel_metadata=keys,
        custom_classes=info.classes,
        operator_dtypes={name: dtypes for name, dtypes in info.operators.items() if dtypes},
    )
    return Selection(
        operators=dict.fromkeys(info.operators, entry),
        include_all_non_op_selectives=not executorch,
        et_kernel_metadata=keys,
        custom_classes=info.classes,
        provenance={info.model: asked},
    )
