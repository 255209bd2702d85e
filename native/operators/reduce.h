// Reductions: one walk for all, and one small loop per dtype, passed by pointer.

#pragma once

#include "native/operators/copy.h"
#include "native/selective/dtype_switch.h"

namespace sg {

/// The accumulator of a reduction: a double for Float and Double, an integer for Long and Bool.
union Accumulator {
  double number;
  int64_t integer;
};

/// Accumulates n elements at a stride in bytes.
using ReductionLoop = void (*)(int64_t n, const char* data, int64_t stride, Accumulator& total);

/// Reduces `in` (Float, Double, Long or Bool) over the dimensions of the mask, starting from
/// `initial`. The result has the dtype of `in`. Divides a floating total by `divisor` before
/// rounding.
Result<Tensor> reduce(Context& context, ReductionLoop loop, Accumulator initial, Tensor in,
                      DimMask dims, bool keepdim, double divisor = 1);

/// The sizes of the result. A reduced dimension has size 1 if `keepdim`, else it is removed.
Shape reduced_shape(Tensor in, DimMask dims, bool keepdim);

}  // namespace sg
