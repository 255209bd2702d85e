// adaptive_avg_pool2d, avg_pool2d, max_pool2d: means and maxima of windows.

#include <limits>

#include "generated/ops.h"
#include "native/operators/kernel.h"
#include "selected/adaptive_avg_pool2d.h"
#include "selected/avg_pool2d.h"
#include "selected/max_pool2d.h"

namespace sg::kernels {
namespace {

/// Averages planes of in[0] × in[1] elements to planes of out[0] × out[1].
/// Window i starts at ⌊i · in / out⌋ and ends before ⌈(i + 1) · in / out⌉.
template <typename T>
SG_DTYPE_BODY void average_windows(int64_t planes, const int64_t* in_sizes,
                                   const int64_t* out_sizes, const T* in, T* out) {
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

/// Windows of fixed size. Index 0 is the height, index 1 the width.
struct Windows {
  int64_t planes;
  int64_t in[2];
  int64_t out[2];
  int64_t size[2];
  int64_t step[2];
  int64_t padding[2];
  int64_t dilation[2];
  // For means:
  int64_t divisor;      // 0: the number of elements
  bool counts_padding;  // in that number

  /// First element of window i, or the first in the plane if the window starts in the padding.
  int64_t first(int axis, int64_t i) const {
    const int64_t place = i * step[axis] - padding[axis];
    return place >= 0 ? place
                      : place + (-place + dilation[axis] - 1) / dilation[axis] * dilation[axis];
  }
  /// The end of window i, in the plane.
  int64_t end(int axis, int64_t i) const {
    const int64_t place = i * step[axis] - padding[axis] + (size[axis] - 1) * dilation[axis] + 1;
    return place < in[axis] ? place : in[axis];
  }
  /// Elements of window i, in the plane or its padding.
  int64_t length(int axis, int64_t i) const {
    const int64_t place = i * step[axis] - padding[axis];
    const int64_t padded = in[axis] + padding[axis];
    return (place + size[axis] < padded ? place + size[axis] : padded) - place;
  }
};

/// The largest element of each window and its place in the plane; NaN is larger than all.
template <typename T>
SG_DTYPE_BODY void largest_of_windows(const Windows& windows, const T* in, T* out,
                                      int64_t* places) {
  for (int64_t plane = 0; plane < windows.planes; ++plane, in += windows.in[0] * windows.in[1]) {
    for (int64_t i = 0; i < windows.out[0]; ++i) {
      for (int64_t j = 0; j < windows.out[1]; ++j) {
        // A dilated window may lie entirely in the padding.
        T largest = std::is_floating_point_v<T> ? static_cast<T>(-HUGE_VAL)
                                                : std::numeric_limits<T>::lowest();
        int64_t place = windows.first(0, i) * windows.in[1] + windows.first(1, j);
        for (int64_t y = windows.first(0, i); y < windows.end(0, i); y += windows.dilation[0]) {
          for (int64_t x = windows.first(1, j); x < windows.end(1, j); x += windows.dilation[1]) {
            const T element = in[y * windows.in[1] + x];
            if (!(element > largest) && element == element) continue;
            largest = element;
            place = y * windows.in[1] + x;
          }
        }
        *out++ = largest;
        *places++ = place;
      }
    }
  }
}

/// The sum of the elements of each window in the plane, divided as `windows` says; 0 for a window
/// in the padding.
template <typename T>
SG_DTYPE_BODY void means_of_windows(const Windows& windows, const T* in, T* out) {
  for (int64_t plane = 0; plane < windows.planes; ++plane, in += windows.in[0] * windows.in[1]) {
    for (int64_t i = 0; i < windows.out[0]; ++i) {
      for (int64_t j = 0; j < windows.out[1]; ++j) {
        const int64_t height = windows.end(0, i) - windows.first(0, i);
        const int64_t width = windows.end(1, j) - windows.first(1, j);
        const T* corner = in + windows.first(0, i) * windows.in[1] + windows.first(1, j);
        Arithmetic<T> sum = 0;
        for (int64_t y = 0; y < height; ++y) {
          for (int64_t x = 0; x < width; ++x)
            sum += static_cast<Arithmetic<T>>(corner[y * windows.in[1] + x]);
        }
        const int64_t count =
            windows.counts_padding ? windows.length(0, i) * windows.length(1, j) : height * width;
        const int64_t divisor = windows.divisor != 0 ? windows.divisor : count;
        if (height <= 0 || width <= 0) {
          *out++ = 0;
        } else if (divisor == -1) {
          *out++ = static_cast<T>(-sum);  // the smallest integer by -1 would trap
        } else {
          *out++ = static_cast<T>(sum) / static_cast<T>(divisor);
        }
      }
    }
  }
}

/// Reads one number for both dimensions, or two. The list may be empty if there is a default.
Status read_pair(Context& context, IntArrayRef given, int64_t least, int64_t* pair) {
  if (given.size() != 1 && given.size() != 2)
    return context.invalid("one or two numbers are needed");
  for (size_t axis = 0; axis < 2; ++axis) {
    pair[axis] = given[given.size() == 2 ? axis : 0];
    // The limit keeps products of these numbers and of the sizes far from overflow.
    if (pair[axis] < least || pair[axis] > INT32_MAX)
      return context.invalid("a number is too small or too large");
  }
  return {};
}

/// Reads the arguments, all those of the schema. Sets `shape` to the shape of the result.
Status find_windows(Context& context, Tensor self, IntArrayRef kernel_size, IntArrayRef stride,
                    IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Windows& windows,
                    Shape& shape) {
  const int64_t dims = self.dim();
  if (dims != 3 && dims != 4) return context.invalid("wrong number of dimensions");
  SG_TRY(read_pair(context, kernel_size, 1, windows.size));
  SG_TRY(read_pair(context, stride.empty() ? kernel_size : stride, 1, windows.step));
  SG_TRY(read_pair(context, padding, 0, windows.padding));
  SG_TRY(read_pair(context, dilation, 1, windows.dilation));
  shape = Shape(self.sizes());
  for (int64_t axis = dims - 3; axis < dims; ++axis) {
    if (self.size(axis) == 0) return context.invalid("the planes are empty");
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t in = self.size(dims - 2 + static_cast<int64_t>(axis));
    const int64_t step = windows.step[axis];
    const int64_t reach = (windows.size[axis] - 1) * windows.dilation[axis] + 1;
    if (windows.padding[axis] > reach / 2)
      return context.invalid("the padding is more than half of the window");
    const int64_t room = in + 2 * windows.padding[axis] - reach;
    int64_t out = (room >= 0 ? room : room - step + 1) / step + 1;
    // In ceil mode, a partial last window counts too, unless it starts in the padding.
    if (ceil_mode && room % step != 0 && out * step < in + windows.padding[axis]) ++out;
    if (out < 1) return context.invalid("the window is larger than the plane");
    windows.in[axis] = in;
    windows.out[axis] = out;
    shape[shape.size - 2 + axis] = out;
  }
  windows.planes = self.numel() / (windows.in[0] * windows.in[1]);
  return {};
}

/// The dtype of the computation: Long for integers.
ScalarType pooled_type(ScalarType dtype) {
  return is_floating(dtype) ? compute_type(dtype) : ScalarType::Long;
}

}  // namespace

Result<std::array<Tensor, 2>> max_pool2d_with_indices(Context& context, Tensor self,
                                                      IntArrayRef kernel_size, IntArrayRef stride,
                                                      IntArrayRef padding, IntArrayRef dilation,
                                                      bool ceil_mode) {
  Windows windows;
  Shape shape;
  SG_TRY(find_windows(context, self, kernel_size, stride, padding, dilation, ceil_mode, windows,
                      shape));
  SG_ASSIGN(const Tensor in, to_contiguous(context, self, pooled_type(self.scalar_type())));
  SG_ASSIGN(Tensor out, context.empty(in.scalar_type(), shape));
  SG_ASSIGN(const Tensor places, context.empty(ScalarType::Long, shape));
  SG_SWITCH_ACCUMULATE(in.scalar_type(), max_pool2d, [&]<typename T>() {
    largest_of_windows(windows, in.data<T>(), out.data<T>(), places.data<int64_t>());
  });
  SG_ASSIGN(out, to_dtype(context, out, self.scalar_type()));
  return std::array{out, places};
}

Result<Tensor> max_pool2d(Context& context, Tensor self, IntArrayRef kernel_size,
                          IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                          bool ceil_mode) {
  SG_ASSIGN(const auto found, ops::max_pool2d_with_indices::call(context, self, kernel_size, stride,
                                                                 padding, dilation, ceil_mode));
  return found[0];
}

Result<Tensor> avg_pool2d(Context& context, Tensor self, IntArrayRef kernel_size,
                          IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                          bool count_include_pad, std::optional<int64_t> divisor_override) {
  if (divisor_override == 0) return context.invalid("divides by zero");
  const int64_t ones[] = {1};
  Windows windows;
  Shape shape;
  SG_TRY(
      find_windows(context, self, kernel_size, stride, padding, ones, ceil_mode, windows, shape));
  windows.divisor = divisor_override.value_or(0);
  windows.counts_padding = count_include_pad;
  SG_ASSIGN(const Tensor in, to_contiguous(context, self, pooled_type(self.scalar_type())));
  SG_ASSIGN(const Tensor out, context.empty(in.scalar_type(), shape));
  SG_SWITCH_ACCUMULATE(in.scalar_type(), avg_pool2d, [&]<typename T>() {
    means_of_windows(windows, in.data<T>(), out.data<T>());
  });
  return to_dtype(context, out, self.scalar_type());
}

Result<Tensor> _adaptive_avg_pool2d(Context& context, Tensor self, IntArrayRef output_size) {
  const int64_t dims = self.dim();
  if (output_size.size() != 2 || (dims != 3 && dims != 4))
    return context.invalid("wrong number of dimensions");
  // PyTorch allows empty channels, but no other empty dimension except the batch.
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t size = self.size(dims - 2 + static_cast<int64_t>(axis));
    if (size == 0) return context.invalid("the planes are empty");
    // The limit keeps the products that find the windows from overflow.
    if (size > INT32_MAX || output_size[axis] > INT32_MAX) return context.invalid("too large");
  }
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
    average_windows(self.numel() / (in_sizes[0] * in_sizes[1]), in_sizes, output_size.data(),
                    self.data<T>(), out.data<T>());
  });
  return to_dtype(context, out, dtype);
}

/// One window over everything is a mean.
Result<Tensor> adaptive_avg_pool2d(Context& context, Tensor self, IntArrayRef output_size) {
  if (output_size.size() != 2) return context.invalid("the output size must be two numbers");
  if (output_size[0] != 1 || output_size[1] != 1)
    return ops::_adaptive_avg_pool2d::call(context, self, output_size);
  const int64_t dims[] = {-1, -2};
  return ops::mean_dim::call(context, self, dims, true, std::nullopt);
}

}  // namespace sg::kernels
