// sum, mean, any, argmax, cumsum: along dimensions.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/argmax.h"
#include "selected/cumsum.h"
#include "selected/mean.h"
#include "selected/sum.h"

namespace sg::kernels {
namespace {

/// Integers wrap around; floats gather in a double.
template <typename T>
SG_DTYPE_BODY void add_elements(int64_t n, const char* data, int64_t stride, Accumulator& total) {
  for (; n > 0; --n, data += stride) {
    const T element = *reinterpret_cast<const T*>(data);
    if constexpr (std::is_floating_point_v<T>) {
      total.number += element;
    } else {
      total.integer = static_cast<int64_t>(static_cast<uint64_t>(total.integer) + static_cast<uint64_t>(element));
    }
  }
}

void find_true(int64_t n, const char* data, int64_t stride, Accumulator& found) {
  for (; n > 0; --n, data += stride) found.integer |= *data;
}

/// Index of the first of the largest elements of each line, or of its first NaN.
template <typename T>
SG_DTYPE_BODY void find_largest(const T* in, int64_t* out, const Lines& lines) {
  for (int64_t line = 0; line < lines.count; ++line) {
    const T* first = in + lines.offset(line);
    int64_t largest = 0;
    for (int64_t i = 1; i < lines.length; ++i) {
      const T best = first[largest * lines.stride];
      if (best == best && !(first[i * lines.stride] <= best)) largest = i;
    }
    out[line] = largest;
  }
}

/// Totals along every line, in place. Gathers in a double for floats, as PyTorch's CPU kernel does: equal rounding.
template <typename T>
SG_DTYPE_BODY void running_totals(T* data, const Lines& lines) {
  for (int64_t line = 0; line < lines.count; ++line) {
    std::conditional_t<std::is_floating_point_v<T>, double, uint64_t> total = 0;
    T* element = data + lines.offset(line);
    for (int64_t i = 0; i < lines.length; ++i, element += lines.stride) {
      total += static_cast<decltype(total)>(*element);
      *element = static_cast<T>(total);
    }
  }
}

/// The dtype of a sum.
ScalarType sum_dtype(Tensor self, std::optional<ScalarType> dtype) {
  return dtype.value_or(is_integral(self.scalar_type(), true) ? ScalarType::Long : self.scalar_type());
}

/// What a dtype is gathered as: integers of all widths and bools as Long, whose sums wrap to the same.
ScalarType gathered_type(ScalarType dtype) {
  return is_floating(dtype) ? compute_type(dtype) : ScalarType::Long;
}

}  // namespace

Result<Tensor> sum(Context& context, Tensor self, IntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType result = sum_dtype(self, dtype);
  SG_ASSIGN(const DimMask dims, wrap_dims(context, dim, self));
  SG_ASSIGN(Tensor in, to_dtype(context, self, result));
  SG_ASSIGN(in, to_dtype(context, in, gathered_type(result)));
  ReductionLoop loop;
  SG_SWITCH_ACCUMULATE(in.scalar_type(), sum, [&]<typename T>() { loop = add_elements<T>; });
  SG_ASSIGN(const Tensor total, reduce(context, loop, {}, in, dims, keepdim));
  return to_dtype(context, total, result);
}

Result<Tensor> sum_all(Context& context, Tensor self, std::optional<ScalarType> dtype) {
  return ops::sum_dim_IntList::call(context, self, {}, false, dtype);
}

Result<Tensor> mean(Context& context, Tensor self, IntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType result = dtype.value_or(self.scalar_type());
  if (!is_floating(result)) return context.invalid("the mean needs a floating dtype");
  SG_ASSIGN(const DimMask dims, wrap_dims(context, dim, self));
  SG_ASSIGN(Tensor in, to_dtype(context, self, result));
  SG_ASSIGN(in, to_dtype(context, in, compute_type(result)));
  double count = 1;
  for (int64_t axis = 0; axis < in.dim(); ++axis) {
    if (((dims >> axis) & 1) != 0) count *= static_cast<double>(in.size(axis));
  }
  ReductionLoop loop;
  SG_SWITCH_FLOATING(in.scalar_type(), mean, [&]<typename T>() { loop = add_elements<T>; });
  SG_ASSIGN(const Tensor total, reduce(context, loop, {}, in, dims, keepdim, count));
  return to_dtype(context, total, result);
}

Result<Tensor> mean_all(Context& context, Tensor self, std::optional<ScalarType> dtype) {
  return ops::mean_dim::call(context, self, {}, false, dtype);
}

/// Bool, but Byte for Byte.
Result<Tensor> any(Context& context, Tensor self, int64_t dim, bool keepdim) {
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  SG_ASSIGN(const Tensor in, to_dtype(context, self, ScalarType::Bool));
  SG_ASSIGN(const Tensor found, reduce(context, find_true, {}, in, DimMask{1} << axis, keepdim));
  return to_dtype(context, found, self.scalar_type() == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool);
}

Result<Tensor> argmax(Context& context, Tensor self, std::optional<int64_t> dim, bool keepdim) {
  if (self.scalar_type() == ScalarType::Bool) return context.invalid("not implemented for Bool");
  SG_ASSIGN(const Tensor in, to_contiguous(context, self, gathered_type(self.scalar_type())));
  Lines lines{1, in.numel(), 1};
  DimMask dims = ~DimMask{0};
  if (dim.has_value()) {
    SG_ASSIGN(const int64_t axis, wrap_dim(context, *dim, in.dim()));
    lines = lines_along(in, axis);
    dims = DimMask{1} << axis;
  }
  if (lines.length == 0) return context.invalid("no element is the largest of none");
  SG_ASSIGN(const Tensor out, context.empty(ScalarType::Long, reduced_shape(in, dims, keepdim)));
  SG_SWITCH_ACCUMULATE(in.scalar_type(), argmax,
                       [&]<typename T>() { find_largest(in.data<T>(), out.data<int64_t>(), lines); });
  return out;
}

Result<Tensor> cumsum(Context& context, Tensor self, int64_t dim, std::optional<ScalarType> dtype) {
  const ScalarType result = sum_dtype(self, dtype);
  if (result == ScalarType::Bool) return context.invalid("not implemented for Bool");
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  SG_ASSIGN(Tensor out, copy_to_dtype(context, self, result));
  SG_ASSIGN(out, to_dtype(context, out, gathered_type(result)));
  const Lines lines = lines_along(out, axis);
  SG_SWITCH_ACCUMULATE(out.scalar_type(), cumsum, [&]<typename T>() { running_totals(out.data<T>(), lines); });
  return to_dtype(context, out, result);
}

}  // namespace sg::kernels
