// softmax and log_softmax along a dimension.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/_log_softmax.h"
#include "selected/_softmax.h"

namespace sg::kernels {
namespace {

/// exp(x − largest) / the total of these, or its logarithm. The total accumulates in a double.
template <typename T, bool is_logarithm>
SG_DTYPE_BODY void softmax_lines(const T* in, T* out, const Lines& lines) {
  const int64_t stride = lines.stride;
  const int64_t end = lines.length * stride;
  for (int64_t line = 0; line < lines.count; ++line) {
    const T* x = in + lines.offset(line);
    T* y = out + lines.offset(line);
    T largest = x[0];
    for (int64_t i = stride; i < end; i += stride) largest = x[i] > largest ? x[i] : largest;
    double total = 0;
    for (int64_t i = 0; i < end; i += stride) {
      const T difference = x[i] - largest;
      const T power = std::exp(difference);
      y[i] = is_logarithm ? difference : power;
      total += power;
    }
    if constexpr (is_logarithm) total = std::log(total);
    for (int64_t i = 0; i < end; i += stride)
      y[i] = static_cast<T>(is_logarithm ? y[i] - total : y[i] / total);
  }
}

/// Common preparation of both: the operand in its compute type, the result and the lines.
struct Prepared {
  Tensor in;
  Tensor out;
  Lines lines;
};

Status prepare(Context& context, Tensor self, int64_t dim, bool half_to_float, Prepared& prepared) {
  if (half_to_float) return context.invalid("half_to_float is not for CPUs");
  SG_ASSIGN(const int64_t axis, wrap_dim(context, dim, self.dim()));
  SG_ASSIGN(prepared.in, to_contiguous(context, self, compute_type(self.scalar_type())));
  SG_ASSIGN(prepared.out, empty_like(context, prepared.in));
  prepared.lines = lines_along(prepared.in, axis);
  return {};
}

Result<Tensor> converted(Context& context, Tensor self, std::optional<ScalarType> dtype) {
  if (!dtype.has_value()) return self;
  return ops::to_dtype::call(context, self, *dtype, false, false, std::nullopt);
}

}  // namespace

Result<Tensor> _softmax(Context& context, Tensor self, int64_t dim, bool half_to_float) {
  Prepared p;
  SG_TRY(prepare(context, self, dim, half_to_float, p));
  SG_SWITCH_FLOATING(p.in.scalar_type(), _softmax, [&]<typename T>() {
    softmax_lines<T, false>(p.in.data<T>(), p.out.data<T>(), p.lines);
  });
  return to_dtype(context, p.out, self.scalar_type());
}

Result<Tensor> _log_softmax(Context& context, Tensor self, int64_t dim, bool half_to_float) {
  Prepared p;
  SG_TRY(prepare(context, self, dim, half_to_float, p));
  SG_SWITCH_FLOATING(p.in.scalar_type(), _log_softmax, [&]<typename T>() {
    softmax_lines<T, true>(p.in.data<T>(), p.out.data<T>(), p.lines);
  });
  return to_dtype(context, p.out, self.scalar_type());
}

Result<Tensor> softmax(Context& context, Tensor self, int64_t dim,
                       std::optional<ScalarType> dtype) {
  SG_ASSIGN(const Tensor in, converted(context, self, dtype));
  return ops::_softmax::call(context, in, dim, false);
}

Result<Tensor> log_softmax(Context& context, Tensor self, int64_t dim,
                           std::optional<ScalarType> dtype) {
  SG_ASSIGN(const Tensor in, converted(context, self, dtype));
  return ops::_log_softmax::call(context, in, dim, false);
}

}  // namespace sg::kernels
