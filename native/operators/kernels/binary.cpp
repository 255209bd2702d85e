// add, sub, mul, div, remainder, pow, bitwise_and, bitwise_or, bitwise_xor: two tensors, element by
// element.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/add.h"
#include "selected/bitwise_and.h"
#include "selected/bitwise_or.h"
#include "selected/bitwise_xor.h"
#include "selected/div.h"
#include "selected/div_mode.h"
#include "selected/mul.h"
#include "selected/pow.h"
#include "selected/remainder.h"

namespace sg::kernels {
namespace {

/// a + alpha · b; for Bool, or.
struct Add {
  template <typename T>
  static T apply(T a, T b, const Parameters& alpha) {
    return static_cast<T>(Arithmetic<T>(a) + Arithmetic<T>(alpha.get<T>(0)) * Arithmetic<T>(b));
  }
};

struct Multiply {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return static_cast<T>(Arithmetic<T>(a) * Arithmetic<T>(b));
  }
};

struct Divide {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return a / b;
  }
};

/// As in Python, the result has the sign of the divisor.
struct Remainder {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      if (std::is_signed_v<T> && b == T(-1)) return 0;  // the smallest integer by -1 would trap
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  }
};

/// Rounded division: towards zero, or down if parameter 0 is not zero.
struct DivideRounded {
  template <typename T>
  static T apply(T a, T b, const Parameters& down) {
    if constexpr (std::is_floating_point_v<T>) {
      if (down.integers[0] == 0) return std::trunc(a / b);
      // As in Python: after subtracting the remainder, the quotient is nearly an integer.
      if (b == 0) return a / b;
      const T rest = std::fmod(a, b);
      const T quotient = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0));
      if (quotient == 0) return std::copysign(T(0), a / b);
      const T rounded = std::floor(quotient);
      return quotient - rounded > T(0.5) ? rounded + 1 : rounded;
    } else {
      if (std::is_signed_v<T> && b == T(-1)) return static_cast<T>(-Arithmetic<T>(a));
      const T quotient = static_cast<T>(a / b);
      return static_cast<T>(quotient - (down.integers[0] != 0 && a % b != 0 && (a < 0) != (b < 0)));
    }
  }
};

/// If parameter 0 is not zero, an exponent of ±0.5 computes a root, whose result differs at minus
/// infinity. PyTorch does not do this for Half.
struct Power {
  template <typename T>
  static T apply(T a, T b, const Parameters& takes_roots) {
    if constexpr (std::is_floating_point_v<T>) {
      if (takes_roots.integers[0] != 0 && b == T(0.5)) return std::sqrt(a);
      if (takes_roots.integers[0] != 0 && b == T(-0.5)) return 1 / std::sqrt(a);
      return std::pow(a, b);
    } else {
      if (b < T(0)) {  // one over an integer
        if (a == T(-1)) return (b & 1) != 0 ? a : T(1);
        return a == T(1) ? a : T(0);
      }
      uint64_t result = 1;
      uint64_t base = static_cast<uint64_t>(a);
      for (auto left = static_cast<uint64_t>(b); left != 0; left >>= 1, base *= base) {
        if ((left & 1) != 0) result *= base;
      }
      return static_cast<T>(result);
    }
  }
};

struct And {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return static_cast<T>(a ^ b);
  }
};

/// Runs a loop whose operands and result have the promoted dtype.
Result<Tensor> run(Context& context, ElementLoop loop, ScalarType dtype, Tensor self, Tensor other,
                   const Parameters& parameters = {}) {
  const Tensor operands[] = {self, other};
  return elementwise(context, {loop, compute_type(dtype), compute_type(dtype), dtype}, operands,
                     parameters);
}

ScalarType promote(Tensor self, Tensor other) {
  const Tensor operands[] = {self, other};
  return result_type(operands);
}

/// PyTorch's rules for alpha: no float for integers, no number but a bool for bools.
Status check_alpha(Context& context, ScalarType dtype, Scalar alpha) {
  if (alpha.is_floating() && !is_floating(dtype))
    return context.invalid("alpha must not be a float for integers");
  if (alpha.is_bool() && dtype != ScalarType::Bool)
    return context.invalid("a bool alpha is for bool tensors");
  return {};
}

/// Writes the computed tensor into `self`, unless a fraction or more than a bool would be lost.
Result<Tensor> write_back(Context& context, Tensor self, Tensor computed) {
  const ScalarType from = computed.scalar_type();
  const ScalarType to = self.scalar_type();
  if ((is_floating(from) && !is_floating(to)) ||
      (from != ScalarType::Bool && to == ScalarType::Bool)) {
    return context.invalid("the result does not fit the tensor's dtype");
  }
  return ops::copy_::call(context, self, computed, false);
}

Result<Tensor> add_scaled(Context& context, Tensor self, Tensor other, Scalar alpha) {
  const ScalarType dtype = promote(self, other);
  SG_TRY(check_alpha(context, dtype, alpha));
  ElementLoop loop;
  SG_SWITCH_ALL(compute_type(dtype), add, [&]<typename T>() { loop = binary_loop<T, T, Add>; });
  return run(context, loop, dtype, self, other, Parameters(alpha));
}

Result<Tensor> power(Context& context, Tensor self, Tensor exponent, bool takes_roots) {
  const ScalarType dtype = promote(self, exponent);
  // Compute a bool to the power of a bool in Byte; any integer dtype would do.
  const ScalarType computed = dtype == ScalarType::Bool ? ScalarType::Byte : compute_type(dtype);
  ElementLoop loop;
  SG_SWITCH_REAL(computed, pow, [&]<typename T>() { loop = binary_loop<T, T, Power>; });
  const Tensor operands[] = {self, exponent};
  return elementwise(context, {loop, computed, computed, dtype}, operands, Parameters(takes_roots));
}

/// Fails if an integer division has a divisor of zero.
Status check_divisor(Context& context, ScalarType dtype, Tensor self, Tensor other) {
  if (is_floating(dtype) || self.numel() == 0) return {};
  static constexpr char kZero[8] = {};
  const auto size = static_cast<size_t>(element_size(dtype));
  SG_ASSIGN(const Tensor divisor, other.is_wrapped_number()
                                      ? number_as(context, wrapped_number(other), dtype)
                                      : to_contiguous(context, other, dtype));
  for (int64_t i = 0; i < divisor.numel(); ++i) {
    if (std::memcmp(divisor.bytes() + static_cast<size_t>(i) * size, kZero, size) == 0) {
      return context.invalid("division by zero");
    }
  }
  return {};
}

/// True division: integers become floats first.
Result<Tensor> divide(Context& context, Tensor self, Tensor other) {
  const ScalarType dtype = floating_type(promote(self, other));
  ElementLoop loop;
  SG_SWITCH_FLOATING(compute_type(dtype), div,
                     [&]<typename T>() { loop = binary_loop<T, T, Divide>; });
  return run(context, loop, dtype, self, other);
}

}  // namespace

Result<Tensor> add(Context& context, Tensor self, Tensor other, Scalar alpha) {
  return add_scaled(context, self, other, alpha);
}

Result<Tensor> sub(Context& context, Tensor self, Tensor other, Scalar alpha) {
  if (self.scalar_type() == ScalarType::Bool || other.scalar_type() == ScalarType::Bool) {
    return context.invalid("bools are not subtracted: use logical_xor");
  }
  if (alpha.is_bool()) return context.invalid("a bool alpha is for bool tensors");
  // The smallest integer stays as it is.
  const auto negated = static_cast<int64_t>(-static_cast<uint64_t>(alpha.to_int()));
  return add_scaled(context, self, other,
                    alpha.is_floating() ? Scalar(-alpha.to_double()) : Scalar(negated));
}

Result<Tensor> mul(Context& context, Tensor self, Tensor other) {
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_ALL(compute_type(dtype), mul,
                [&]<typename T>() { loop = binary_loop<T, T, Multiply>; });
  return run(context, loop, dtype, self, other);
}

Result<Tensor> div(Context& context, Tensor self, Tensor other) {
  return divide(context, self, other);
}

/// Rounded down, towards zero, or not at all.
Result<Tensor> div_mode(Context& context, Tensor self, Tensor other, const char* rounding_mode) {
  if (rounding_mode == nullptr) return divide(context, self, other);
  const bool down = std::strcmp(rounding_mode, "floor") == 0;
  if (!down && std::strcmp(rounding_mode, "trunc") != 0)
    return context.invalid("rounds by floor or trunc");
  const ScalarType dtype = promote(self, other);
  SG_TRY(check_divisor(context, dtype, self, other));
  ElementLoop loop;
  SG_SWITCH_REAL(compute_type(dtype), div_mode,
                 [&]<typename T>() { loop = binary_loop<T, T, DivideRounded>; });
  return run(context, loop, dtype, self, other, Parameters(down));
}

Result<Tensor> remainder(Context& context, Tensor self, Tensor other) {
  const ScalarType dtype = promote(self, other);
  SG_TRY(check_divisor(context, dtype, self, other));
  ElementLoop loop;
  SG_SWITCH_REAL(compute_type(dtype), remainder,
                 [&]<typename T>() { loop = binary_loop<T, T, Remainder>; });
  return run(context, loop, dtype, self, other);
}

Result<Tensor> pow(Context& context, Tensor self, Tensor exponent) {
  const ScalarType dtype = promote(self, exponent);
  if (!is_floating(dtype) && exponent.is_wrapped_number() &&
      exponent.scalar_type() == ScalarType::Long && *exponent.data<int64_t>() < 0) {
    return context.invalid("integers to negative integer powers are not allowed");
  }
  return power(context, self, exponent, dtype != ScalarType::Half);
}

Result<Tensor> pow_tensor(Context& context, Tensor self, Tensor exponent) {
  return power(context, self, exponent, false);
}

Result<Tensor> bitwise_and(Context& context, Tensor self, Tensor other) {
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_BITS(dtype, bitwise_and, [&]<typename T>() { loop = binary_loop<T, T, And>; });
  return run(context, loop, dtype, self, other);
}

Result<Tensor> bitwise_or(Context& context, Tensor self, Tensor other) {
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_BITS(dtype, bitwise_or, [&]<typename T>() { loop = binary_loop<T, T, Or>; });
  return run(context, loop, dtype, self, other);
}

Result<Tensor> bitwise_xor(Context& context, Tensor self, Tensor other) {
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_BITS(dtype, bitwise_xor, [&]<typename T>() { loop = binary_loop<T, T, Xor>; });
  return run(context, loop, dtype, self, other);
}

Result<Tensor> and_operator(Context& context, Tensor self, Tensor other) {
  return ops::bitwise_and_Tensor::call(context, self, other);
}

Result<Tensor> add_(Context& context, Tensor self, Tensor other, Scalar alpha) {
  SG_ASSIGN(const Tensor sum, ops::add_Tensor::call(context, self, other, alpha));
  return write_back(context, self, sum);
}

Result<Tensor> mul_(Context& context, Tensor self, Tensor other) {
  SG_ASSIGN(const Tensor product, ops::mul_Tensor::call(context, self, other));
  return write_back(context, self, product);
}

}  // namespace sg::kernels
