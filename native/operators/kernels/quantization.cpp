// quantize_per_tensor, dequantize_per_tensor, dequantize_per_channel. They follow the steps of
// PyTorch's decomposed quantization, so that every rounding is the same.

#include "native/operators/kernel.h"
#include "selected/dequantize_difference.h"
#include "selected/dequantize_product.h"

namespace sg::kernels {
namespace {

/// Parameters: the numbers are 1 / scale and the zero point, the integers the bounds.
void quantize_loop(int64_t n, char* const* data, const int64_t* strides,
                   const Parameters& parameters) {
  const float inverse_scale = parameters.singles[0];
  const float zero_point = parameters.singles[1];
  const auto low = static_cast<float>(parameters.integers[0]);
  const auto high = static_cast<float>(parameters.integers[1]);
  for (int64_t i = 0; i < n; ++i) {
    const float value =
        std::rint(*reinterpret_cast<float*>(data[1] + i * strides[1]) * inverse_scale) + zero_point;
    const float raised = value < low ? low : value;
    *reinterpret_cast<float*>(data[0] + i * strides[0]) = raised > high ? high : raised;
  }
}

struct Difference {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return static_cast<T>(Arithmetic<T>(a) - Arithmetic<T>(b));
  }
};

struct Product {
  template <typename T>
  static T apply(T a, T b, const Parameters&) {
    return a * b;
  }
};

Result<Tensor> subtract(Context& context, Tensor a, Tensor b) {
  const Tensor operands[] = {a, b};
  const ScalarType dtype = result_type(operands);
  const ScalarType computed = is_floating(dtype) ? compute_type(dtype) : ScalarType::Long;
  ElementLoop loop;
  SG_SWITCH_ACCUMULATE(computed, dequantize_difference,
                       [&]<typename T>() { loop = binary_loop<T, T, Difference>; });
  return elementwise(context, {loop, computed, computed, dtype}, operands);
}

Result<Tensor> multiply(Context& context, Tensor a, Tensor b) {
  const Tensor operands[] = {a, b};
  const ScalarType dtype = result_type(operands);
  const ScalarType computed = compute_type(dtype);
  ElementLoop loop;
  SG_SWITCH_FLOATING(computed, dequantize_product,
                     [&]<typename T>() { loop = binary_loop<T, T, Product>; });
  return elementwise(context, {loop, computed, computed, dtype}, operands);
}

/// Quantized values are Byte, Char, Short or Int.
Status check_quantized(Context& context, ScalarType dtype) {
  if (dtype > ScalarType::Int) return context.invalid("no dtype for quantized values");
  return {};
}

Status check_bounds(Context& context, ScalarType dtype, int64_t low, int64_t high) {
  SG_TRY(check_quantized(context, dtype));
  const bool is_signed = dtype != ScalarType::Byte;
  const int64_t limit = int64_t{1} << (8 * element_size(dtype) - is_signed);
  if (low < (is_signed ? -limit : 0) || high >= limit)
    return context.invalid("bounds beyond the dtype");
  return {};
}

/// Reshapes a list with one number per index of `axis`, so that it broadcasts.
Result<Tensor> along_axis(Context& context, Tensor numbers, int64_t dims, int64_t axis) {
  if (numbers.dim() != 1) return context.invalid("scales and zero points must have one dimension");
  Shape sizes;
  Shape strides;
  for (int64_t other = 0; other < dims; ++other) {
    sizes.push_back(other == axis ? numbers.size(0) : 1);
    strides.push_back(other == axis ? numbers.stride(0) : 0);
  }
  return context.view(numbers, sizes, strides, 0);
}

}  // namespace

Result<Tensor> quantize_per_tensor(Context& context, Tensor input, double scale, int64_t zero_point,
                                   int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  if (compute_type(input.scalar_type()) != ScalarType::Float)
    return context.invalid("the input must be Float");
  SG_TRY(check_bounds(context, dtype, quant_min, quant_max));
  if (scale == 0) return context.invalid("the scale is zero");
  Parameters parameters(1 / scale, zero_point);
  parameters.integers[0] = quant_min;
  parameters.integers[1] = quant_max;
  return elementwise(context, {quantize_loop, ScalarType::Float, ScalarType::Float, dtype},
                     {&input, 1}, parameters);
}

Result<Tensor> dequantize_per_tensor(Context& context, Tensor input, double scale,
                                     int64_t zero_point, int64_t, int64_t, ScalarType dtype,
                                     std::optional<ScalarType> out_dtype) {
  if (input.scalar_type() != dtype)
    return context.invalid("the input is not of the quantized dtype");
  SG_TRY(check_quantized(context, dtype));
  if (out_dtype == ScalarType::Bool) return context.invalid("bools are not subtracted");
  SG_ASSIGN(const Tensor in, to_dtype(context, input, out_dtype.value_or(ScalarType::Float)));
  SG_ASSIGN(const Tensor zero, context.wrap_number(zero_point));
  SG_ASSIGN(const Tensor factor, context.wrap_number(scale));
  SG_ASSIGN(const Tensor difference, subtract(context, in, zero));
  return multiply(context, difference, factor);
}

Result<Tensor> dequantize_per_channel(Context& context, Tensor input, Tensor scales,
                                      Tensor zero_points, int64_t axis, int64_t quant_min,
                                      int64_t quant_max, ScalarType dtype,
                                      std::optional<ScalarType> out_dtype) {
  if (input.scalar_type() != dtype)
    return context.invalid("the input is not of the quantized dtype");
  SG_TRY(check_bounds(context, dtype, quant_min, quant_max));
  if (input.dim() == 0) return context.invalid("the input has no dimensions");
  SG_ASSIGN(const int64_t channel, wrap_dim(context, axis, input.dim()));
  SG_ASSIGN(const Tensor factors, along_axis(context, scales, input.dim(), channel));
  if (zero_points.defined()) {
    if (zero_points.numel() != scales.numel())
      return context.invalid("as many zero points as scales are needed");
    SG_ASSIGN(const Tensor zeros, along_axis(context, zero_points, input.dim(), channel));
    SG_ASSIGN(input, subtract(context, input, zeros));
  }
  SG_ASSIGN(const Tensor product, multiply(context, input, factors));
  return to_dtype(context, product, out_dtype.value_or(ScalarType::Float));
}

}  // namespace sg::kernels
