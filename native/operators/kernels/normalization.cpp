// _native_batch_norm_legit_no_training, batch_norm, native_layer_norm, layer_norm.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/batch_norm.h"
#include "selected/layer_norm.h"

namespace sg::kernels {
namespace {

/// out = (in − mean) / √(variance + eps) · weight + bias, channel by channel, as one factor and one
/// term per channel.
template <typename T>
SG_DTYPE_BODY void normalize_channels(int64_t images, int64_t channels, int64_t length,
                                      const T* const* data, T* out, T eps) {
  const T* in = data[0];
  const T* weight = data[1];
  const T* bias = data[2];
  for (int64_t i = 0; i < images * channels; ++i) {
    const int64_t channel = i % channels;
    T factor = T(1) / std::sqrt(data[4][channel] + eps);
    if (weight != nullptr) factor *= weight[channel];
    T term = -data[3][channel] * factor;
    if (bias != nullptr) term += bias[channel];
    for (int64_t left = length; left > 0; --left) *out++ = *in++ * factor + term;
  }
}

/// Normalizes rows of `length` elements to mean 0 and variance 1, then · weight + bias. Sums in
/// double.
template <typename T>
SG_DTYPE_BODY void normalize_rows(int64_t rows, int64_t length, const T* const* data, T* out,
                                  T* means, T* factors, double eps) {
  const T* in = data[0];
  const T* weight = data[1];
  const T* bias = data[2];
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

/// Checks that the defined tensors after the first (the input) share a dtype: that of the input, or
/// Float if the input is Half or BFloat16. Converts all to contiguous tensors of the compute type.
/// Returns the dtype that they had.
Result<ScalarType> prepare(Context& context, Span<Tensor> tensors) {
  const ScalarType dtype = tensors[0].scalar_type();
  const ScalarType wide = compute_type(dtype);
  ScalarType given = dtype;
  bool first = true;
  for (Tensor& one : tensors) {
    if (!one.defined()) continue;
    const ScalarType own = one.scalar_type();
    if (own != given && (!first || own != wide))
      return context.invalid("the parameters are of another dtype");
    first = &one == tensors.data();
    given = own;
    SG_ASSIGN(one, to_contiguous(context, one, wide));
  }
  return given;
}

template <typename T>
const T* data_of(Tensor tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

}  // namespace

Result<std::array<Tensor, 3>> _native_batch_norm_legit_no_training(Context& context, Tensor input,
                                                                   Tensor weight, Tensor bias,
                                                                   Tensor running_mean,
                                                                   Tensor running_var, double,
                                                                   double eps) {
  if (input.dim() < 2) return context.invalid("the input needs a channel dimension");
  const int64_t channels = input.size(1);
  Tensor tensors[] = {input, weight, bias, running_mean, running_var};
  for (int i = 1; i < 5; ++i) {
    if (tensors[i].defined() && !same_sizes(tensors[i].sizes(), {&channels, 1})) {
      return context.invalid("the parameters must have one element for each channel");
    }
  }
  SG_ASSIGN(const ScalarType given, prepare(context, tensors));
  SG_ASSIGN(Tensor out, empty_like(context, tensors[0]));
  const int64_t images = input.numel() == 0 ? 0 : input.size(0);
  const int64_t length = input.numel() == 0 ? 0 : input.numel() / images / channels;
  SG_SWITCH_FLOATING(out.scalar_type(), batch_norm, [&]<typename T>() {
    const T* pointers[5];
    for (int i = 0; i < 5; ++i) pointers[i] = data_of<T>(tensors[i]);
    normalize_channels(images, channels, length, pointers, out.data<T>(), static_cast<T>(eps));
  });
  SG_ASSIGN(out, to_dtype(context, out, input.scalar_type()));
  const int64_t nothing[] = {0};
  SG_ASSIGN(const Tensor save_mean, context.empty(given, nothing));
  SG_ASSIGN(const Tensor save_invstd, context.empty(given, nothing));
  return std::array{out, save_mean, save_invstd};
}

Result<Tensor> batch_norm(Context& context, Tensor input, Tensor weight, Tensor bias,
                          Tensor running_mean, Tensor running_var, bool training, double momentum,
                          double eps, bool) {
  if (training) return context.invalid("does not train: export the model in evaluation mode");
  if (!running_mean.defined() || !running_var.defined())
    return context.invalid("needs the running mean and variance");
  SG_ASSIGN(const auto results,
            ops::_native_batch_norm_legit_no_training::call(
                context, input, weight, bias, running_mean, running_var, momentum, eps));
  return results[0];
}

Result<std::array<Tensor, 3>> native_layer_norm(Context& context, Tensor input,
                                                IntArrayRef normalized_shape, Tensor weight,
                                                Tensor bias, double eps) {
  const size_t kept = input.sizes().size() - normalized_shape.size();
  if (normalized_shape.empty() || normalized_shape.size() > input.sizes().size() ||
      !same_sizes({input.sizes().data() + kept, normalized_shape.size()}, normalized_shape)) {
    return context.invalid("the normalized shape is not the end of the input's");
  }
  Tensor tensors[] = {input, weight, bias};
  for (int i = 1; i < 3; ++i) {
    if (tensors[i].defined() && !same_sizes(tensors[i].sizes(), normalized_shape)) {
      return context.invalid("weight and bias must have the normalized shape");
    }
  }
  SG_ASSIGN(const ScalarType given, prepare(context, tensors));
  const ScalarType wide = tensors[0].scalar_type();
  Shape sizes(input.sizes());
  for (size_t axis = kept; axis < sizes.size; ++axis) sizes[axis] = 1;
  SG_ASSIGN(const Tensor out, empty_like(context, tensors[0]));
  SG_ASSIGN(const Tensor means, context.empty(wide, sizes));
  SG_ASSIGN(const Tensor factors, context.empty(wide, sizes));
  SG_SWITCH_FLOATING(wide, layer_norm, [&]<typename T>() {
    const T* pointers[3];
    for (int i = 0; i < 3; ++i) pointers[i] = data_of<T>(tensors[i]);
    normalize_rows(means.numel(), count_elements(normalized_shape), pointers, out.data<T>(),
                   means.data<T>(), factors.data<T>(), eps);
  });
  SG_ASSIGN(const Tensor result, to_dtype(context, out, input.scalar_type()));
  SG_ASSIGN(const Tensor save_mean, to_dtype(context, means, given));
  SG_ASSIGN(const Tensor save_rstd, to_dtype(context, factors, given));
  return std::array{result, save_mean, save_rstd};
}

Result<Tensor> layer_norm(Context& context, Tensor input, IntArrayRef normalized_shape,
                          Tensor weight, Tensor bias, double eps, bool) {
  SG_ASSIGN(const auto results,
            ops::native_layer_norm::call(context, input, normalized_shape, weight, bias, eps));
  return results[0];
}

}  // namespace sg::kernels
