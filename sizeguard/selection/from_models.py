"""Turns what model files name into a selection.

A model file names its roots and, mostly, the dtypes of the tensors at their calls. Which dtypes the switches inside of the kernels
meet (a composite calls others, types are promoted, indices are Long) shows in a trace alone. So a selection of models other
than ExecuTorch's keeps every dtype, class and feature (include_all_non_op_selectives), and notes the dtypes seen in debug_info.
For the same reason it has no operators that only other operators call: `sizeguard trace` finds them by running.

ExecuTorch's kernels call no others and are chosen by kernel keys: there the file says all, and we write what gen_oplist writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sizeguard.model_import.op_info import OperatorInfo, read_operators
from sizeguard.selection.merge import merge
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.selection import SelectedOperator, Selection


def read_models(paths: Iterable[Path]) -> list[OperatorInfo]:
    """Read model files. They go by their file names, the same on every machine, or by their paths if two have the same name."""
    files = list(paths)
    if len({path.name for path in files}) == len(files):
        return [read_operators(path) for path in files]
    return [replace(read_operators(path), model=path.as_posix()) for path in files]


def selection_of_models(models: Iterable[OperatorInfo]) -> Selection:
    """The union of what the models need."""
    return merge([(info.model, selection_of_model(info)) for info in models]).selection


def selection_of_model(info: OperatorInfo) -> Selection:
    """The roots of one model, credited to it."""
    executorch = bool(info.kernel_keys)
    # gen_oplist sets is_used_for_training, which ExecuTorch never asks for; we keep its files' meaning.
    entry = SelectedOperator(
        is_root_operator=True, is_used_for_training=executorch, include_all_overloads=False, debug_info=frozenset({info.model})
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
