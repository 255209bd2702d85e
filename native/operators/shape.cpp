// Shapes, promotion and walks.

#include "native/operators/shape.h"

namespace sg {

Result<int64_t> wrap_dim(Context& context, int64_t dim, int64_t dims) {
  const int64_t count = dims == 0 ? 1 : dims;
  if (dim < -count || dim >= count) return context.invalid("no such dimension");
  return dim < 0 ? dim + count : dim;
}

Result<DimMask> wrap_dims(Context& context, IntArrayRef dims, Tensor self) {
  if (dims.empty()) return (DimMask{1} << self.dim()) - 1;
  DimMask mask = 0;
  for (const int64_t dim : dims) {
    SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
    const DimMask bit = DimMask{1} << axis;
    if ((mask & bit) != 0) return context.invalid("a dimension is named twice");
    mask |= bit;
  }
  return mask;
}

Status broadcast(Context& context, Span<const Tensor> tensors, Shape& shape) {
  shape.size = 0;
  for (const Tensor& tensor : tensors) {
    if (static_cast<size_t>(tensor.dim()) > shape.size)
      shape.size = static_cast<size_t>(tensor.dim());
  }
  for (size_t axis = 0; axis < shape.size; ++axis) {
    int64_t size = 1;
    for (const Tensor& tensor : tensors) {
      const int64_t own = tensor.dim() - static_cast<int64_t>(shape.size - axis);
      const int64_t wanted = own < 0 ? 1 : tensor.size(own);
      if (wanted == 1 || wanted == size) continue;
      if (size != 1) return context.invalid("shapes do not broadcast");
      size = wanted;
    }
    shape[axis] = size;
  }
  return {};
}

ScalarType result_type(Span<const Tensor> tensors) {
  // Three priorities. The dtype of a lower one counts only if its category is higher.
  ScalarType types[3] = {ScalarType::Bool, ScalarType::Bool, ScalarType::Bool};
  bool has[3] = {};
  for (const Tensor& tensor : tensors) {
    ScalarType dtype = tensor.scalar_type();
    const int priority = tensor.is_wrapped_number() ? 2 : tensor.dim() == 0 ? 1 : 0;
    if (priority == 2 && is_floating(dtype)) dtype = ScalarType::Float;  // the default dtype
    types[priority] = has[priority] ? promote_types(types[priority], dtype) : dtype;
    has[priority] = true;
  }
  const auto category = [](ScalarType dtype) {
    return is_floating(dtype) ? 2 : dtype == ScalarType::Bool ? 0 : 1;
  };
  ScalarType result = types[2];
  bool has_result = has[2];
  for (int priority = 1; priority >= 0; --priority) {
    if (!has[priority]) continue;
    const ScalarType higher = types[priority];
    result =
        has_result && category(result) > category(higher) ? promote_types(higher, result) : higher;
    has_result = true;
  }
  return result;
}

Rows::Rows(IntArrayRef shape) : dims_(static_cast<int>(shape.size())) {
  for (int axis = 0; axis < dims_; ++axis) {
    sizes_[axis] = shape[static_cast<size_t>(axis)];
    done_ |= sizes_[axis] == 0;
  }
}

void Rows::add(Tensor tensor) {
  int64_t bytes[kMaxDims];
  const int64_t missing = dims_ - tensor.dim();
  for (int64_t axis = 0; axis < dims_; ++axis) {
    const int64_t own = axis - missing;
    bytes[axis] = own < 0 || tensor.size(own) == 1 ? 0 : tensor.stride(own) * tensor.element_size();
  }
  add(tensor.bytes(), {bytes, static_cast<size_t>(dims_)});
}

void Rows::add(char* first, IntArrayRef bytes) {
  first_[operands_] = first;
  for (int axis = 0; axis < dims_; ++axis)
    steps_[operands_][axis] = bytes[static_cast<size_t>(axis)];
  ++operands_;
}

/// Merges adjacent dimensions that all operands walk as one, and makes the last one the row.
void Rows::merge() {
  merged_ = true;
  int kept = 0;
  for (int axis = 0; axis < dims_; ++axis) {
    if (sizes_[axis] == 1) continue;
    bool joins = kept > 0;
    for (int k = 0; k < operands_ && joins; ++k)
      joins = steps_[k][kept - 1] == steps_[k][axis] * sizes_[axis];
    if (joins) {
      sizes_[kept - 1] *= sizes_[axis];
    } else {
      sizes_[kept++] = sizes_[axis];
    }
    for (int k = 0; k < operands_; ++k) steps_[k][kept - 1] = steps_[k][axis];
  }
  length_ = kept == 0 ? 1 : sizes_[kept - 1];
  for (int k = 0; k < operands_; ++k) strides[k] = kept == 0 ? 0 : steps_[k][kept - 1];
  dims_ = kept == 0 ? 0 : kept - 1;
}

void Rows::start() {
  if (done_) return;
  if (!merged_) merge();
  for (int k = 0; k < operands_; ++k) data[k] = first_[k];
  for (int axis = 0; axis < dims_; ++axis) index_[axis] = 0;
}

void Rows::next() {
  for (int axis = dims_ - 1; axis >= 0; --axis) {
    const bool wraps = ++index_[axis] == sizes_[axis];
    for (int k = 0; k < operands_; ++k)
      data[k] += wraps ? -steps_[k][axis] * (sizes_[axis] - 1) : steps_[k][axis];
    if (!wraps) return;
    index_[axis] = 0;
  }
  done_ = true;
}

Lines lines_along(Tensor tensor, int64_t axis) {
  Lines lines{0, 1, 1};
  if (tensor.dim() > 0) {
    lines.length = tensor.size(axis);
    for (int64_t inner = axis + 1; inner < tensor.dim(); ++inner)
      lines.stride *= tensor.size(inner);
  }
  if (tensor.numel() > 0) lines.count = tensor.numel() / lines.length;
  return lines;
}

}  // namespace sg
