"""Recognise selections with names of PyTorch or ExecuTorch."""

from __future__ import annotations

import re
from collections.abc import Collection

from sizeguard.base.nearest import nearest_names
from sizeguard.selection.foreign.pytorch_names import PytorchNames
from sizeguard.selection.op_deps import OpDeps
from sizeguard.selection.selection import Selection

# Suffixes of PyTorch's kernel tags, for operators that the table does not have.
_FOREIGN_TAG = re.compile(r"\w+(_stub|_cpu_?|_cuda|_kernel|_impl|_out_frame|_channels_last)|\w+_")


def is_foreign(selection: Selection, deps: OpDeps, names: PytorchNames) -> bool:
    """Return whether a selection has names or kernel keys of PyTorch or ExecuTorch."""
    own = own_tags(deps)
    return bool(
        selection.et_kernel_metadata
        or any(names.functional(name) != name for name in selection.operators)
        or any(_is_foreign_tag(tag, own, names) for tag in selection.kernel_metadata)
    )


def own_tags(deps: OpDeps) -> frozenset[str]:
    """Return the kernel tags of this runtime."""
    return frozenset().union(*deps.tags.values())


def _is_foreign_tag(tag: str, own: Collection[str], names: PytorchNames) -> bool:
    if tag in own:
        return False
    return tag in names.tags or (
        _FOREIGN_TAG.fullmatch(tag) is not None and not nearest_names(tag, own)
    )
