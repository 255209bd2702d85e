// eq, ne, gt, lt, ge, le, logical_not, logical_and, logical_or, where: operators that return or
// read bools, element by element.

#include "native/operators/kernel.h"
#include "selected/eq.h"
#include "selected/ge.h"
#include "selected/gt.h"
#include "selected/logical_not.h"
#include "selected/ne.h"
#include "selected/where.h"

namespace sg::kernels {
namespace {

struct Equal {
  template <typename T>
  static bool apply(T a, T b, const Parameters&) {
    return a == b;
  }
};

struct NotEqual {
  template <typename T>
  static bool apply(T a, T b, const Parameters&) {
    return a != b;
  }
};

/// Swaps the operands if parameter 0 is not zero.
struct Greater {
  template <typename T>
  static bool apply(T a, T b, const Parameters& swapped) {
    return swapped.integers[0] != 0 ? b > a : a > b;
  }
};

struct GreaterEqual {
  template <typename T>
  static bool apply(T a, T b, const Parameters& swapped) {
    return swapped.integers[0] != 0 ? b >= a : a >= b;
  }
};

struct And {
  template <typename T>
  static bool apply(T a, T b, const Parameters&) {
    return a && b;
  }
};

struct Or {
  template <typename T>
  static bool apply(T a, T b, const Parameters&) {
    return a || b;
  }
};

struct Not {
  template <typename T>
  static bool apply(T a, const Parameters&) {
    return a == T(0);
  }
};

/// result[i] = condition[i] ? a[i] : b[i]
template <typename T>
SG_DTYPE_BODY void where_loop(int64_t n, char* const* data, const int64_t* strides,
                              const Parameters&) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t from = data[1][i * strides[1]] != 0 ? 2 : 3;
    *reinterpret_cast<T*>(data[0] + i * strides[0]) =
        *reinterpret_cast<const T*>(data[from] + i * strides[from]);
  }
}

ScalarType promote(Tensor self, Tensor other) {
  const Tensor operands[] = {self, other};
  return result_type(operands);
}

/// Rounds numbers to the promoted dtype before comparing: a Half is equal to 0.1 if it is the Half
/// of 0.1.
Result<Tensor> run(Context& context, ElementLoop loop, ScalarType dtype, Tensor self, Tensor other,
                   const Parameters& parameters = {}) {
  Tensor operands[] = {self, other};
  if (compute_type(dtype) != dtype) {
    for (Tensor& operand : operands) {
      SG_ASSIGN(operand, to_dtype(context, operand, dtype));
    }
  }
  return elementwise(context, {loop, compute_type(dtype), ScalarType::Bool, ScalarType::Bool},
                     operands, parameters);
}

Result<Tensor> greater(Context& context, Tensor self, Tensor other, bool swapped) {
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_ALL(compute_type(dtype), gt,
                [&]<typename T>() { loop = binary_loop<T, bool, Greater>; });
  return run(context, loop, dtype, self, other, Parameters(swapped));
}

Result<Tensor> greater_equal(Context& context, Tensor self, Tensor other, bool swapped) {
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_ALL(compute_type(dtype), ge,
                [&]<typename T>() { loop = binary_loop<T, bool, GreaterEqual>; });
  return run(context, loop, dtype, self, other, Parameters(swapped));
}

/// Reads operands of all dtypes as Bool.
Result<Tensor> run_logical(Context& context, ElementLoop loop, Tensor self, Tensor other) {
  const Tensor operands[] = {self, other};
  return elementwise(context, {loop, ScalarType::Bool, ScalarType::Bool, ScalarType::Bool},
                     operands);
}

}  // namespace

Result<Tensor> eq(Context& context, Tensor self, Tensor other) {
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_ALL(compute_type(dtype), eq, [&]<typename T>() { loop = binary_loop<T, bool, Equal>; });
  return run(context, loop, dtype, self, other);
}

Result<Tensor> ne(Context& context, Tensor self, Tensor other) {
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_ALL(compute_type(dtype), ne,
                [&]<typename T>() { loop = binary_loop<T, bool, NotEqual>; });
  return run(context, loop, dtype, self, other);
}

Result<Tensor> gt(Context& context, Tensor self, Tensor other) {
  return greater(context, self, other, false);
}

Result<Tensor> lt(Context& context, Tensor self, Tensor other) {
  return greater(context, self, other, true);
}

Result<Tensor> ge(Context& context, Tensor self, Tensor other) {
  return greater_equal(context, self, other, false);
}

Result<Tensor> le(Context& context, Tensor self, Tensor other) {
  return greater_equal(context, self, other, true);
}

Result<Tensor> logical_and(Context& context, Tensor self, Tensor other) {
  return run_logical(context, binary_loop<bool, bool, And>, self, other);
}

Result<Tensor> logical_or(Context& context, Tensor self, Tensor other) {
  return run_logical(context, binary_loop<bool, bool, Or>, self, other);
}

Result<Tensor> logical_not(Context& context, Tensor self) {
  const ScalarType dtype = compute_type(self.scalar_type());
  ElementLoop loop;
  SG_SWITCH_ALL(dtype, logical_not, [&]<typename T>() { loop = unary_loop<T, bool, Not>; });
  return elementwise(context, {loop, dtype, ScalarType::Bool, ScalarType::Bool}, {&self, 1});
}

Result<Tensor> where(Context& context, Tensor condition, Tensor self, Tensor other) {
  if (condition.scalar_type() != ScalarType::Bool && condition.scalar_type() != ScalarType::Byte) {
    return context.invalid("the condition must be a bool tensor");
  }
  const ScalarType dtype = promote(self, other);
  ElementLoop loop;
  SG_SWITCH_ALL(compute_type(dtype), where, [&]<typename T>() { loop = where_loop<T>; });
  const Tensor operands[] = {condition, self, other};
  return elementwise(context, {loop, compute_type(dtype), compute_type(dtype), dtype, true},
                     operands);
}

}  // namespace sg::kernels
