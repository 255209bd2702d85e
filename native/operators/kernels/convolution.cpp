// convolution, conv2d: one to three dimensions, groups, transposed; as matrix products over
// unfolded columns.

#include "selected/convolution.h"
#include "generated/ops.h"
#include "native/operators/gemm.h"
#include "native/operators/kernel.h"

namespace sg::kernels {
namespace {

// Bytes of unfolded columns at a time: they fit the second-level cache.
constexpr int64_t kColumnBytes = 1 << 18;
// Largest size, stride, padding or dilation: sums of products of two fit 64 bits.
constexpr int64_t kLargest = 1 << 30;

/// A convolution relates an image to points. The kernel lies at each point, and its taps meet
/// elements of the image. The image is the input and the points are the output; a transposed
/// convolution swaps them. One and two dimensions get leading ones of size 1.
struct Geometry {
  enum List { Stride, Padding, Dilation, OutputPadding, Lists };

  int64_t lists[Lists][3];
  int64_t image[3];
  int64_t points[3];
  int64_t kernel[3];

  const int64_t* stride() const { return lists[Stride]; }
};

int64_t volume(const int64_t* sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

/// Processes a run of n elements where a tap meets the image. `stride` is the distance between
/// elements of the image; the points are contiguous.
using RunBody = void (*)(int64_t n, char* image, int64_t stride, char* points, const void* weight);

/// Calls `body` for each run of points in [first, end) at which tap number `tap` meets the image.
[[gnu::noinline]] void for_each_run(const Geometry& at, int64_t tap, int64_t first, int64_t end,
                                    int64_t element, RunBody body, char* image, char* points,
                                    const void* weight) {
  const int64_t tap_at[] = {tap / (at.kernel[1] * at.kernel[2]), tap / at.kernel[2] % at.kernel[1],
                            tap % at.kernel[2]};
  int64_t offset[3];
  for (int axis = 0; axis < 3; ++axis)
    offset[axis] =
        tap_at[axis] * at.lists[Geometry::Dilation][axis] - at.lists[Geometry::Padding][axis];
  // The points of a line that meet the image lie in [low, high).
  const int64_t stride = at.stride()[2];
  const int64_t low = offset[2] < 0 ? (stride - 1 - offset[2]) / stride : 0;
  const int64_t room = at.image[2] - offset[2] + stride - 1;
  const int64_t high = room < 0 ? 0 : room / stride;
  int64_t x = first % at.points[2];
  int64_t y = first / at.points[2] % at.points[1];
  int64_t z = first / at.points[2] / at.points[1];
  for (int64_t point = first; point < end; x = 0) {
    const int64_t left = end - point;
    const int64_t line_end = at.points[2] - x < left ? at.points[2] : x + left;
    const int64_t image_z = z * at.stride()[0] + offset[0];
    const int64_t image_y = y * at.stride()[1] + offset[1];
    const int64_t from = low < x ? x : low;
    const int64_t to = high < line_end ? high : line_end;
    if (from < to && image_z >= 0 && image_z < at.image[0] && image_y >= 0 &&
        image_y < at.image[1]) {
      const int64_t element_at =
          (image_z * at.image[1] + image_y) * at.image[2] + from * stride + offset[2];
      body(to - from, image + element_at * element, stride, points + (point + from - x) * element,
           weight);
    }
    point += line_end - x;
    if (++y == at.points[1]) {
      y = 0;
      ++z;
    }
  }
}

/// Copies elements by their width alone; the code is independent of the dtype.
template <typename Word>
void copy_run(int64_t n, char* image, int64_t stride, char* points, const void*) {
  const auto* from = reinterpret_cast<const Word*>(image);
  auto* to = reinterpret_cast<Word*>(points);
  for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}

/// points += weight · image
template <typename T>
SG_DTYPE_BODY void gather_run(int64_t n, char* image, int64_t stride, char* points,
                              const void* weight) {
  using Element = Arithmetic<T>;  // signed and unsigned may alias
  const Element factor = *static_cast<const Element*>(weight);
  const auto* from = reinterpret_cast<const Element*>(image);
  auto* to = reinterpret_cast<Element*>(points);
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i * stride];
}

/// image += points
template <typename T>
SG_DTYPE_BODY void scatter_run(int64_t n, char* image, int64_t stride, char* points, const void*) {
  auto* to = reinterpret_cast<Arithmetic<T>*>(image);
  const auto* from = reinterpret_cast<const Arithmetic<T>*>(points);
  for (int64_t i = 0; i < n; ++i) to[i * stride] += from[i];
}

/// One group of one image. All pointers are to contiguous elements of the accumulate type.
struct Group {
  Geometry geometry;
  ScalarType dtype;
  int64_t image_channels;
  int64_t point_channels;
  char* image;
  char* points;
  const char* weight;  // point_channels × image_channels × taps
  // One chunk: image_channels × taps rows of `chunk` points. Null if the image has this layout.
  char* columns;
  int64_t chunk;    // points
  bool accumulate;  // the result holds the bias
};

/// Calls `body` for all runs of n points from `first` on. The points are those of the columns, or
/// those of a depthwise convolution, which gather from the one channel of the image.
void for_each_row(const Group& group, RunBody body, bool depthwise, int64_t first, int64_t n) {
  const int64_t element = element_size(group.dtype);
  const int64_t taps = volume(group.geometry.kernel);
  const int64_t rows = (depthwise ? group.point_channels : group.image_channels) * taps;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t channel = row / taps;
    char* image = group.image;
    char* points = group.points;
    if (depthwise) {
      points += channel * n * element;
    } else {
      image += channel * volume(group.geometry.image) * element;
      // Runs count points from the start of the image.
      points = group.columns + (row * n - first) * element;
    }
    for_each_run(group.geometry, row % taps, first, first + n, element, body, image, points,
                 group.weight + row * element);
  }
}

// Longer than 40 lines: both directions share the chunks and the product.
/// columns[channel, tap][point] = the image's element there, or zero; points += weight · columns.
/// Transposed (`scatter` is given): columns = weightᵀ · points, then adds the columns to the image.
void run_columns(Context& context, const Group& group, RunBody scatter) {
  const int64_t element = element_size(group.dtype);
  const int64_t count = volume(group.geometry.points);
  const int64_t rows = group.image_channels * volume(group.geometry.kernel);
  const bool unfolds = group.columns != nullptr;
  MatrixProduct product{};
  product.a = group.weight;
  product.b_column = 1;
  for (int64_t first = 0; first < count; first += group.chunk) {
    product.n = count - first < group.chunk ? count - first : group.chunk;
    char* columns = unfolds ? group.columns : group.image;
    char* points = group.points + first * element;
    if (scatter != nullptr) {
      product.m = rows;
      product.k = group.point_channels;
      product.a_row = 1;
      product.a_column = rows;
      product.b = points;
      product.b_row = count;
      product.c = columns;
      product.c_row = product.n;
      product.accumulate = !unfolds && group.accumulate;
      gemm(context, group.dtype, product);
      if (unfolds) for_each_row(group, scatter, false, first, product.n);
      continue;
    }
    if (unfolds) {
      std::memset(columns, 0, static_cast<size_t>(rows * product.n * element));
      for_each_row(group, element == 4 ? copy_run<uint32_t> : copy_run<uint64_t>, false, first,
                   product.n);
    }
    product.m = group.point_channels;
    product.k = rows;
    product.a_row = rows;
    product.a_column = 1;
    product.b = columns;
    product.b_row = product.n;
    product.c = points;
    product.c_row = count;
    product.accumulate = group.accumulate;
    gemm(context, group.dtype, product);
  }
}

}  // namespace

// Longer than 40 lines: it checks ten arguments, and plans the columns of each group.
Result<Tensor> convolution(Context& context, Tensor input, Tensor weight, Tensor bias,
                           IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                           bool transposed, IntArrayRef output_padding, int64_t groups) {
  const int dims = static_cast<int>(weight.dim()) - 2;
  if (dims < 1 || dims > 3 || input.dim() != weight.dim())
    return context.invalid("wrong number of dimensions");
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
  Group group{};
  Geometry& geometry = group.geometry;
  const IntArrayRef given[Geometry::Lists] = {stride, padding, dilation, output_padding};
  Shape sizes;
  sizes.push_back(input.size(0));
  sizes.push_back(out_channels);
  bool dilated = false;
  bool pointwise = true;
  for (int axis = 0; axis < 3; ++axis) {
    // Index in the given lists; negative for the leading axes of size 1.
    const int own = axis - (3 - dims);
    int64_t values[Geometry::Lists];
    for (int list = 0; list < Geometry::Lists; ++list) {
      const size_t count = given[list].size();
      if (count != 1 && count != static_cast<size_t>(dims))
        return context.invalid("a list has the wrong size");
      const int64_t minimum = list == Geometry::Stride || list == Geometry::Dilation;
      values[list] = own < 0 ? minimum : given[list][count == 1 ? 0 : static_cast<size_t>(own)];
      if (values[list] < minimum || values[list] > kLargest)
        return context.invalid("a number is out of range");
      geometry.lists[list][axis] = values[list];
    }
    const auto [step, pad, spread, extra] = values;
    const int64_t in_size = own < 0 ? 1 : input.size(own + 2);
    const int64_t kernel = own < 0 ? 1 : weight.size(own + 2);
    if (in_size < 1 || in_size > kLargest || kernel < 1 || kernel > kLargest) {
      return context.invalid("a size is out of range");
    }
    const int64_t span = spread * (kernel - 1) + 1;
    int64_t out_size = in_size + 2 * pad < span ? 0 : (in_size + 2 * pad - span) / step + 1;
    if (transposed) {
      out_size = (in_size - 1) * step - 2 * pad + span + extra;
      if (extra >= step && extra >= spread)
        return context.invalid("the output padding is too large");
    }
    if (out_size < 1) return context.invalid("the kernel does not fit the input");
    if (own >= 0) sizes.push_back(out_size);
    dilated |= spread != 1;
    pointwise &= kernel == 1 && step == 1 && pad == 0;
    geometry.kernel[axis] = kernel;
    geometry.image[axis] = transposed ? out_size : in_size;
    geometry.points[axis] = transposed ? in_size : out_size;
  }

  const ScalarType wide = accumulate_type(dtype);
  SG_ASSIGN(const Tensor out, context.empty(wide, sizes));
  if (out.numel() == 0) return to_dtype(context, out, dtype);
  // PyTorch has all kernels for Long, but only the plain one for the other integers.
  if (dtype == ScalarType::Bool ||
      ((transposed || dilated) && wide == ScalarType::Long && wide != dtype)) {
    dtype_not_supported(context, dtype);
  }
  SG_ASSIGN(input, to_contiguous(context, input, wide));
  SG_ASSIGN(weight, to_contiguous(context, weight, wide));
  const int64_t element = element_size(wide);
  group.dtype = wide;
  group.image_channels = weight.size(1);
  group.point_channels = weight.size(0) / groups;
  group.chunk = volume(geometry.points);
  group.accumulate = bias.defined();
  const int64_t rows = group.image_channels * volume(geometry.kernel);
  const bool depthwise = !transposed && group.image_channels == 1 && group.point_channels <= 2;
  const bool unfolds = !depthwise && !pointwise;
  if (unfolds) {
    const int64_t wanted = kColumnBytes / element / (rows + 1) / 8 * 8 + 8;
    if (group.chunk > wanted) group.chunk = wanted;
    group.columns = static_cast<char*>(context.allocate(rows * group.chunk * element));
    if (group.columns == nullptr) return Failed{};
  }
  if (bias.defined()) {
    // A column that expands to the shape of the result: one element per channel.
    const int64_t ones[] = {out_channels, 1, 1, 1};
    const int64_t steps[] = {bias.stride(0), 0, 0, 0};
    SG_ASSIGN(const Tensor column,
              context.view(bias, {ones, sizes.size - 1}, {steps, sizes.size - 1}, 0));
    SG_TRY(copy_elements(context, out, column));
  } else if (depthwise || (transposed && unfolds)) {
    std::memset(out.bytes(), 0, static_cast<size_t>(out.numel() * element));
  }
  RunBody body = nullptr;
  if (depthwise || transposed) {
    SG_SWITCH_ACCUMULATE(wide, convolution,
                         [&]<typename T>() { body = transposed ? scatter_run<T> : gather_run<T>; });
  }
  const int64_t image_bytes = group.image_channels * volume(geometry.image) * element;
  const int64_t point_bytes = group.point_channels * volume(geometry.points) * element;
  group.image = transposed ? out.bytes() : input.bytes();
  group.points = transposed ? input.bytes() : out.bytes();
  for (int64_t i = 0; i < input.size(0) * groups; ++i) {
    group.weight = weight.bytes() + i % groups * group.point_channels * rows * element;
    if (depthwise) {
      for_each_row(group, body, true, 0, group.chunk);
    } else {
      run_columns(context, group, body);
    }
    group.image += image_bytes;
    group.points += point_bytes;
  }
  return to_dtype(context, out, dtype);
}

Result<Tensor> conv2d(Context& context, Tensor input, Tensor weight, Tensor bias,
                      IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                      int64_t groups) {
  const bool batched = input.dim() == 4;
  if (!batched) {
    if (input.dim() != 3) return context.invalid("the input must have three or four dimensions");
    SG_ASSIGN(input, ops::unsqueeze::call(context, input, 0));
  }
  const int64_t zeros[] = {0, 0};
  const auto out = ops::convolution::call(context, input, weight, bias, stride, padding, dilation,
                                          false, zeros, groups);
  if (batched || !out.ok()) return out;
  return ops::select_int::call(context, out.value(), 0, 0);
}

}  // namespace sg::kernels
