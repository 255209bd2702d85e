// Reductions: one walk for all, and one small loop per dtype, passed by pointer.

#pragma once

#include "native/operators/copy.h"
#include "native/selective/dtype_switch.h"

namespace sg {

/// What a reduction gathers in: a double for Float and Double, an integer for Long and Bool.
union Accumulator {
  double number;
  int64_t integer;
};

/// Takes n elements at a stride (bytes) into the accumulator.
using ReductionLoop = void (*)(int64_t n, const char* data, int64_t stride, Accumulator& total);

/// Reduces `in` (Float, Double, Long or Bool) over the dimensions of the mask to a tensor of its
/// dtype, from `initial`. A floating total is divided by `divisor` before it is rounded.
Result<Tensor> reduce(Context& context, ReductionLoop loop, Accumulator initial, Tensor in,
                      DimMask dims, bool keepdim, double divisor = 1);

/// The sizes that are left: reduced ones are 1 if kept, else gone.
Shape reduced_shape(Tensor in, DimMask dims, bool keepdim);

}  // namespace sg
