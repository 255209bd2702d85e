// linear_clamp_prepack, linear_clamp_run: for Float only, as in PyTorch.

#include "native/prepacked/linear.h"

#include <cmath>
#include <csetjmp>

#include "native/operators/copy.h"
#include "native/operators/gemm.h"
#include "native/runtime/hooks.h"

namespace sg {
namespace {

constexpr char kClassName[] = "LinearOpContext";

/// A bound of the clamp; `absent` if none is given.
float bound(std::optional<Scalar> given, float absent) {
  return given.has_value() ? given->to_float() : absent;
}

}  // namespace

namespace kernels {

Result<Object*> linear_clamp_prepack(Context& context, Tensor weight, Tensor bias,
                                     std::optional<Scalar> output_min,
                                     std::optional<Scalar> output_max) {
  record_class(kClassName);
  constexpr ScalarType dtype = ScalarType::Float;
  if (weight.dim() != 2 || weight.scalar_type() != dtype)
    return context.invalid("the weight must be a Float matrix");
  const int64_t outputs = weight.size(0);
  const int64_t inputs = weight.size(1);
  if (bias.defined() &&
      (bias.dim() != 1 || bias.size(0) != outputs || bias.scalar_type() != dtype)) {
    return context.invalid("the bias must have one Float for each row of the weight");
  }
  const int64_t sizes[] = {packed_size(dtype, inputs, outputs)};
  SG_ASSIGN(const Tensor packed, context.empty(dtype, sizes));
  MatrixProduct product{};  // its right side is the transposed weight: inputs × outputs
  product.n = outputs;
  product.k = inputs;
  product.b = weight.bytes();
  product.b_row = weight.stride(1);
  product.b_column = weight.stride(0);
  pack_right_side(context, dtype, product, packed.bytes());
  auto* object = context.create_object<LinearOpContext>();
  if (object == nullptr) return Failed{};
  object->class_name = kClassName;
  object->kept[LinearOpContext::Weight] = packed;
  object->kept[LinearOpContext::Bias] = bias;
  object->tensors = object->kept;
  object->inputs = inputs;
  object->outputs = outputs;
  object->minimum = bound(output_min, -HUGE_VALF);
  object->maximum = bound(output_max, HUGE_VALF);
  context.adopt(object);
  return object;
}

Result<Tensor> linear_clamp_run(Context& context, Tensor input, Object* packed) {
  if (packed->class_name != kClassName) return context.invalid("needs a LinearOpContext");
  const auto& layer = *static_cast<const LinearOpContext*>(packed);
  const int64_t last = input.dim() - 1;
  if (last < 0 || input.size(last) != layer.inputs || input.scalar_type() != ScalarType::Float) {
    return context.invalid("the input must be Float, its last dimension the layer's");
  }
  SG_ASSIGN(input, to_contiguous(context, input, ScalarType::Float));
  Shape sizes(input.sizes());
  sizes.data[last] = layer.outputs;
  SG_ASSIGN(const Tensor out, context.empty(ScalarType::Float, sizes));
  const Tensor bias = layer.kept[LinearOpContext::Bias];
  if (bias.defined()) SG_TRY(copy_elements(context, out, bias));
  MatrixProduct product{};
  product.m = layer.outputs == 0 ? 0 : out.numel() / layer.outputs;
  product.n = layer.outputs;
  product.k = layer.inputs;
  product.a = input.bytes();
  product.a_row = layer.inputs;
  product.a_column = 1;
  product.b = layer.kept[LinearOpContext::Weight].bytes();
  product.c = out.bytes();
  product.c_row = layer.outputs;
  product.accumulate = bias.defined();
  product.b_packed = true;
  gemm(context, ScalarType::Float, product);
  if (layer.minimum > -HUGE_VALF || layer.maximum < HUGE_VALF) {
    float* y = out.data<float>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      // As in PyTorch, NaN stays NaN, and the result is the maximum if the minimum is larger.
      const float raised = y[i] < layer.minimum ? layer.minimum : y[i];
      y[i] = raised > layer.maximum ? layer.maximum : raised;
    }
  }
  return out;
}

}  // namespace kernels

Object* create_linear_context(Context& context, Span<const Value> state) {
  const auto is_number = [](const Value& value) {
    return value.tag == Tag::Int || value.tag == Tag::Double;
  };
  std::optional<Scalar> bounds[2];
  bool valid = state.size() == 4 && state[0].tag == Tag::Tensor &&
               (state[1].tag == Tag::Tensor || state[1].tag == Tag::None);
  for (size_t i = 0; valid && i < 2; ++i) {
    const Value& value = state[2 + i];
    valid = value.tag == Tag::None || is_number(value);
    if (is_number(value)) bounds[i] = value.to_scalar();
  }
  if (!valid) {
    context.invalid("a LinearOpContext is a weight, a bias and two bounds");
    return nullptr;
  }
  const Tensor bias(state[1].tag == Tag::Tensor ? state[1].tensor : nullptr);
  // Programs are loaded outside of a run, where handlers that never return have no longjmp target.
  jmp_buf escape;
  context.escape = &escape;
  Object* object = nullptr;
  if (_setjmp(escape) == 0) {
    const auto made =
        kernels::linear_clamp_prepack(context, Tensor(state[0].tensor), bias, bounds[0], bounds[1]);
    if (made.ok()) object = made.value();
  }
  context.escape = nullptr;
  return object;
}

}  // namespace sg
