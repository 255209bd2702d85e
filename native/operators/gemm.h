// Matrix products: what mm, linear, convolution and attention spend their time in.

#pragma once

#include "native/runtime/context.h"

namespace sg {

/// c[m × n] = a[m × k] · b[k × n], or += that. Strides count elements; the columns of c lie one after another.
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
};

/// Computes a product of Float, Double or Long; integers wrap. Other dtypes are converted to one of these before.
void gemm(Context& context, ScalarType dtype, const MatrixProduct& product);

/// The dtype in which sums of products are computed: Half and BFloat16 in Float, integers in Long.
constexpr ScalarType accumulate_type(ScalarType dtype) {
  return is_floating(dtype) ? compute_type(dtype) : ScalarType::Long;
}

}  // namespace sg
