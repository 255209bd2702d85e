// Elementwise operators: one strided driver for all, and one small loop per dtype, passed by
// pointer.

#pragma once

#include <type_traits>

#include "native/operators/copy.h"
#include "native/selective/dtype_switch.h"

namespace sg {

/// Numbers that a loop needs besides its operands, in three kinds. The loop reads the kind that
/// fits its T.
struct Parameters {
  double numbers[2] = {};
  int64_t integers[2] = {};
  float singles[2] = {};

  Parameters() = default;
  explicit Parameters(Scalar first, Scalar second = {}) {
    set(0, first);
    set(1, second);
  }
  void set(int index, Scalar number);
  template <typename T>
  T get(int index) const {
    if constexpr (std::is_same_v<T, float>) {
      return singles[index];
    } else if constexpr (static_cast<T>(0.5) != T(0)) {
      return static_cast<T>(numbers[index]);
    } else {
      return static_cast<T>(integers[index]);
    }
  }
};

/// The type that computes sums and products of a T. Integers are unsigned, so they wrap around.
template <typename T>
using Arithmetic = std::conditional_t<!std::is_integral_v<T> || std::is_same_v<T, bool>, T,
                                      std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;

/// Processes a row of n elements. data[0] is the result, data[1] … are the operands; strides are in
/// bytes.
using ElementLoop = void (*)(int64_t n, char* const* data, const int64_t* strides,
                             const Parameters& parameters);

/// An elementwise operation for the driver: the loop and its dtypes.
struct Elementwise {
  ElementLoop loop;
  ScalarType reads;   // dtype that the loop reads; the driver converts operands of other dtypes,
                      // a chunk at a time
  ScalarType writes;  // dtype that the loop writes
  ScalarType result;  // dtype of the result; converted if the loop writes another
  bool condition_first = false;  // the first operand is read as Bool
};

/// Broadcasts the operands (at most three) and runs a loop over them into a new tensor.
Result<Tensor> elementwise(Context& context, const Elementwise& what, Span<const Tensor> operands,
                           const Parameters& parameters = {});

/// result[i] = Op::apply(a[i], parameters): Op is a struct with a static template apply<T>.
template <typename T, typename R, typename Op>
SG_DTYPE_BODY void unary_loop(int64_t n, char* const* data, const int64_t* strides,
                              const Parameters& parameters) {
  char* out = data[0];
  const char* a = data[1];
  for (; n > 0; --n, out += strides[0], a += strides[1]) {
    *reinterpret_cast<R*>(out) = Op::template apply<T>(*reinterpret_cast<const T*>(a), parameters);
  }
}

/// result[i] = Op::apply(a[i], b[i], parameters)
template <typename T, typename R, typename Op>
SG_DTYPE_BODY void binary_loop(int64_t n, char* const* data, const int64_t* strides,
                               const Parameters& parameters) {
  char* out = data[0];
  const char* a = data[1];
  const char* b = data[2];
  for (; n > 0; --n, out += strides[0], a += strides[1], b += strides[2]) {
    *reinterpret_cast<R*>(out) = Op::template apply<T>(*reinterpret_cast<const T*>(a),
                                                       *reinterpret_cast<const T*>(b), parameters);
  }
}

}  // namespace sg
