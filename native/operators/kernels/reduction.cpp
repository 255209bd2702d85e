// sum, mean, prod, var, any, all, cumsum: along dimensions.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/cumsum.h"
#include "selected/mean.h"
#include "selected/prod.h"
#include "selected/sum.h"

namespace sg::kernels {
namespace {

/// Adds elements. Integers wrap around; floats accumulate in a double.
template <typename T>
SG_DTYPE_BODY void add_elements(int64_t n, const char* data, int64_t stride, Accumulator& total) {
  for (; n > 0; --n, data += stride) {
    const T element = *reinterpret_cast<const T*>(data);
    if constexpr (std::is_floating_point_v<T>) {
      total.number += element;
    } else {
      total.integer = static_cast<int64_t>(static_cast<uint64_t>(total.integer) +
                                           static_cast<uint64_t>(element));
    }
  }
}

void find_true(int64_t n, const char* data, int64_t stride, Accumulator& found) {
  for (; n > 0; --n, data += stride) found.integer |= *data;
}

void find_false(int64_t n, const char* data, int64_t stride, Accumulator& found) {
  for (; n > 0; --n, data += stride) found.integer &= *data;
}

template <typename T>
SG_DTYPE_BODY void multiply_elements(int64_t n, const char* data, int64_t stride,
                                     Accumulator& product) {
  for (; n > 0; --n, data += stride) {
    const T element = *reinterpret_cast<const T*>(data);
    if constexpr (std::is_floating_point_v<T>) {
      product.number *= element;
    } else {
      product.integer = static_cast<int64_t>(static_cast<uint64_t>(product.integer) *
                                             static_cast<uint64_t>(element));
    }
  }
}

/// Computes in double for all dtypes.
void square_difference(int64_t n, char* const* data, const int64_t* strides, const Parameters&) {
  for (int64_t i = 0; i < n; ++i) {
    const double difference = *reinterpret_cast<const double*>(data[1] + i * strides[1]) -
                              *reinterpret_cast<const double*>(data[2] + i * strides[2]);
    *reinterpret_cast<double*>(data[0] + i * strides[0]) = difference * difference;
  }
}

void add_doubles(int64_t n, const char* data, int64_t stride, Accumulator& total) {
  for (; n > 0; --n, data += stride) total.number += *reinterpret_cast<const double*>(data);
}

/// Computes running totals along every line, in place. Floats accumulate in a double, as in
/// PyTorch's CPU kernel, so that they round alike.
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
  return dtype.value_or(is_integral(self.scalar_type(), true) ? ScalarType::Long
                                                              : self.scalar_type());
}

/// Number of elements that are reduced to one.
double count_reduced(Tensor in, DimMask dims) {
  double count = 1;
  for (int64_t axis = 0; axis < in.dim(); ++axis) {
    if (((dims >> axis) & 1) != 0) count *= static_cast<double>(in.size(axis));
  }
  return count;
}

/// The dtype of the accumulation: Long for integers of all widths and bools, since their sums wrap
/// to the same results.
ScalarType gathered_type(ScalarType dtype) {
  return is_floating(dtype) ? compute_type(dtype) : ScalarType::Long;
}

/// The result is Bool, or Byte for Byte.
Result<Tensor> reduce_truth(Context& context, ReductionLoop loop, Accumulator initial, Tensor self,
                            DimMask dims, bool keepdim) {
  SG_ASSIGN(const Tensor in, to_dtype(context, self, ScalarType::Bool));
  SG_ASSIGN(const Tensor found, reduce(context, loop, initial, in, dims, keepdim));
  return to_dtype(context, found,
                  self.scalar_type() == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool);
}

}  // namespace

Result<Tensor> sum(Context& context, Tensor self, IntArrayRef dim, bool keepdim,
                   std::optional<ScalarType> dtype) {
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

Result<Tensor> mean(Context& context, Tensor self, IntArrayRef dim, bool keepdim,
                    std::optional<ScalarType> dtype) {
  const ScalarType result = dtype.value_or(self.scalar_type());
  if (!is_floating(result)) return context.invalid("the mean needs a floating dtype");
  SG_ASSIGN(const DimMask dims, wrap_dims(context, dim, self));
  SG_ASSIGN(Tensor in, to_dtype(context, self, result));
  SG_ASSIGN(in, to_dtype(context, in, compute_type(result)));
  ReductionLoop loop;
  SG_SWITCH_FLOATING(in.scalar_type(), mean, [&]<typename T>() { loop = add_elements<T>; });
  SG_ASSIGN(const Tensor total,
            reduce(context, loop, {}, in, dims, keepdim, count_reduced(in, dims)));
  return to_dtype(context, total, result);
}

Result<Tensor> mean_all(Context& context, Tensor self, std::optional<ScalarType> dtype) {
  return ops::mean_dim::call(context, self, {}, false, dtype);
}

Result<Tensor> prod(Context& context, Tensor self, int64_t dim, bool keepdim,
                    std::optional<ScalarType> dtype) {
  const ScalarType result = sum_dtype(self, dtype);
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  SG_ASSIGN(Tensor in, to_dtype(context, self, result));
  SG_ASSIGN(in, to_dtype(context, in, gathered_type(result)));
  Accumulator one;
  one.integer = 1;
  if (is_floating(result)) one.number = 1;
  ReductionLoop loop;
  SG_SWITCH_ACCUMULATE(in.scalar_type(), prod, [&]<typename T>() { loop = multiply_elements<T>; });
  SG_ASSIGN(const Tensor product, reduce(context, loop, one, in, DimMask{1} << axis, keepdim));
  return to_dtype(context, product, result);
}

/// The sum of the squared distances from the mean, divided by their number minus the correction
/// (default 1).
Result<Tensor> var(Context& context, Tensor self, IntArrayRef dim, std::optional<Scalar> correction,
                   bool keepdim) {
  constexpr ScalarType wide = ScalarType::Double;
  if (!is_floating(self.scalar_type()))
    return context.invalid("the variance needs a floating dtype");
  SG_ASSIGN(const DimMask dims, wrap_dims(context, dim, self));
  SG_ASSIGN(const Tensor in, to_dtype(context, self, wide));
  const double count = count_reduced(in, dims);
  const double freedom = count - correction.value_or(Scalar(1)).to_double();
  SG_ASSIGN(const Tensor mean, reduce(context, add_doubles, {}, in, dims, true, count));
  const Tensor operands[] = {in, mean};
  SG_ASSIGN(const Tensor squares,
            elementwise(context, {square_difference, wide, wide, wide}, operands));
  SG_ASSIGN(const Tensor out,
            reduce(context, add_doubles, {}, squares, dims, keepdim, freedom > 0 ? freedom : 0));
  return to_dtype(context, out, self.scalar_type());
}

Result<Tensor> any(Context& context, Tensor self, int64_t dim, bool keepdim) {
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  return reduce_truth(context, find_true, {}, self, DimMask{1} << axis, keepdim);
}

Result<Tensor> any_all(Context& context, Tensor self) {
  return reduce_truth(context, find_true, {}, self, ~DimMask{0}, false);
}

Result<Tensor> all(Context& context, Tensor self, int64_t dim, bool keepdim) {
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  Accumulator initial;
  initial.integer = 1;
  return reduce_truth(context, find_false, initial, self, DimMask{1} << axis, keepdim);
}

Result<Tensor> cumsum(Context& context, Tensor self, int64_t dim, std::optional<ScalarType> dtype) {
  const ScalarType result = sum_dtype(self, dtype);
  if (result == ScalarType::Bool) return context.invalid("not implemented for Bool");
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  SG_ASSIGN(Tensor out, copy_to_dtype(context, self, result));
  SG_ASSIGN(out, to_dtype(context, out, gathered_type(result)));
  const Lines lines = lines_along(out, axis);
  SG_SWITCH_ACCUMULATE(out.scalar_type(), cumsum,
                       [&]<typename T>() { running_totals(out.data<T>(), lines); });
  return to_dtype(context, out, result);
}

}  // namespace sg::kernels
