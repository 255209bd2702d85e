// Linear layers whose constant weight is laid out for the matrix product once, when a program is
// loaded.

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

/// Of what a program stores: weight, bias, lower and upper bound, all but the first or None. Null:
/// failed.
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
