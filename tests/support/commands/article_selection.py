"""A selection as PyTorch's article on selective builds writes it."""

from __future__ import annotations

ARTICLE = """\
include_all_non_op_selectives: false
build_features: []
operators:
    aten::add.Tensor: {is_used_for_training: false, is_root_operator: true, \
include_all_overloads: false}
    aten::len.t: {is_used_for_training: false, is_root_operator: true, include_all_overloads: false}
kernel_metadata: {_local_scalar_dense_cpu: [Float], add_stub: [Float], copy_: [Bool, Byte], \
mul_cpu: [Float]}
custom_classes: []
"""
