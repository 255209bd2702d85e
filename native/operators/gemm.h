// Matrix products. They take most of the time of mm, linear, convolution and attention.

#pragma once

#include "native/runtime/context.h"

namespace sg {

/// c[m × n] = a[m × k] · b[k × n], or += if `accumulate`. Strides count elements; the columns of c
/// are adjacent in memory.
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
  bool b_packed;  // pack_right_side made b, and its strides are ignored
};

/// Computes a product of Float, Double or Long; integers wrap. Callers convert other dtypes to one
/// of these first.
void gemm(Context& context, ScalarType dtype, const MatrixProduct& product);

/// Number of elements of a packed right side of k × n; -1 if it overflows.
int64_t packed_size(ScalarType dtype, int64_t k, int64_t n);

/// Packs a constant right side once, in the order in which gemm reads it. `product` holds its size,
/// data and strides. `packed` must be aligned to 16.
void pack_right_side(Context& context, ScalarType dtype, const MatrixProduct& product,
                     char* packed);

/// The dtype in which sums of products are computed: Half and BFloat16 in Float, integers in Long.
constexpr ScalarType accumulate_type(ScalarType dtype) {
  return is_floating(dtype) ? compute_type(dtype) : ScalarType::Long;
}

}  // namespace sg
