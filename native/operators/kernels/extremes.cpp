// maximum, minimum, amax, amin, max, min, argmax, argmin: the largest and the smallest element. NaN
// counts as both.

#include "native/operators/kernel.h"
#include "selected/amax.h"
#include "selected/argmax.h"
#include "selected/maximum.h"

namespace sg::kernels {
namespace {

struct Larger {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return a != a || a > b ? a : b;
  }
};

struct Smaller {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return a != a || a < b ? a : b;
  }
};

template <typename Op>
Result<Tensor> choose(Context& context, Tensor self, Tensor other) {
  const Tensor operands[] = {self, other};
  const ScalarType dtype = result_type(operands);
  const ScalarType computed = compute_type(dtype);
  ElementLoop loop;
  SG_SWITCH_ALL(computed, maximum, [&]<typename T>() { loop = binary_loop<T, T, Op>; });
  return elementwise(context, {loop, computed, computed, dtype}, operands);
}

/// The dtype of the comparison: Long for integers of all widths and bools.
ScalarType compared_type(ScalarType dtype) {
  return is_floating(dtype) ? compute_type(dtype) : ScalarType::Long;
}

template <typename T, typename Op>
SG_DTYPE_BODY void gather_extreme(int64_t n, const char* data, int64_t stride, Accumulator& found) {
  for (; n > 0; --n, data += stride) {
    const T element = *reinterpret_cast<const T*>(data);
    if constexpr (std::is_floating_point_v<T>) {
      found.number = Op::template apply<double>(found.number, element, {});
    } else {
      found.integer = Op::template apply<int64_t>(found.integer, element, {});
    }
  }
}

/// Reduces, starting from infinity or the most extreme integer.
template <typename Op>
Result<Tensor> reduce_to(Context& context, Tensor self, IntArrayRef dim, bool keepdim,
                         bool largest) {
  const ScalarType dtype = self.scalar_type();
  SG_ASSIGN(const DimMask dims, wrap_dims(context, dim, self));
  for (int64_t axis = 0; axis < self.dim(); ++axis) {
    if (((dims >> axis) & 1) != 0 && self.size(axis) == 0)
      return context.invalid("the reduced dimension is empty");
  }
  SG_ASSIGN(const Tensor in, to_dtype(context, self, compared_type(dtype)));
  Accumulator initial;
  initial.integer = largest ? INT64_MIN : INT64_MAX;
  if (is_floating(dtype)) initial.number = largest ? -HUGE_VAL : HUGE_VAL;
  ReductionLoop loop;
  SG_SWITCH_ACCUMULATE(in.scalar_type(), amax, [&]<typename T>() { loop = gather_extreme<T, Op>; });
  SG_ASSIGN(const Tensor out, reduce(context, loop, initial, in, dims, keepdim));
  return to_dtype(context, out, dtype);
}

/// Finds the index of the first largest (or smallest) element of each line, or of its first NaN,
/// and that element.
template <typename T>
SG_DTYPE_BODY void find_extreme(const T* in, int64_t* indices, T* values, const Lines& lines,
                                bool largest) {
  for (int64_t line = 0; line < lines.count; ++line) {
    const T* first = in + lines.offset(line);
    T best = *first;
    int64_t found = 0;
    for (int64_t i = 1; i < lines.length && best == best; ++i) {
      const T element = first[i * lines.stride];
      if (largest ? element <= best : element >= best) continue;
      best = element;
      found = i;
    }
    indices[line] = found;
    if (values != nullptr) values[line] = best;
  }
}

/// Finds indices, and the elements there if the caller wants them; over all elements without `dim`.
Result<std::array<Tensor, 2>> find(Context& context, Tensor self, std::optional<int64_t> dim,
                                   bool keepdim, bool largest, bool wants_values) {
  const ScalarType dtype = self.scalar_type();
  SG_ASSIGN(const Tensor in, to_contiguous(context, self, compared_type(dtype)));
  Lines lines{1, in.numel(), 1};
  DimMask dims = ~DimMask{0};
  if (dim.has_value()) {
    SG_ASSIGN(const int64_t axis, wrap_dim(context, *dim, in.dim()));
    lines = lines_along(in, axis);
    dims = DimMask{1} << axis;
  }
  if (lines.length == 0) return context.invalid("the reduced dimension is empty");
  const Shape shape = reduced_shape(in, dims, keepdim);
  Tensor values;
  SG_ASSIGN(const Tensor indices, context.empty(ScalarType::Long, shape));
  if (wants_values) {
    SG_ASSIGN(values, context.empty(in.scalar_type(), shape));
  }
  SG_SWITCH_ACCUMULATE(in.scalar_type(), argmax, [&]<typename T>() {
    find_extreme(in.data<T>(), indices.data<int64_t>(), wants_values ? values.data<T>() : nullptr,
                 lines, largest);
  });
  if (wants_values) {
    SG_ASSIGN(values, to_dtype(context, values, dtype));
  }
  return std::array{values, indices};
}

Result<Tensor> find_index(Context& context, Tensor self, std::optional<int64_t> dim, bool keepdim,
                          bool largest) {
  if (self.scalar_type() == ScalarType::Bool) return context.invalid("not implemented for Bool");
  SG_ASSIGN(const auto found, find(context, self, dim, keepdim, largest, false));
  return found[1];
}

}  // namespace

Result<Tensor> maximum(Context& context, Tensor self, Tensor other) {
  return choose<Larger>(context, self, other);
}

Result<Tensor> minimum(Context& context, Tensor self, Tensor other) {
  return choose<Smaller>(context, self, other);
}

Result<Tensor> amax(Context& context, Tensor self, IntArrayRef dim, bool keepdim) {
  return reduce_to<Larger>(context, self, dim, keepdim, true);
}

Result<Tensor> amin(Context& context, Tensor self, IntArrayRef dim, bool keepdim) {
  return reduce_to<Smaller>(context, self, dim, keepdim, false);
}

Result<std::array<Tensor, 2>> max(Context& context, Tensor self, int64_t dim, bool keepdim) {
  return find(context, self, dim, keepdim, true, true);
}

Result<std::array<Tensor, 2>> min(Context& context, Tensor self, int64_t dim, bool keepdim) {
  return find(context, self, dim, keepdim, false, true);
}

Result<Tensor> argmax(Context& context, Tensor self, std::optional<int64_t> dim, bool keepdim) {
  return find_index(context, self, dim, keepdim, true);
}

Result<Tensor> argmin(Context& context, Tensor self, std::optional<int64_t> dim, bool keepdim) {
  return find_index(context, self, dim, keepdim, false);
}

}  // namespace sg::kernels
