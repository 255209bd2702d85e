// relu, hardtanh, clamp, sigmoid, tanh, sqrt, erf, gelu, dropout: one tensor, element by element.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/clamp.h"
#include "selected/erf.h"
#include "selected/gelu.h"
#include "selected/hardtanh.h"
#include "selected/relu.h"
#include "selected/sigmoid.h"
#include "selected/sqrt.h"
#include "selected/tanh.h"

namespace sg::kernels {
namespace {

/// NaN stays NaN.
struct Relu {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return a < T(0) ? T(0) : a;
  }
};

/// Clamps between parameters 0 and 1; NaN stays NaN.
struct Clamp {
  template <typename T>
  static T apply(T a, const Parameters& bounds) {
    const T low = bounds.get<T>(0);
    const T high = bounds.get<T>(1);
    // The upper bound wins, as in PyTorch, where the lower one may lie above it.
    const T raised = a < low ? low : a;
    return raised > high ? high : raised;
  }
};

struct Sigmoid {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return T(1) / (T(1) + std::exp(-a));
  }
};

struct Tanh {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::tanh(a);
  }
};

struct Sqrt {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::sqrt(a);
  }
};

struct Erf {
  template <typename T>
  static T apply(T a, const Parameters&) {
    return std::erf(a);
  }
};

/// Uses the approximation by tanh if parameter 0 is not zero.
struct Gelu {
  template <typename T>
  static T apply(T a, const Parameters& approximate) {
    if (approximate.integers[0] == 0)
      return T(0.5) * a * (T(1) + std::erf(a * T(0.70710678118654752440)));
    const T inner = T(0.79788456080286535588) * (a + T(0.044715) * a * a * a);
    return T(0.5) * a * (T(1) + std::tanh(inner));
  }
};

Result<Tensor> run(Context& context, ElementLoop loop, ScalarType dtype, Tensor self,
                   const Parameters& parameters = {}) {
  return elementwise(context, {loop, compute_type(dtype), compute_type(dtype), dtype}, {&self, 1},
                     parameters);
}

}  // namespace

Result<Tensor> relu(Context& context, Tensor self) {
  const ScalarType dtype = self.scalar_type();
  ElementLoop loop;
  SG_SWITCH_REAL(compute_type(dtype), relu, [&]<typename T>() { loop = unary_loop<T, T, Relu>; });
  return run(context, loop, dtype, self);
}

Result<Tensor> relu_(Context& context, Tensor self) {
  SG_ASSIGN(const Tensor out, ops::relu::call(context, self));
  return ops::copy_::call(context, self, out, false);
}

Result<Tensor> hardtanh(Context& context, Tensor self, Scalar min_val, Scalar max_val) {
  const ScalarType dtype = self.scalar_type();
  if (dtype == ScalarType::Byte && (min_val.to_int() < 0 || max_val.to_int() < 0)) {
    return context.invalid("bytes are not clamped to negative bounds");
  }
  if (!is_floating(dtype) &&
      !(std::fabs(min_val.to_double()) < 0x1p63 && std::fabs(max_val.to_double()) < 0x1p63)) {
    return context.invalid("a bound is no integer");
  }
  ElementLoop loop;
  SG_SWITCH_REAL(compute_type(dtype), hardtanh,
                 [&]<typename T>() { loop = unary_loop<T, T, Clamp>; });
  return run(context, loop, dtype, self, Parameters(min_val, max_val));
}

Result<Tensor> hardtanh_(Context& context, Tensor self, Scalar min_val, Scalar max_val) {
  SG_ASSIGN(const Tensor out, ops::hardtanh::call(context, self, min_val, max_val));
  return ops::copy_::call(context, self, out, false);
}

Result<Tensor> clamp(Context& context, Tensor self, std::optional<Scalar> min,
                     std::optional<Scalar> max) {
  if (!min.has_value() && !max.has_value()) return context.invalid("needs a bound");
  // Bounds promote as wrapped numbers do: only their category counts.
  ScalarType dtype = self.scalar_type();
  for (const auto& bound : {min, max}) {
    if (bound.has_value() && (is_floating(dtype) ? 2 : dtype != ScalarType::Bool) <
                                 (bound->is_floating() ? 2 : !bound->is_bool())) {
      dtype = promote_types(dtype, bound->scalar_type());
    }
  }
  for (const auto& bound : {min, max}) {
    if (!bound.has_value() || !std::isnan(bound->to_double())) continue;
    SG_ASSIGN(const Tensor out, context.empty(dtype, self.sizes()));
    SG_TRY(fill_elements(context, out, *bound));
    return out;
  }
  // An absent bound becomes one that changes nothing: infinity, or the extreme integer of the
  // dtype.
  const int bits = static_cast<int>(8 * element_size(dtype));
  const bool is_signed = dtype != ScalarType::Byte;
  const int64_t highest = static_cast<int64_t>((uint64_t{1} << (bits - is_signed)) - 1);
  Parameters bounds(min.value_or(Scalar(-HUGE_VAL)), max.value_or(Scalar(HUGE_VAL)));
  if (!min.has_value()) bounds.integers[0] = is_signed ? -highest - 1 : 0;
  if (!max.has_value()) bounds.integers[1] = highest;
  ElementLoop loop;
  SG_SWITCH_REAL(compute_type(dtype), clamp, [&]<typename T>() { loop = unary_loop<T, T, Clamp>; });
  return run(context, loop, dtype, self, bounds);
}

Result<Tensor> sigmoid(Context& context, Tensor self) {
  const ScalarType dtype = floating_type(self.scalar_type());
  ElementLoop loop;
  SG_SWITCH_FLOATING(compute_type(dtype), sigmoid,
                     [&]<typename T>() { loop = unary_loop<T, T, Sigmoid>; });
  return run(context, loop, dtype, self);
}

Result<Tensor> tanh(Context& context, Tensor self) {
  const ScalarType dtype = floating_type(self.scalar_type());
  ElementLoop loop;
  SG_SWITCH_FLOATING(compute_type(dtype), tanh,
                     [&]<typename T>() { loop = unary_loop<T, T, Tanh>; });
  return run(context, loop, dtype, self);
}

Result<Tensor> sqrt(Context& context, Tensor self) {
  const ScalarType dtype = floating_type(self.scalar_type());
  ElementLoop loop;
  SG_SWITCH_FLOATING(compute_type(dtype), sqrt,
                     [&]<typename T>() { loop = unary_loop<T, T, Sqrt>; });
  return run(context, loop, dtype, self);
}

Result<Tensor> erf(Context& context, Tensor self) {
  const ScalarType dtype = floating_type(self.scalar_type());
  ElementLoop loop;
  SG_SWITCH_FLOATING(compute_type(dtype), erf, [&]<typename T>() { loop = unary_loop<T, T, Erf>; });
  return run(context, loop, dtype, self);
}

Result<Tensor> gelu(Context& context, Tensor self, const char* approximate) {
  const bool by_tanh = std::strcmp(approximate, "tanh") == 0;
  if (!by_tanh && std::strcmp(approximate, "none") != 0)
    return context.invalid("approximate must be none or tanh");
  const ScalarType dtype = self.scalar_type();
  ElementLoop loop;
  SG_SWITCH_FLOATING(compute_type(dtype), gelu,
                     [&]<typename T>() { loop = unary_loop<T, T, Gelu>; });
  return run(context, loop, dtype, self, Parameters(by_tanh));
}

Result<Tensor> dropout(Context& context, Tensor input, double p, bool train) {
  if (!(p >= 0 && p <= 1)) return context.invalid("a probability is between 0 and 1");
  if (train) return context.invalid("drops nothing at random: export the model in evaluation mode");
  return input;
}

}  // namespace sg::kernels
