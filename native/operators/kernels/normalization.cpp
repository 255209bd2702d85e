// _native_batch_norm_legit_no_training, batch_norm, native_layer_norm, layer_norm.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/batch_norm.h"
#include "selected/layer_norm.h"

namespace sg::kernels {
namespace {

/// out = (in − mean) / √(variance + eps) · weight + bias, channel by channel, with one factor and one term for each.
template <typename T>
SG_DTYPE_BODY void normalize_channels(int64_t images, int64_t channels, int64_t length, const T* in, T* out,
                                      const T* const* parameters, T eps) {
  const T* weight = parameters[0];
  const T* bias = parameters[1];
  for (int64_t i = 0; i < images * channels; ++i) {
    const int64_t channel = i % channels;
    T factor = T(1) / std::sqrt(parameters[3][channel] + eps);
    if (weight != nullptr) factor *= weight[channel];
    T term = -parameters[2][channel] * factor;
    if (bias != nullptr) term += bias[channel];
    for (int64_t left = length; left > 0; --left) *out++ = *in++ * factor + term;
  }
}

/// Rows of `length` elements to mean 0 and variance 1, then · weight + bias. Sums in double.
template <typename T>
SG_DTYPE_BODY void normalize_rows(int64_t rows, int64_t length, const T* in, T* out, T* means, T* factors,
                                  const T* weight, const T* bias, double eps) {
  for (; rows > 0; --rows, in += length, out += length) {
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += in[i];
    const double mean = length == 0 ? 0 : sum / static_cast<double>(length);
    double squares = 0;
    for (int64_t i = 0; i < length; ++i) squares += (in[i] - mean) * (in[i] - mean);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(length) + eps);
    *means++ = static_cast<T>(mean);
    *factors++ = static_cast<T>(factor);
    for (int64_t i = 0; i < length; ++i) {
      const double normal = (in[i] - mean) * factor * (weight == nullptr ? 1 : weight[i]);
      out[i] = static_cast<T>(normal + (bias == nullptr ? 0 : bias[i]));
    }
  }
}

/// The dtype of the parameters that are given: the input's, or Float for an input of Half or BFloat16.
Result<ScalarType> parameter_type(Context& context, Tensor input, Span<const Tensor> parameters) {
  const ScalarType dtype = input.scalar_type();
  ScalarType found = dtype;
  for (const Tensor& one : parameters) {
    if (one.defined() && one.scalar_type() != dtype) found = compute_type(dtype);
  }
  for (const Tensor& one : parameters) {
    if (one.defined() && one.scalar_type() != found) return context.invalid("the parameters are of another dtype");
  }
  return found;
}

/// Converts the parameters that are given, in place.
Status make_contiguous(Context& context, Span<Tensor> tensors, ScalarType dtype) {
  for (Tensor& one : tensors) {
    if (!one.defined()) continue;
    SG_ASSIGN(one, to_contiguous(context, one, dtype));
  }
  return {};
}

template <typename T>
const T* data_of(Tensor tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

}  // namespace

Result<std::array<Tensor, 3>> _native_batch_norm_legit_no_training(Context& context, Tensor input, Tensor weight,
                                                                   Tensor bias, Tensor running_mean, Tensor running_var,
                                                                   double, double eps) {
  if (input.dim() < 2) return context.invalid("the input needs a channel dimension");
  Tensor parameters[] = {weight, bias, running_mean, running_var};
  SG_ASSIGN(const ScalarType given, parameter_type(context, input, parameters));
  const int64_t channels = input.size(1);
  for (const Tensor& one : parameters) {
    if (one.defined() && (one.dim() != 1 || one.size(0) != channels)) {
      return context.invalid("the parameters must have one element for each channel");
    }
  }
  const ScalarType dtype = input.scalar_type();
  const ScalarType wide = compute_type(dtype);
  SG_ASSIGN(input, to_contiguous(context, input, wide));
  SG_TRY(make_contiguous(context, parameters, wide));
  SG_ASSIGN(const Tensor out, empty_like(context, input));
  const int64_t length = input.numel() == 0 ? 0 : input.numel() / input.size(0) / channels;
  SG_SWITCH_FLOATING(wide, batch_norm, [&]<typename T>() {
    const T* pointers[4];
    for (int i = 0; i < 4; ++i) pointers[i] = data_of<T>(parameters[i]);
    normalize_channels(length == 0 ? 0 : input.size(0), channels, length, input.data<T>(), out.data<T>(), pointers,
                       static_cast<T>(eps));
  });
  SG_ASSIGN(const Tensor result, to_dtype(context, out, dtype));
  const int64_t nothing[] = {0};
  SG_ASSIGN(const Tensor save_mean, context.empty(given, nothing));
  SG_ASSIGN(const Tensor save_invstd, context.empty(given, nothing));
  return std::array{result, save_mean, save_invstd};
}

Result<Tensor> batch_norm(Context& context, Tensor input, Tensor weight, Tensor bias, Tensor running_mean,
                          Tensor running_var, bool training, double momentum, double eps, bool) {
  if (training) return context.invalid("does not train: export the model in evaluation mode");
  if (!running_mean.defined() || !running_var.defined()) return context.invalid("needs the running mean and variance");
  SG_ASSIGN(const auto results, ops::_native_batch_norm_legit_no_training::call(
                                    context, input, weight, bias, running_mean, running_var, momentum, eps));
  return results[0];
}

Result<std::array<Tensor, 3>> native_layer_norm(Context& context, Tensor input, IntArrayRef normalized_shape,
                                                Tensor weight, Tensor bias, double eps) {
  const auto normalized = static_cast<int64_t>(normalized_shape.size());
  const int64_t kept = input.dim() - normalized;
  Tensor parameters[] = {weight, bias};
  if (normalized == 0 || kept < 0 ||
      !same_sizes({input.sizes().data() + kept, normalized_shape.size()}, normalized_shape)) {
    return context.invalid("the normalized shape is not the end of the input's");
  }
  for (const Tensor& one : parameters) {
    if (one.defined() && !same_sizes(one.sizes(), normalized_shape)) {
      return context.invalid("weight and bias must have the normalized shape");
    }
  }
  SG_ASSIGN(const ScalarType given, parameter_type(context, input, parameters));
  const ScalarType dtype = input.scalar_type();
  const ScalarType wide = compute_type(dtype);
  SG_ASSIGN(input, to_contiguous(context, input, wide));
  SG_TRY(make_contiguous(context, parameters, wide));
  SG_ASSIGN(const Tensor out, empty_like(context, input));
  Shape sizes(input.sizes());
  for (int64_t axis = kept; axis < input.dim(); ++axis) sizes[static_cast<size_t>(axis)] = 1;
  SG_ASSIGN(Tensor mean, context.empty(wide, sizes));
  SG_ASSIGN(Tensor rstd, context.empty(wide, sizes));
  SG_SWITCH_FLOATING(wide, layer_norm, [&]<typename T>() {
    normalize_rows(mean.numel(), count_elements(normalized_shape), input.data<T>(), out.data<T>(), mean.data<T>(),
                   rstd.data<T>(), data_of<T>(parameters[0]), data_of<T>(parameters[1]), eps);
  });
  SG_ASSIGN(const Tensor result, to_dtype(context, out, dtype));
  SG_ASSIGN(mean, to_dtype(context, mean, given));
  SG_ASSIGN(rstd, to_dtype(context, rstd, given));
  return std::array{result, mean, rstd};
}

Result<Tensor> layer_norm(Context& context, Tensor input, IntArrayRef normalized_shape, Tensor weight, Tensor bias,
                          double eps, bool) {
  SG_ASSIGN(const auto results, ops::native_layer_norm::call(context, input, normalized_shape, weight, bias, eps));
  return results[0];
}

}  // namespace sg::kernels
