// _adaptive_avg_pool2d, adaptive_avg_pool2d: means over windows that cover the input.

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/adaptive_avg_pool2d.h"

namespace sg::kernels {
namespace {

/// Planes of in[0] × in[1] elements to planes of out[0] × out[1]. Window i starts at ⌊i · in / out⌋ and ends before
/// ⌈(i + 1) · in / out⌉.
template <typename T>
SG_DTYPE_BODY void average_windows(int64_t planes, const int64_t* in_sizes, const int64_t* out_sizes, const T* in,
                                   T* out) {
  const int64_t height = in_sizes[0];
  const int64_t width = in_sizes[1];
  for (; planes > 0; --planes, in += height * width) {
    for (int64_t i = 0; i < out_sizes[0]; ++i) {
      const int64_t top = i * height / out_sizes[0];
      const int64_t bottom = ((i + 1) * height + out_sizes[0] - 1) / out_sizes[0];
      for (int64_t j = 0; j < out_sizes[1]; ++j) {
        const int64_t left = j * width / out_sizes[1];
        const int64_t right = ((j + 1) * width + out_sizes[1] - 1) / out_sizes[1];
        T sum = 0;
        for (int64_t y = top; y < bottom; ++y) {
          for (int64_t x = left; x < right; ++x) sum += in[y * width + x];
        }
        *out++ = sum / static_cast<T>((bottom - top) * (right - left));
      }
    }
  }
}

}  // namespace

Result<Tensor> _adaptive_avg_pool2d(Context& context, Tensor self, IntArrayRef output_size) {
  const int64_t dims = self.dim();
  if (output_size.size() != 2 || (dims != 3 && dims != 4)) return context.invalid("wrong number of dimensions");
  // Of the dimensions but the batch, PyTorch lets the channels alone be empty.
  if (self.size(dims - 2) == 0 || self.size(dims - 1) == 0) return context.invalid("the planes are empty");
  Shape sizes(self.sizes());
  sizes[sizes.size - 2] = output_size[0];
  sizes[sizes.size - 1] = output_size[1];
  const ScalarType dtype = self.scalar_type();
  const ScalarType wide = compute_type(dtype);
  SG_ASSIGN(self, to_contiguous(context, self, wide));
  SG_ASSIGN(const Tensor out, context.empty(wide, sizes));
  if (out.numel() == 0) return to_dtype(context, out, dtype);
  const int64_t* in_sizes = self.sizes().data() + dims - 2;
  SG_SWITCH_FLOATING(wide, adaptive_avg_pool2d, [&]<typename T>() {
    average_windows(self.numel() / (in_sizes[0] * in_sizes[1]), in_sizes, output_size.data(), self.data<T>(),
                    out.data<T>());
  });
  return to_dtype(context, out, dtype);
}

/// One window over everything is a mean.
Result<Tensor> adaptive_avg_pool2d(Context& context, Tensor self, IntArrayRef output_size) {
  if (output_size.size() != 2) return context.invalid("the output size must be two numbers");
  if (output_size[0] != 1 || output_size[1] != 1) return ops::_adaptive_avg_pool2d::call(context, self, output_size);
  const int64_t dims[] = {-1, -2};
  return ops::mean_dim::call(context, self, dims, true, std::nullopt);
}

}  // namespace sg::kernels
