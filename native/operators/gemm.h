// Matrix products: what mm, linear, convolution and attention spend their time in.

#pragma once

#include "native/runtime/context.h"

namespace sg {

/// c[m × n] = a[m × k] · b[k × n], or += that. Strides count elements; the columns of c lie one
/// after another.
struct MatrixProduct {
  int64_t m;
  int64_t n;
  int64_t k;
  const char* a;
  int64_t a_row;
  int64_t a_column;
  const char* b;
  int64_t b_row;
  int64_t b_column;
  char* c;
  int64_t c_row;
  bool accumulate;
  bool b_packed;  // b is what pack_right_side made, and its strides do not count
};

/// Computes a product of Float, Double or Long; integers wrap. Other dtypes are converted to one of
/// these before.
void gemm(Context& context, ScalarType dtype, const MatrixProduct& product);

/// Elements of a right side of k × n once it is packed.
int64_t packed_size(ScalarType dtype, int64_t k, int64_t n);

/// Lays out a constant right side (its size, data and strides in `product`) once, in the order in
/// which gemm reads it. `packed` is aligned to 16.
void pack_right_side(Context& context, ScalarType dtype, const MatrixProduct& product,
                     char* packed);

/// The dtype in which sums of products are computed: Half and BFloat16 in Float, integers in Long.
constexpr ScalarType accumulate_type(ScalarType dtype) {
  return is_floating(dtype) ? compute_type(dtype) : ScalarType::Long;
}

}  // namespace sg
