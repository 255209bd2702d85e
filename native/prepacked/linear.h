// Linear layers with a constant weight. Loading a program lays the weight out for the matrix
// product once.

#pragma once

#include "native/runtime/context.h"

namespace sg {

/// PyTorch Mobile's class of this name: the weight of a linear layer, its bias, and bounds for the
/// result.
struct LinearOpContext : Object {
  enum { Weight, Bias, Count };

  Tensor kept[Count];  // the packed weight; the bias, if there is one
  int64_t inputs;
  int64_t outputs;
  float minimum;
  float maximum;
};

/// Creates the object from the values that a program stores: weight, bias, lower and upper bound.
/// All but the first may be None. Returns null on failure.
Object* create_linear_context(Context& context, Span<const Value> state);

namespace kernels {

/// prepacked::linear_clamp_prepack(Tensor W, Tensor? B=None, Scalar? output_min=None, Scalar?
/// output_max=None)
///   -> __torch__.torch.classes.xnnpack.LinearOpContext
Result<Object*> linear_clamp_prepack(Context& context, Tensor weight, Tensor bias,
                                     std::optional<Scalar> output_min,
                                     std::optional<Scalar> output_max);

/// prepacked::linear_clamp_run(Tensor X, __torch__.torch.classes.xnnpack.LinearOpContext W_prepack)
/// -> Tensor Y
Result<Tensor> linear_clamp_run(Context& context, Tensor input, Object* packed);

}  // namespace kernels
}  // namespace sg
