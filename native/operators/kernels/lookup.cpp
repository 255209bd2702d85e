// index_select, gather, constant_pad_nd, repeat, arange: elements from computed positions.

#include "generated/ops.h"
#include "native/operators/kernel.h"

namespace sg::kernels {
namespace {

/// out[…, i, …] = self[…, index, …] along `axis`. `steps` are the strides of `indices` in bytes,
/// one for each dimension of `out`.
Status look_up(Context& context, Tensor out, Tensor self, int64_t axis, Tensor indices,
               IntArrayRef steps) {
  const int64_t size = self.element_size();
  const bool has_axis = self.dim() > 0;
  const int64_t length = has_axis ? self.size(axis) : 1;
  const int64_t stride = has_axis ? self.stride(axis) * size : 0;
  Shape other_axes;  // strides of self, 0 along the axis
  for (int64_t other = 0; other < self.dim(); ++other) {
    other_axes.push_back(other == axis ? 0 : self.stride(other) * size);
  }
  Rows rows(out.sizes());
  rows.add(out);
  rows.add(self.bytes(), other_axes);
  rows.add(indices.bytes(), steps);
  for (rows.start(); !rows.done(); rows.next()) {
    for (int64_t i = 0; i < rows.length(); ++i) {
      const int64_t index = *reinterpret_cast<const int64_t*>(rows.data[2] + i * rows.strides[2]);
      if (index < 0 || index >= length) return context.invalid("index out of range");
      std::memcpy(rows.data[0] + i * rows.strides[0],
                  rows.data[1] + i * rows.strides[1] + index * stride, static_cast<size_t>(size));
    }
  }
  return {};
}

Result<Tensor> to_indices(Context& context, Tensor indices) {
  if (indices.scalar_type() != ScalarType::Long && indices.scalar_type() != ScalarType::Int) {
    return context.invalid("indices must be Long or Int");
  }
  return to_contiguous(context, indices, ScalarType::Long);
}

}  // namespace

Result<Tensor> index_select(Context& context, Tensor self, int64_t dim, Tensor index) {
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  if (index.dim() > 1) return context.invalid("the index has one dimension at most");
  if (self.dim() == 0 && index.numel() != 1)
    return context.invalid("a tensor without dimensions takes one index");
  SG_ASSIGN(const Tensor indices, to_indices(context, index));
  Shape sizes(self.sizes());
  Shape steps;
  for (int64_t other = 0; other < self.dim(); ++other)
    steps.push_back(other == axis ? indices.element_size() : 0);
  if (self.dim() > 0) sizes.data[axis] = indices.numel();
  SG_ASSIGN(const Tensor out, context.empty(self.scalar_type(), sizes));
  SG_TRY(look_up(context, out, self, axis, indices, steps));
  return out;
}

Result<Tensor> gather(Context& context, Tensor self, int64_t dim, Tensor index, bool) {
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  SG_ASSIGN(const Tensor indices, to_indices(context, index));
  SG_ASSIGN(const Tensor out, context.empty(self.scalar_type(), indices.sizes()));
  if (indices.numel() == 0) return out;
  // A tensor without dimensions counts as one-dimensional.
  const int64_t ones[] = {1};
  const bool grows = self.dim() == 0 && indices.dim() == 1;
  if (grows) {
    SG_ASSIGN(self, context.view(self, ones, ones, 0));
  }
  const bool one_element = indices.dim() == 0 && self.dim() == 1;
  if (self.dim() != indices.dim() && !one_element)
    return context.invalid("wrong number of dimensions of the index");
  Shape steps;
  for (int64_t other = 0; other < indices.dim(); ++other) {
    if (other != axis && indices.size(other) > self.size(other))
      return context.invalid("the index is too large");
    steps.push_back(indices.stride(other) * indices.element_size());
  }
  SG_TRY(look_up(context, out, self, axis, indices, steps));
  return out;
}

Result<Tensor> constant_pad_nd(Context& context, Tensor self, IntArrayRef pad, Scalar value) {
  const auto dims = static_cast<size_t>(self.dim());
  if (pad.size() % 2 != 0 || pad.size() > 2 * dims)
    return context.invalid("wrong length of the padding");
  Shape sizes(self.sizes());
  Shape kept(self.sizes());  // sizes of the copied part; negative padding crops
  int64_t before[kMaxDims] = {};
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    const size_t axis = dims - 1 - k;
    const int64_t left = pad[2 * k];
    const int64_t right = pad[2 * k + 1];
    if (__builtin_add_overflow(sizes[axis], left, &sizes[axis]) ||
        __builtin_add_overflow(sizes[axis], right, &sizes[axis]) || sizes[axis] < 0) {
      return context.invalid("the padded size is negative or too large");
    }
    kept[axis] += (left < 0 ? left : 0) + (right < 0 ? right : 0);
    before[axis] = left;
  }
  SG_ASSIGN(const Tensor out, context.empty(self.scalar_type(), sizes));
  SG_TRY(fill_elements(context, out, value));
  int64_t from = 0;  // first copied element in self
  int64_t to = 0;    // and in out
  for (size_t axis = 0; axis < dims; ++axis) {
    if (kept[axis] <= 0) return out;
    // Something is kept, so less than the dimension is cropped: no product overflows.
    const int64_t left = before[axis];
    const auto dim = static_cast<int64_t>(axis);
    (left < 0 ? from : to) += left < 0 ? -left * self.stride(dim) : left * out.stride(dim);
  }
  SG_ASSIGN(const Tensor source, context.view(self, kept, self.strides(), from));
  SG_ASSIGN(const Tensor target, context.view(out, kept, out.strides(), to));
  SG_TRY(copy_elements(context, target, source));
  return out;
}

/// The copies of each dimension are a dimension of their own, along which `self` is broadcast.
Result<Tensor> repeat(Context& context, Tensor self, IntArrayRef repeats) {
  const int64_t missing = static_cast<int64_t>(repeats.size()) - self.dim();
  if (missing < 0 || repeats.size() > kMaxDims) return context.invalid("wrong number of repeats");
  Shape sizes;
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    const int64_t own = static_cast<int64_t>(axis) - missing;
    int64_t size = 0;
    if (__builtin_mul_overflow(repeats[axis], own < 0 ? 1 : self.size(own), &size))
      return context.invalid("too large");
    sizes.push_back(size);
  }
  SG_ASSIGN(const Tensor out, context.empty(self.scalar_type(), sizes));
  if (out.numel() == 0) return out;
  Shape shape;
  Shape to;
  Shape from;
  const auto push_back = [&](int64_t size, int64_t target, int64_t source) {
    if (size == 1) return true;
    if (shape.size == kMaxDims) return false;
    shape.push_back(size);
    to.push_back(target);
    from.push_back(source);
    return true;
  };
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    const int64_t own = static_cast<int64_t>(axis) - missing;
    const int64_t size = own < 0 ? 1 : self.size(own);
    const int64_t stride = out.stride(static_cast<int64_t>(axis));
    if (!push_back(repeats[axis], size * stride, 0) ||
        !push_back(size, stride, own < 0 ? 0 : self.stride(own))) {
      return context.invalid("too many dimensions");
    }
  }
  SG_ASSIGN(const Tensor target, context.view(out, shape, to, 0));
  SG_ASSIGN(const Tensor source, context.view(self, shape, from, 0));
  SG_TRY(copy_elements(context, target, source));
  return out;
}

/// Computes in Long or Double, then converts.
Result<Tensor> arange(Context& context, Scalar start, Scalar end, Scalar step,
                      std::optional<ScalarType> dtype, std::optional<int64_t>,
                      std::optional<int64_t>, std::optional<bool>) {
  const bool any_floating = start.is_floating() || end.is_floating() || step.is_floating();
  const ScalarType result = dtype.value_or(any_floating ? ScalarType::Float : ScalarType::Long);
  if (result == ScalarType::Bool) return context.invalid("not implemented for Bool");
  const double length = end.to_double() - start.to_double();
  const bool in_double = is_floating(result);
  if (!std::isfinite(length) || !std::isfinite(step.to_double()) ||
      (result == ScalarType::Long ? static_cast<double>(step.to_int()) : step.to_double()) == 0) {
    return context.invalid("the bounds must be finite, and the step not zero");
  }
  double count = std::ceil(length / step.to_double());
  if (result == ScalarType::Long) {
    // Doubles cannot distinguish all large integers.
    const auto distance =
        static_cast<uint64_t>(end.to_int()) - static_cast<uint64_t>(start.to_int());
    const bool down = step.to_int() < 0;
    const uint64_t stride =
        down ? -static_cast<uint64_t>(step.to_int()) : static_cast<uint64_t>(step.to_int());
    const uint64_t positive = down ? -distance : distance;
    if (count > 0) count = static_cast<double>(positive / stride + (positive % stride != 0));
  }
  if (!(count >= 0)) return context.invalid("the step goes away from the end");
  if (count > 0x1p62) return context.invalid("too large");
  const int64_t sizes[] = {static_cast<int64_t>(count)};
  SG_ASSIGN(const Tensor out,
            context.empty(in_double ? ScalarType::Double : ScalarType::Long, sizes));
  for (int64_t i = 0; i < sizes[0]; ++i) {
    if (in_double) {
      out.data<double>()[i] = start.to_double() + static_cast<double>(i) * step.to_double();
    } else {
      out.data<uint64_t>()[i] = static_cast<uint64_t>(start.to_int()) +
                                static_cast<uint64_t>(i) * static_cast<uint64_t>(step.to_int());
    }
  }
  return to_dtype(context, out, result);
}

Result<Tensor> arange_to(Context& context, Scalar end, std::optional<ScalarType> dtype,
                         std::optional<int64_t> layout, std::optional<int64_t> device,
                         std::optional<bool> pin_memory) {
  return ops::arange_start_step::call(context, Scalar(0), end, Scalar(1), dtype, layout, device,
                                      pin_memory);
}

Result<Tensor> arange_from(Context& context, Scalar start, Scalar end,
                           std::optional<ScalarType> dtype, std::optional<int64_t> layout,
                           std::optional<int64_t> device, std::optional<bool> pin_memory) {
  return ops::arange_start_step::call(context, start, end, Scalar(1), dtype, layout, device,
                                      pin_memory);
}

}  // namespace sg::kernels
