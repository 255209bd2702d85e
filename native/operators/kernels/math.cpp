// exp, log, sin, cos, rsqrt, silu, hardswish, hardsigmoid, leaky_relu, floor, round, abs, neg,
// reciprocal, bitwise_not: more operators on one tensor, element by element.

#include "selected/math.h"
#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/abs.h"

namespace sg::kernels {
namespace {

struct Exp {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::exp(a);
  }
};

struct Log {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::log(a);
  }
};

struct Sin {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::sin(a);
  }
};

struct Cos {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::cos(a);
  }
};

struct InverseSqrt {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return 1 / std::sqrt(a);
  }
};

struct Silu {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return a / (1 + std::exp(-a));
  }
};

/// Clamps between 0 and 6; NaN stays NaN.
template <typename T>
T clip6(T a) {
  const T raised = a < 0 ? 0 : a;
  return raised > 6 ? 6 : raised;
}

struct HardSwish {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return a * clip6(a + 3) / 6;
  }
};

struct HardSigmoid {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return clip6(a + 3) / 6;
  }
};

struct LeakyRelu {
  template <typename T>
  static T apply(T a, const Parameters& slope) {
    return a > 0 ? a : a * slope.get<T>(0);
  }
};

struct Floor {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::floor(a);
  }
};

/// Rounds halves to even.
struct Round {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::nearbyint(a);
  }
};

/// The smallest integer stays as it is.
struct Abs {
  template <typename T>
  static T apply(T a, const Parameters&) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
    return a < T(0) ? static_cast<T>(-Arithmetic<T>(a)) : a;
  }
};

/// Computes in Float or Double and rejects other dtypes.
template <typename Op>
Result<Tensor> floating(Context& context, Tensor self, ScalarType dtype,
                        const Parameters& parameters = {}) {
  const ScalarType computed = compute_type(dtype);
  ElementLoop loop;
  SG_SWITCH_FLOATING(computed, math, [&]<typename T>() { loop = unary_loop<T, T, Op>; });
  return elementwise(context, {loop, computed, computed, dtype}, {&self, 1}, parameters);
}

/// Like `floating`, but computes integers in Float.
template <typename Op>
Result<Tensor> function(Context& context, Tensor self) {
  return floating<Op>(context, self, floating_type(self.scalar_type()));
}

/// Copies integers, since they need no rounding.
template <typename Op>
Result<Tensor> rounded(Context& context, Tensor self) {
  if (!is_integral(self.scalar_type(), false))
    return floating<Op>(context, self, self.scalar_type());
  return ops::clone::call(context, self, std::nullopt);
}

}  // namespace

Result<Tensor> exp(Context& context, Tensor self) {
  return function<Exp>(context, self);
}

Result<Tensor> log(Context& context, Tensor self) {
  return function<Log>(context, self);
}

Result<Tensor> sin(Context& context, Tensor self) {
  return function<Sin>(context, self);
}

Result<Tensor> cos(Context& context, Tensor self) {
  return function<Cos>(context, self);
}

Result<Tensor> rsqrt(Context& context, Tensor self) {
  return function<InverseSqrt>(context, self);
}

Result<Tensor> silu(Context& context, Tensor self) {
  return floating<Silu>(context, self, self.scalar_type());
}

Result<Tensor> hardswish(Context& context, Tensor self) {
  return floating<HardSwish>(context, self, self.scalar_type());
}

Result<Tensor> hardsigmoid(Context& context, Tensor self) {
  return floating<HardSigmoid>(context, self, self.scalar_type());
}

Result<Tensor> leaky_relu(Context& context, Tensor self, Scalar negative_slope) {
  return floating<LeakyRelu>(context, self, self.scalar_type(), Parameters(negative_slope));
}

Result<Tensor> floor(Context& context, Tensor self) {
  return rounded<Floor>(context, self);
}

Result<Tensor> round(Context& context, Tensor self) {
  return rounded<Round>(context, self);
}

Result<Tensor> abs(Context& context, Tensor self) {
  const ScalarType dtype = self.scalar_type();
  const ScalarType computed = compute_type(dtype);
  ElementLoop loop;
  SG_SWITCH_REAL(computed, abs, [&]<typename T>() { loop = unary_loop<T, T, Abs>; });
  return elementwise(context, {loop, computed, computed, dtype}, {&self, 1});
}

/// Multiplies by −1, so that zero changes its sign too.
Result<Tensor> neg(Context& context, Tensor self) {
  if (self.scalar_type() == ScalarType::Bool)
    return context.invalid("bools have no sign: use logical_not");
  SG_ASSIGN(const Tensor minus_one, context.wrap_number(Scalar(-1)));
  return ops::mul_Tensor::call(context, self, minus_one);
}

Result<Tensor> reciprocal(Context& context, Tensor self) {
  SG_ASSIGN(const Tensor one, context.wrap_number(Scalar(1)));
  return ops::div_Tensor::call(context, one, self);
}

Result<Tensor> bitwise_not(Context& context, Tensor self) {
  const bool is_bool = self.scalar_type() == ScalarType::Bool;
  SG_ASSIGN(const Tensor ones, context.wrap_number(is_bool ? Scalar(true) : Scalar(-1)));
  return ops::bitwise_xor_Tensor::call(context, self, ones);
}

}  // namespace sg::kernels
