// clone, copy_, conversions, cat, stack, embedding: operators that copy elements.

#include "generated/ops.h"
#include "native/operators/kernel.h"

namespace sg::kernels {
namespace {

/// A legacy exception of cat: a one-dimensional empty tensor fits all shapes.
bool is_skipped(Tensor tensor) {
  return tensor.dim() == 1 && tensor.numel() == 0;
}

/// Computes the shape of the tensors one after another along `axis`.
Status joined_shape(Context& context, TensorList tensors, int64_t axis, Shape& shape) {
  for (const Tensor& tensor : tensors) {
    if (is_skipped(tensor)) continue;
    if (shape.size == 0) {
      shape = Shape(tensor.sizes());
      continue;
    }
    const auto place = static_cast<size_t>(axis);
    const int64_t length = shape[place];
    shape[place] = tensor.dim() == static_cast<int64_t>(shape.size) ? tensor.size(axis) : 0;
    if (!same_sizes(shape, tensor.sizes()))
      return context.invalid("sizes differ in another dimension");
    if (__builtin_add_overflow(length, tensor.size(axis), &shape[place]))
      return context.invalid("too large");
  }
  return {};
}

constexpr int64_t kContiguous = 0;  // c10's codes of memory formats
constexpr int64_t kPreserve = 1;
constexpr int64_t kChannelsLast = 2;

/// A view of four dimensions, with the elements of the second adjacent in memory.
Result<Tensor> channels_last(Context& context, Tensor base, IntArrayRef sizes) {
  const int64_t row = sizes[1] * sizes[3];
  const int64_t strides[] = {row * sizes[2], 1, row, sizes[1]};
  return context.view(base, sizes, strides, 0);
}

/// A copy whose elements lie in the order of a memory format.
Result<Tensor> copy_formatted(Context& context, Tensor self, ScalarType dtype, int64_t format) {
  if (format < kContiguous || format > kChannelsLast)
    return context.invalid("no such memory format");
  if (format == kPreserve) {
    SG_ASSIGN(const Tensor out, empty_in_order(context, dtype, self.sizes(), {&self, 1}));
    SG_TRY(copy_elements(context, out, self));
    return out;
  }
  SG_ASSIGN(Tensor out, context.empty(dtype, self.sizes()));
  if (format == kChannelsLast) {
    if (self.dim() != 4) return context.invalid("channels_last is for four dimensions");
    SG_ASSIGN(out, channels_last(context, out, self.sizes()));
  }
  SG_TRY(copy_elements(context, out, self));
  return out;
}

}  // namespace

Result<Tensor> clone(Context& context, Tensor self, std::optional<int64_t> memory_format) {
  return copy_formatted(context, self, self.scalar_type(), memory_format.value_or(kPreserve));
}

Result<Tensor> contiguous(Context& context, Tensor self, int64_t memory_format) {
  if (memory_format == kContiguous && self.is_contiguous()) return self;
  return ops::clone::call(context, self, memory_format);
}

Result<Tensor> copy_(Context& context, Tensor self, Tensor src, bool) {
  SG_TRY(check_writable(context, self));
  // Two views of one storage may overlap. The copy must not read elements that it has written.
  if (self.impl()->storage == src.impl()->storage) {
    SG_ASSIGN(src, copy_to_dtype(context, src, self.scalar_type()));
  }
  SG_TRY(copy_elements(context, self, src));
  return self;
}

Result<Tensor> _to_copy(Context& context, Tensor self, std::optional<ScalarType> dtype,
                        std::optional<int64_t>, std::optional<int64_t>, std::optional<bool>, bool,
                        std::optional<int64_t> memory_format) {
  return copy_formatted(context, self, dtype.value_or(self.scalar_type()),
                        memory_format.value_or(kPreserve));
}

Result<Tensor> to(Context& context, Tensor self, ScalarType dtype, bool non_blocking, bool copy,
                  std::optional<int64_t> memory_format) {
  if (self.scalar_type() == dtype && !copy && memory_format != kChannelsLast) return self;
  return ops::_to_copy::call(context, self, dtype, std::nullopt, std::nullopt, std::nullopt,
                             non_blocking, memory_format);
}

Result<Tensor> cat(Context& context, TensorList tensors, int64_t dim) {
  if (tensors.empty()) return context.invalid("needs a tensor");
  int64_t dims = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() == 0) return context.invalid("tensors without dimensions cannot be joined");
    if (dims == 0 && !is_skipped(tensor)) dims = tensor.dim();
  }
  if (dims == 0) return context.empty(result_type(tensors), tensors[0].sizes());
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, dims));
  Shape shape;
  SG_TRY(joined_shape(context, tensors, axis, shape));
  SG_ASSIGN(const Tensor out, context.empty(result_type(tensors), shape));
  int64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    if (is_skipped(tensor)) continue;
    SG_ASSIGN(const Tensor part, context.view(out, tensor.sizes(), out.strides(), offset));
    SG_TRY(copy_elements(context, part, tensor));
    offset += tensor.size(axis) * out.stride(axis);
  }
  return out;
}

Result<Tensor> stack(Context& context, TensorList tensors, int64_t dim) {
  auto* parts =
      static_cast<Tensor*>(context.allocate(static_cast<int64_t>(tensors.size() * sizeof(Tensor))));
  if (parts == nullptr) return Failed{};
  for (size_t i = 0; i < tensors.size(); ++i) {
    SG_ASSIGN(parts[i], ops::unsqueeze::call(context, tensors[i], dim));
  }
  return ops::cat::call(context, {parts, tensors.size()}, dim);
}

Result<Tensor> embedding(Context& context, Tensor weight, Tensor indices, int64_t, bool, bool) {
  if (weight.dim() != 2) return context.invalid("the weight must be a matrix");
  if (indices.scalar_type() != ScalarType::Long && indices.scalar_type() != ScalarType::Int) {
    return context.invalid("indices must be Long or Int");
  }
  if (indices.dim() == kMaxDims) return context.invalid("too many dimensions");
  Shape shape(indices.sizes());
  shape.push_back(weight.size(1));
  SG_ASSIGN(const Tensor out, context.empty(weight.scalar_type(), shape));
  SG_ASSIGN(const Tensor rows, to_contiguous(context, indices, ScalarType::Long));
  const int64_t size = weight.element_size();
  const Converter copy_row(context, weight.scalar_type(), weight.scalar_type());
  char* target = out.bytes();
  for (int64_t i = 0; i < rows.numel(); ++i, target += weight.size(1) * size) {
    const int64_t row = rows.data<int64_t>()[i];
    if (row < 0 || row >= weight.size(0)) return context.invalid("index out of range");
    copy_row(weight.size(1), weight.bytes() + row * weight.stride(0) * size,
             weight.stride(1) * size, target, size);
  }
  return out;
}

}  // namespace sg::kernels
