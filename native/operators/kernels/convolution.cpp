// convolution, conv2d: of one to three dimensions, in groups, transposed, by matrix products over unfolded columns.

#include "selected/convolution.h"
#include "generated/ops.h"
#include "native/operators/gemm.h"
#include "native/operators/kernel.h"

namespace sg::kernels {
namespace {

constexpr int64_t kColumnBytes = 1 << 18;  // of unfolded columns at a time: they fit the second-level cache
constexpr int64_t kLargest = 1 << 30;      // size, stride, padding or dilation: sums of products of two fit 64 bits

/// A convolution relates an image to points: at each point stands the kernel, and its taps meet elements of the image.
/// The image is what comes in and the points go out, or the other way round if transposed. One and two dimensions get
/// leading ones of size 1.
struct Geometry {
  int64_t image[3];
  int64_t points[3];
  int64_t kernel[3];
  int64_t stride[3];
  int64_t padding[3];
  int64_t dilation[3];

  int64_t image_size() const { return image[0] * image[1] * image[2]; }
  int64_t point_count() const { return points[0] * points[1] * points[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Whether each point meets one element, its own.
  bool is_pointwise() const {
    for (int axis = 0; axis < 3; ++axis) {
      if (kernel[axis] != 1 || stride[axis] != 1 || padding[axis] != 0) return false;
    }
    return true;
  }
};

/// What happens where a tap meets the image: to a run of n elements, at a stride in the image, without one in the
/// points.
using RunBody = void (*)(int64_t n, char* image, int64_t stride, char* points, const void* weight);

/// Calls `body` for each run of points in [first, end) at which tap number `tap` meets the image.
[[gnu::noinline]] void for_each_run(const Geometry& at, int64_t tap, int64_t first, int64_t end, int64_t element,
                                    RunBody body, char* image, char* points, const void* weight) {
  const int64_t tap_at[] = {tap / (at.kernel[1] * at.kernel[2]), tap / at.kernel[2] % at.kernel[1], tap % at.kernel[2]};
  int64_t offset[3];
  for (int axis = 0; axis < 3; ++axis) offset[axis] = tap_at[axis] * at.dilation[axis] - at.padding[axis];
  // The points of a line that meet the image lie in [low, high).
  const int64_t stride = at.stride[2];
  const int64_t low = offset[2] < 0 ? (stride - 1 - offset[2]) / stride : 0;
  const int64_t room = at.image[2] - offset[2] + stride - 1;
  const int64_t high = room < 0 ? 0 : room / stride;
  int64_t x = first % at.points[2];
  int64_t y = first / at.points[2] % at.points[1];
  int64_t z = first / at.points[2] / at.points[1];
  for (int64_t point = first; point < end; x = 0) {
    const int64_t left = end - point;
    const int64_t line_end = at.points[2] - x < left ? at.points[2] : x + left;
    const int64_t image_z = z * at.stride[0] + offset[0];
    const int64_t image_y = y * at.stride[1] + offset[1];
    const int64_t from = low < x ? x : low;
    const int64_t to = high < line_end ? high : line_end;
    if (from < to && image_z >= 0 && image_z < at.image[0] && image_y >= 0 && image_y < at.image[1]) {
      const int64_t element_at = (image_z * at.image[1] + image_y) * at.image[2] + from * stride + offset[2];
      body(to - from, image + element_at * element, stride, points + (point + from - x) * element, weight);
    }
    point += line_end - x;
    if (++y == at.points[1]) {
      y = 0;
      ++z;
    }
  }
}

/// By width alone: no dtype stands behind it.
template <typename Word>
void copy_run(int64_t n, char* image, int64_t stride, char* points, const void*) {
  const auto* from = reinterpret_cast<const Word*>(image);
  auto* to = reinterpret_cast<Word*>(points);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}

/// points += weight · image
template <typename T>
SG_DTYPE_BODY void gather_run(int64_t n, char* image, int64_t stride, char* points, const void* weight) {
  const T factor = *static_cast<const T*>(weight);
  const auto* from = reinterpret_cast<const T*>(image);
  auto* to = reinterpret_cast<T*>(points);
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i * stride];
}

/// image += points
template <typename T>
SG_DTYPE_BODY void scatter_run(int64_t n, char* image, int64_t stride, char* points, const void*) {
  auto* to = reinterpret_cast<T*>(image);
  const auto* from = reinterpret_cast<const T*>(points);
  for (int64_t i = 0; i < n; ++i) to[i * stride] += from[i];
}

/// One group of one image: all pointers to contiguous elements of the accumulate type.
struct Group {
  const Geometry& geometry;
  ScalarType dtype;
  int64_t image_channels;
  int64_t point_channels;
  char* image;
  char* points;
  const char* weight;  // point_channels × image_channels × taps
  char* columns;       // room for one chunk
  int64_t chunk;       // points
  bool accumulate;     // the points hold the bias
};

/// Every point of a channel gathers from the one channel of the image.
void run_depthwise(const Group& group, RunBody gather) {
  const int64_t element = element_size(group.dtype);
  const int64_t count = group.geometry.point_count();
  const int64_t taps = group.geometry.taps();
  for (int64_t channel = 0; channel < group.point_channels; ++channel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for_each_run(group.geometry, tap, 0, count, element, gather, group.image,
                   group.points + channel * count * element, group.weight + (channel * taps + tap) * element);
    }
  }
}

/// columns[channel, tap][point] = the image's element there, or zero; points += weight · columns. Transposed (`scatter`
/// is given): columns = weightᵀ · points, and the image gets what they add up to.
void run_columns(Context& context, const Group& group, RunBody scatter) {
  const int64_t element = element_size(group.dtype);
  const int64_t count = group.geometry.point_count();
  const int64_t taps = group.geometry.taps();
  const int64_t rows = group.image_channels * taps;
  const bool unfolds = group.columns != nullptr;
  const RunBody copy = element == 4 ? copy_run<uint32_t> : copy_run<uint64_t>;
  const auto fold = [&](RunBody body, int64_t first, int64_t n) {
    for (int64_t row = 0; row < rows; ++row) {
      // Points are counted from the start of the image, columns from `first`.
      for_each_run(group.geometry, row % taps, first, first + n, element, body,
                   group.image + row / taps * group.geometry.image_size() * element,
                   group.columns + (row * n - first) * element, nullptr);
    }
  };
  for (int64_t first = 0; first < count; first += group.chunk) {
    const int64_t n = count - first < group.chunk ? count - first : group.chunk;
    char* columns = unfolds ? group.columns : group.image;
    char* points = group.points + first * element;
    if (scatter != nullptr) {
      gemm(context, group.dtype,
           {rows, n, group.point_channels, group.weight, 1, rows, points, count, 1, columns, n,
            !unfolds && group.accumulate, false});
      if (unfolds) fold(scatter, first, n);
    } else {
      if (unfolds) {
        std::memset(columns, 0, static_cast<size_t>(rows * n * element));
        fold(copy, first, n);
      }
      gemm(context, group.dtype,
           {group.point_channels, n, rows, group.weight, rows, 1, columns, n, 1, points, count, group.accumulate,
            false});
    }
  }
}

/// One value for all dimensions, or one for each.
Status read_list(Context& context, IntArrayRef list, int dims, int64_t minimum, int64_t filler, int64_t* values) {
  const auto size = static_cast<int>(list.size());
  if (size != dims && size != 1) return context.invalid("wrong number of values for the dimensions");
  for (int axis = 0; axis < 3; ++axis) {
    const int own = axis - (3 - dims);
    values[axis] = own < 0 ? filler : list[static_cast<size_t>(size == 1 ? 0 : own)];
    if (values[axis] < minimum || values[axis] > kLargest) {
      return context.invalid("a stride, padding, dilation or output padding is out of range");
    }
  }
  return {};
}

}  // namespace

Result<Tensor> convolution(Context& context, Tensor input, Tensor weight, Tensor bias, IntArrayRef stride,
                           IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                           int64_t groups) {
  const int dims = static_cast<int>(weight.dim()) - 2;
  if (dims < 1 || dims > 3 || input.dim() != weight.dim()) return context.invalid("wrong number of dimensions");
  const ScalarType dtype = input.scalar_type();
  if (weight.scalar_type() != dtype) return context.invalid("input and weight differ in dtype");
  if (groups < 1 || weight.size(0) < groups || weight.size(0) % groups != 0) {
    return context.invalid("the groups do not divide the weight");
  }
  const int64_t in_channels = input.size(1);
  const int64_t out_channels = transposed ? weight.size(1) * groups : weight.size(0);
  if (in_channels == 0 || in_channels != (transposed ? weight.size(0) : weight.size(1) * groups)) {
    return context.invalid("input and weight differ in channels");
  }
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != out_channels)) {
    return context.invalid("the bias must have one element for each channel");
  }
  Geometry geometry;
  int64_t extra[3];
  SG_TRY(read_list(context, stride, dims, 1, 1, geometry.stride));
  SG_TRY(read_list(context, padding, dims, 0, 0, geometry.padding));
  SG_TRY(read_list(context, dilation, dims, 1, 1, geometry.dilation));
  SG_TRY(read_list(context, output_padding, dims, 0, 0, extra));

  Shape sizes;
  sizes.push_back(input.size(0));
  sizes.push_back(out_channels);
  bool dilated = false;
  for (int axis = 0; axis < 3; ++axis) {
    const int own = axis - (3 - dims) + 2;
    const int64_t in_size = own < 2 ? 1 : input.size(own);
    const int64_t kernel = own < 2 ? 1 : weight.size(own);
    if (in_size < 1 || in_size > kLargest || kernel < 1 || kernel > kLargest)
      return context.invalid("a size is out of range");
    const int64_t span = geometry.dilation[axis] * (kernel - 1) + 1;
    const int64_t step = geometry.stride[axis];
    const int64_t padded = 2 * geometry.padding[axis];
    int64_t out_size;
    if (transposed) {
      out_size = (in_size - 1) * step - padded + span + extra[axis];
      if (extra[axis] >= step && extra[axis] >= geometry.dilation[axis]) {
        return context.invalid("the output padding must be smaller than the stride or the dilation");
      }
    } else {
      out_size = in_size + padded < span ? 0 : (in_size + padded - span) / step + 1;
    }
    if (out_size < 1) return context.invalid("the kernel does not fit the input");
    dilated |= geometry.dilation[axis] != 1;
    geometry.kernel[axis] = kernel;
    geometry.image[axis] = transposed ? out_size : in_size;
    geometry.points[axis] = transposed ? in_size : out_size;
    if (own >= 2) sizes.push_back(out_size);
  }

  const ScalarType wide = accumulate_type(dtype);
  SG_ASSIGN(const Tensor out, context.empty(wide, sizes));
  if (out.numel() == 0) return to_dtype(context, out, dtype);
  // Among the integers, PyTorch has kernels for Long, and for the others only the plain one.
  if (dtype == ScalarType::Bool || ((transposed || dilated) && wide == ScalarType::Long && wide != dtype)) {
    dtype_not_supported(context, dtype);
  }
  SG_ASSIGN(input, to_contiguous(context, input, wide));
  SG_ASSIGN(weight, to_contiguous(context, weight, wide));
  const int64_t element = element_size(wide);
  Group group{geometry, wide, 0, 0, nullptr, nullptr, nullptr, nullptr, geometry.point_count(), bias.defined()};
  group.image_channels = weight.size(1);
  group.point_channels = weight.size(0) / groups;
  const int64_t rows = group.image_channels * geometry.taps();
  const bool depthwise = !transposed && group.image_channels == 1 && group.point_channels <= 2;
  if (!depthwise && !geometry.is_pointwise()) {
    const int64_t wanted = kColumnBytes / element / (rows + 1) / 8 * 8 + 8;
    if (group.chunk > wanted) group.chunk = wanted;
    group.columns = static_cast<char*>(context.allocate(rows * group.chunk * element));
    if (group.columns == nullptr) return Failed{};
  }
  if (bias.defined()) {
    // A column of the result's shape: the same element all over a channel.
    const int64_t ones[] = {out_channels, 1, 1, 1};
    const int64_t steps[] = {bias.stride(0), 0, 0, 0};
    SG_ASSIGN(const Tensor column, context.view(bias, {ones, sizes.size - 1}, {steps, sizes.size - 1}, 0));
    SG_TRY(copy_elements(context, out, column));
  } else if (depthwise || (transposed && group.columns != nullptr)) {
    std::memset(out.bytes(), 0, static_cast<size_t>(out.numel() * element));
  }
  RunBody gather = nullptr;
  RunBody scatter = nullptr;
  if (depthwise || transposed) {
    SG_SWITCH_ACCUMULATE(wide, convolution, [&]<typename T>() {
      gather = gather_run<T>;
      scatter = transposed ? scatter_run<T> : nullptr;
    });
  }
  const int64_t image_bytes = group.image_channels * geometry.image_size() * element;
  const int64_t point_bytes = group.point_channels * geometry.point_count() * element;
  for (int64_t i = 0; i < input.size(0) * groups; ++i) {
    char* const in_data = input.bytes() + i * (transposed ? point_bytes : image_bytes);
    char* const out_data = out.bytes() + i * (transposed ? image_bytes : point_bytes);
    group.image = transposed ? out_data : in_data;
    group.points = transposed ? in_data : out_data;
    group.weight = weight.bytes() + i % groups * group.point_channels * rows * element;
    if (depthwise) {
      run_depthwise(group, gather);
    } else {
      run_columns(context, group, scatter);
    }
  }
  return to_dtype(context, out, dtype);
}

Result<Tensor> conv2d(Context& context, Tensor input, Tensor weight, Tensor bias, IntArrayRef stride,
                      IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  const int64_t zeros[] = {0, 0};
  if (input.dim() == 4) {
    return ops::convolution::call(context, input, weight, bias, stride, padding, dilation, false, zeros, groups);
  }
  if (input.dim() != 3) return context.invalid("the input must have three or four dimensions");
  SG_ASSIGN(const Tensor batch, ops::unsqueeze::call(context, input, 0));
  SG_ASSIGN(const Tensor out,
            ops::convolution::call(context, batch, weight, bias, stride, padding, dilation, false, zeros, groups));
  return ops::select_int::call(context, out, 0, 0);
}

}  // namespace sg::kernels
